"""Every case of an op gives the same bits within a checkpoint, under a dispatch mode, and without them."""

import pytest

import minigrad as mg
from minigrad.utils._python_dispatch import TorchDispatchMode
from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from tests.ops.cases import CASES
from tests.ops.test_gradients import tensors, weights


class Nothing(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args)


def second(z, xs):
    """The gradients, and the gradients of the sum of their squares."""
    grads = mg.autograd.grad((z * weights(z)).sum(), xs, create_graph=True, allow_unused=True)
    total = sum([(g * g).sum() for g in grads if g is not None], mg.tensor(0.0, dtype=mg.float64))
    again = mg.autograd.grad(total, xs, allow_unused=True) if total.requires_grad else [None] * len(xs)
    return [None if g is None else g.tolist() for g in (*grads, *again)]


def first(z, xs):
    return [None if g is None else g.tolist() for g in mg.autograd.grad((z * weights(z)).sum(), xs, allow_unused=True)]


@pytest.mark.parametrize("early", [True, False], ids=["early", "whole"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_checkpointed(case, early):
    xs = tensors(case.arrays())
    expected = second(case.run(mg, *xs), xs)
    assert second(checkpoint(lambda *xs: case.run(mg, *xs), *xs, use_reentrant=False, early_stop=early), xs) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_under_a_mode(case):
    xs = tensors(case.arrays())
    with Nothing():
        found = case.run(mg, *xs)
        gradients = second(found, xs)
    expected = case.run(mg, *xs)
    assert found.tolist() == expected.tolist() and found.dtype == expected.dtype
    assert getattr(found.grad_fn, "name", str)() == getattr(expected.grad_fn, "name", str)()
    assert gradients == second(expected, xs)


@pytest.mark.parametrize("save", [True, False], ids=["saved", "recomputed"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_selective(case, save):
    """A policy that saves all results, or none."""
    xs = tensors(case.arrays())
    expected = first(case.run(mg, *xs), xs)
    z = checkpoint(lambda *xs: case.run(mg, *xs), *xs, use_reentrant=False,
                   context_fn=lambda: create_selective_checkpoint_contexts(lambda *args: save))
    try:
        assert first(z, xs) == expected
    except RuntimeError as error:
        assert save and case.writes and "has been mutated" in str(error)
