"""Custom functions: a forward and its backward, which the engine runs like those of the built-in ops.

    class Cube(Function):
        def forward(ctx, x): ...            the numbers; ctx remembers what the backward will need
        def backward(ctx, g): ...           the gradient of each argument of forward, given those of its outputs

    y = Cube.apply(x)                       y.grad_fn is ctx, a CubeBackward

`Function` says what may be defined; `FunctionCtx` is what `ctx` offers. The call itself and the node are in the core
(``function/apply.py``, ``function/node.py``).

Mirrors ``torch/autograd/function.py``.
"""

import functools
import inspect
import itertools
import warnings

from minigrad._core.function import apply as function_apply
from minigrad._core.function.node import PyNode, use_function
from minigrad._core.graph.thread_state import current
from minigrad._core.record.delayed_error import delayed_error
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradNotImplementedError, AutogradTypeError
from minigrad.tensor import Tensor

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]

_numbers = itertools.count()


class FunctionCtx:
    """What `ctx` offers to the methods of a `Function`, besides any attribute that one sets on it.

    Mirrors ``torch.autograd.function.FunctionCtx``.
    """

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, which finds them in ``ctx.saved_tensors``. A second call replaces the first.

        Args:
            *tensors (Tensor or None): inputs or outputs of forward. What lies between can be saved too, but a second
                derivative then knows nothing of how it was computed.

        Unlike attributes of ctx, they are checked for modification in place, are freed by the backward, pass through
        `saved_tensors_hooks`, and an output among them makes no reference cycle.

        Raises:
            TypeError: one of them is no tensor, when forward has returned.

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

    def save_for_forward(self, *tensors):
        """Keep tensors for `jvp`, which finds them in ``ctx.saved_tensors``, until apply returns.

        Raises:
            AssertionError: one of them is neither a tensor nor None.

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

    def mark_dirty(self, *args):
        """Say which inputs forward has written to in place. Each must be returned, and its version counts up.

        Raises:
            RuntimeError: one of them is no tensor, is not returned, or is a leaf that requires a gradient; or it is a view
                and there are other outputs. All when forward has returned.

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

    def mark_non_differentiable(self, *args):
        """Say which outputs have no derivative. They require no gradient; backward gets zeros for them.

        Outputs of an integral dtype need no mark. Raises `RuntimeError` if one of them is no tensor, when forward has
        returned.

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

    def set_materialize_grads(self, value):
        """Say whether backward and jvp get zeros where a gradient is undefined (True, as they do anyhow) or None.

        Raises `TypeError` for what is no bool.

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

    def mark_shared_storage(self, *pairs):
        """Does nothing: which tensors share memory is known. Here because old code calls it."""
        warnings.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
                      "to `set_()` are not tracked", FutureWarning, stacklevel=2)


class BackwardCFunction(PyNode, FunctionCtx):
    """The base of every node class that a `Function` gets. Mirrors ``torch.autograd.function.BackwardCFunction``.

    >>> y = mg.autograd.Function._backward_cls
    >>> issubclass(y, mg.autograd.function.BackwardCFunction), issubclass(y, mg.autograd.graph.Node)
    (True, True)
    """

    @property
    def saved_variables(self):
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors


class FunctionMeta(type):
    """Makes a node class for each `Function`: ``Cube._backward_cls`` is ``CubeBackward``, whose ``_forward_cls`` is Cube.

    Mirrors ``torch.autograd.function.FunctionMeta``.
    """

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls._autograd_function_id = next(_numbers)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,),
                                 {"_forward_cls": cls, "_autograd_function_id": cls._autograd_function_id,
                                  "__module__": cls.__module__})


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of functions with a backward of their own: define `forward` and `backward`, and call `apply`.

    Both are static methods. forward gets a `ctx` and the arguments of apply, which may be anything; the tensors
    directly among them are what is differentiated (not those in lists). It runs with gradients disabled, so how it computes
    does not matter, only what it returns: a tensor, or a tuple of tensors and other things. backward gets that ctx
    and the gradient of each output, and returns the gradient of each argument, None for what has none.

    If `setup_context` is defined, forward gets no ctx: ``setup_context(ctx, inputs, output)`` is called after it.

    Attributes:
        boxed_grads_call (bool): backward gets its gradients as one list, ``backward(ctx, grads)``, from which it may
            drop them as it goes.
        clear_saved_tensors_on_access (bool): ``ctx.saved_tensors`` can be read once, and then is freed.
        generate_vmap_rule (bool): accepted as in PyTorch; there is no vmap here.

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

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
                      "invoke them on the class itself: call .apply.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise AutogradError("MG-E141", "Legacy autograd function with non-static forward method is deprecated. Please use "
                            "new-style autograd function with static forward method.", fix=f"{type(self).__name__}.apply(...)")

    apply = classmethod(function_apply.apply)

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs: ``forward(ctx, *args)``, or ``forward(*args)`` beside a `setup_context`. To be defined.

        Raises `NotImplementedError` if it was not.
        """
        raise AutogradNotImplementedError("MG-E140", "You must implement the forward function for custom autograd.Function.",
                                          fix="define a static method forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Note on `ctx` what backward will need, after forward has run.

        Args:
            ctx (FunctionCtx): where to note it.
            inputs (tuple): all arguments of forward, with defaults.
            output: what forward has returned. An input among it cannot be saved as it is.

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
    def backward(ctx, *grad_outputs):
        """Compute the gradient of each argument of forward, given those of its outputs. To be defined.

        Raises `NotImplementedError` if it was not.
        """
        raise AutogradNotImplementedError(
            "MG-E140", "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD.", node=ctx.name(), fix="define a static method backward(ctx, *grad_outputs)")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Compute the tangent of each output, given those of the arguments: forward-mode AD.

        Raises `NotImplementedError` if it was not defined.
        """
        raise AutogradNotImplementedError(
            "MG-E140", "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
            fix="define a static method jvp(ctx, *tangents)")

    @staticmethod
    def vmap(info, in_dims, *args):
        """How the Function maps over a batch. It may be defined, as in PyTorch, but nothing here calls it.

        Raises `NotImplementedError`.
        """
        raise AutogradNotImplementedError(
            "MG-E149", "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True: minigrad has no vmap, so neither would be called.",
            fix="write the batch dimension into forward and backward, or stack() the results of a loop")


class InplaceFunction(Function):
    """A `Function` whose instances remember whether they work in place, from the time when Functions had instances.

    Mirrors ``torch.autograd.function.InplaceFunction``.
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn):
    """Decorator of a `backward` that cannot itself be differentiated: then doing so is an error, and not wrong.

    Goes under ``@staticmethod``. The method runs with gradients disabled. If ``create_graph=True`` asks for a second
    derivative, its results require a gradient, and differentiating them raises `RuntimeError`.

    Mirrors ``torch.autograd.function.once_differentiable``.

    >>> class Sin(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.slope = mg.cos(x)           # how it was computed is not recorded
    ...         return mg.sin(x)
    ...     @staticmethod
    ...     @mg.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return g * ctx.slope
    >>> x = mg.tensor(0., requires_grad=True)
    >>> g, = mg.autograd.grad(Sin.apply(x) ** 2, x, create_graph=True)
    >>> mg.autograd.grad(g, x)
    Traceback (most recent call last):
    RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable
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
            f"remove the decorator from the backward of {type(ctx)._forward_cls.__name__}, if all that it computes with was saved "
            "by save_for_backward", sources, outputs if isinstance(outputs, tuple) else (outputs,))
        return marked if isinstance(outputs, tuple) else marked[0]
    return wrapper


def bind(cls, args, kwargs, has_ctx):
    """The arguments of forward in the order of its parameters.

    Beside a `setup_context` (no `has_ctx`) with all defaults, since that gets them all. Otherwise those that were given: what
    is left out counts as no argument, and needs no gradient.

    Raises:
        TypeError: an argument is missing, unknown, or given twice.
    """
    forward = cls.forward
    if not has_ctx:
        code = getattr(forward, "__code__", None)
        if not kwargs and code is not None and len(args) >= code.co_argcount:
            return args         # nothing to fill in; forward itself complains about too many
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
                                    fix=f"give {names[i]} too, as {names[last]} comes after it")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


use_function(Function)
function_apply.use_binding(Function.setup_context, bind)
