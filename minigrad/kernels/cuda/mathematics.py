"""The functions of one number that kernels call: CUDA's, by way of Python's `math`; on the simulator NumPy's, which do not raise.

A kernel is compiled for the dtype of its arrays, and these for that of their argument: float32 stays float32.
"""

import math

import numpy as np

from minigrad.kernels.cuda.streams import SIMULATED

if SIMULATED:
    from numpy import (
        arccos as acos,
    )
    from numpy import (
        arccosh as acosh,
    )
    from numpy import (
        arcsin as asin,
    )
    from numpy import (
        arcsinh as asinh,
    )
    from numpy import (
        arctan as atan,
    )
    from numpy import (
        arctan2 as atan2,
    )
    from numpy import (
        arctanh as atanh,
    )
    from numpy import (
        ceil,
        copysign,
        cos,
        cosh,
        exp,
        expm1,
        floor,
        fmod,
        hypot,
        isfinite,
        isinf,
        isnan,
        log,
        log1p,
        log2,
        log10,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
        trunc,
    )
    from numpy import power as pow

    def erf(x):
        return type(x)(math.erf(x))

    def erfc(x):
        return type(x)(math.erfc(x))

    def lgamma(x):
        if np.isnan(x):
            return x
        return type(x)(np.inf if np.isinf(x) or (x <= 0 and x == np.floor(x)) else math.lgamma(x))
else:
    from math import (  # noqa: F401
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        ceil,
        copysign,
        cos,
        cosh,
        erf,
        erfc,
        exp,
        expm1,
        floor,
        fmod,
        hypot,
        isfinite,
        isinf,
        isnan,
        lgamma,
        log,
        log1p,
        log2,
        log10,
        pow,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
        trunc,
    )
