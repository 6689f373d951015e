"""Operations on lists of tensors: ``mg._foreach_add_(averages, tensors, alpha=0.1)``, as moving averages of weights use them.

    mg._foreach_mul(tensors, 0.9)               a list: each tensor times 0.9
    mg._foreach_lerp_(averages, tensors, 0.1)   in place, pair by pair; returns the list

PyTorch computes such a list in one kernel on a GPU. Here it is a loop. A list as an argument goes pair by pair with the tensors.

Mirrors the functions ``_foreach_*`` of ``aten/src/ATen/native/native_functions.yaml``.
"""

from minigrad.tensor import Tensor

__all__ = ["NAMES"]

# Operations that have a form in place.
BOTH = ("abs", "add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "div", "exp", "lerp", "log", "mul", "neg", "pow",
        "reciprocal", "sign", "sqrt", "sub")
NAMES = ("_foreach_copy_", "_foreach_norm", "_foreach_zero_", *[f"_foreach_{name}{end}" for name in BOTH for end in ("", "_")])


def arguments(number, args):
    """The arguments for the tensor with this number: the entry of each list."""
    return [arg[number] if isinstance(arg, (list, tuple)) else arg for arg in args]


def make(name):
    """The function on lists for an operation, such as "add" or "add_"."""
    method = getattr(Tensor, name)

    def function(self, *args, **kwargs):
        return [method(tensor, *arguments(number, args), **kwargs) for number, tensor in enumerate(self)]
    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    function.__doc__ = f"`{name}` of each tensor of a list. Mirrors ``torch._foreach_{name}``."
    return function


globals().update({_name: make(_name.removeprefix("_foreach_")) for _name in NAMES})
