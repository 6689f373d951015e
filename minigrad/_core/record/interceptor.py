"""Functions that see each op as it runs, and may compute something else in its place.

    x * b          binary, call, apply_inplace
                     1. find out which inputs require a gradient                  above
                     2. interceptor(mul, (x, b), False) -> the result               --- below
                     3. make a node of it, as for any other result                above

An interceptor works *below* autograd: while it runs, gradients are off, and so is the interceptor itself, so that what
it calls goes to the next one outward and at last to the kernels. It returns the result, a tensor or a tuple of them;
for a write in place it writes.

They are kept per thread, in ``State.interceptors``. While there are any, ``State.fast_path`` is False, which sends
every op to the slower paths, where they are asked; without them nothing is asked and nothing is lost.

Mirrors the Python key of PyTorch's dispatcher (``torch/csrc/autograd/python_variable.cpp``, ``TorchDispatchMode``).
The public form is ``minigrad/utils/_python_dispatch.py``.
"""

from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad.errors import AutogradTypeError


def redispatch(op, state, args, in_place):
    """Have the innermost interceptor run `op` on `args`; returns its result, a tensor or a tuple of them."""
    found = call_interceptor(op, state, args, in_place)
    if type(found) is list:
        found = tuple(found)
    for x in found if type(found) is tuple else (found,):
        if not isinstance(x, TensorBase):
            raise AutogradTypeError(
                "MG-E171", f"a dispatch mode returned {type(x).__name__} for the result of {op.name}, expected a Tensor",
                fix="return func(*args, **kwargs), or tensors like those that it returns")
    return found


def call_interceptor(op, state, args, in_place, **keywords):
    """Call the innermost interceptor with `op`, a `Primitive` or a custom operator. Returns whatever it returns."""
    interceptors = state.interceptors
    grad_enabled, inference, forward = state.grad_enabled, state.inference, state.forward_enabled
    state.interceptors = interceptors[:-1]
    state.set_modes(False, inference, False)
    try:
        return interceptors[-1](op, args, in_place, **keywords)
    finally:
        state.interceptors = interceptors
        state.set_modes(grad_enabled, inference, forward)
