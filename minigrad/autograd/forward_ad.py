"""Forward-mode AD: dual tensors compute derivatives together with the values.

    with fwAD.dual_level():
        x = fwAD.make_dual(p, t)                a point p, and the direction t in which it moves
        y = f(x)                                computes f(p) and the Jacobian-vector product together
        fwAD.unpack_dual(y).tangent             J_f(p) t

One forward pass costs about twice f and gives one combination of the columns of the Jacobian, for any number of outputs.
One backward gives one combination of its rows, for any number of inputs. The two modes compose: the gradients of dual tensors are
dual tensors (forward over reverse), and tangents have a backward (reverse over forward).

How ops pass tangents on: ``minigrad/_core/record/forward_ad.py``. Mirrors ``torch/autograd/forward_ad.py``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from minigrad._core.graph.thread_state import current
from minigrad._core.record import forward_ad
from minigrad.autograd.grad_mode import Mode, decorate  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import AutogradError, AutogradTypeError, TensorValueError
from minigrad.ops.base.arguments import integer
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "set_forward_grad_enabled", "unpack_dual"]

_current_level = -1     # the number of the level, 0; -1 outside of a level
_entering = threading.Lock()


class UnpackedDualTensor(NamedTuple):
    """The primal of a dual tensor and its tangent, or None if it has no tangent. `unpack_dual` returns it.

    Mirrors ``torch.autograd.forward_ad.UnpackedDualTensor``.

    >>> mg.autograd.forward_ad.unpack_dual(mg.tensor([1.]))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level: inside it, tensors can have tangents. `dual_level` is the context manager for it.

    Returns:
        int: the number of the level, 0.

    Raises:
        RuntimeError: this or another thread has begun a level already.

    Mirrors ``torch.autograd.forward_ad.enter_dual_level``.

    >>> level = mg.autograd.forward_ad.enter_dual_level()
    >>> mg.autograd.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    with _entering:
        if _current_level >= 0:
            raise AutogradError("MG-E291", "Nested forward mode AD is not supported at the moment",
                                fix="leave the first dual_level() before you enter another; for a second derivative, use "
                                    "forward mode over reverse mode")
        _current_level = forward_ad.enter_level()
        return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level. All tensors lose their tangents.

    Args:
        level (int, optional): the number of the level. By default the current level ends.

    Raises:
        RuntimeError: `level` is not the current level, or there is no level.

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


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Make a dual tensor: `tensor` with a `tangent`, the direction in which it moves.

    Args:
        tensor (Tensor): the primal, of a floating point or complex dtype. It does not change: the result is a view of it.
        tangent (Tensor): of the shape of `tensor`, of a floating point or complex dtype. If its memory layout differs from the
            layout of `tensor`, the result gets a copy of it.
        level (int, optional): the number of the current level, which is the default.

    Returns:
        Tensor: the dual tensor.

    Raises:
        RuntimeError: there is no level; the shapes differ; `tensor` or `tangent` has a tangent already.
        ValueError: the dtype of `tensor` or `tangent` is integral or bool.
        TypeError: an argument is not a tensor.

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
    if integer(level, "level", "make_dual") < 0:
        raise AutogradError("MG-E292", "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                            "enter_dual_level() first.", fix="with minigrad.autograd.forward_ad.dual_level(): ...")
    for name, x in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(x, Tensor):
            raise AutogradTypeError("MG-E292", f"make_dual(): argument '{name}' must be Tensor, not {type(x).__name__}")
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            raise TensorValueError("MG-E292", f"Expected {name} to be floating point or complex, but got: {x.dtype}",
                                   fix="convert it: x.float(); integers have no derivatives")
    if level != _current_level:
        raise AutogradError("MG-E292", "Invalid level given to make_dual", expected=f"level {_current_level}",
                            found=f"level {level}")
    if forward_ad.tangent_of(tensor) is not None:
        raise AutogradError("MG-E292", "Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                            f"level {level} is not supported.", fix="pass the primal: unpack_dual(x).primal")
    if current().inference:
        return _plain_view(tensor)
    if forward_ad.tangent_of(tangent) is not None:
        raise AutogradError("MG-E292", f"Setting a forward grad that itself has a forward gradient at the same level {level} is "
                            "not supported.", fix="pass a tangent without a tangent of its own: unpack_dual(t).primal")
    if tensor.shape != tangent.shape:
        raise AutogradError("MG-E292", "Trying to set a forward gradient that has a different size than that of the original "
                            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given forward "
                            f"gradient is of size {list(tangent.shape)}.", fix="give the tangent the shape of the tensor")
    with _set_fwd_grad_enabled(False):
        dual = _plain_view(tensor)
        forward_ad.set_tangent(dual, tangent, False)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal and the tangent of a dual tensor.

    Args:
        tensor (Tensor): any tensor.
        level (int, optional): the number of the current level, which is the default.

    Returns:
        UnpackedDualTensor: a named tuple (primal, tangent). The primal is a view of `tensor` without a tangent. The tangent is None
        if `tensor` has none. Outside of a level the result is (`tensor`, None).

    Raises:
        TypeError: `tensor` is not a tensor.

    Mirrors ``torch.autograd.forward_ad.unpack_dual``.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor([1., 2.]), mg.tensor([1., 0.]))
    ...     fwAD.unpack_dual(x.sin())
    UnpackedDualTensor(primal=tensor([0.8415, 0.9093]), tangent=tensor([0.5403, -0.0000]))
    """
    if level is None:
        level = _current_level
    if integer(level, "level", "unpack_dual") < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise AutogradTypeError("MG-E292", f"unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    tangent: Any = forward_ad.tangent_of(tensor) if current().forward_enabled else None
    with _set_fwd_grad_enabled(False):
        return UnpackedDualTensor(_plain_view(tensor), tangent)


def _plain_view(tensor) -> Tensor:
    """Return a view of the whole `tensor` that has no tangent."""
    view = tensor.view_as(tensor)
    forward_ad.set_primal(view)
    return view


class dual_level:
    """Context manager and decorator of forward-mode AD: inside it, tensors can have tangents. At the end all tangents are lost.

    ``with dual_level() as level`` gives the number of the level, 0. A level holds for all threads, and cannot be nested.

    Raises:
        RuntimeError: when it is entered, if this or another thread is in a level already.

    Mirrors ``torch.autograd.forward_ad.dual_level``.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor(3.), mg.tensor(1.))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor(6.)
    >>> fwAD.unpack_dual(x).tangent is None
    True
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc_info: Any) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Any:
        return decorate(type(self), function)


class set_forward_grad_enabled(Mode):
    """Let ops of this thread compute tangents, or not: immediately, and as a context manager until the block ends.

    Args:
        mode (bool): whether ops compute tangents. The default state is True; it matters only inside a level.

    Mirrors ``torch.autograd.forward_ad._set_fwd_grad_enabled``; that name works too.

    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(mg.tensor(3.), mg.tensor(1.))
    ...     with fwAD.set_forward_grad_enabled(False):
    ...         y = x * x
    ...     fwAD.unpack_dual(y).tangent
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self.prev = current().forward_enabled
        self.enter(current())

    def clone(self) -> Self:
        return type(self)(self.mode)

    def enter(self, state):
        state.set_modes(state.grad_enabled, state.inference, self.mode)

    def __enter__(self) -> None:
        state = current()
        self.before.append((state.grad_enabled, state.inference, self.prev))
        self.enter(state)

    def __call__(self, function: Callable[..., Any]) -> Any:
        state = current()
        state.set_modes(state.grad_enabled, state.inference, self.prev)     # restore what __init__ changed
        return super().__call__(function)


_set_fwd_grad_enabled = set_forward_grad_enabled


def _is_fwd_grad_enabled():
    return current().forward_enabled
