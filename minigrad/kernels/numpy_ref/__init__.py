"""The kernels in plain NumPy: the reference, the interpreted path, and the last resort of the others.

    layout.py       gradients and layout, creation, copies, views
    elementwise.py  one number at a time
    reduction.py    sums, extrema, softmax: along dimensions
    scans.py        running sums and products
    joining.py      cat, gather, scatter, indexing
    linear.py       matrix products
    linalg.py       decompositions of matrices
    ordering.py     orders, and what is found by them
    convolution.py  convolution, pooling, resampling
    nn.py           losses, random numbers, optimiser steps
    special.py      the error function, gamma and its derivatives
    gamma.py        incomplete gamma functions, zeta, Bessel functions
    precision.py    in which dtype the others compute

Each function is one line of NumPy where that is possible. See ``kernels/contract.py`` for what they
promise.
"""

from minigrad.kernels.numpy_ref.convolution import *
from minigrad.kernels.numpy_ref.elementwise import *
from minigrad.kernels.numpy_ref.gamma import *
from minigrad.kernels.numpy_ref.joining import *
from minigrad.kernels.numpy_ref.layout import *
from minigrad.kernels.numpy_ref.linalg import *
from minigrad.kernels.numpy_ref.linear import *
from minigrad.kernels.numpy_ref.nn import *
from minigrad.kernels.numpy_ref.ordering import *
from minigrad.kernels.numpy_ref.reduction import *
from minigrad.kernels.numpy_ref.scans import *
from minigrad.kernels.numpy_ref.special import *
