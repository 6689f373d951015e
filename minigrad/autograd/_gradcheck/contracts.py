"""Checks that every backward and jvp must pass, besides the right Jacobian.

    a gradient of zeros gives zeros: backward is linear                     expect_linear
    an undefined gradient (None) counts as zeros, for each output           expect_undefined_handled
    an undefined tangent counts as zeros, for each input                    expect_undefined_tangents_handled
    a batch gives the same results as one call for each row                 expect_batched, expect_batched_forward

PyTorch computes a batch with vmap, and checks that backward works under vmap. minigrad computes a batch in a loop
(`autograd.grad` with is_grads_batched). The check compares the loop with single calls.

Mirrors ``_test_backward_mul_by_grad_output``, ``_test_undefined_backward_mode`` and similar functions of
``torch/autograd/gradcheck.py``.
"""

import warnings

import numpy as np

from minigrad.autograd._backward import grad
from minigrad.autograd._gradcheck.analytical import compute_tangents
from minigrad.autograd._gradcheck.numerical import call_function, components, draw_uniform
from minigrad.autograd.function import Function
from minigrad.creation import zeros
from minigrad.errors import GradcheckError
from minigrad.ops.shape.cat_split import stack

__all__ = ["expect_batched", "expect_batched_forward", "expect_linear", "expect_undefined_handled",
           "expect_undefined_tangents_handled"]


def make_zeros(outputs):
    """Return contiguous gradients of zeros for `outputs`."""
    return [zeros(tuple(y.shape), dtype=y.dtype, device=y.device) for y in outputs]


def expect_linear(check):
    """Raise unless grad_outputs of zeros give gradients of zeros, of the right dtype and shape."""
    xs = [check.inputs[i] for i in check.indices]
    for i, x, g in zip(check.indices, xs, grad(check.differentiable_outputs, xs, make_zeros(check.differentiable_outputs),
                                               retain_graph=True, allow_unused=True)):
        if g is None:
            continue
        if components(g).any():
            raise GradcheckError(
                "MG-E263", "backward not multiplied by grad_output", found=f"for a grad_output of zeros input {i} has the gradient "
                f"{np.array2string(g.detach().cpu().numpy(), precision=4, threshold=20)}",
                cause="backward ignores grad_output, or adds something to it",
                fix="return grad_output * derivative: a backward is linear in grad_output")
        for what, found, expected in (("type", g.dtype.name, x.dtype.name), ("size", tuple(g.shape), tuple(x.shape))):
            if found != expected:
                raise GradcheckError("MG-E262", f"grad is incorrect {what}", expected=f"{expected}, as input {i}", found=str(found),
                                     fix="convert it in backward: g.to(x.dtype)")


class UndefinedGrad(Function):
    """Returns its input, and stops the gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, *grads):
        return None


def expect_undefined_handled(check):
    """Raise unless undefined gradients count as zeros: first all gradients undefined, then each one while the others are zeros."""
    count = len(check.differentiable_outputs)
    for undefined in [set(range(count)), *([{k} for k in range(count)] if count > 1 else [])]:
        outputs = [y for y in call_function(check.fn, check.inputs) if y.requires_grad]
        roots = [UndefinedGrad.apply(y) if k in undefined else y for k, y in enumerate(outputs)]
        which = "all gradients" if len(undefined) == count else f"the gradient of output {min(undefined)}"
        try:
            found = grad(roots, [check.inputs[i] for i in check.indices], make_zeros(roots), allow_unused=True)
        except RuntimeError as error:
            warn_of_new_check()
            raise GradcheckError(
                "MG-E264", "Expected backward function to handle undefined output grads", found=f"with {which} undefined, "
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                fix="None stands for zeros: return None for it, or use set_materialize_grads(True), which replaces None by "
                    "zeros") from error
        for i, g in zip(check.indices, found):
            if g is not None and components(g).any():
                warn_of_new_check()
                raise GradcheckError(
                    "MG-E264", "Expected all input grads to be undefined or zero when all output grads are undefined or zero",
                    found=f"with {which} undefined and the rest zero, input {i} has the gradient "
                    f"{np.array2string(g.detach().cpu().numpy(), precision=4, threshold=20)}",
                    fix="if a gradient is None, return None, or the result for zeros")


def warn_of_new_check():
    """Give the warning that PyTorch gives with these errors."""
    warnings.warn("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
                  "break existing callers of this function. If this is true for you, you can call this function with "
                  "\"check_undefined_grad=False\" to disable the feature", UserWarning, stacklevel=5)


def expect_undefined_tangents_handled(check):
    """Raise unless an input without a tangent gives the same as an input with a tangent of zeros."""
    directions = {i: check.draw_tangent(check.inputs[i]) for i in check.indices}
    for i in check.indices:
        others = {k: t for k, t in directions.items() if k != i}
        given = compute_tangents(check.fn, check.inputs, others)
        without = compute_tangents(check.fn, check.inputs, others, undefined=(i,))
        for o, (a, b) in enumerate(zip(given, without)):
            if a is not None and b is not None and not np.allclose(components(a), components(b), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    "MG-E264", f"Mismatch in tangent values for output with index: {o} when input: {i} has an undefined tangent "
                    "value",
                    expected=str(a), found=str(b), fix="in jvp, None stands for a tangent of zeros: leave its term out")


def expect_batched(check, o):
    """Raise unless a batch of two grad_outputs gives the same gradients as two single calls."""
    y, xs = check.outputs[o], [check.inputs[i] for i in check.indices]
    batch = draw_uniform((2, *y.shape), y.dtype, check.generator).to(y.device)
    alone = [grad(y, xs, g, retain_graph=True, allow_unused=True) for g in batch]
    try:
        together = grad(y, xs, batch, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError("MG-E267", f"While computing batched gradients, got: {error}") from error
    for i, found, *expected in zip(check.indices, together, *alone):
        expect_same_rows(found, expected, f"For output {o} and input {i}, batched gradients differ from those computed one "
                         "at a time")


def expect_batched_forward(check):
    """Raise unless a batch of two directions gives the same tangents as two single calls. The batch is a loop."""
    for i in check.indices:
        batch = [check.draw_tangent(check.inputs[i]) for _ in range(2)]
        first, second = ([compute_tangents(check.fn, check.inputs, {i: t}) for t in batch] for _ in range(2))
        for o, (found, *expected) in enumerate(zip(zip(*first), *second)):
            found = None if found[0] is None else stack(list(found))
            expect_same_rows(found, expected, f"For output {o} and input {i}, batched forward gradients differ from those computed "
                             "one at a time")


def expect_same_rows(found, expected, what):
    """Raise unless the rows of `found` are the tensors `expected`. None instead of a tensor means that all its rows are None."""
    for row, g in zip([None] * len(expected) if found is None else found, expected):
        if (row is None) != (g is None) or (g is not None and not np.allclose(components(row), components(g), rtol=1e-5, atol=1e-8,
                                                                              equal_nan=True)):
            raise GradcheckError("MG-E267", what, expected=str(g), found=str(row),
                                 cause="backward or jvp does not only depend on its gradient or tangent: a counter, random numbers",
                                 fix="compute the result only from the saved tensors and the gradient")
