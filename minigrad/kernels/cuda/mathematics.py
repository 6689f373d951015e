"""The functions of one number that kernels call: CUDA's, by way of Python's `math`; on the simulator NumPy's, which do not raise.

A kernel is compiled for the dtype of its arrays, and these for that of their argument: float32 stays float32.
"""

import math

import numpy as np

from minigrad.kernels.cuda.streams import SIMULATED

NAMES = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "exp", "expm1", "floor",
         "fmod", "hypot", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan",
         "tanh", "trunc")

globals().update({name: getattr(np if SIMULATED else math, name) for name in NAMES})

if SIMULATED:
    def erf(x):
        return type(x)(math.erf(x))

    def erfc(x):
        return type(x)(math.erfc(x))

    def lgamma(x):
        if np.isnan(x):
            return x
        return type(x)(np.inf if np.isinf(x) or (x <= 0 and x == np.floor(x)) else math.lgamma(x))
else:
    from math import erf, erfc, lgamma  # noqa: F401 - NumPy has none
