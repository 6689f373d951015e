"""Interceptors: functions that see each op as it runs, and may compute something else instead.

    x * b          binary, call, apply_inplace
                     1. find out which inputs require a gradient                  above
                     2. interceptor(mul, (x, b), False) -> the result               --- below
                     3. make the node for that result, as for any other           above

An interceptor works *below* autograd: while it runs, gradients are disabled. The interceptor itself is disabled too, so an
op that it calls goes to the next outer interceptor, and at last to the kernels. It returns the result, a tensor or a tuple
of tensors. For an in-place op it writes to the first argument.

Each thread has its own interceptors, in ``State.interceptors``. While there are any, ``State.fast_path`` is False. So every
op takes the slower path, which calls them. Without interceptors, an op has nothing to check.

Mirrors the Python key of PyTorch's dispatcher (``torch/csrc/autograd/python_variable.cpp``, ``TorchDispatchMode``).
The public form is ``minigrad/utils/_python_dispatch.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.tensor import TensorBase, alias, is_plain, make_tensor
from cython.cimports.minigrad._core.record.view_base import make_view

from minigrad._core.record.view_base import CreationMeta
from minigrad.errors import AutogradTypeError

DEFAULT = cython.declare(cython.int, CreationMeta.DEFAULT)
MULTI_OUTPUT_NODE = cython.declare(cython.int, CreationMeta.MULTI_OUTPUT_NODE)


def redispatch(op, state, args, in_place):
    """Let the innermost interceptor run `op` on `args`. Returns its result, a tensor or a tuple of tensors."""
    found = call_interceptor(op, state, args, in_place)
    if type(found) is list:
        found = tuple(found)
    for x in found if type(found) is tuple else (found,):
        if not isinstance(x, TensorBase):
            raise AutogradTypeError(
                "MG-E171", f"a dispatch mode returned {type(x).__name__} for the result of {op.name}, expected a Tensor",
                fix="return func(*args, **kwargs), or tensors like its results")
    return found


def intercept(op, state, args):
    """Let the innermost interceptor run `op` on `args`. Returns the op's results: new tensors without history, one or a list."""
    found = redispatch(op, state, args, False)
    many: cython.bint = type(found) is tuple
    outs = []
    x: TensorBase
    for x in found if many else (found,):
        out = alias(x)      # the interceptor's own tensor gets no history
        if not is_plain(x):
            out = cython.cast(TensorBase, make_tensor(type(x), x._array, x._meta))
            out._counter = x.shared_counter()
        if op.view and x._counter is cython.cast(TensorBase, args[0], typecheck=True)._counter:
            make_view(out, args[0], MULTI_OUTPUT_NODE if many else DEFAULT, state)
        outs.append(out)
    return outs if many else outs[0]


def call_interceptor(op, state, args, in_place, **keywords):
    """Call the innermost interceptor with `op`, a `Primitive` or a custom operator, and return its result unchecked."""
    interceptors = state.interceptors
    grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
    state.interceptors = interceptors[:-1]
    state.set_modes(False, inference, False)
    try:
        return interceptors[-1](op, args, in_place, **keywords)
    finally:
        state.interceptors = interceptors
        state.set_modes(grad_enabled, inference, forward)
