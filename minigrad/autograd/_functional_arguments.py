"""Check and prepare the arguments and results of the functions in ``functional.py``.

    prepare(inputs, ...)        fresh variables with the values of the inputs, to call the function with
    check_vector(v, ...)        the vector of a product, or its default
    check_...                   checks of the outputs of the function
    fill_missing(grads, ...)    zeros instead of None; an error in strict mode

Mirrors the helpers of ``torch/autograd/functional.py``.
"""

from minigrad.creation import zeros_like
from minigrad.errors import AutogradError, AutogradTypeError
from minigrad.tensor import Tensor

TWICE = "make sure that the function is twice differentiable, and not linear in this input; or leave strict=True out"


def as_tuple(x, what, function):
    """Return ``(whether x is a tuple, x as a tuple)``; raise if an element is not a tensor."""
    single = not isinstance(x, tuple)
    for i, element in enumerate((x,) if single else x):
        if not isinstance(element, Tensor):
            found = f"the given {what} has type {type(element)}" if single else f"the value at index {i} has type {type(element)}"
            raise AutogradTypeError("MG-E250", f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                                    f"{found}.", fix="tuple(...) of a list; mg.tensor(...) of a number")
    return not single, (x,) if single else x


def as_given(tensors, is_tuple, create_graph=True):
    """Return the results as a tuple, or as one tensor if the argument was one. Detach them unless `create_graph`."""
    if not create_graph:
        tensors = tuple([x.detach() for x in tensors])
    return tensors if is_tuple else tensors[0]


def prepare(tensors, create_graph, need_graph=True):
    """Fresh variables with the values of `tensors`. Gradients stop at them, so the original tensors count as constants.

    With `create_graph`, a tensor that requires a gradient gives a view of itself, so that higher derivatives reach it.
    """
    return tuple([x.view_as(x) if create_graph and x.requires_grad else
                  (x.clone() if x.is_inference() else x.detach()).requires_grad_(need_graph) for x in tensors])


def check_vector(v, like, like_is_tuple, which, create_graph, function):
    """Return the vector `v` as a tuple with the shapes of `like`. None means 1, if `like` is a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError("MG-E251", f"The vector v can only be None if {which} a single Tensor with a single element.",
                                found=" and ".join(f"shape {list(x.shape)}" for x in like) or "no tensor",
                                fix="pass v, of the same shape")
        return (zeros_like(like[0]).detach() + 1,)
    _, v = as_tuple(v, "v", function)
    v = prepare(v, create_graph, need_graph=False)
    if len(v) != len(like):
        if like_is_tuple:
            raise AutogradError("MG-E251", f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise AutogradError("MG-E251", "The given v should contain a single Tensor.", found=f"{len(v)} of them")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if like_is_tuple else "v"
            raise AutogradError("MG-E251", f"{entry} has invalid size: should be {b.shape} but got {a.shape}.",
                                fix="give v the shape of the tensor that it is multiplied with, for instance with mg.ones_like")
    return v


def check_single(outputs, is_tuple, function):
    """Raise unless the output is a single number: only then is there a Hessian."""
    if is_tuple:
        raise AutogradError("MG-E252", f"The function given to {function} should return a single Tensor", found="a tuple",
                            fix="return the tensor itself")
    if outputs[0].numel() != 1:
        raise AutogradError("MG-E252", f"The Tensor returned by the function given to {function} should contain a single element",
                            found=f"shape {list(outputs[0].shape)}", fix="reduce it, for instance with .sum()")


def check_outputs(outputs, strict):
    """In strict mode, raise if an output does not require gradients."""
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise AutogradError("MG-E253", f"Output {i} of the user-provided function does not require gradients. The outputs must "
                                "be computed in a differentiable manner from the input when running in strict mode.",
                                fix="do not detach it or compute it under no_grad(); or leave strict=True out for zeros")


def check_first(firsts, strict):
    """In strict mode, raise if a first derivative is missing or does not depend on the inputs."""
    for i, g in enumerate(firsts):
        if strict and g is None:
            raise independent(f"The output of the user-provided function is independent of input {i}.")
        if strict and not g.requires_grad:
            raise AutogradError("MG-E253", "While computing the hessian, found that the jacobian of the user-provided function "
                                f"with respect to input {i} is independent of the input. This is not allowed in strict mode.",
                                fix=TWICE)


def check_second(g, i, which="jacobian"):
    """In strict mode with create_graph, raise if the result `g` cannot be differentiated further."""
    if not g.requires_grad:
        raise independent(f"The {which} of the user-provided function is independent of input {i}.", " when create_graph=True")


def independent(what, when=""):
    """The error of strict mode."""
    return AutogradError("MG-E253", f"{what} This is not allowed in strict mode{when}.",
                         fix="use the input, or leave strict=True out to get zeros")


def fill_missing(grads, like, strict=False, create_graph=False, first="output", second="jacobian"):
    """Replace each None by zeros. In strict mode, raise for it, and for a result that cannot be differentiated further."""
    for i, g in enumerate(grads):
        if strict and g is None:
            raise independent(f"The {first} of the user-provided function is independent of input {i}.")
        if strict and create_graph:
            check_second(g, i, second)
    return tuple([zeros_like(x).detach() if g is None else g for g, x in zip(grads, like)])
