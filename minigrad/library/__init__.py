"""Custom operators: functions that are one node of the graph, whatever they compute with.

    @custom_op("mylib::sin", mutates_args=())
    def sin(x: Tensor) -> Tensor:                       any NumPy, numba, ...: with type hints
        return mg.from_numpy(np.sin(x.numpy()))
    sin.register_autograd(backward, setup_context=...)  the formula of its gradient
    opcheck(sin, (x,))                                  does it do what it says?

An operator is found again by its name: ``get_op("mylib::sin")``, in PyTorch ``torch.ops.mylib.sin``.

Mirrors ``torch/library.py``.
"""

from minigrad._arguments import instance
from minigrad.errors import TensorValueError, UnknownOperatorError
from minigrad.library._custom_ops import REGISTRY, CustomOpDef, custom_op
from minigrad.library._infer_schema import infer_schema
from minigrad.library._opcheck import OpCheckError, opcheck
from minigrad.library._types import Number

__all__ = ["CustomOpDef", "OpCheckError", "custom_op", "get_op", "infer_schema", "opcheck", "register_autograd",
           "register_fake", "register_kernel"]


def get_op(name):
    """The operator of this name, ``"namespace::name"``.

    Raises:
        AttributeError: there is none.

    PyTorch has ``torch.ops.namespace.name``; here ``minigrad.ops`` are the rules of the built-in ops.

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
                                   found=", ".join(there) or "no operator of that namespace",
                                   fix="define it first, with custom_op, or import the module that does")
    return REGISTRY[name]


def _operator(op, asked):
    """The operator that `op` is or names."""
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, str):
        return get_op(op)
    raise TensorValueError("MG-E280", f"{asked}({op!r}): got unexpected type for op: {type(op)}",
                           expected='an operator made by custom_op, or its name, "namespace::name"')


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Say how an operator is differentiated: see `CustomOpDef.register_autograd`.

    Args:
        op (CustomOpDef or str): the operator, or its name.
        backward, setup_context (callable): the formula.
        lib: accepted as in PyTorch; nothing here looks at it.

    Raises:
        AttributeError: there is no operator of this name.
        ValueError: `op` is something else.
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
    _operator(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Give an operator an implementation for some devices: see `CustomOpDef.register_kernel`. Can be used as a decorator.

    Raises:
        AttributeError: there is no operator of this name.
        ValueError: `op` is neither an operator nor a name; it takes neither a tensor nor a device.

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
    return _operator(op, "register_kernel").register_kernel(device_types, *(() if func is None else (func,)))


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Give an operator a function for the shapes of its outputs: see `CustomOpDef.register_fake`. Can be used as a decorator.

    Raises:
        AttributeError: there is no operator of this name.
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
    found = _operator(op, "register_fake")
    return found.register_fake if func is None else found.register_fake(func)
