"""Call a custom Function: ``Square.apply(x)``.

    1. bind      put keyword arguments and defaults into their positions         autograd/function.py
    2. node      make a new ctx. If the call is recorded, connect it to the nodes of its tensor arguments. It is
                 recorded if gradients are enabled and one of these tensors requires a gradient
    3. forward   call the user's forward, and setup_context, with gradients disabled
    4. outputs   give the outputs their history                                  function/outputs.py
    5. save      save the arguments of save_for_backward                         function/node.py

Tensors inside lists, dicts or objects count as constants: the graph does not look for them.

Mirrors THPFunction_apply of ``torch/csrc/autograd/python_function.cpp``. Read next: ``function/methods.py``.
"""

import cython
from cython.cimports.minigrad._core.function.methods import Methods
from cython.cimports.minigrad._core.function.node import PyNode, new_function_node
from cython.cimports.minigrad._core.function.outputs import wrap_outputs
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.capi import as_tuple, call_rest, new_tuple, put_item
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import State, current
from cython.cimports.minigrad._core.record.view_base import requires_grad

_bind = cython.declare(object, None)


def use_binding(bind):
    """Supply ``bind(cls, args, kwargs, has_ctx) -> args``."""
    global _bind
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
    methods: Methods = cls._methods
    methods.update()
    in_setup: cython.bint = methods.setup_context is not None
    if kwargs or in_setup:
        args = _bind(cls, args, kwargs, not in_setup)
    node: PyNode = new_function_node(methods, state)
    n: cython.Py_ssize_t = len(args)
    node.arity = n
    executable: cython.bint = collect_inputs(node, args, state)
    grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
    state.set_modes(False, inference, False)
    try:
        if in_setup:
            output = methods.forward(*args)
            methods.setup_context(node, args, output)
        else:
            output = call_rest(methods.forward, node, args, 0)
    finally:
        state.set_modes(grad_enabled, inference, forward)
    return wrap_outputs(node, args, output, executable, state, in_setup)


@cython.cfunc
def collect_inputs(node: PyNode, args: tuple, state: State) -> cython.bint:
    """Note which arguments are tensors, and which require a gradient. Connect the node if the call is recorded.

    Returns whether the call is recorded.
    """
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = len(args)
    tensors: cython.Py_ssize_t = 0
    required: cython.bint = False
    needs: tuple = new_tuple(n)
    for i in range(n):
        x = args[i]
        tensor: cython.bint = isinstance(x, TensorBase)
        needed: cython.bint = tensor and requires_grad(x)
        put_item(needs, i, needed)
        tensors += tensor
        required = required or needed
    node.needs_input_grad = as_tuple(needs)
    if tensors != n:
        node.variables = tuple([isinstance(x, TensorBase) for x in args])
    if not (required and state.grad_enabled):
        return False
    nodes: tuple = new_tuple(tensors)
    numbers: list = None        # most are zero
    edge: cython.Py_ssize_t = 0
    for x in args:
        if isinstance(x, TensorBase):
            following = gradient_edge(x)
            put_item(nodes, edge, following)
            if following is not None and cython.cast(TensorBase, x)._output_number != 0:
                if numbers is None:
                    numbers = [0] * tensors
                numbers[edge] = cython.cast(TensorBase, x)._output_number
            edge += 1
    node.connect(as_tuple(nodes), None if numbers is None else tuple(numbers))
    return True
