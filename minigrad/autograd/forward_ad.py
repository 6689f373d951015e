"""Forward-mode AD: derivatives that are computed along with the values, by dual tensors.

    with fwAD.dual_level():
        x = fwAD.make_dual(p, t)                a point, and the direction in which it moves
        y = f(x)                                runs f once, and its Jacobian-vector product with it
        fwAD.unpack_dual(y).tangent             J_f(p) t

One forward pass costs about twice f and gives one column-combination of the Jacobian, whatever the number of outputs;
reverse mode gives one combination of rows, whatever the number of inputs. The two compose: the gradients of dual tensors are
dual (forward over reverse), and tangents have a backward (reverse over forward).

How tangents travel: ``minigrad/_core/record/forward_ad.py``. Mirrors ``torch/autograd/forward_ad.py``.
"""

import threading
from typing import Any, NamedTuple

from minigrad._core.graph.thread_state import current
from minigrad._core.record import forward_ad
from minigrad.autograd.grad_mode import Mode, decorated  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import AutogradError, AutogradTypeError, TensorValueError
from minigrad.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "set_forward_grad_enabled", "unpack_dual"]

_current_level = -1     # there is at most one, number 0
_entering = threading.Lock()


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: a dual tensor's primal, and its tangent or None.

    >>> mg.autograd.forward_ad.unpack_dual(mg.tensor([1.]))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level():
    """Begin a level, in which tensors can have tangents. Returns its number. `dual_level` is the context for it.

    Raises:
        RuntimeError: there is one already, of any thread.

    Mirrors ``torch.autograd.forward_ad.enter_dual_level``.

    >>> level = mg.autograd.forward_ad.enter_dual_level()
    >>> mg.autograd.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    with _entering:
        if _current_level >= 0:
            raise AutogradError("MG-E291", "Nested forward mode AD is not supported at the moment",
                                fix="leave the first dual_level() before you enter another; for a second derivative put forward "
                                    "mode over reverse mode")
        _current_level = forward_ad.enter_level()
        return _current_level


def exit_dual_level(*, level=None):
    """End a level. All tensors lose their tangents.

    Args:
        level (int, optional): its number; the current one by default.

    Raises:
        RuntimeError: it is not the current level, or there is none.

    Mirrors ``torch.autograd.forward_ad.exit_dual_level``.

    >>> level = mg.autograd.forward_ad.enter_dual_level()
    >>> mg.autograd.forward_ad.exit_dual_level()
    """
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise AutogradError("MG-E291", "Trying to exit a forward AD level that was not the last one that was created. This is not "
                            "supported.", expected=f"level {_current_level}", found=f"level {level}")
    if level < 0:
        raise AutogradError("MG-E291", "Dual level must be a positive number.",
                            fix="exit_dual_level() once for each enter_dual_level(); or `with dual_level():`")
    _current_level = -1
    forward_ad.exit_level()


def make_dual(tensor, tangent, *, level=None):
    """Make a dual tensor: `tensor` with a `tangent`, the direction in which it moves.

    Args:
        tensor (Tensor): the primal, of floating point or complex numbers. It stays as it is: the result is a view of it.
        tangent (Tensor): of its shape. It is kept itself if it lies in memory as `tensor` does, otherwise a copy.
        level (int, optional): the current one by default, and there is no other.

    Returns:
        Tensor: the dual tensor.

    Raises:
        RuntimeError: there is no level; the shapes differ; one of the two has a tangent already.
        ValueError: the numbers are integers.
        TypeError: one is no tensor.

    Mirrors ``torch.autograd.forward_ad.make_dual``.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor([1., 2.]), mg.tensor([1., 0.]))
    ...     y = x ** 3
    ...     fwAD.unpack_dual(y).tangent
    tensor([3., 0.])
    """
    if level is None:
        level = _current_level
    if level < 0:
        raise AutogradError("MG-E292", "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                            "enter_dual_level() first.", fix="with minigrad.autograd.forward_ad.dual_level(): ...")
    for name, x in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(x, Tensor):
            raise AutogradTypeError("MG-E292", f"make_dual(): argument '{name}' must be Tensor, not {type(x).__name__}")
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            raise TensorValueError("MG-E292", f"Expected {name} to be floating point or complex, but got: {x.dtype}",
                                   fix="only these have derivatives: convert it, x.float()")
    if level != _current_level:
        raise AutogradError("MG-E292", "Invalid level given to make_dual", expected=f"level {_current_level}",
                            found=f"level {level}")
    if forward_ad.tangent_of(tensor) is not None:
        raise AutogradError("MG-E292", "Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                            f"level {level} is not supported.", fix="make it from the primal: unpack_dual(x).primal")
    if current().inference:
        return _plain_view(tensor)
    if forward_ad.tangent_of(tangent) is not None:
        raise AutogradError("MG-E292", f"Setting a forward grad that itself has a forward gradient at the same level {level} is "
                            "not supported.", fix="there are no tangents of tangents: unpack_dual(t).primal")
    if tensor.shape != tangent.shape:
        raise AutogradError("MG-E292", "Trying to set a forward gradient that has a different size than that of the original "
                            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given forward "
                            f"gradient is of size {list(tangent.shape)}.", fix="a tangent has the shape of its tensor")
    with _set_fwd_grad_enabled(False):
        dual = _plain_view(tensor)
        forward_ad.set_tangent(dual, tangent, False)
    return dual


def unpack_dual(tensor, *, level=None):
    """The primal and the tangent of a dual tensor.

    Args:
        tensor (Tensor): any tensor.
        level (int, optional): the current one by default.

    Returns:
        UnpackedDualTensor: a named tuple of a view of `tensor` without tangent, and the tangent, or None if there is none.
        Outside of a level of `tensor` itself and None.

    Raises:
        TypeError: it is no tensor.

    Mirrors ``torch.autograd.forward_ad.unpack_dual``.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor([1., 2.]), mg.tensor([1., 0.]))
    ...     fwAD.unpack_dual(x.sin())
    UnpackedDualTensor(primal=tensor([0.8415, 0.9093]), tangent=tensor([0.5403, -0.0000]))
    """
    if level is None:
        level = _current_level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise AutogradTypeError("MG-E292", f"unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    tangent: Any = forward_ad.tangent_of(tensor) if current().forward_enabled else None
    with _set_fwd_grad_enabled(False):
        return UnpackedDualTensor(_plain_view(tensor), tangent)


def _plain_view(tensor) -> Tensor:
    """The whole of `tensor` as a view of it that has no tangent."""
    view = tensor.view_as(tensor)
    forward_ad.set_primal(view)
    return view


class dual_level:
    """The context of forward-mode AD: in it tensors can have tangents, and at its end all of them lose theirs.

    Works as a decorator too. The value of ``with dual_level() as level`` is the number of the level, 0. It holds for all
    threads, and there is at most one.

    Raises:
        RuntimeError: on entering, there is one already.

    Mirrors ``torch.autograd.forward_ad.dual_level``.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor(3.), mg.tensor(1.))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor(6.)
    >>> fwAD.unpack_dual(x).tangent is None
    True
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc_info):
        exit_dual_level()

    def __call__(self, function):
        return decorated(type(self), function)


class set_forward_grad_enabled(Mode):
    """Switch the making of tangents off or on in this thread: at once, and back at the end if used as a context.

    Args:
        mode (bool): off or on. It is on unless somebody says otherwise, but matters in a level only.

    Mirrors ``torch.autograd.forward_ad._set_fwd_grad_enabled``, whose name it also has.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor(3.), mg.tensor(1.))
    ...     with fwAD.set_forward_grad_enabled(False):
    ...         y = x * x
    ...     fwAD.unpack_dual(y).tangent
    """

    def __init__(self, mode):
        super().__init__()
        self.mode = bool(mode)
        self.prev = current().forward_enabled
        self.enter(current())

    def clone(self):
        return type(self)(self.mode)

    def enter(self, state):
        state.set_modes(state.grad_enabled, state.inference, self.mode)

    def __enter__(self):
        state = current()
        self.before.append((state.grad_enabled, state.inference, self.prev))
        self.enter(state)

    def __call__(self, function):
        state = current()
        state.set_modes(state.grad_enabled, state.inference, self.prev)     # undo what the construction did
        return super().__call__(function)


_set_fwd_grad_enabled = set_forward_grad_enabled


def _is_fwd_grad_enabled():
    return current().forward_enabled
