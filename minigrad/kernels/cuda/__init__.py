"""The kernels of a GPU, compiled by numba.cuda when they are first used.

    array.py, quick.pyx the array type; a faster way to start kernels, in C
    runtime/            the driver, memory, streams; how a kernel is compiled, saved and started
    elementwise/        one number at a time; steps of optimisers; random numbers
    reductions/         sums and other reductions, scans; softmax and normalisation of rows
    contractions/       matrix products, convolutions, pooling
    index/              cat, gather, scatter, x[index]; sorting
    shape/              views, copies, as_strided

``NUMBA_ENABLE_CUDASIM=1`` runs all of it on the CPU, in numba's simulator: see runtime/streams.py. Nothing here is imported
before a program asks for a GPU. Read next: ``array.py``.
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
    """The table of kernels for `device`: of several sources with the same kernel, the first in this list supplies it."""
    return Kernels(str(device), layout.Creation(device), randoms.Randoms(device), views, layout, elementwise, special, reduction,
                   argreduce, scan, rows, normalization, loss, matmul, convolution, pooling, joining, indexing, scattering,
                   strided, nonzero, ordering, optim, Missing)
