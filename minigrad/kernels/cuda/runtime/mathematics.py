"""The functions of one number that kernels call: CUDA's, through Python's `math`; in the simulator NumPy's, which do not raise.

Numba compiles a kernel for the dtype of its arrays, and these functions for the dtype of their argument: float32 stays float32.

Note [Constants have a type]
    To numba 1 is int64 and 0.5 is float64. So for a float32 x it would compute 1 + x in float64. That takes twice as long on the
    GPUs of data centres, and 64 times as long on others. `like(x, 1)` is 1 in the type of x.
"""

import math

import numpy as np

from minigrad.kernels.cuda.runtime.streams import SIMULATED

NAMES = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "exp", "expm1", "floor",
         "fmod", "hypot", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan",
         "tanh", "trunc")

globals().update({name: getattr(np if SIMULATED else math, name) for name in NAMES})

if SIMULATED:
    def like(x, value):
        """The number `value` in the type of `x`: see Note [Constants have a type]."""
        return type(x)(value)

    def circle(kind):
        """The functions (cosine, sine) of pi x, for a NumPy type."""
        return lambda x: kind(np.cos(np.pi * x)), lambda x: kind(np.sin(np.pi * x))

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

    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic

    def circle(kind):
        """The functions (cosine, sine) of pi x, for a NumPy type. To remove whole turns from x is exact, and fast."""
        return (libdevice.cospif, libdevice.sinpif) if kind is np.float32 else (libdevice.cospi, libdevice.sinpi)

    @intrinsic
    def like(typing, x, value):
        """The number `value` in the type of `x`: see Note [Constants have a type]."""
        def code(context, builder, signature, args):
            return context.cast(builder, args[1], signature.args[1], signature.return_type)
        return x(x, value), code
