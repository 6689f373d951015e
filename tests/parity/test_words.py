"""The phrases that people search for are PyTorch's, whole, on every path."""

import pickle
import re
import subprocess
import sys
import warnings

import pytest
import torch

import minigrad as mg

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
AGAIN = r"Trying to backward through the graph a second time \(or directly access saved tensors after they have already been freed\)"


def leaf(m, *shape):
    return m.ones(shape or (2, 2), requires_grad=True)


def spent_by_backward(m):
    y = leaf(m) ** 2
    y.sum().backward()
    y.sum().backward()


def spent_and_read(m):
    y = leaf(m) ** 2
    y.sum().backward()
    assert y.grad_fn._saved_self is None


def spent_ctx(m):
    class Squared(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * g
    y = Squared.apply(leaf(m)).sum()
    y.backward()
    y.backward()


@BOTH
@pytest.mark.parametrize("run", [spent_by_backward, spent_and_read, spent_ctx])
def test_a_second_time(run, m):
    """differences/W-01"""
    with pytest.raises(RuntimeError, match=AGAIN):
        run(m)


def returned_view(m):
    class Same(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g
    x = leaf(m) * 1
    with m.no_grad():
        y = Same.apply(x)
    y.mul_(2)


def view_under(m, mode, steps):
    x = leaf(m) * 1
    with mode():
        y = x[0]
    (y if steps == 1 else y[0]).mul_(2)


@BOTH
@pytest.mark.parametrize("run, phrase", [
    (returned_view, "A view was created in no_grad mode and is being modified inplace with grad mode enabled. This view was created inside a custom"),
    (lambda m: view_under(m, m.no_grad, 1), "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that"),
    (lambda m: view_under(m, m.no_grad, 2), "Output 0 of Select is a view of a view which was created in no_grad mode and is being modified inplace"),
    (lambda m: view_under(m, m.no_grad, 2), "both inside the no_grad block"),
    (lambda m: view_under(m, m.inference_mode, 1), "A view was created in inference mode and is being modified inplace in normal mode"),
], ids=["Function", "view", "view of a view", "block", "inference"])
def test_views_made_without_history(run, phrase, m):
    """differences/W-02"""
    with pytest.raises(RuntimeError) as caught:
        run(m)
    assert phrase in str(caught.value)


def pushed(m, forward, jvp, taken):
    class Formula(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

        @staticmethod
        def jvp(ctx, t):
            return jvp(m, t)
    with m.autograd.forward_ad.dual_level():
        Formula.apply(taken(m.autograd.forward_ad.make_dual(m.ones(3, 2, 2), m.ones(3, 2, 2))))


@BOTH
@pytest.mark.parametrize("forward, jvp, taken, phrase", [
    (lambda x: x.view_as(x), lambda m, t: t.clone(), lambda x: x, "the jvp is not returning a view."),
    (lambda x: x[0], lambda m, t: m.ones(3, 2, 2)[0], lambda x: x, "the jvp is not returning a view of the given grad input."),
    (lambda x: x[0], lambda m, t: m.ones(3, 2, 2)[1, 0], lambda x: x[1], "not returning a view of the same base as the given grad input."),
], ids=["no view", "given", "base"])
def test_views_and_their_tangents(forward, jvp, taken, phrase, m):
    """differences/W-03"""
    with pytest.raises(RuntimeError) as caught:
        pushed(m, forward, jvp, taken)
    assert phrase in str(caught.value)


@BOTH
def test_shapes_as_they_print(m):
    """differences/W-05"""
    x, name = leaf(m, 2), m.__name__
    for run, phrase in [
            (lambda: (x * 1).backward(m.ones(3)), f"grad_output[0] has a shape of {name}.Size([3]) and output[0] has a shape of {name}.Size([2])."),
            (lambda: m.autograd.grad(x * 1, x, m.ones(3), is_grads_batched=True), f"has a shape of {name}.Size([]) and output[0] has a shape of {name}.Size([2])."),
            (lambda: m.autograd.grad(x * 1, x, m.ones(2) * 1j), f"has a dtype of {name}.complex64 and output[0] has a dtype of {name}.float32."),
            (lambda: setattr(x, "grad", m.ones(3)), "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'")]:
        with pytest.raises(RuntimeError) as caught:
            run()
        assert phrase in str(caught.value)


@BOTH
def test_the_imaginary_part_comes_first(m):
    """differences/W-05"""
    class Wrong(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 3
    x = m.ones(2, dtype=m.complex128).requires_grad_()
    with pytest.raises(RuntimeError, match="While considering the imaginary part of complex outputs only"):
        m.autograd.gradcheck(Wrong.apply, (x,))


@BOTH
def test_integers_have_no_tangent(m):
    """differences/M-05"""
    seen = []

    class Formula(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, i, b, f):
            return x * 2

        @staticmethod
        def jvp(ctx, t, i, b, f):
            seen.extend([i, b, f])
            return t * 2
    with m.autograd.forward_ad.dual_level():
        Formula.apply(m.autograd.forward_ad.make_dual(m.ones(2), m.ones(2)), m.tensor([1]), m.tensor([True]), m.ones(2))
    assert seen[:2] == [None, None] and seen[2].tolist() == [0, 0]


@BOTH
def test_warnings_that_come_once(m):
    """differences/M-07"""
    def count():
        x = leaf(m, 1)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            (x * x).backward(create_graph=True)
        x.grad = None
        return len(found)
    assert m.is_warn_always_enabled() is False
    count()
    assert count() == 0
    m.set_warn_always(True)
    try:
        assert m.is_warn_always_enabled() is True
        assert count() == count() == 1
    finally:
        m.set_warn_always(False)
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        m.set_warn_always(1)


# ---- what is printed of an error that nobody catches ---------------------------------------------------------------

ESCAPES = {
    "RuntimeError": "m.ones(2).backward()", "TypeError": "m.ones(2).sum(dim='x')", "IndexError": "m.ones(2)[5]",
    "ValueError": "m.nn.functional.dropout(m.ones(2), p=2.0)"}


@BOTH
@pytest.mark.parametrize("kind", ESCAPES)
def test_the_name_of_what_escapes(kind, m):
    """differences/W-06"""
    done = subprocess.run([sys.executable, "-c", f"import {m.__name__} as m\n{ESCAPES[kind]}"], capture_output=True, text=True, check=False)
    assert re.search(rf"^{kind}: ", done.stderr, re.MULTILINE), done.stderr
    assert "minigrad.errors" not in done.stderr


def test_errors_keep_their_classes():
    """differences/W-06: only what is printed is the builtin's name."""
    with pytest.raises(RuntimeError) as caught:
        mg.ones(2).backward()
    error = caught.value
    assert type(error) is mg.errors.AutogradError and type(error).__name__ == "AutogradError"
    assert repr(type(error)) == "<class 'minigrad.errors.AutogradError'>"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.code == error.code
