"""Functions that write to their inputs and call mark_dirty."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import function


def doubling(m, position=0, write=True, **attributes):
    """Doubles argument `position` in place; the gradient of the other argument is 10 g."""
    def forward(ctx, *args):
        ctx.mark_dirty(args[position])
        if write:
            args[position].mul_(2)
        return args[position]

    def backward(ctx, g):
        return tuple([g * 2 if i == position else g * 10 for i in range(len(ctx.needs_input_grad))])
    return function(m, forward, backward, **attributes)


@pytest.mark.parametrize("write", [True, False])
def test_dirty(m, write):
    """function/O-30, function/O-32, saved_and_versions/V-09."""
    a = leaf(m, 1.0, 2.0)
    x = a * 1
    before = x._version
    y = doubling(m, write=write).apply(x)
    assert y is x and x.grad_fn.name() == "MineBackward" and x._version == before + 1 + write
    x.sum().backward()
    assert value(a.grad) == [2, 2]


def test_dirty_but_not_returned(m):
    """function/O-31."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2) * 1
    with raises(RuntimeError, "were not returned as output"):
        function(m, forward).apply(leaf(m, 1.0) * 1)


def test_dirty_leaf(m):
    """function/O-33."""
    x = leaf(m, 1.0)
    with raises(RuntimeError, "has been used in an in-place operation"):
        doubling(m).apply(x)
    assert x.is_leaf and x.requires_grad


def test_dirty_view_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    with raises(RuntimeError, "a view of a leaf Variable that requires grad is being used in an in-place operation"
                if m.__name__ != "torch" else ""):
        doubling(m).apply(x[:1])
    assert x.is_leaf and x.requires_grad


def test_dirty_but_no_input(m):
    """function/O-34."""
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y
    a = leaf(m, 1.0)
    with pytest.warns(UserWarning, match="a tensor that was not an input"):
        y = function(m, forward, lambda ctx, g: g * 2).apply(a)
    y.backward()
    assert value(a.grad) == 2


def test_dirty_input_without_gradient(m):
    """function/O-36: it becomes a part of the graph."""
    x, w = m.tensor([1.0]), leaf(m, 3.0)
    y = doubling(m).apply(x, w)
    assert y is x and x.requires_grad and x.grad_fn.name() == "MineBackward"
    x.sum().backward()
    assert value(w.grad) == 10


@pytest.mark.parametrize("saved", [False, True])
def test_dirty_view(m, saved):
    """The base gets a new history, and the view too. function/F-54, saved_and_versions/S-09."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(3)
        if saved:
            ctx.save_for_backward(x)
        return x
    a = leaf(m, 1.0, 2.0)
    base = a * 1
    view = base[:1]
    y = function(m, forward, lambda ctx, g: (ctx.saved_tensors and None) or g * 3).apply(view)
    assert y is view and base.grad_fn.name() in ("CopySlices", "torch::autograd::CopySlices")
    assert "AsStrided" in view.grad_fn.name()
    (base.sum() + view.sum()).backward()
    assert value(a.grad) == [6, 1]


def test_dirty_view_and_more(m):
    """function/F-54, saved_and_versions/W-25: refused, and the histories stay unchanged."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x * 3
    base = leaf(m, 1.0, 2.0) * 1
    node = base.grad_fn
    with raises(RuntimeError, "cannot return more than one Tensor"):
        function(m, forward).apply(base[:1])
    assert base.grad_fn is node


@pytest.mark.differs(
    what="`ctx.mark_dirty(view)`, where the view is not the first argument",
    there="The first argument counts as the one that was written to, and gradients are wrong.",
    here="The gradients are right at each position.")
@ours
@pytest.mark.parametrize("position", [0, 1, 2])
def test_dirty_view_anywhere(m, position):
    """PyTorch treats the first argument as the overwritten one, even if it is another."""
    a, leaves = leaf(m, 1.0, 2.0), [leaf(m, 1.0) for _ in range(2)]
    base = a * 1
    args = [*leaves[:position], base[:1], *leaves[position:]]
    doubling(m, position).apply(*args)
    base.sum().backward()
    assert value(a.grad) == [2, 1] and value([x.grad for x in leaves]) == [10, 10]
    b = leaf(m, 1.0, 2.0)
    base = b * 1
    doubling(m, position).apply(*leaves[:position], base[:1], *leaves[position:])
    assert value(m.autograd.grad(base.sum(), b)[0]) == [2, 1]


def test_dirty_and_more(m):
    """Beside a tensor that is not a view there may be more outputs, each with its own number. function/O-37, saved_and_versions/H-02."""
    def forward(ctx, x, w):
        ctx.mark_dirty(x, w)
        return x * 7, x.mul_(2), w.mul_(3)
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    x, w = a * 1, b * 1
    y, p, q = function(m, forward, lambda ctx, f, g, h: (f * 7 + g * 2, h * 3)).apply(x, w)
    assert p is x and q is w and [t.output_nr for t in (y, x, w)] == [0, 1, 2] and y.grad_fn is x.grad_fn is w.grad_fn
    (y + x * 10 + w * 100).backward()
    assert (value(a.grad), value(b.grad)) == (27, 300)


def test_hooks_of_a_dirty_tensor(m):
    """function/O-38: hooks stay with the old value, a retained gradient goes with the tensor."""
    seen = []
    a = leaf(m, 1.0)
    x = a * 1
    x.register_hook(lambda g: seen.append(("before", value(g))))
    x.retain_grad()
    doubling(m).apply(x)
    x.register_hook(lambda g: seen.append(("after", value(g))))
    (x * 10).backward()
    assert seen == [("after", 10.0), ("before", 20.0)] and value(x.grad) == 10


def test_dirty_unrecorded(m):
    """function/O-39."""
    x = leaf(m, 1.0)
    with m.no_grad():
        y = doubling(m).apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and not y.requires_grad and x.requires_grad and value(x) == 2
    plain = m.ones(1)
    assert doubling(m).apply(plain) is plain and plain._version == 2


def test_saved_dirty_input(m):
    """function/X-10: saved when it is an output already."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.exp_()
    x = leaf(m, 0.0) * 1
    y = function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    saved, = y.grad_fn.saved_tensors
    assert y is x and saved is not x and saved.grad_fn is y.grad_fn
