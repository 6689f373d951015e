"""Custom operators: functions that are one node of the graph. They may compute with any library.

    @custom_op("mylib::sin", mutates_args=())
    def sin(x: Tensor) -> Tensor:                       a function with type hints: NumPy, numba, ...
        return mg.from_numpy(np.sin(x.numpy()))
    sin.register_autograd(backward, setup_context=...)  the formula of its gradient
    opcheck(sin, (x,))                                  tests that the operator agrees with its schema and formula

``get_op("mylib::sin")`` finds the operator by its name; in PyTorch it is ``torch.ops.mylib.sin``.

Mirrors ``torch/library.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.errors import TensorValueError, UnknownOperatorError
from minigrad.library._custom_ops import REGISTRY, CustomOpDef, custom_op
from minigrad.library._infer_schema import infer_schema
from minigrad.library._opcheck import OpCheckError, opcheck
from minigrad.library._types import Number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["CustomOpDef", "OpCheckError", "custom_op", "get_op", "infer_schema", "opcheck", "register_autograd",
           "register_fake", "register_kernel"]


def get_op(name: str) -> CustomOpDef:
    """Return the custom operator with this name.

    Args:
        name (str): ``"namespace::name"``.

    Returns:
        CustomOpDef: the operator.

    Raises:
        AttributeError: there is no operator with this name.
        TypeError: `name` is not a string.

    Mirrors ``torch.ops.namespace.name``. In minigrad, ``minigrad.ops`` has the rules of the built-in ops.

    >>> from minigrad.library import custom_op, get_op
    >>> @custom_op("docs::halve", mutates_args=())
    ... def halve(x: mg.Tensor) -> mg.Tensor:
    ...     return x / 2
    >>> get_op("docs::halve")(mg.ones(2))
    tensor([0.5000, 0.5000])
    """
    if instance(name, str, "name", "get_op") not in REGISTRY:
        namespace, _, last = str(name).partition("::")
        there = sorted(known for known in REGISTRY if known.startswith(namespace + "::"))
        raise UnknownOperatorError("MG-E280", f"namespace {namespace!r} has no operator {last!r}",
                                   found=", ".join(there) or "no operator in this namespace",
                                   fix="define it with custom_op, or import the module that defines it")
    return REGISTRY[name]


def _find_operator(op, function):
    """Return `op`, or the operator with the name `op`. `function` is for the error message."""
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, str):
        return get_op(op)
    raise TensorValueError("MG-E280", f"{function}({op!r}): got unexpected type for op: {type(op)}",
                           expected='an operator made by custom_op, or its name, "namespace::name"')


def register_autograd(op: CustomOpDef | str, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None,
                      lib: object = None) -> None:
    """Register the formula for the derivative of an operator: see `CustomOpDef.register_autograd`.

    Args:
        op (CustomOpDef or str): the operator, or its name.
        backward, setup_context (Callable): the formula.
        lib: accepted as in PyTorch, and ignored.

    Raises:
        AttributeError: there is no operator with this name.
        ValueError: `op` is neither an operator nor a name.
        RuntimeError: the operator writes to its arguments, or returns nothing.

    Mirrors ``torch.library.register_autograd``.

    >>> from minigrad.library import custom_op, register_autograd
    >>> @custom_op("docs::negate", mutates_args=())
    ... def negate(x: mg.Tensor) -> mg.Tensor:
    ...     return -x
    >>> register_autograd("docs::negate", lambda ctx, grad: -grad)
    >>> x = mg.ones(2, requires_grad=True)
    >>> negate(x).sum().backward(); x.grad
    tensor([-1., -1.])
    """
    _find_operator(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_kernel(op: CustomOpDef | str, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *,
                    lib: object = None) -> Callable[..., Any]:
    """Register an implementation of an operator for some devices: see `CustomOpDef.register_kernel`.

    Args:
        op (CustomOpDef or str): the operator, or its name.
        device_types (str, sequence of str, or None): the devices, such as ``"cpu"``; None for all other devices.
        func (Callable, optional): the implementation. Without it, the result is a decorator.
        lib: accepted as in PyTorch, and ignored.

    Returns:
        Callable: `func`, or a decorator.

    Raises:
        AttributeError: there is no operator with this name.
        ValueError: `op` is neither an operator nor a name; or the operator takes neither a tensor nor a device.

    Mirrors ``torch.library.register_kernel``.

    >>> from minigrad.library import custom_op, register_kernel
    >>> @custom_op("docs::where_am_i", mutates_args=())
    ... def where_am_i(x: mg.Tensor) -> int:
    ...     return 0
    >>> @register_kernel("docs::where_am_i", "cpu")
    ... def _(x):
    ...     return 1
    >>> where_am_i(mg.ones(2))
    1
    """
    return _find_operator(op, "register_kernel").register_kernel(device_types, *(() if func is None else (func,)))


def register_fake(op: CustomOpDef | str, func: Callable[..., Any] | None = None, /, *, lib: object = None, _stacklevel: int = 1,
                  allow_override: bool = True) -> Callable[..., Any]:
    """Register a function that gives the shapes and dtypes of the outputs: see `CustomOpDef.register_fake`.

    Args:
        op (CustomOpDef or str): the operator, or its name.
        func (Callable, optional): the function. Without it, the result is a decorator.
        lib, _stacklevel, allow_override: accepted as in PyTorch, and ignored.

    Returns:
        Callable: `func`, or a decorator.

    Raises:
        AttributeError: there is no operator with this name.
        ValueError: `op` is neither an operator nor a name.

    Mirrors ``torch.library.register_fake``.

    >>> from minigrad.library import custom_op, opcheck, register_fake
    >>> @custom_op("docs::row_sums", mutates_args=())
    ... def row_sums(x: mg.Tensor) -> mg.Tensor:
    ...     return x.sum(1)
    >>> @register_fake("docs::row_sums")
    ... def _(x):
    ...     return x.new_empty(x.shape[0])
    >>> opcheck(row_sums, (mg.ones(2, 3),), test_utils="test_faketensor")
    {'test_faketensor': 'SUCCESS'}
    """
    found = _find_operator(op, "register_fake")
    return found.register_fake if func is None else found.register_fake(func)
