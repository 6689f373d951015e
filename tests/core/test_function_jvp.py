"""Forward-mode AD through a Function: when its jvp is called, its arguments, and its results."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import function


def forward_mode(m):
    """Inside, tensors may have tangents."""
    return m.autograd.forward_ad.dual_level()


def dual(m, x, tangent):
    """A tensor like `x` with that tangent."""
    return m.autograd.forward_ad.make_dual(x, tangent)


def tangent(m, x):
    return m.autograd.forward_ad.unpack_dual(x).tangent


def test_jvp_called(m):
    """After forward, with forward mode off and the caller's grad mode, if any argument is dual.

    function/J-01, function/J-03, function/J-08, function/X-16.
    """
    seen = []

    def forward(ctx, x, n, w):
        seen.append("forward")
        ctx.save_for_forward(x, None)
        ctx.n = n
        return x * n + w

    def jvp(ctx, t, n, u):
        x, nothing = ctx.saved_tensors
        seen.append((value(x), nothing, n, value(u), m.is_grad_enabled(), tangent(m, t * 2)))
        return t * ctx.n + u
    Mine = function(m, forward, jvp=jvp)
    a, w = m.tensor([2.0]), m.tensor([5.0])
    Mine.apply(a, 3, w)
    with forward_mode(m):
        Mine.apply(a, 3, w)
        assert seen == ["forward", "forward"]
        y = Mine.apply(dual(m, a, m.tensor([10.0])), 3, w)
        assert value(tangent(m, y)) == [30] and seen[2:] == ["forward", ([2.0], None, None, [0.0], True, None)]


def test_jvp_undefined_tangents(m):
    """function/J-03: a tangent is None after ctx.set_materialize_grads(False)."""
    seen = []

    def forward(ctx, x, w):
        ctx.set_materialize_grads(False)
        return x * w
    with forward_mode(m):
        function(m, forward, jvp=lambda ctx, t, u: seen.append(u) or t).apply(dual(m, m.ones(1), m.ones(1)), m.ones(1))
    assert seen == [None]


def test_jvp_missing(m):
    """function/J-02."""
    with forward_mode(m), raises(NotImplementedError, "must implement the jvp function"):
        function(m, lambda ctx, x: x * 2).apply(dual(m, m.ones(1), m.ones(1)))


WRONG = {
    "too many": (lambda x: x * 2, lambda t: (t, None), "invalid number of forward gradients (expected 1 but got 2)"),
    "too few": (lambda x: (x * 2, x * 3), lambda t: t, "invalid number of forward gradients (expected 2 but got 1)"),
    "no tensor": (lambda x: x * 2, lambda t: 5, "for grad output 0"),
    "integer": (lambda x: (x * 2, x.long()), lambda t: (t, t), "is not a differentiable Tensor"),
    "input": (lambda x: x, lambda t: t * 2, "the jvp is not returning a view"),
    "input itself": (lambda x: x, lambda t: t, "the jvp is not returning a view"),
    "view": (lambda x: x[:1], lambda t: t[:1] * 2, "the jvp is not returning a view"),
}


@pytest.mark.parametrize("case", WRONG)
def test_jvp_wrong_tangents(m, case):
    """function/J-04, function/J-05, function/J-07."""
    forward, jvp, key = WRONG[case]
    with forward_mode(m), raises(RuntimeError, key):
        function(m, lambda ctx, x: forward(x), jvp=lambda ctx, t: jvp(t)).apply(dual(m, m.ones(2), m.ones(2)))


def test_jvp_non_differentiable(m):
    """function/J-05."""
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z
    with forward_mode(m):
        y, z = function(m, forward, jvp=lambda ctx, t: (t * 2, None)).apply(dual(m, m.ones(1), m.ones(1)))
        assert value(tangent(m, y)) == [2] and tangent(m, z) is None
        with raises(RuntimeError, "is not a differentiable Tensor"):
            function(m, forward, jvp=lambda ctx, t: (t * 2, t)).apply(dual(m, m.ones(1), m.ones(1)))


@pytest.mark.differs(
    what="A `jvp` that returns None",
    there="An internal assertion fails.",
    here="None means zeros, as it does in a backward.")
@ours
def test_jvp_none_is_zero(m):
    """function/J-05: an internal assert in PyTorch."""
    with forward_mode(m):
        y = function(m, lambda ctx, x: x * 2, jvp=lambda ctx, t: None).apply(dual(m, m.ones(1), m.ones(1)))
        assert tangent(m, y) is None


def test_jvp_in_place(m):
    """function/J-06."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    with forward_mode(m):
        t = m.ones(1)
        x = dual(m, m.ones(1), t)
        before = tangent(m, x)
        assert function(m, forward, jvp=lambda ctx, t: t.mul_(2)).apply(x) is x
        assert value(tangent(m, x)) == [2] and tangent(m, x).data_ptr() == before.data_ptr()
        with raises(RuntimeError, "is not modifying the forward mode gradients inplace"):
            function(m, forward, jvp=lambda ctx, t: t * 2).apply(dual(m, m.ones(1), m.ones(1)))


@pytest.mark.differs(
    what="A `jvp` in place that returns a copy of the tangent",
    there="The message says that nothing was written in place.",
    here="The message says that the tangent itself must be returned.")
@ours
def test_jvp_in_place_and_a_copy(m):
    """function/J-06: PyTorch checks the version of the returned tensor, and reports that nothing was written."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    with forward_mode(m), raises(RuntimeError, "is not returning the forward mode gradients as-is"):
        function(m, forward, jvp=lambda ctx, t: t.mul_(2) * 1).apply(dual(m, m.ones(1), m.ones(1)))


def test_jvp_views(m):
    """function/J-07: an input that is returned unchanged, and a part of one."""
    with forward_mode(m):
        y = function(m, lambda ctx, x: x, jvp=lambda ctx, t: t.view_as(t)).apply(dual(m, m.ones(2), m.ones(2)))
        assert value(tangent(m, y)) == [1, 1]
        y = function(m, lambda ctx, x: x[:1], jvp=lambda ctx, t: t[:1]).apply(dual(m, m.ones(2), m.ones(2)))
        assert value(tangent(m, y)) == [1]


def test_jvp_both_modes(m):
    """The op also has a node, which saves its own tensors."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x
    Square = function(m, forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0], jvp=lambda ctx, t: 2 * t * ctx.saved_tensors[0])
    x = leaf(m, 3.0)
    with forward_mode(m):
        y = Square.apply(dual(m, x, m.tensor(1.0)))
        assert value(tangent(m, y)) == 6
        y.backward()
    assert value(x.grad) == 6


def test_jvp_it_fails(m):
    """function/T-09: the modes are put back."""
    def jvp(ctx, t):
        raise KeyError("jvp")
    with forward_mode(m):
        with raises(KeyError, "jvp"):
            function(m, lambda ctx, x: x * 2, jvp=jvp).apply(dual(m, m.ones(1), m.ones(1)))
        assert tangent(m, dual(m, m.ones(1), m.ones(1)) * 2) is not None
