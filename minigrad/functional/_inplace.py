"""The in-place methods as functions: ``mg.sin_(x)`` is ``x.sin_()``.

Mirrors the functions with an underscore of ``torch._C._VariableFunctions``.
"""

import inspect

from minigrad.nn.functional._in_place import celu_, selu_, threshold_
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.rule import named
from minigrad.tensor import Tensor

NAMES = [
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "as_strided_",
    "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "cos_",
    "cosh_", "deg2rad_", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_", "i0_",
    "index_put_", "log10_", "log1p_", "log2_", "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_",
    "reciprocal_", "relu_", "resize_as_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_",
    "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
]


def function_of_method(name):
    """Make the function ``name(input, ...)`` of the in-place method `name`."""
    getattr(Tensor, name)       # loads a late one
    method = inspect.getattr_static(Tensor, name)

    def function(input, *args, **kwargs):
        return getattr(tensor_argument(name, input), name)(*args, **kwargs)

    try:
        first, *rest = inspect.signature(method).parameters.values()
    except ValueError:      # a compiled method that does not tell
        first, rest = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), []
    first = first.replace(name="input", annotation="Tensor")
    vars(function)["__signature__"] = inspect.Signature([first, *rest], return_annotation="Tensor")
    function.__module__ = __name__
    return named(function, name, f"""``input.{name}(...)``: see `Tensor.{name}`. Mirrors ``torch.{name}``.

    >>> x = mg.tensor([0.25, 0.5])
    >>> mg.{name} is not None
    True
    """)


globals().update({name: function_of_method(name) for name in NAMES})

__all__ = [*NAMES, "celu_", "selu_", "threshold_"]   # pyright: ignore[reportUnsupportedDunderAll]
