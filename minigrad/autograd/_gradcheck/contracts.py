"""What every backward and jvp has to do besides being right.

    a gradient of zeros gives zeros                     backward is linear in it        expect_linear
    an undefined gradient (None) is as good as zeros    one output after the other      expect_undefined_handled
    so is an undefined tangent                          one input after the other       expect_undefined_tangents_handled
    a batch of gradients gives what each gives alone                                    expect_batched, expect_batched_forward

PyTorch computes a batch with vmap, and checks that backward can run under it. minigrad has no vmap: here a batch is a loop
(`autograd.grad` with is_grads_batched), and the check is that it gives what single calls give.

Mirrors ``_test_backward_mul_by_grad_output``, ``_test_undefined_backward_mode`` and their like in ``torch/autograd/gradcheck.py``.
"""

import warnings

import numpy as np

from minigrad import autograd
from minigrad.autograd._gradcheck.analytical import tangents
from minigrad.autograd._gradcheck.numerical import components, outputs_of, uniform
from minigrad.autograd.function import Function
from minigrad.autograd.gradcheck import GradcheckError
from minigrad.creation import zeros
from minigrad.ops.shape.cat_split import stack

__all__ = ["expect_batched", "expect_batched_forward", "expect_linear", "expect_undefined_handled",
           "expect_undefined_tangents_handled"]


def zeros_for(outputs):
    """Gradients of zeros, contiguous."""
    return [zeros(tuple(y.shape), dtype=y.dtype, device=y.device) for y in outputs]


def expect_linear(check):
    """A gradient of zeros has to come out as zeros, of the right dtype and shape."""
    xs = [check.inputs[i] for i in check.indices]
    for i, x, g in zip(check.indices, xs, autograd.grad(check.differentiable_outputs, xs, zeros_for(check.differentiable_outputs),
                                                        retain_graph=True, allow_unused=True)):
        if g is None:
            continue
        if components(g).any():
            raise GradcheckError(
                "MG-E263", "backward not multiplied by grad_output", found=f"for a grad_output of zeros input {i} has the gradient "
                f"{np.array2string(g.detach().cpu().numpy(), precision=4, threshold=20)}",
                cause="backward ignores the gradient that it is given, or adds something to it",
                fix="a backward is linear in its gradients: return grad_output * derivative")
        for what, found, expected in (("type", g.dtype.name, x.dtype.name), ("size", tuple(g.shape), tuple(x.shape))):
            if found != expected:
                raise GradcheckError("MG-E262", f"grad is incorrect {what}", expected=f"{expected}, as input {i}", found=str(found),
                                     fix="convert it in backward: g.to(x.dtype)")


class UndefinedGrad(Function):
    """Lets a tensor through, and no gradient back."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, *grads):
        return None


def expect_undefined_handled(check):
    """All gradients undefined, and with several outputs each in turn, while the others are zeros."""
    count = len(check.differentiable_outputs)
    for undefined in [set(range(count)), *([{k} for k in range(count)] if count > 1 else [])]:
        outputs = [y for y in outputs_of(check.fn, check.inputs) if y.requires_grad]
        roots = [UndefinedGrad.apply(y) if k in undefined else y for k, y in enumerate(outputs)]
        which = "all gradients" if len(undefined) == count else f"the gradient of output {min(undefined)}"
        try:
            found = autograd.grad(roots, [check.inputs[i] for i in check.indices], zeros_for(roots), allow_unused=True)
        except RuntimeError as error:
            warn_of_new_check()
            raise GradcheckError(
                "MG-E264", "Expected backward function to handle undefined output grads", found=f"with {which} undefined, "
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                fix="a None stands for zeros: return None for it, or leave set_materialize_grads(True) as it is, which makes "
                    "zeros of it") from error
        for i, g in zip(check.indices, found):
            if g is not None and components(g).any():
                warn_of_new_check()
                raise GradcheckError(
                    "MG-E264", "Expected all input grads to be undefined or zero when all output grads are undefined or zero",
                    found=f"with {which} undefined and the rest zero, input {i} has the gradient "
                    f"{np.array2string(g.detach().cpu().numpy(), precision=4, threshold=20)}",
                    fix="where a gradient is None return None, or what zeros would give")


def warn_of_new_check():
    """PyTorch's warning, which goes with these errors."""
    warnings.warn("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
                  "break existing callers of this function. If this is true for you, you can call this function with "
                  "\"check_undefined_grad=False\" to disable the feature", UserWarning, stacklevel=5)


def expect_undefined_tangents_handled(check):
    """An input without a tangent counts as one with a tangent of zeros, whatever tangents the others have."""
    directions = {i: check.tangent(check.inputs[i]) for i in check.indices}
    for i in check.indices:
        others = {k: t for k, t in directions.items() if k != i}
        given = tangents(check.fn, check.inputs, others)
        without = tangents(check.fn, check.inputs, others, undefined=(i,))
        for o, (a, b) in enumerate(zip(given, without)):
            if a is not None and b is not None and not np.allclose(components(a), components(b), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    "MG-E264", f"Mismatch in tangent values for output with index: {o} when input: {i} has an undefined tangent "
                    "value",
                    expected=str(a), found=str(b), fix="in jvp a None stands for a tangent of zeros: leave its term out")


def expect_batched(check, o):
    """The gradients for a batch of two grad_outputs are those for each."""
    y, xs = check.outputs[o], [check.inputs[i] for i in check.indices]
    batch = uniform((2, *y.shape), y.dtype, check.generator).to(y.device)
    alone = [autograd.grad(y, xs, g, retain_graph=True, allow_unused=True) for g in batch]
    try:
        together = autograd.grad(y, xs, batch, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError("MG-E267", f"While computing batched gradients, got: {error}") from error
    for i, found, *expected in zip(check.indices, together, *alone):
        expect_same_rows(found, expected, f"For output {o} and input {i}, batched gradients differ from those computed one "
                         "at a time")


def expect_batched_forward(check):
    """The tangents for a batch of two directions are those for each. Without vmap the batch is a loop."""
    for i in check.indices:
        batch = [check.tangent(check.inputs[i]) for _ in range(2)]
        first, second = ([tangents(check.fn, check.inputs, {i: t}) for t in batch] for _ in range(2))
        for o, (found, *expected) in enumerate(zip(zip(*first), *second)):
            found = None if found[0] is None else stack(list(found))
            expect_same_rows(found, expected, f"For output {o} and input {i}, batched forward gradients differ from those computed "
                             "one at a time")


def expect_same_rows(found, expected, what):
    """The rows of `found`, None for nothing, are the tensors `expected`."""
    for row, g in zip([None] * len(expected) if found is None else found, expected):
        if (row is None) != (g is None) or (g is not None and not np.allclose(components(row), components(g), rtol=1e-5, atol=1e-8,
                                                                              equal_nan=True)):
            raise GradcheckError("MG-E267", what, expected=str(g), found=str(row),
                                 cause="backward or jvp depends on more than the gradient or tangent: a counter, random numbers",
                                 fix="compute it from the saved tensors and the gradient alone")
