"""Custom operators: a function with a schema, kernels, and (later) a formula for its backward.

    op(x, n=3)
      1. the schema       checks and converts the arguments, fills in defaults            _schema.py
      2. writes           tensors that it will write to are checked, and their versions counted up
      3. a node           if gradients are recorded and a positional tensor requires one  _autograd.py
      4. the kernel       of the device, on the caller's tensors, with gradients off; its output is checked

The function may compute in any way: NumPy, numba, another library. To autograd it is one node.

Mirrors ``torch/_library/custom_ops.py``.
"""

import logging
import re
from contextlib import contextmanager

import numpy as np

from minigrad._arguments import instance
from minigrad._core.graph.metadata import Device
from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace import check_inplace
from minigrad._core.record.interceptor import call_interceptor
from minigrad.errors import AutogradError, AutogradNotImplementedError, TensorValueError
from minigrad.library._autograd import Call, Formula, autograd_class, flatten, unflatten
from minigrad.library._infer_schema import schema_of
from minigrad.library._schema import FunctionSchema, parse_schema
from minigrad.tensor import Tensor
from minigrad.utils._python_dispatch import CUSTOM, Operator

__all__ = ["CustomOpDef", "custom_op"]

log = logging.getLogger(__name__)

REGISTRY = {}       # "ns::name" -> CustomOpDef


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an operator of a function: one node in the graph, whatever the function computes with.

    Can be used as a decorator.

    Args:
        name (str): ``"namespace::name"``. An operator that has this name already is replaced.
        fn (callable): the implementation. Its type hints say what it takes and returns: see `infer_schema`. It gets the caller's
            tensors, any shape and dtype, runs with gradients disabled, and returns new tensors: an output may share memory
            neither with an input nor with another output.
        mutates_args (iterable of str, or "unknown"): the arguments that it writes to; "unknown" stands for all tensors. Their
            versions go up by one with each call, so that a backward that has saved them notices.
        device_types (str or sequence of str, optional): the devices for which it is the implementation, all by default.
        schema (str, optional): instead of type hints, such as ``"(Tensor x, int n=2) -> Tensor"``.
        tags: accepted as in PyTorch; nothing here looks at them.

    Returns:
        CustomOpDef: the operator, to be called like the function. Until `register_autograd` has given it a formula, only the
        backward through it fails.

    Raises:
        ValueError: the name has no namespace; the type hints do not do; `mutates_args` contradicts the signature or the schema.
        NotImplementedError: a tensor that can only be given by keyword.
        RuntimeError: the schema cannot be read. When called: an argument or the output is not what the schema says; an output
            shares memory with an input; a leaf that requires a gradient would be written to; no formula, in the backward.

    Mirrors ``torch.library.custom_op``. An operator is kept until its name is used again.

    A NumPy function, made differentiable:

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

    A loop that numba compiles goes the same way: ``return mg.from_numpy(compiled(x.numpy()))``.
    """
    def make(function):
        namespace, opname, overload = parsed_name(name)
        qualname = f"{namespace}::{opname}"
        if schema is None:
            found = schema_of(function, mutates_args, qualname)
            found.overload_name = overload
        else:
            found = parse_schema(qualname, overload, schema)
            declared = {a.name for a in found.writes}
            if declared != ({a.name for a in found.arguments if a.type.is_tensor_like()} if mutates_args == "unknown"
                            else set(mutates_args)):
                raise TensorValueError(
                    "MG-E271", f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The "
                    f"schema suggests that the op mutates {declared or '{}'}, which is different from what was provided to us "
                    "in `mutates_args`. Please make these consistent.", fix="write Tensor(a!) for what is written to")
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


def parsed_name(name):
    """``(namespace, name, overload)``"""
    found = re.fullmatch(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)(?:\.(\w+))?", name) if isinstance(name, str) else None
    if found is None:
        raise TensorValueError("MG-E272", f"{name!r} is no name of a custom operator", expected='"namespace::name"',
                               fix="take the name of your project as the namespace: \"mylib::my_op\"")
    return found[1], found[2], found[3] or "default"


class CustomOperator(Operator):
    """A custom operator as a dispatch mode sees it: ``a.f.default``."""

    definition: "CustomOpDef"

    @property
    def is_view(self):
        """Never: an output may not share memory with an input."""
        return False

    def __call__(self, *args, **kwargs):
        return self.definition(*args, **kwargs)


class CustomOpDef:
    """An operator. Made by `custom_op`; called like the function that it was made of.

    Mirrors ``torch._library.custom_ops.CustomOpDef``.

    >>> from minigrad.library import custom_op
    >>> @custom_op("docs::double", mutates_args=())
    ... def double(x: mg.Tensor) -> mg.Tensor:
    ...     return 2 * x
    >>> double, double(mg.ones(2))
    (<CustomOpDef(docs::double)>, tensor([2., 2.]))
    """

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace = namespace
        self._name = name
        self._schema = instance(schema, FunctionSchema, "schema", "CustomOpDef")
        self._tags = tags
        self._init_fn = fn
        self._kernels = {}          # device type, None for all -> implementation
        self._disabled = set()      # the device types whose kernel is not to be used
        self._fake = None
        self._formula = Formula(self._qualname, schema)
        self._function = autograd_class(self._formula)

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    @property
    def default(self):
        """The operator as a dispatch mode or a policy of checkpointing sees it: ``a.f.default``, a `str` that can be called.

        Mirrors ``torch.ops.a.f.default``.

        >>> from minigrad.library import custom_op
        >>> @custom_op("docs::twice", mutates_args=())
        ... def twice(x: mg.Tensor) -> mg.Tensor:
        ...     return x * 2
        >>> twice.default
        <operator docs.twice.default>
        """
        # It holds us, and so we do not hold it: an operator that is replaced is freed at once.
        found = CustomOperator(f"{self._namespace}.{self._name}.{self._schema.overload_name}")
        known = CUSTOM.get(found)
        if known is not None and known.definition is self:
            return known
        found.definition, found.in_place = self, bool(self._schema.writes)
        return found

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    # ---- calling ------------------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        schema = self._schema
        inputs, keywords = schema.bind(args, kwargs)
        flat = flatten(schema.positional, inputs)
        tensors = [x for x in flat if isinstance(x, Tensor)]
        state = current()
        if state.forward and any([x._tangent is not None for x in tensors]):  # pyright: ignore[reportAttributeAccessIssue]
            raise AutogradNotImplementedError(
                "MG-E278", f"{self._qualname} does not support forward mode AD: an argument has a tangent, which would be lost. "
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
                fix="write a Function with a jvp, or unpack_dual(x).primal for what is a constant here")
        recorded = state.grad_enabled and any([x.requires_grad for x in tensors])
        dirty = self._check_writes(inputs) if schema.writes and state.grad_enabled else ()
        if not recorded:
            return self._below_autograd(inputs, keywords, tensors)
        call = Call(lambda: self._run(inputs, keywords, tensors), inputs, keywords, dirty)
        found = self._function.apply(*flat, call)
        flat_outputs = found if isinstance(found, tuple) else (found,)
        for x in dirty:
            x._set_version(x._version - 1)      # mark_dirty has counted the write a second time
        outputs = unflatten(call.structure.outputs, flat_outputs[len(dirty):])
        return tuple(outputs) if schema.returns_tuple else outputs[0] if outputs else None

    def _written(self, inputs):
        """The tensors that the operator writes to."""
        written = [(a, value) for a, value in zip(self._schema.positional, inputs) if a.is_write]
        return [x for a, value in written for x in flatten((a,), (value,)) if x is not None]

    def _check_writes(self, inputs):
        """The tensors that are written to and require a gradient.

        A tensor that requires one has this operator in its history from now on, as after any write in place.

        Raises:
            RuntimeError: one may not be written to: a leaf that requires a gradient, or a view of one.
        """
        dirty = []
        for x in self._written(inputs):
            if x.requires_grad:
                check_inplace(x)
                if not any([x is y for y in dirty]):
                    dirty.append(x)
        if any([x._is_view() for x in dirty]) and len(dirty) + len(self._schema.returns) > 1:
            raise AutogradError(
                "MG-E145", f"{self._qualname} writes to a view that requires a gradient, and has other outputs: it must return a "
                "single Variable.", fix="give it a clone() of the view")
        return tuple(dirty)

    def _below_autograd(self, inputs, keywords, tensors):
        """Run the kernel with gradients off."""
        state = current()
        grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
        state.set_modes(False, inference, False)
        try:
            return self._run(inputs, keywords, tensors)
        finally:
            state.set_modes(grad_enabled, inference, forward)

    def _run(self, inputs, keywords, tensors):
        """The output, checked: of the innermost dispatch mode, which sees the operator as one op, or of the device's kernel."""
        state = current()
        if state.interceptors:
            given = self._schema.without_defaults(inputs)
            return self._schema.results(call_interceptor(self.default, state, given, bool(self._schema.writes), **keywords))
        for x in self._written(inputs):
            if not x.is_inference() or state.inference:
                x.bump(self._qualname)
        kernel = self._kernel(tensors, inputs, keywords)
        output = self._schema.results(kernel(*inputs, **keywords))
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

    def _kernel(self, tensors, inputs, keywords):
        """The implementation for the device of the first tensor, or of the device argument."""
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

    def register_autograd(self, backward, /, *, setup_context=None):
        """Say how the operator is differentiated.

        Args:
            backward (callable): ``backward(ctx, *grads)`` gets the gradient of each output, zeros if there is none (None after
                ``ctx.set_materialize_grads(False)``), and returns one for each positional argument: None for what is no
                tensor, a list for a list of tensors. If it computes with recorded operations, of what was saved, it can itself
                be differentiated.
            setup_context (callable): ``setup_context(ctx, inputs, output)`` runs after the kernel, and notes on `ctx` what backward
                will need: `save_for_backward`, or attributes. `inputs` are all positional arguments, with defaults.
                If there are keyword-only ones it gets them too: ``setup_context(ctx, inputs, keyword_only_inputs, output)``.

        `ctx` is that of `Function`; ``ctx.needs_input_grad`` has an entry for each positional argument, a list for a list of
        tensors. Registering again replaces the formula, for graphs that are there already too.

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
                fix="return the result instead of writing it into an argument")
        self._formula.backward, self._formula.setup_context = backward, setup_context

    def register_kernel(self, device_types, fn=None, /):
        """Give the operator an implementation for some devices. Can be used as a decorator.

        Args:
            device_types (str, sequence of str, or None): ``"cpu"``; None for all that have no other.
            fn (callable): takes and returns what the operator does. Replaces the one that there was.

        Raises:
            ValueError: the operator takes neither a tensor nor a device, so that nothing says where it is to run.

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

    def register_fake(self, fn, /):
        """Give the operator a function that makes outputs of the right shape and dtype, and computes nothing.

        In PyTorch compilers need it; here `opcheck` compares it with the operator. Returns `fn`: can be used as a decorator.

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
    def set_kernel_enabled(self, device_type, enabled=True):
        """Context manager: inside, the kernel of a device is not used, but the function that the operator was made of; or, with
        `enabled`, it is used again.

        Logs a warning if there is no such kernel, or if it is in that state already.
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
    """Whether two tensors lie in the same memory, or in parts of it."""
    a, b = x._array, y._array
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):       # on a GPU, where all views of a block share it
        return getattr(a, "block", a) is getattr(b, "block", b)
    return a is b or owner(a) is owner(b) or np.may_share_memory(a, b)


def owner(array):
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
