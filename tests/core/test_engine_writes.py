"""Writes in place and views in corners that random programs found (tests/parity/test_random_programs.py)."""

import pytest

from tests.core.engine_tools import leaf, raises

OVERLAP = "refer to a single memory location"


@pytest.mark.parametrize("write", [
    lambda x: x[1:].add_(x[:-1]), lambda x: x.view(2, 2).mul_(x[:2]), lambda x: x.detach()[:3].copy_(x[1:]),
    lambda x: x[:1].add_(x[0]), lambda x: x.view(2, 2).add_(x.view(2, 2).t())])
def test_operand_overlaps_the_target(m, write):
    """saved_and_versions/I-07: in part, or number by number but in another shape."""
    x = m.tensor([1., 2., 3., 4.])
    with raises(RuntimeError, OVERLAP):
        write(x)
    assert x.tolist() == [1, 2, 3, 4] and x._version == 0


@pytest.mark.parametrize("write, expected", [
    (lambda x: x.mul_(x), [1, 4, 9, 16]), (lambda x: x.add_(x.detach()), [2, 4, 6, 8]), (lambda x: x[:2].add_(x[2:]), [4, 6, 3, 4]),
    (lambda x: x[::2].add_(x[1::2]), [3, 2, 7, 4])])
def test_operand_beside_the_target(m, write, expected):
    """saved_and_versions/I-07: the same numbers, or no number in common; or interleaved numbers, which no check finds."""
    x = m.tensor([1., 2., 3., 4.])
    write(x)
    assert x.tolist() == expected


@pytest.mark.parametrize("make", [lambda x: x.view(-1), lambda x: x[:1], lambda x: x.chunk(2)[0]])
def test_view_without_history(m, make):
    """A view made under no_grad counts as requiring a gradient, but a backward from it is an error."""
    x = leaf(m, 1., 2.)
    with m.no_grad():
        v = make(x)
    assert v.requires_grad and v.is_leaf
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        v.backward(m.ones_like(v))
    assert m.autograd.grad(x.sum(), v, allow_unused=True) == (None,)
    assert x.grad is None


def test_view_of_a_view_that_is_a_leaf(m):
    """The flag was set on a view: when the base is written to, views of that keep a grad_fn, which leads nowhere."""
    base = m.ones(4)
    v = base[:2].requires_grad_()
    w = v[:1]
    with m.no_grad():
        base.mul_(2)
    assert w.requires_grad and not w.is_leaf and w.grad_fn.next_functions == ((None, 0),)
    w.backward(m.ones(1))
    assert v.grad is None


def test_base_that_is_a_leaf_no_more_requiring(m):
    """A write through a view with a history would still reach the base, which is a leaf."""
    x = leaf(m, 1., 2.)
    v = x[:1]
    x.detach_()
    with raises(RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation"):
        v.mul_(2)
    assert not x.requires_grad and x.tolist() == [1, 2]
