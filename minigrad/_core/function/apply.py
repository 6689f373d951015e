"""Call a custom Function: ``Square.apply(x)``.

    1. bind      put keyword arguments and defaults into their positions         autograd/function.py
    2. node      make a new ctx. If the call is recorded, connect it to the nodes of its tensor arguments. It is
                 recorded if gradients are enabled and one of these tensors requires a gradient
    3. forward   call the user's forward, and setup_context, with gradients disabled
    4. outputs   give the outputs their history                                  function/outputs.py
    5. save      save the arguments of save_for_backward                         function/node.py

Tensors inside lists, dicts or objects count as constants: the graph does not look for them.

Mirrors THPFunction_apply of ``torch/csrc/autograd/python_function.cpp``. Read next: ``function/node.py``.
"""

import cython
from cython.cimports.minigrad._core.function.node import PyNode, new_function_node
from cython.cimports.minigrad._core.function.outputs import wrap_outputs
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import State, current
from cython.cimports.minigrad._core.record.apply import requires_grad

from minigrad.errors import AutogradError

_given_setup = cython.declare(object, None)
_bind = cython.declare(object, None)


def use_binding(setup_context, bind):
    """Supply the setup_context method of `Function`, and ``bind(cls, args, kwargs, has_ctx) -> args``."""
    global _given_setup, _bind
    _given_setup = setup_context
    _bind = bind


def apply(cls, *args, **kwargs):
    """Run the forward of a custom Function, and make a node for its backward.

    Args:
        *args, **kwargs: the arguments of forward, without ctx, of any type. Only arguments that are tensors themselves are
            differentiated.

    Returns:
        object: the result of forward, with a history; a tuple if forward returns a tuple. If forward returns an input as it
        is, the caller gets a view of that input. Only after `mark_dirty` it gets the input itself.

    Raises:
        TypeError: the arguments do not fit forward, or forward saved an object that is not a tensor.
        RuntimeError: the outputs of forward contradict its calls of ctx (see `FunctionCtx`).

    If no tensor argument requires a gradient, or under `no_grad`, forward runs but nothing is recorded.
    Mirrors ``torch.autograd.Function.apply``.

    >>> class Scale(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor=2):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.factor, None
    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> y = Scale.apply(x, factor=3); y
    tensor([3., 6.], grad_fn=<ScaleBackward>)
    >>> y.grad_fn.factor, y.grad_fn.needs_input_grad
    (3, (True, False))
    """
    state: State = current()
    setup_context = cls.setup_context
    in_setup: cython.bint = setup_context is not _given_setup
    if kwargs or in_setup:
        args = _bind(cls, args, kwargs, not in_setup)
    node: PyNode = new_function_node(cls._backward_cls, state)
    node.boxed = read_option(cls, "boxed_grads_call", cls.boxed_grads_call)
    node.once = read_option(cls, "clear_saved_tensors_on_access", cls.clear_saved_tensors_on_access)
    n: cython.Py_ssize_t = len(args)
    node.arity = n
    executable: cython.bint = collect_inputs(node, args, state)
    grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
    state.set_modes(False, inference, False)
    try:
        if in_setup:
            output = cls.forward(*args)
            setup_context(node, args, output)
        elif n == 1:
            output = cls.forward(node, args[0])
        else:
            output = cls.forward(node, *args)
    finally:
        state.set_modes(grad_enabled, inference, forward)
    return wrap_outputs(node, args, output, executable, state, in_setup)


@cython.cfunc
def collect_inputs(node: PyNode, args: tuple, state: State) -> cython.bint:
    """Note which arguments are tensors, and which require a gradient. Connect the node if the call is recorded.

    Returns whether the call is recorded.
    """
    i: cython.Py_ssize_t
    tensors: cython.Py_ssize_t = 0
    required: cython.bint = False
    needs: list = [False] * len(args)
    for i in range(len(args)):
        if isinstance(args[i], TensorBase):
            tensors += 1
            if requires_grad(args[i]):
                needs[i] = True
                required = True
    node.needs_input_grad = tuple(needs)
    if tensors != len(args):
        node.variables = tuple([isinstance(x, TensorBase) for x in args])
    if not (required and state.grad_enabled):
        return False
    nodes: list = [None] * tensors
    numbers: list = None        # most are zero
    edge: cython.Py_ssize_t = 0
    for x in args:
        if isinstance(x, TensorBase):
            nodes[edge] = gradient_edge(x)
            if nodes[edge] is not None and cython.cast(TensorBase, x)._output_number != 0:
                if numbers is None:
                    numbers = [0] * tensors
                numbers[edge] = cython.cast(TensorBase, x)._output_number
            edge += 1
    node.connect(tuple(nodes), None if numbers is None else tuple(numbers))
    return True


@cython.cfunc
def read_option(cls, name, value) -> cython.bint:
    if value is not True and value is not False:
        raise AutogradError("MG-E150", f"{name} of {cls.__name__} must be a bool, but is of type {type(value).__name__}",
                            fix=f"{name} = True")
    return value is True
