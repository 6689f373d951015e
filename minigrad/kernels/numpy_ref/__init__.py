"""The kernels in plain NumPy: the reference, the interpreted path, and the fallback of the compiled kernels.

    layout.py       gradients and layout, creation, copies, views
    elementwise.py  functions of each element
    reduction.py    sums, extrema, softmax: along dimensions
    scans.py        running sums and products
    joining.py      cat, gather, scatter, indexing
    linear.py       matrix products
    linalg.py       decompositions of matrices
    fourier.py      Fourier transforms
    ordering.py     flip, sorting, searching
    convolution.py  convolution, pooling, resampling
    nn.py           losses, optimiser steps
    randoms.py      random numbers, with rejection.py
    special.py      the error function, the gamma function and its derivatives
    gamma.py        incomplete gamma functions, zeta, Bessel functions
    precision.py    the dtype that a kernel computes in

Each function is one line of NumPy where that is possible. ``kernels/contract.py`` says what it promises.
"""

from minigrad.kernels.numpy_ref.convolution import *
from minigrad.kernels.numpy_ref.elementwise import *
from minigrad.kernels.numpy_ref.fourier import *
from minigrad.kernels.numpy_ref.gamma import *
from minigrad.kernels.numpy_ref.joining import *
from minigrad.kernels.numpy_ref.layout import *
from minigrad.kernels.numpy_ref.linalg import *
from minigrad.kernels.numpy_ref.linear import *
from minigrad.kernels.numpy_ref.nn import *
from minigrad.kernels.numpy_ref.ordering import *
from minigrad.kernels.numpy_ref.randoms import *
from minigrad.kernels.numpy_ref.reduction import *
from minigrad.kernels.numpy_ref.scans import *
from minigrad.kernels.numpy_ref.special import *
