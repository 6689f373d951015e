"""Custom functions: you write a forward and its backward, and the engine runs them like a built-in op.

    class Cube(Function):
        def forward(ctx, x): ...            computes the outputs; saves on ctx the tensors that the backward needs
        def backward(ctx, g): ...           computes the gradients of the arguments from the gradients of the outputs

    y = Cube.apply(x)                       y.grad_fn is ctx, a CubeBackward

`Function` has the methods that you may define; `FunctionCtx` has the methods of `ctx`. The core has `apply`
(``function/apply.py``) and the node (``function/node.py``).

Mirrors ``torch/autograd/function.py``.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from typing import TYPE_CHECKING

from minigrad._core.function import apply as function_apply
from minigrad._core.function.methods import Methods, use_function
from minigrad._core.function.node import PyNode
from minigrad._core.graph.thread_state import current
from minigrad._core.record.delayed_error import delayed_error
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradNotImplementedError, AutogradTypeError
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]

_numbers = itertools.count()


class FunctionCtx:
    """The methods of `ctx`. You may also set any attribute on `ctx`.

    Mirrors ``torch.autograd.function.FunctionCtx``.

    >>> class Double(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         print(isinstance(ctx, mg.autograd.function.FunctionCtx), ctx.needs_input_grad)
    ...         return 2 * x
    >>> y = Double.apply(mg.ones(2, requires_grad=True))
    True (True,)
    """

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for the backward, which reads them from ``ctx.saved_tensors``. A second call replaces the first.

        Saved tensors are better than attributes of ctx: the backward checks their versions and then releases them,
        `saved_tensors_hooks` apply to them, and a saved output makes no reference cycle.

        Args:
            *tensors (Tensor or None): inputs or outputs of forward. Intermediate results can be saved too, but they have no
                history: a second derivative counts them as constants.

        Raises:
            TypeError: an argument is neither a tensor nor None. It is raised after forward has returned.

        Mirrors ``torch.autograd.function.FunctionCtx.save_for_backward``.

        >>> class Exp(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         y, = ctx.saved_tensors
        ...         return g * y
        >>> x = mg.tensor([0., 1.], requires_grad=True)
        >>> Exp.apply(x).sum().backward(); x.grad
        tensor([1.0000, 2.7183])
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, which reads them from ``ctx.saved_tensors``. They are dropped when apply returns.

        Args:
            *tensors (Tensor or None): the tensors to save.

        Raises:
            AssertionError: an argument is neither a tensor nor None.

        Mirrors ``torch.autograd.function.FunctionCtx.save_for_forward``.

        >>> class Square(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_forward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def jvp(ctx, t):
        ...         x, = ctx.saved_tensors
        ...         return 2 * x * t
        >>> Square.apply(mg.tensor(3.))
        tensor(9.)
        """
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise AutogradAssertionError(
                    "MG-E142", "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                    "ctx.", found=type(x).__name__, fix="ctx.n = n")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Name the inputs that forward has written to in place. Forward must return them. Their versions are incremented.

        Args:
            *args (Tensor): inputs of forward.

        Raises:
            RuntimeError: an argument is not a tensor, is not returned, or is a leaf that requires a gradient; or it is a view and
                there are other outputs. It is raised after forward has returned.

        Mirrors ``torch.autograd.function.FunctionCtx.mark_dirty``.

        >>> class Double_(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        >>> a = mg.tensor([1., 2.], requires_grad=True)
        >>> b = a * 1
        >>> Double_.apply(b) is b
        True
        >>> b.sum().backward(); a.grad
        tensor([2., 2.])
        """
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Name the outputs that have no derivative. They require no gradient, and backward gets zeros for them.

        Outputs of an integral dtype need no mark.

        Args:
            *args (Tensor): outputs of forward.

        Raises:
            RuntimeError: an argument is not a tensor. It is raised after forward has returned.

        Mirrors ``torch.autograd.function.FunctionCtx.mark_non_differentiable``.

        >>> class Sort(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         order = mg.tensor([2., 0., 1.])
        ...         ctx.mark_non_differentiable(order)
        ...         return x * 1, order
        ...     @staticmethod
        ...     def backward(ctx, g, _):
        ...         return g
        >>> y, order = Sort.apply(mg.tensor([2., 3., 1.], requires_grad=True))
        >>> y.requires_grad, order.requires_grad
        (True, False)
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose the value that backward and jvp get for an undefined gradient or tangent: zeros or None.

        Args:
            value (bool): True for zeros, the default; False for None.

        Raises:
            TypeError: `value` is not a bool.

        Mirrors ``torch.autograd.function.FunctionCtx.set_materialize_grads``.

        >>> class Two(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x * 1, x * 2
        ...     @staticmethod
        ...     def backward(ctx, g, h):
        ...         print(g, h)
        ...         return g
        >>> Two.apply(mg.tensor(1., requires_grad=True))[0].backward()
        tensor(1.) None
        """
        self.materialize_grads = value

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Deprecated: it does nothing, because autograd tracks shared memory itself. Old programs call it.

        Mirrors ``torch.autograd.function.FunctionCtx.mark_shared_storage``.
        """
        warnings.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
                      "to `set_()` are not tracked", FutureWarning, stacklevel=2)


class BackwardCFunction(PyNode, FunctionCtx):
    """The base class of the node classes: each `Function` has its own. Mirrors ``torch.autograd.function.BackwardCFunction``.

    >>> node_class = mg.autograd.Function._backward_cls
    >>> issubclass(node_class, mg.autograd.function.BackwardCFunction), issubclass(node_class, mg.autograd.graph.Node)
    (True, True)
    """

    @property
    def saved_variables(self):
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors


class FunctionMeta(type):
    """Makes a node class for each `Function`: ``Cube._backward_cls`` is ``CubeBackward``, and its ``_forward_cls`` is Cube.

    Mirrors ``torch.autograd.function.FunctionMeta``.

    >>> class Cube(mg.autograd.Function):
    ...     pass
    >>> type(Cube).__name__, Cube._backward_cls.__name__
    ('FunctionMeta', 'CubeBackward')
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._autograd_function_id = next(_numbers)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,),
                                 {"_forward_cls": cls, "_autograd_function_id": cls._autograd_function_id,
                                  "__module__": cls.__module__})
        cls._methods = Methods(cls)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom functions: define the static methods `forward` and `backward`, and call `apply`.

    ``forward(ctx, *args)`` takes the arguments of apply, which may be any objects. It returns a tensor, or a tuple of tensors and
    other objects. The Function is differentiated with respect to its tensor arguments; a tensor inside a list is a constant.
    forward runs with gradients disabled: its ops are not recorded.

    ``backward(ctx, *grads)`` takes the gradient of each output, and returns the gradient of each argument. It returns None
    for an argument that has no gradient.

    If you define `setup_context`, forward takes no ctx: ``setup_context(ctx, inputs, output)`` is called after forward.

    Attributes:
        boxed_grads_call (bool): pass the gradients as one list, ``backward(ctx, grads)``. backward may remove a gradient from the
            list to free its memory early.
        clear_saved_tensors_on_access (bool): the first read of ``ctx.saved_tensors`` releases them.
        generate_vmap_rule (bool): accepted as in PyTorch; minigrad's vmap calls every Function once for each example.

    Mirrors ``torch.autograd.Function``.

    >>> class Cube(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> x = mg.tensor(2., requires_grad=True)
    >>> y = Cube.apply(x); y
    tensor(8., grad_fn=<CubeBackward>)
    >>> g, = mg.autograd.grad(y, x, create_graph=True); g
    tensor(12., grad_fn=<MulBackward0>)
    >>> mg.autograd.grad(g, x)
    (tensor(12.),)
    """

    boxed_grads_call = False
    clear_saved_tensors_on_access = False
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
                      "invoke them on the class itself: call .apply.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AutogradError("MG-E141", "Legacy autograd function with non-static forward method is deprecated. Please use "
                            "new-style autograd function with static forward method.", fix=f"{type(self).__name__}.apply(...)")

    apply = classmethod(function_apply.apply)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. A subclass defines ``forward(ctx, *args)``, or ``forward(*args)`` and `setup_context`.

        Args:
            ctx (FunctionCtx): the node; save on it the tensors that backward needs.
            *args: the arguments of apply.

        Returns:
            Tensor, or a tuple of tensors and other objects.

        Raises:
            NotImplementedError: the subclass does not define it.

        Mirrors ``torch.autograd.Function.forward``. `Function` has an example.
        """
        raise AutogradNotImplementedError("MG-E140", "You must implement the forward function for custom autograd.Function.",
                                          fix="define a static method forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save on `ctx` the values that backward needs. It is called after forward.

        Args:
            ctx (FunctionCtx): the node to save on.
            inputs (tuple): all arguments of forward, with the default values.
            output: the result of forward. An input that forward returns itself cannot be saved; return a view of it instead.

        Raises:
            NotImplementedError: the subclass does not define it.

        Mirrors ``torch.autograd.Function.setup_context``.

        >>> class Power(mg.autograd.Function):
        ...     @staticmethod
        ...     def forward(x, n=2):
        ...         return x ** n
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         x, ctx.n = inputs
        ...         ctx.save_for_backward(x)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         x, = ctx.saved_tensors
        ...         return g * ctx.n * x ** (ctx.n - 1), None
        >>> x = mg.tensor(3., requires_grad=True)
        >>> Power.apply(x).backward(); x.grad
        tensor(6.)
        """
        raise AutogradNotImplementedError("MG-E140", "setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments of forward from the gradients of its outputs. A subclass defines it.

        Args:
            ctx (FunctionCtx): the node, with the values that forward has saved.
            *grad_outputs (Tensor or None): the gradient of each output.

        Returns:
            Tensor or None, or a tuple of them: the gradient of each argument of forward.

        Raises:
            NotImplementedError: the subclass does not define it.

        Mirrors ``torch.autograd.Function.backward``. `Function` has an example.
        """
        raise AutogradNotImplementedError(
            "MG-E140", "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD.", node=ctx.name(), fix="define a static method backward(ctx, *grad_outputs)")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Tensor | None) -> Any:
        """Compute the tangents of the outputs from the tangents of the arguments: forward-mode AD.

        Args:
            ctx (FunctionCtx): the node, with the values that forward has saved.
            *grad_inputs (Tensor or None): the tangent of each argument of forward.

        Returns:
            Tensor or None, or a tuple of them: the tangent of each output.

        Raises:
            NotImplementedError: the subclass does not define it.

        Mirrors ``torch.autograd.Function.jvp``. `FunctionCtx.save_for_forward` has an example.
        """
        raise AutogradNotImplementedError(
            "MG-E140", "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
            fix="define a static method jvp(ctx, *tangents)")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Apply the Function to a batch. You may define it, as in PyTorch, but minigrad never calls it.

        Raises:
            NotImplementedError: always, unless the subclass defines it.

        Mirrors ``torch.autograd.Function.vmap``.
        """
        raise AutogradNotImplementedError(
            "MG-E149", "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True: minigrad's vmap needs neither, since it calls the Function once for each example.",
            fix="do not call this method: use mg.func.vmap")


class InplaceFunction(Function):
    """Accepted for old programs: a `Function` with instances, which have an attribute `inplace`.

    Mirrors ``torch.autograd.function.InplaceFunction``.

    >>> class Old(mg.autograd.function.InplaceFunction):
    ...     pass
    >>> issubclass(Old, mg.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a `backward` that cannot be differentiated again: a second derivative raises an error.

    Write it below ``@staticmethod``. The method runs with gradients disabled. With ``create_graph=True`` its results require a
    gradient, and a backward through them raises `RuntimeError`.

    Args:
        fn (Callable): the method ``backward(ctx, *grad_outputs)``.

    Returns:
        Callable: the wrapped method.

    Mirrors ``torch.autograd.function.once_differentiable``.

    >>> class Sin(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.slope = mg.cos(x)           # forward is not recorded: the slope has no history
    ...         return mg.sin(x)
    ...     @staticmethod
    ...     @mg.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return g * ctx.slope
    >>> x = mg.tensor(0., requires_grad=True)
    >>> g, = mg.autograd.grad(Sin.apply(x) ** 2, x, create_graph=True)
    >>> mg.autograd.grad(g, x)
    Traceback (most recent call last):
    RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable...
    """
    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        sources = [x for x in args if isinstance(x, Tensor) and x.requires_grad]
        if not (current().grad_enabled and sources):
            return outputs
        marked = delayed_error(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            f"remove the decorator from the backward of {type(ctx)._forward_cls.__name__}, if it computes only with its gradients "
            "and with tensors from save_for_backward", sources, outputs if isinstance(outputs, tuple) else (outputs,))
        return marked if isinstance(outputs, tuple) else marked[0]
    return wrapper


def bind(cls, args, kwargs, has_ctx):
    """Return the arguments of forward in the order of its parameters.

    Without `has_ctx` there is a `setup_context`, which gets all arguments: the result includes the defaults. With `has_ctx`, the
    result has only the arguments that the caller passed. The others need no gradient.

    Raises:
        TypeError: an argument is missing, is unknown, or has two values.
    """
    forward = cls.forward
    if not has_ctx:
        code = getattr(forward, "__code__", None)
        if not kwargs and code is not None and len(args) >= code.co_argcount:
            return args         # there is no default to add; forward itself raises if there are too many
        bound = inspect.signature(forward).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args
    parameters = [p for p in inspect.signature(forward).parameters.values()
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    names = [p.name for p in parameters]
    for name in kwargs:
        if name not in names:
            raise AutogradTypeError("MG-E151", f"{forward.__name__}() got an unexpected keyword argument {name!r}")
        if names.index(name) < len(args):
            raise AutogradTypeError("MG-E151", f"{forward.__name__}() got multiple values for argument {name!r}")
    last = max(map(names.index, kwargs))
    for i in range(len(args), last):
        if names[i] not in kwargs:
            raise AutogradTypeError("MG-E151", f"{forward.__name__}() missing required argument: {names[i]!r} (position {i})",
                                    fix=f"pass {names[i]} too: {names[last]} comes after it")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


use_function(Function)
function_apply.use_binding(bind)
