"""The arguments and results of the functions in ``functional.py``, checked and made ready.

    prepared(inputs)            fresh variables instead of the inputs: what the user's function is called with
    default_or_checked(v, ...)  the vector of a product
    check_...                   what the user's function has returned
    filled(grads, like, ...)    zeros for None, or, when strict, the error that says who is independent of whom

Mirrors the helpers of ``torch/autograd/functional.py``.
"""

from minigrad.creation import zeros_like
from minigrad.errors import AutogradError, AutogradTypeError
from minigrad.tensor import Tensor

TWICE = "make sure that the function is twice differentiable, and not linear in this input; or leave strict=True out"


def as_tuple(x, what, function):
    """``(whether x is a tuple, x as a tuple)``, all of tensors."""
    single = not isinstance(x, tuple)
    for i, one in enumerate((x,) if single else x):
        if not isinstance(one, Tensor):
            found = f"the given {what} has type {type(one)}" if single else f"the value at index {i} has type {type(one)}"
            raise AutogradTypeError("MG-E250", f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                                    f"{found}.", fix="tuple(...) of a list; mg.tensor(...) of a number")
    return not single, (x,) if single else x


def as_given(tensors, is_tuple, create_graph=True):
    """A tuple of results in the form that the user has chosen; without history unless they want it."""
    if not create_graph:
        tensors = tuple([x.detach() for x in tensors])
    return tensors if is_tuple else tensors[0]


def prepared(tensors, create_graph, need_graph=True):
    """Fresh variables with the values of `tensors`: gradients stop at them, so what else depends on the originals is constant.

    With `create_graph` they are views of those that require gradients, so that higher derivatives find the way on.
    """
    return tuple([x.view_as(x) if create_graph and x.requires_grad else
                  (x.clone() if x.is_inference() else x.detach()).requires_grad_(need_graph) for x in tensors])


def default_or_checked(v, like, like_is_tuple, which, create_graph, function):
    """The vector `v` as a tuple that goes with `like`; None stands for 1 where there is a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError("MG-E251", f"The vector v can only be None if {which} a single Tensor with a single element.",
                                found=" and ".join(f"shape {list(x.shape)}" for x in like) or "no tensor",
                                fix="pass v, of the same shape")
        return (zeros_like(like[0]).detach() + 1,)
    _, v = as_tuple(v, "v", function)
    v = prepared(v, create_graph, need_graph=False)
    if len(v) != len(like):
        if like_is_tuple:
            raise AutogradError("MG-E251", f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise AutogradError("MG-E251", "The given v should contain a single Tensor.", found=f"{len(v)} of them")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if like_is_tuple else "v"
            raise AutogradError("MG-E251", f"{entry} has invalid size: should be {b.shape} but got {a.shape}.",
                                fix="v has the shape of what it is multiplied with; mg.ones_like makes one")
    return v


def check_single(outputs, is_tuple, function):
    """What a Hessian is taken of is one number."""
    if is_tuple:
        raise AutogradError("MG-E252", f"The function given to {function} should return a single Tensor", found="a tuple",
                            fix="return the tensor itself")
    if outputs[0].numel() != 1:
        raise AutogradError("MG-E252", f"The Tensor returned by the function given to {function} should contain a single element",
                            found=f"shape {list(outputs[0].shape)}", fix="reduce it, for instance with .sum()")


def check_outputs(outputs, strict):
    """Strict: each output has a history."""
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise AutogradError("MG-E253", f"Output {i} of the user-provided function does not require gradients. The outputs must "
                                "be computed in a differentiable manner from the input when running in strict mode.",
                                fix="do not detach it or compute it under no_grad(); or leave strict=True out for zeros")


def check_first(firsts, strict):
    """Strict: each first derivative is there, and depends on the inputs, before it is differentiated."""
    for i, g in enumerate(firsts):
        if strict and g is None:
            raise independent(f"The output of the user-provided function is independent of input {i}.")
        if strict and not g.requires_grad:
            raise AutogradError("MG-E253", "While computing the hessian, found that the jacobian of the user-provided function "
                                f"with respect to input {i} is independent of the input. This is not allowed in strict mode.",
                                fix=TWICE)


def check_second(g, i, which="jacobian"):
    """Strict, with create_graph: the result can be differentiated further."""
    if not g.requires_grad:
        raise independent(f"The {which} of the user-provided function is independent of input {i}.", " when create_graph=True")


def independent(what, when=""):
    """The error of strict mode."""
    return AutogradError("MG-E253", f"{what} This is not allowed in strict mode{when}.",
                         fix="use the input, or leave strict=True out to get zeros")


def filled(grads, like, strict=False, create_graph=False, first="output", second="jacobian"):
    """Zeros for what did not arrive. Strict: that is an error, and so is a result that cannot be differentiated further."""
    for i, g in enumerate(grads):
        if strict and g is None:
            raise independent(f"The {first} of the user-provided function is independent of input {i}.")
        if strict and create_graph:
            check_second(g, i, second)
    return tuple([zeros_like(x).detach() if g is None else g for g, x in zip(grads, like)])
