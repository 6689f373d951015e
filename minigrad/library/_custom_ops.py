"""Custom operators: a function with a schema, kernels for devices, and a formula for its backward.

    op(x, n=3)
      1. schema       check and convert the arguments; add the defaults                           _schema.py
      2. writes       check the tensors that the operator writes to; increment their versions
      3. node         record one, if gradients are enabled and a positional tensor requires one   _autograd.py
      4. kernel       call the kernel of the device with gradients disabled; check its output

The function may compute with NumPy, numba or any other library. For autograd it is one node.

Mirrors ``torch/_library/custom_ops.py``.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from minigrad._arguments import instance
from minigrad._core.graph.metadata import Device
from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace import check_inplace
from minigrad._core.record.interceptor import call_interceptor
from minigrad.errors import AutogradError, AutogradNotImplementedError, TensorValueError
from minigrad.library._autograd import Call, Formula, flatten, make_function, unflatten
from minigrad.library._infer_schema import make_schema
from minigrad.library._schema import FunctionSchema, parse_schema
from minigrad.tensor import Tensor
from minigrad.utils._python_dispatch import CUSTOM, Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

__all__ = ["CustomOpDef", "custom_op"]

log = logging.getLogger(__name__)

REGISTRY = {}       # "ns::name" -> CustomOpDef


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an operator from a function: one node of the graph. You can use it as a decorator.

    Args:
        name (str): ``"namespace::name"``. It replaces an operator with the same name.
        fn (Callable, optional): the implementation, with type hints: see `infer_schema`. It takes the tensors of the caller, of any
            shape and dtype, and runs with gradients disabled. It returns new tensors: an output must not share memory with an
            input or with another output.
        mutates_args (iterable of str, or "unknown"): the arguments that the function writes to; "unknown" means all tensors. Each
            call increments their versions, so a backward that has saved them raises an error.
        device_types (str or sequence of str, optional): the devices of this implementation. The default is all devices.
        schema (str, optional): a schema instead of type hints, such as ``"(Tensor x, int n=2) -> Tensor"``.
        tags: accepted as in PyTorch, and ignored.

    Returns:
        CustomOpDef: the operator, which you call like the function. Without a formula (`register_autograd`), the forward works and
        the backward raises an error.

    Raises:
        ValueError: the name has no namespace; a type hint is missing or not supported; `mutates_args` contradicts the signature or
            the schema.
        NotImplementedError: a tensor argument is keyword-only.
        RuntimeError: the schema cannot be read. A call raises it if an argument or the output does not agree with the schema, if
            an output shares memory with an input, or if it would write to a leaf that requires a gradient. The
            backward raises it if there is no formula.

    Mirrors ``torch.library.custom_op``. An operator lives until another operator replaces it.

    This example makes a NumPy function differentiable:

    >>> import numpy as np
    >>> from minigrad.library import custom_op
    >>> @custom_op("docs::sinc", mutates_args=())
    ... def sinc(x: mg.Tensor) -> mg.Tensor:
    ...     return mg.from_numpy(np.sinc(x.numpy()))
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs, output)
    >>> def backward(ctx, grad):
    ...     x, y = ctx.saved_tensors
    ...     return grad * ((np.pi * x).cos() - y) / x
    >>> sinc.register_autograd(backward, setup_context=setup_context)
    >>> x = mg.tensor([0.5, 1.5], requires_grad=True)
    >>> y = sinc(x); y
    tensor([ 0.6366, -0.2122], grad_fn=<GeneratedBackwardFor_docs_sinc_defaultBackward>)
    >>> y.sum().backward(); x.grad
    tensor([-1.2732,  0.1415])

    The function may also call a loop that numba has compiled: ``return mg.from_numpy(compiled(x.numpy()))``.
    """
    def make(function):
        namespace, opname, overload = parse_name(name)
        qualname = f"{namespace}::{opname}"
        if schema is None:
            found = make_schema(function, mutates_args, qualname)
            found.overload_name = overload
        else:
            found = parse_schema(qualname, overload, schema)
            declared = {a.name for a in found.writes}
            if declared != ({a.name for a in found.arguments if a.type.is_tensor_like()} if mutates_args == "unknown"
                            else set(mutates_args)):
                raise TensorValueError(
                    "MG-E271", f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The "
                    f"schema suggests that the op mutates {declared or '{}'}, which is different from what was provided to us "
                    "in `mutates_args`. Please make these consistent.", fix="write Tensor(a!) for an argument that is mutated")
        if any(a.type.is_tensor_like() for a in found.keywords):
            raise AutogradNotImplementedError(
                "MG-E270", "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only.", found=str(found),
                fix="move them before the * in the signature")
        op = CustomOpDef(namespace, opname, found, function, tags)
        op.register_kernel(device_types)(function)
        CUSTOM[str(op.default)] = op.default
        REGISTRY[qualname + ("" if overload == "default" else f".{overload}")] = op
        return op

    return make if fn is None else make(fn)


def parse_name(name):
    """Return ``(namespace, name, overload)``."""
    found = re.fullmatch(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)(?:\.(\w+))?", name) if isinstance(name, str) else None
    if found is None:
        raise TensorValueError("MG-E272", f"{name!r} is not the name of a custom operator", expected='"namespace::name"',
                               fix="use the name of your project as the namespace: \"mylib::my_op\"")
    return found[1], found[2], found[3] or "default"


class CustomOperator(Operator):
    """A custom operator for dispatch modes: the string ``a.f.default``, which can be called."""

    definition: CustomOpDef

    @property
    def is_view(self):
        """Always False: an output must not share memory with an input."""
        return False

    def __call__(self, *args, **kwargs):
        return self.definition(*args, **kwargs)


class CustomOpDef:
    """A custom operator. `custom_op` makes it from a function, and you call it like the function.

    Mirrors ``torch._library.custom_ops.CustomOpDef``.

    >>> from minigrad.library import custom_op
    >>> @custom_op("docs::double", mutates_args=())
    ... def double(x: mg.Tensor) -> mg.Tensor:
    ...     return 2 * x
    >>> double, double(mg.ones(2))
    (<CustomOpDef(docs::double)>, tensor([2., 2.]))
    """

    def __init__(self, namespace: str, name: str, schema: Any, fn: Callable[..., Any], tags: Any = None) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = instance(schema, FunctionSchema, "schema", "CustomOpDef")
        self._tags = tags
        self._init_fn = fn
        self._kernels = {}          # device type, or None for all others -> implementation
        self._disabled = set()      # the device types whose kernels are switched off
        self._fake = None
        self._formula = Formula(self._qualname, schema)
        self._function = make_function(self._formula)

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    @property
    def default(self):
        """The operator for a dispatch mode or a checkpoint policy: the string ``a.f.default``, which can be called.

        Mirrors ``torch.ops.a.f.default``.

        >>> from minigrad.library import custom_op
        >>> @custom_op("docs::twice", mutates_args=())
        ... def twice(x: mg.Tensor) -> mg.Tensor:
        ...     return x * 2
        >>> twice.default
        <operator docs.twice.default>
        """
        # It refers to us, and so we do not refer to it: a replaced operator is freed immediately.
        found = CustomOperator(f"{self._namespace}.{self._name}.{self._schema.overload_name}")
        known = CUSTOM.get(found)
        if known is not None and known.definition is self:
            return known
        found.definition, found.in_place = self, bool(self._schema.writes)
        return found

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # ---- calling ------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        schema = self._schema
        inputs, keywords = schema.bind(args, kwargs)
        flat = flatten(schema.positional, inputs)
        tensors = [x for x in flat if isinstance(x, Tensor)]
        state = current()
        if state.forward and any([x._tangent is not None for x in tensors]):  # pyright: ignore[reportAttributeAccessIssue]
            raise AutogradNotImplementedError(
                "MG-E278", f"{self._qualname} does not support forward mode AD: an argument has a tangent, which would be lost. "
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
                fix="write a Function with a jvp; or pass unpack_dual(x).primal for an argument that is constant")
        recorded = state.grad_enabled and any([x.requires_grad for x in tensors])
        dirty = self._check_writes(inputs) if schema.writes and state.grad_enabled else ()
        if not recorded:
            return self._run_without_grad(inputs, keywords, tensors)
        call = Call(lambda: self._run(inputs, keywords, tensors), inputs, keywords, dirty)
        found = self._function.apply(*flat, call)
        flat_outputs = found if isinstance(found, tuple) else (found,)
        for x in dirty:
            x._set_version(x._version - 1)      # mark_dirty has incremented the version a second time
        outputs = unflatten(call.structure.outputs, flat_outputs[len(dirty):])
        return tuple(outputs) if schema.returns_tuple else outputs[0] if outputs else None

    def _collect_written(self, inputs):
        """Return the tensors that the operator writes to."""
        written = [(a, value) for a, value in zip(self._schema.positional, inputs) if a.is_write]
        return [x for a, value in written for x in flatten((a,), (value,)) if x is not None]

    def _check_writes(self, inputs):
        """Return the tensors that the operator writes to and that require a gradient.

        After the call they have this operator in their history, as after any in-place op.

        Raises:
            RuntimeError: a tensor must not be written to: a leaf that requires a gradient, or a view of it.
        """
        dirty = []
        for x in self._collect_written(inputs):
            if x.requires_grad:
                check_inplace(x)
                if not any([x is y for y in dirty]):
                    dirty.append(x)
        if any([x._is_view() for x in dirty]) and len(dirty) + len(self._schema.returns) > 1:
            raise AutogradError(
                "MG-E145", f"{self._qualname} writes to a view that requires a gradient, and has other outputs: it must return a "
                "single Variable.", fix="pass a clone() of the view")
        return tuple(dirty)

    def _run_without_grad(self, inputs, keywords, tensors):
        """Run the kernel with gradients disabled."""
        state = current()
        grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
        state.set_modes(False, inference, False)
        try:
            return self._run(inputs, keywords, tensors)
        finally:
            state.set_modes(grad_enabled, inference, forward)

    def _run(self, inputs, keywords, tensors):
        """Call the innermost dispatch mode, or the kernel of the device. Return the checked output."""
        state = current()
        if state.interceptors:
            args = self._schema.drop_defaults(inputs)
            return self._schema.check_output(call_interceptor(self.default, state, args, bool(self._schema.writes), **keywords))
        for x in self._collect_written(inputs):
            if not x.is_inference() or state.inference:
                x.bump(self._qualname)
        kernel = self._select_kernel(tensors, inputs, keywords)
        output = self._schema.check_output(kernel(*inputs, **keywords))
        outputs = output if isinstance(output, tuple) else (output,)
        new = [x for x in flatten(self._schema.returns, outputs) if isinstance(x, Tensor)]
        for i, x in enumerate(new):
            for others, whose in ((tensors, "an input"), (new[:i], "another output")):
                if any([share_memory(x, y) for y in others]):
                    raise AutogradError(
                        "MG-E275", f"{self._qualname}: The output of this custom operator (1) must not also be an input to this "
                        "custom operator and (2) may not alias any inputs to this custom operator or other returns.",
                        found=f"output {i} shares memory with {whose}", fix="return a clone: y.clone()")
        return output

    def _select_kernel(self, tensors, inputs, keywords):
        """Return the implementation for the device of the first tensor, or for the device argument."""
        if tensors:
            kind = tensors[0].device.type
        else:
            kind = next((x.type for x in (*inputs, *keywords.values()) if isinstance(x, Device)), None)
        found = self._kernels.get(kind)
        if found is None:
            found = self._kernels.get(None)
            if found is None:
                raise AutogradNotImplementedError(
                    "MG-E287", f"Could not run '{self._qualname}' with arguments from the '{str(kind).upper()}' backend.",
                    found=f"kernels for {', '.join(map(str, self._kernels))}", fix=f"op.register_kernel({kind!r})(fn)")
            kind = None
        return self._init_fn if kind in self._disabled else found

    # ---- registering --------------------------------------------------------------------------------------

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None) -> None:
        """Register the formula for the derivative of the operator.

        Args:
            backward (Callable): ``backward(ctx, *grads)`` takes the gradient of each output. An undefined gradient is zeros, or
                None after ``ctx.set_materialize_grads(False)``. It returns a gradient for each positional argument: None for an
                argument that is not a tensor, and a list for a list of tensors. If it computes with saved tensors and ops of
                minigrad, it can be differentiated again.
            setup_context (Callable, optional): ``setup_context(ctx, inputs, output)`` runs after the kernel. It saves on `ctx` the
                values that backward needs, by `save_for_backward` or as attributes. `inputs` are all positional arguments,
                with defaults. If the operator has keyword-only arguments, the call is
                ``setup_context(ctx, inputs, keyword_only_inputs, output)``.

        `ctx` is the ctx of a `Function`. ``ctx.needs_input_grad`` has an entry for each positional argument: a bool, or a list of
        bools for a list of tensors. A second call replaces the formula, also for existing graphs.

        Raises:
            RuntimeError: the operator writes to its arguments, or returns nothing.

        Mirrors ``torch.library.CustomOpDef.register_autograd``.

        >>> from minigrad.library import custom_op
        >>> @custom_op("docs::scale", mutates_args=())
        ... def scale(x: mg.Tensor, factor: float = 2.0) -> mg.Tensor:
        ...     return x * factor
        >>> def setup_context(ctx, inputs, output):
        ...     _, ctx.factor = inputs
        >>> def backward(ctx, grad):
        ...     return grad * ctx.factor, None
        >>> scale.register_autograd(backward, setup_context=setup_context)
        >>> x = mg.ones(2, requires_grad=True)
        >>> scale(x).sum().backward(); x.grad
        tensor([2., 2.])
        """
        if not self._schema.is_functional():
            raise AutogradError(
                "MG-E276", f"Cannot register autograd formula for non-functional operator {self} with schema {self._schema}. "
                "Please create a functional operator and register an autograd formula for that.",
                fix="return the result instead of writing it to an argument")
        self._formula.backward, self._formula.setup_context = backward, setup_context  # pyright: ignore[reportAttributeAccessIssue]

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None,
                        /) -> Callable[..., Any]:
        """Register an implementation for some devices. You can use it as a decorator.

        Args:
            device_types (str, sequence of str, or None): the devices, such as ``"cpu"``; None for all devices without another
                implementation.
            fn (Callable, optional): a function with the arguments and results of the operator. It replaces an earlier one. Without
                it, the result is a decorator.

        Returns:
            Callable: `fn`, or a decorator.

        Raises:
            ValueError: the operator takes neither a tensor nor a device, so no argument decides on the device.

        Mirrors ``torch.library.CustomOpDef.register_kernel``.

        >>> from minigrad.library import custom_op
        >>> @custom_op("docs::name_of", mutates_args=())
        ... def name_of(x: mg.Tensor) -> int:
        ...     return 0
        >>> @name_of.register_kernel("cpu")
        ... def _(x):
        ...     return 1
        >>> name_of(mg.ones(2))
        1
        """
        kinds = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
        if device_types is not None and not any(a.type.kind in ("Tensor", "Device") for a in self._schema.arguments):
            raise TensorValueError(
                "MG-E272", "Functions without tensor inputs are required to have a `device: minigrad.Device` argument",
                found=str(self._schema), fix="leave device_types out, or add such an argument")

        def register(function):
            for kind in kinds:
                self._kernels[kind] = function
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register a function that makes outputs of the right shape and dtype, without their values.

        PyTorch's compiler needs it. In minigrad only `opcheck` uses it, and compares it with the operator. You can use it as a
        decorator.

        Args:
            fn (Callable): a function with the arguments of the operator.

        Returns:
            Callable: `fn`.

        Mirrors ``torch.library.CustomOpDef.register_fake``.

        >>> from minigrad.library import custom_op, opcheck
        >>> @custom_op("docs::gram", mutates_args=())
        ... def gram(x: mg.Tensor) -> mg.Tensor:
        ...     return x.t() @ x
        >>> @gram.register_fake
        ... def _(x):
        ...     return x.new_empty(x.shape[1], x.shape[1])
        >>> opcheck(gram, (mg.ones(3, 2),), test_utils="test_schema")
        {'test_schema': 'SUCCESS'}
        """
        self._fake = fn
        return fn

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Context manager: switch the kernel of a device on or off.

        While it is off, the operator calls the function that it was made from. A warning is logged if the device has no kernel, or
        if the kernel is in this state already.

        Args:
            device_type (str): the device, such as ``"cpu"``.
            enabled (bool): whether the operator uses the kernel.

        Mirrors ``torch.library.CustomOpDef.set_kernel_enabled``.

        >>> from minigrad.library import custom_op
        >>> @custom_op("docs::which", mutates_args=())
        ... def which(x: mg.Tensor) -> int:
        ...     return 0
        >>> _ = which.register_kernel("cpu", lambda x: 1)
        >>> with which.set_kernel_enabled("cpu", False):
        ...     which(mg.ones(2))
        0
        >>> which(mg.ones(2))
        1
        """
        verb = "enable" if enabled else "disable"
        if device_type not in self._kernels:
            log.warning("Attempted to %s kernel for %s but no kernel was registered for this device type.", verb, device_type)
        before = device_type in self._disabled
        if before is not enabled:
            log.warning("Attempted to %s kernel for %s but it was already %sd.", verb, device_type, verb)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)


def share_memory(x, y):
    """Whether two tensors share memory."""
    a, b = x._array, y._array
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):       # on a GPU: all views of a block count as sharing memory
        return getattr(a, "block", a) is getattr(b, "block", b)
    return a is b or find_owner(a) is find_owner(b) or np.may_share_memory(a, b)


def find_owner(array):
    """Return the array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
