"""Checkpointing with a custom Function: the whole function is one node, and the backward of the node runs a nested backward.

    forward     f(x) under no_grad                            x ── CheckpointFunctionBackward ── y
    backward    x' = x detached;  y' = f(x') with gradients
                backward(y', gradient of y)                   a nested backward: it also accumulates into the parameters of f
                gradient of x = x'.grad

The outer backward does not know the leaves that the nested backward reaches. So only plain `backward` works, without `inputs`.

Mirrors ``CheckpointFunction`` of ``torch/utils/checkpoint.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad import autograd, random
from minigrad._arguments import listed
from minigrad._core.engine.execute import is_checkpoint_valid
from minigrad._core.graph.thread_state import current
from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Detach the tensors of a tuple. A tensor that required a gradient requires one again.

    Args:
        inputs (tuple): tensors and other objects.

    Returns:
        tuple: the detached tensors, and the other objects unchanged.

    Raises:
        RuntimeError: `inputs` is not a tuple.

    Mirrors ``torch.utils.checkpoint.detach_variable``.

    >>> x = mg.ones(2, requires_grad=True) * 2
    >>> y, three = mg.utils.checkpoint.detach_variable((x, 3))
    >>> y.requires_grad, y.is_leaf, three
    (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise AutogradError("MG-E163", "Only tuple of tensors is supported. Got Unsupported input type: " + type(inputs).__name__)
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among `inputs` requires a gradient.

    Args:
        inputs (iterable): tensors and other objects.

    Raises:
        TypeError: `inputs` is not iterable.

    Mirrors ``torch.utils.checkpoint.check_backward_validity``.

    >>> mg.utils.checkpoint.check_backward_validity([mg.ones(2, requires_grad=True), 3])
    """
    if not any(isinstance(x, Tensor) and x.requires_grad for x in listed(inputs, "inputs", "check_backward_validity")):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """The Function of ``checkpoint(use_reentrant=True)``. Mirrors ``torch.utils.checkpoint.CheckpointFunction``.

    >>> x = mg.tensor([0.], requires_grad=True)
    >>> y = mg.utils.checkpoint.CheckpointFunction.apply(lambda x: x.sin().exp(), True, x)
    >>> y.backward(); x.grad
    tensor([1.])
    """

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = random.get_rng_state() if preserve_rng_state else None
        ctx.autocast = current().autocast
        ctx.save_for_backward(*[x for x in args if isinstance(x, Tensor)])
        ctx.others = [None if isinstance(x, Tensor) else (x,) for x in args]
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not is_checkpoint_valid():
            raise AutogradError(
                "MG-E169", "When use_reentrant=True, minigrad.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(): the leaves that the function reaches are not in this graph.",
                fix="use_reentrant=False; or call .backward() without `inputs`")
        tensors = iter(ctx.saved_tensors)
        inputs = detach_variable(tuple([next(tensors) if other is None else other[0] for other in ctx.others]))
        with random.fork_rng(enabled=ctx.rng_state is not None), enable_grad():
            if ctx.rng_state is not None:
                random.set_rng_state(ctx.rng_state)
            state = current()
            autocast = state.autocast
            state.set_autocast(ctx.autocast and ctx.autocast.renewed())
            try:
                outputs = ctx.run_function(*inputs)
            finally:
                state.set_autocast(autocast)
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        pairs = [(y, g) for y, g in zip(outputs, grads) if isinstance(y, Tensor) and y.requires_grad]
        if not pairs:
            raise AutogradError("MG-E170", "none of output has requires_grad=True, this checkpoint() is not necessary",
                                fix="call the function without checkpoint")
        autograd.backward([y for y, _ in pairs], [g for _, g in pairs])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in inputs]
