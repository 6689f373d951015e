"""The kernels of a GPU, compiled by numba.cuda when they are first used.

    array.py, quick.pyx     what a NumPy array is to the CPU; starting kernels, in C
    runtime/            the driver, memory, streams; how a kernel is compiled, kept and started
    elementwise/        number by number; steps of optimisers; random numbers
    reductions/         many numbers into one, or running; softmax and normalisation, row by row
    contractions/       products of matrices; convolutions and other windows
    index/              cat, gather, scatter, x[index]; sorting
    shape/              views, copies, parts that strides describe

``NUMBA_ENABLE_CUDASIM=1`` runs all of it on the CPU, by numba's simulator: see runtime/streams.py. Nothing here is imported
before a GPU is asked for.
"""

from minigrad.kernels.contract import Kernels
from minigrad.kernels.cuda.reductions import argreduce, loss, nonzero, normalization, reduction, rows, scan
from minigrad.kernels.cuda.contractions import convolution, matmul, pooling
from minigrad.kernels.cuda.elementwise import elementwise, optim, randoms, special
from minigrad.kernels.cuda.index import indexing, joining, ordering, scattering
from minigrad.kernels.cuda.shape import layout, strided, views
from minigrad.kernels.cuda.runtime.missing import Missing

__all__ = ["kernels_of"]


def kernels_of(device):
    """The kernels for `device`."""
    return Kernels(str(device), layout.Creation(device), randoms.Randoms(device), views, layout, elementwise, special, reduction,
                   argreduce, scan, rows, normalization, loss, matmul, convolution, pooling, joining, indexing, scattering,
                   strided, nonzero, ordering, optim, Missing)
