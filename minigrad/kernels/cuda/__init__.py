"""The kernels of a GPU, compiled by numba.cuda when they are first used.

    array.py          what a NumPy array is to the CPU
    streams.py        the queue that work is put into
    driver.py, memory.py        CUDA's own functions; blocks of memory, and copies from and to the CPU
    specialise.py, launch.py    how a kernel is compiled and kept, and how it is started; in C: quick.pyx
    vector_io.py, tuples.py         several numbers by one instruction
    mathematics.py, expressions.py, quad_kernels.py, elementwise.py    number by number
    special.py              functions beside the elementary ones
    views.py, layout.py     views, copies, gradients
    reduce.py, reduction.py, argreduce.py, scan.py    many numbers into one, or running
    register_rows.py, rows.py, normalization.py, loss.py     softmax and layer normalisation, row by row; the loss of a classifier
    tiles.py, contraction.py, vectors.py, matmul.py     products of matrices
    instructions.py, tensor_cores.py        those of float16
    convolution.py, pooling.py      over windows: products; maxima, means and interpolations
    joining.py, indexing.py, scattering.py      cat, gather, scatter, x[index]
    strided.py              parts that strides describe
    optim.py                steps of optimisers
    randoms.py              random numbers
    nonzero.py, sorting.py, ordering.py    which elements are not 0; sorting, and what is found by it

``NUMBA_ENABLE_CUDASIM=1`` runs all of it on the CPU, by numba's simulator: see streams.py. Nothing here is imported before a GPU is
asked for.
"""

from minigrad.kernels.contract import Kernels
from minigrad.kernels.cuda import (
    argreduce, convolution, elementwise, indexing, joining, layout, loss, matmul, nonzero, normalization, optim, ordering,
    pooling, randoms, reduction, rows, scan, scattering, special, strided, views)
from minigrad.kernels.cuda.missing import Missing

__all__ = ["kernels_of"]


def kernels_of(device):
    """The kernels for `device`."""
    return Kernels(str(device), layout.Creation(device), randoms.Randoms(device), views, layout, elementwise, special, reduction,
                   argreduce, scan, rows, normalization, loss, matmul, convolution, pooling, joining, indexing, scattering,
                   strided, nonzero, ordering, optim, Missing)
