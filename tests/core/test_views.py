"""Views: the relation to their base, histories gone stale, writes through a view, and views that may not be written to."""

import random

import pytest

import minigrad
from tests.core.engine_tools import leaf, ours, raises, value

DIRECT = "is being modified inplace"
INDIRECT = "its base or another view of its base has been modified inplace"
MULTIPLE = "function that returns multiple views"
NO_GRAD = "both inside the no_grad block"
INFERENCE = "both inside the inference_mode block"

# ---- the relation ----------------------------------------------------------------------------------------------

# name -> a view of a (3, 4) tensor
VIEWS = {
    "index": lambda x: x[1], "slice": lambda x: x[1:, ::2], "None": lambda x: x[None], "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0), "view": lambda x: x.view(4, 3), "reshape": lambda x: x.reshape(-1), "squeeze": lambda x: x.squeeze(0),
    "expand": lambda x: x.expand(2, 3, 4), "unsqueeze": lambda x: x.unsqueeze(1), "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(1, 1, 2), "chunk": lambda x: x.chunk(2, 1)[1], "split": lambda x: x.split(2)[1],
    "unbind": lambda x: x.unbind()[2], "view_as": lambda x: x.view_as(x), "movedim": lambda x: x.movedim(0, 1), "T": lambda x: x.T,
    "flatten": lambda x: x.flatten(),
}


@pytest.mark.parametrize("mode", ["grad", "no_grad", "plain"])
@pytest.mark.parametrize("name", VIEWS)
def test_relation(m, name, mode):
    """The root is the base, the counter is common. Of PyTorch's view ops, diagonal and imag are not there.

    saved_and_versions/W-01, saved_and_versions/W-02, saved_and_versions/W-04, saved_and_versions/V-04.
    """
    x = m.ones(3, 4, requires_grad=mode != "plain") * 1
    with m.set_grad_enabled(mode != "no_grad"):
        view = VIEWS[name](x)
        inner = view[:1] if view.ndim else view
    for v in (view, inner):
        assert v._is_view() and v._base is x and v.requires_grad == (mode != "plain") and v.is_leaf == (mode != "grad")
    assert not x._is_view() and x._base is None
    x.detach().add_(1)
    assert view._version == inner._version == x._version == 1


def test_requires_grad_of_a_view(m):
    """saved_and_versions/W-03: its own flag, its history, or its base."""
    base = m.ones(3)
    view, flagged = base[:2], base[1:].requires_grad_()
    assert flagged.requires_grad and not base.requires_grad and not view.requires_grad
    base.requires_grad_()
    assert view.requires_grad and view.grad_fn is None and view.is_leaf


# ---- stale histories -------------------------------------------------------------------------------------------

READERS = {"grad_fn": lambda v: v.grad_fn, "is_leaf": lambda v: v.is_leaf, "repr": repr, "use": lambda v: v * 1,
           "view": lambda v: v[:1]}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("write", [lambda b, w: b.mul_(w), lambda b, w: b[1:].mul_(w[1:]), lambda b, w: b.detach().mul_(2)])
def test_stale(m, read, write):
    """The first read of grad_fn regenerates it from the current history of the base, in one node.

    saved_and_versions/W-10, saved_and_versions/W-13, saved_and_versions/W-28, saved_and_versions/T-07.
    """
    x, w = leaf(m, 1., 2., 3.), leaf(m, 2., 2., 2.)
    base = x * 1
    view, other = base[1:].view(1, 2)[0], base.view(3, 1)
    old = view.grad_fn
    write(base, w)
    READERS[read](view)
    assert view.grad_fn is not old and view.grad_fn.name() == "AsStridedBackward0" and view.output_nr == 0
    assert view.grad_fn.next_functions == ((base.grad_fn, 0),) == other.grad_fn.next_functions
    assert view.grad_fn is view.grad_fn
    (view * m.tensor([5., 7.])).sum().backward()
    tracked = w.grad is not None
    assert x.grad.tolist() == ([0, 10, 14] if tracked else [0, 5, 7])
    assert not tracked or w.grad.tolist() == [0, 10, 21]


@pytest.mark.differs(
    what="`view.register_hook(f)` after a write to the base",
    there="The backward crashes the process.",
    here="The hook belongs to the view's new node, and is called.")
@ours
def test_hooks_of_a_stale_view(m):
    """saved_and_versions/W-10: where PyTorch 2.13 crashes."""
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    hooked, retaining = base[1:], base[1:]
    base.mul_(2)
    retaining.retain_grad()
    hooked.register_hook(lambda grad: grad * 10)
    (hooked * retaining.detach() + retaining * 5).sum().backward()
    assert retaining.grad.tolist() == [5, 5] and x.grad.tolist() == [0, 90, 130]


def test_view_of_what_had_no_history(m):
    """saved_and_versions/W-11, saved_and_versions/W-12: the base gets one, and so has the view."""
    base, v = m.zeros(3), leaf(m, 1., 2., 3.)
    view = base[1:]
    base.add_(1)
    assert view.grad_fn is None and not view.requires_grad
    base.copy_(v)
    assert view.grad_fn.name() == "AsStridedBackward0"
    view.sum().backward()
    assert v.grad.tolist() == [0, 1, 1]


def test_view_of_a_leaf_written_under_no_grad(m):
    """saved_and_versions/W-13: the gradient reaches the leaf."""
    x = leaf(m, 1., 2., 3.)
    view = x[1:]
    with m.no_grad():
        x.mul_(10)
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view * view).sum().backward()
    assert x.grad.tolist() == [0, 40, 60]


def test_regeneration_records(m):
    """saved_and_versions/W-14: also under no_grad, once and for all."""
    base = leaf(m, 1., 2., 3.) * 1
    view = base[1:]
    base.mul_(2)
    with m.no_grad():
        node = view.grad_fn
    assert node.name() == "AsStridedBackward0" and view.grad_fn is node and node.next_functions == ((base.grad_fn, 0),)


def test_retained_gradient_moves(m):
    """saved_and_versions/W-10: with the history."""
    base = leaf(m, 1., 2., 3.) * 1
    view = base[1:]
    view.retain_grad()
    base.mul_(2)
    (view * 5).sum().backward()
    assert view.grad.tolist() == [5, 5]


# ---- writing through a view ------------------------------------------------------------------------------------


def test_write_through_a_view(m):
    """saved_and_versions/W-20, saved_and_versions/W-21: the base gets a CopySlices node before its old grad_fn; the view follows."""
    x, w = leaf(m, 1., 2., 3.), leaf(m, 5.)
    base = x * 1
    old, view = base.grad_fn, base[:2]
    assert view.mul_(w) is view
    node = base.grad_fn
    assert node.name().endswith("CopySlices") and view.grad_fn.name() == "AsStridedBackward0"
    assert node.next_functions[0] == (old, 0) and node.next_functions[1][0].variable is w and len(node.next_functions) == 2
    assert view.grad_fn.next_functions == ((node, 0),)
    (base * m.tensor([1., 2., 4.])).sum().backward()
    assert x.grad.tolist() == [5, 10, 4] and w.grad.tolist() == 5


def test_edges_of_a_number(m):
    """saved_and_versions/W-21: an operand without gradient has an edge to nowhere, as in the node of the write."""
    base = leaf(m, 1., 2., 3.) * 1
    old = base.grad_fn
    base[:2].mul_(2)
    assert base.grad_fn.next_functions == ((old, 0), (None, 0))


def test_overlapping_writes(m):
    """saved_and_versions/W-26, saved_and_versions/W-28."""
    x = leaf(m, 1., 1., 1., 1.)
    base = x * 1
    first, second = base[:3], base[1:]
    first.mul_(2)
    second.mul_(3)
    assert base.tolist() == [2, 6, 6, 3] and first.tolist() == [2, 6, 6]
    base.sum().backward()
    assert x.grad.tolist() == [2, 6, 6, 3]


def test_value_into_a_base_without_history(m):
    """saved_and_versions/W-27."""
    base, v = m.zeros(3), leaf(m, 7.)
    base[0] = v
    assert base.requires_grad and not base.is_leaf
    (base * m.tensor([2., 3., 4.])).sum().backward()
    assert v.grad.item() == 2


@pytest.mark.parametrize("write", [lambda v, w: v.mul_(w), lambda v, w: v.exp_(), lambda v, w: v.pow_(w), lambda v, w: v.copy_(w * w)])
def test_double_backward(m, write):
    """saved_and_versions/W-29: against the out-of-place program."""
    found = []
    for in_place in (True, False):
        x = m.tensor([1., 2., 3.], dtype=m.float64, requires_grad=True)
        w = m.tensor([1.5, 0.5], dtype=m.float64, requires_grad=True)
        base = x * x
        if in_place:
            write(base[1:], w)
        else:
            base = m.cat([base[:1], write(base[1:].clone(), w)])
        g = m.autograd.grad((base * base).sum(), (x, w), create_graph=True, allow_unused=True)
        again = m.autograd.grad(sum((h * h).sum() for h in g if h is not None), (x, w), allow_unused=True)
        found.append([value(h) for h in (*g, *again)])
    for mine, expected in zip(*found):
        assert mine == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("again", range(2))
def test_double_backward_twice(m, again):
    """saved_and_versions/W-29: a retained graph can be differentiated any number of times."""
    x = leaf(m, 1., 2.)
    base = x * x
    base[:1].exp_()
    y = base.sum()
    for _ in range(2):
        g, = m.autograd.grad(y, x, create_graph=True)
        second, = m.autograd.grad(g.sum(), x, retain_graph=bool(again))
        if not again:
            break
    # y = exp(x0^2) + x1^2;  y'' = (2 + 4 x0^2) exp(x0^2), 2
    assert second.tolist() == pytest.approx([6 * 2.7182817, 2])


@pytest.mark.parametrize("ask, expected", [("x", [5, 10, 4]), ("w", [5]), ("base", [1, 2, 4])])
def test_only_some_gradients(m, ask, expected):
    """saved_and_versions/W-30: the node of the write is in no graph, and still knows which gradients are needed."""
    x, w = leaf(m, 1., 2., 3.), m.tensor([5.], requires_grad=True)
    base = x * 1
    base[:2].mul_(w)
    total = (base * m.tensor([1., 2., 4.])).sum()
    grad, = m.autograd.grad(total, {"x": x, "w": w, "base": base}[ask])
    assert grad.tolist() == expected


def test_undefined_gradient(m):
    """saved_and_versions/W-23."""
    x, w = leaf(m, 1., 2., 3.), leaf(m, 5.)
    base = x * 1
    base[:2].mul_(w)
    base.grad_fn.register_prehook(lambda grads: (None,))
    assert m.autograd.grad(base.sum(), (x, w), allow_unused=True) == (None, None)


def overwrite(m, view):
    """A custom Function that writes in place; its backward returns None for the overwritten tensor."""
    class Overwrite(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.copy_(y)

        @staticmethod
        def backward(ctx, grad):
            return None, grad
    return Overwrite.apply(view, leaf(m, 5., 5.))


@pytest.mark.differs(
    what="An in-place function on a slice, whose formula returns None for it",
    there="The whole base loses its gradient.",
    here="None means zeros for the slice. The rest of the base keeps its gradient.")
@ours
@pytest.mark.parametrize("write", [
    overwrite, lambda m, v: v.copy_(leaf(m, 5., 5.)), lambda m, v: v.zero_(), lambda m, v: v.fill_(leaf(m, 5.))])
def test_the_rest_of_the_base_keeps_its_gradient(m, write):
    """saved_and_versions/W-24."""
    x = leaf(m, 1., 2., 3., 4.)
    base = x * 1
    write(m, base[:2])
    base.sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("make", [lambda m, x: x[1:], lambda m, x: x.t()[:1], lambda m, x: x.view(-1)[1::2], lambda m, x: x.select(0, 1)])
def test_part_given_to_the_formula(m, make):
    """saved_and_versions/W-22: whatever the strides, the formula sees the gradient of the part."""
    x = m.tensor([[1., 2.], [3., 4.]], requires_grad=True)
    base = x * 1
    make(m, base).pow_(2)
    weights = m.tensor([[1., 10.], [100., 1000.]])
    (base * weights).sum().backward()
    expected = weights.clone()
    make(m, expected).mul_(make(m, x.detach()) * 2)
    assert x.grad.tolist() == expected.tolist()


# name -> what a hook keeps of a gradient, which the engine might go on to use
KEPT = {"nothing": lambda g: None, "it": lambda g: g, "detached": lambda g: g.detach(), "a part": lambda g: g[1:],
        "its array": lambda g: g.numpy()}


@pytest.mark.parametrize("write", [lambda part, x: part.copy_(x), lambda part, x: part.mul_(x), lambda part, x: part.add_(x)],
                         ids=["copy_", "mul_", "add_"])
@pytest.mark.parametrize("name", KEPT)
def test_gradients_between_writes(m, name, write):
    """Writes to all rows and a column: the gradients are those of a stack, and what hooks have kept of them stays as it was."""
    x, gradient = leaf(m, 1., 2., 3.), m.arange(1., 10.).view(3, 3)
    start = m.ones(3, 3, requires_grad=True)
    base, kept, seen = start * 1, [], []

    def hook(g):
        kept.append(KEPT[name](g))
        seen.append(g.tolist())
    for part in (base[0], base[1], base[2], base[:, 1]):
        write(part, x)
        base.register_hook(hook)
    base.backward(gradient)
    rows = [start[i] * 1 for i in range(3)]
    alone = x.detach().clone().requires_grad_()
    for row in rows:
        write(row, alone)
    whole = m.stack(rows)
    column = whole[:, 1] * 1
    write(column, alone)
    outcome = m.stack([whole[:, 0], column, whole[:, 2]], 1)
    expected = m.autograd.grad(outcome, [alone, start], gradient)
    assert value(x.grad) == value(expected[0]) and value(start.grad) == value(expected[1])
    assert gradient.flatten().tolist() == list(range(1, 10)) and seen[0] == gradient.tolist()
    for part, whole_gradient in zip(kept, seen):
        if part is not None:
            assert part.tolist() == (whole_gradient[1:] if name == "a part" else whole_gradient)


@ours
def test_deep_chain(m):
    """saved_and_versions/T-09: built, run and freed without recursion."""
    x = leaf(m, 1., 1., 1.)
    base = x * 1
    for i in range(10_000):
        base[i % 2:i % 2 + 1].neg_()
    base.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    del base


# ---- random programs -------------------------------------------------------------------------------------------

STEPS = [lambda v, w: v.mul_(w), lambda v, w: v.add_(w), lambda v, w: v.copy_(w * 2), lambda v, w: v.sin_(), lambda v, w: v.zero_(),
         lambda v, w: v.cos_(), lambda v, w: v.div_(w + 2), lambda v, w: v.fill_(w)]
PURE = [lambda v, w: v * w, lambda v, w: v + w, lambda v, w: v * 0 + w * 2, lambda v, w: v.sin(), lambda v, w: v * 0,
        lambda v, w: v.cos(), lambda v, w: v / (w + 2), lambda v, w: v * 0 + w]
CUTS = [lambda v: v[1:], lambda v: v[::2], lambda v: v.transpose(0, -1), lambda v: v[-1:], lambda v: v[..., :2], lambda v: v.unsqueeze(0),
        lambda v: v.permute(*reversed(range(v.ndim))), lambda v: v]


def run_in_place(m, x, w, program):
    """Every view is made before the first write, and is written to when it is stale."""
    base = x * 1
    views = []
    for cuts, _ in program:
        view = base
        for cut in cuts:
            view = CUTS[cut](view)
        views.append(view)
    for view, (_, step) in zip(views, program):
        STEPS[step](view, w)
    return base, views


def run_functionally(m, x, w, program):
    flat, places = x.reshape(-1), []
    for cuts, step in program:
        at = m.arange(x.numel()).view(x.shape)
        for cut in cuts:
            at = CUTS[cut](at)
        at = at.reshape(-1)
        places.append(at)
        old = flat.index_select(0, at)
        flat = flat.index_add(0, at, PURE[step](old, w) - old)
    return flat, [flat.index_select(0, at) for at in places]


@pytest.mark.parametrize("seed", range(40))
def test_random_program(m, seed):
    """saved_and_versions/T-03: views and writes in place against the same in pure functions."""
    choose = random.Random(seed)
    program = [([choose.randrange(len(CUTS)) for _ in range(choose.randrange(1, 4))], choose.randrange(len(STEPS))) for _ in range(6)]
    found = []
    for run in (run_in_place, run_functionally):
        x = (m.arange(12, dtype=m.float64).view(3, 4) / 7 - 0.6).requires_grad_()
        w = m.tensor(0.7, dtype=m.float64, requires_grad=True)
        base, views = run(m, x, w, program)
        total = (base.reshape(-1) * m.arange(1, 13, dtype=m.float64)).sum() + sum((v * v).sum() for v in views)
        gradients = m.autograd.grad(total, (x, w), allow_unused=True, materialize_grads=True)
        found.append([*base.reshape(-1).tolist(), *gradients[0].reshape(-1).tolist(), gradients[1].item()])
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9)


# ---- views that may not be written to --------------------------------------------------------------------------


def under(mode, make):
    """`make`, in a mode of the library."""
    def made(m, x):
        with getattr(m, mode)():
            return make(x)
    return made


def front(x):
    return x[:2]


# name -> (a function that makes it from 4 numbers, start of the message if there is a history, key)
FORBIDDEN = {
    "chunk": (lambda m, x: x.chunk(2)[1], "Output 1 of Split is a view and", MULTIPLE),
    "split": (lambda m, x: x.split(2)[0], "Output 0 of Split is a view and", MULTIPLE),
    "unbind": (lambda m, x: x.unbind()[2], "Output 2 of Unbind is a view and", MULTIPLE),
    "slice of chunk": (lambda m, x: x.chunk(2)[1][:1], "Output 0 of Slice is a view and", MULTIPLE),
    "chunk of no_grad": (lambda m, x: under("no_grad", front)(m, x).chunk(2)[0], "Output 0 of Split is a view and", MULTIPLE),
    "no_grad": (under("no_grad", front), "A view was created in no_grad mode and", NO_GRAD),
    "chunk in no_grad": (under("no_grad", lambda x: x.chunk(2)[0]), "A view was created in no_grad mode and", NO_GRAD),
    "no_grad of chunk": (lambda m, x: under("no_grad", front)(m, x.chunk(2)[0]), "A view was created in no_grad mode and", NO_GRAD),
    "slice of no_grad": (lambda m, x: under("no_grad", front)(m, x)[:1],
                         "Output 0 of Slice is a view of a view which was created in no_grad mode and", NO_GRAD),
    "inference": (under("inference_mode", front), "A view was created in inference mode and", INFERENCE),
    "slice of inference": (lambda m, x: under("inference_mode", front)(m, x)[:1],
                           "Output 0 of Slice is a view of a view which was created in inference mode and", INFERENCE),
}
forbidden = pytest.mark.parametrize("make, start, key", FORBIDDEN.values(), ids=FORBIDDEN)


def refused(error, start, event, key):
    assert str(error.value).startswith(start) and event in str(error.value) and key in str(error.value)


@forbidden
@pytest.mark.parametrize("write", [lambda v: v.mul_(2), lambda v: v.zero_(), lambda v: v.copy_(v.clone()), lambda v: v.exp_()])
def test_direct(m, make, start, key, write):
    """Before anything is touched.

    saved_and_versions/M-01, saved_and_versions/M-03, saved_and_versions/M-04, saved_and_versions/M-05,
    saved_and_versions/M-06, saved_and_versions/M-07, saved_and_versions/I-01, saved_and_versions/T-04, saved_and_versions/T-10.
    """
    x = leaf(m, 1., 2., 3., 4.) * 1
    node, view = x.grad_fn, make(m, x)
    with raises(RuntimeError, DIRECT) as error:
        write(view)
    refused(error, start, DIRECT, key)
    assert x.tolist() == [1, 2, 3, 4] and x._version == 0 and x.grad_fn is node


@forbidden
@pytest.mark.parametrize("write", [lambda x, v: x.mul_(2), lambda x, v: x[3:].mul_(2), lambda x, v: v.detach().mul_(2)])
def test_indirect(m, make, start, key, write):
    """Reading its history is refused, printing it is not.

    saved_and_versions/M-02, saved_and_versions/M-03, saved_and_versions/M-04, saved_and_versions/M-05,
    saved_and_versions/M-06, saved_and_versions/M-07, saved_and_versions/M-10, saved_and_versions/W-15, saved_and_versions/T-04.
    """
    x = leaf(m, 1., 2., 3., 4.) * 1
    view = make(m, x)
    write(x, view)
    assert x._version == view._version == 1
    for read in (lambda: view.grad_fn, lambda: view.is_leaf, lambda: view * 1):
        with raises(RuntimeError, INDIRECT) as error:
            read()
        refused(error, start, INDIRECT, key)
    assert "grad_fn=<Invalid>" in repr(view)


@forbidden
def test_allowed(m, make, start, key):
    """saved_and_versions/M-02: where nothing requires a gradient, and under no_grad, after which the history is unreadable."""
    plain = m.ones(4)
    make(m, plain).mul_(2)
    assert plain._version == 1 and 2 in plain.tolist() and not plain.requires_grad
    x = leaf(m, 1., 2., 3., 4.) * 1
    view = make(m, x)
    with m.no_grad():
        view.mul_(2)
    assert x._version == 1 and x.tolist() != [1, 2, 3, 4]
    with raises(RuntimeError, INDIRECT):
        assert view.grad_fn


@forbidden
def test_plain_view_written_with_a_gradient(m, make, start, key):
    """saved_and_versions/M-09, saved_and_versions/M-07."""
    x = m.ones(4)
    view = make(m, x)
    with raises(RuntimeError, DIRECT) as error:
        view.mul_(leaf(m, 3.))
    assert key in str(error.value) and x.tolist() == [1] * 4 and x._version == 0 and not x.requires_grad


@pytest.mark.differs(
    what="A write with a gradient to a chunk of a tensor that has none",
    there="The message says that the view was created in no_grad mode, which is not true.",
    here="The message says that the view was created without a history.")
@ours
def test_no_grad_is_not_blamed(m):
    """saved_and_versions/M-09: PyTorch says that the view was made under no_grad, which it was not."""
    with raises(RuntimeError, "A view was created without a history and is being modified inplace.") as error:
        m.ones(4).chunk(2)[0].mul_(leaf(m, 3.))
    assert "no_grad" not in str(error.value) and MULTIPLE in str(error.value)


def test_inference_view_inherits(m):
    """saved_and_versions/M-01: a view made inside, of any, and any view of it."""
    x = leaf(m, 1., 2., 3., 4.) * 1
    view = under("inference_mode", lambda part: part[:2])(m, x.chunk(2)[0])
    with raises(RuntimeError, INFERENCE):
        under("no_grad", front)(m, view)[:1].mul_(2)
    with raises(RuntimeError, INFERENCE):
        view.chunk(2)[0].mul_(2)


BASES = {"leaf": lambda x: x, "non-leaf": lambda x: x * 1, "plain": lambda x: x.detach().clone()}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("made", ["no_grad", "enable_grad"])
@pytest.mark.parametrize("written", ["no_grad", "enable_grad"])
def test_no_grad_matrix(m, base, made, written):
    """saved_and_versions/T-08: all combinations of the mode at the view, the mode at the write, and the kind of base."""
    x = leaf(m, 1., 2., 3.)
    target = BASES[base](x)
    with getattr(m, made)():
        view = target[:2]
    error = None
    with getattr(m, written)():
        if written == "enable_grad" and base != "plain":
            error = NO_GRAD if made == "no_grad" else "a view of a leaf Variable" if base == "leaf" else None
        if error:
            with raises(RuntimeError, error):
                view.mul_(5)
        else:
            view.mul_(5)
    assert target.tolist() == ([1, 2, 3] if error else [5, 10, 3]) and target._version == (not error)
    if base != "plain":
        (target * 2).sum().backward()
        tracked = base == "non-leaf" and not error and written == "enable_grad"
        assert x.grad.tolist() == ([10, 10, 2] if tracked else [2, 2, 2])
    if base != "plain" and made == "no_grad" and not error:
        with raises(RuntimeError, INDIRECT):
            assert view.grad_fn


def test_stale_view_is_the_target(m):
    """saved_and_versions/M-02: a write to such a view is refused, before its stale grad_fn is regenerated."""
    x = leaf(m, 1., 2., 3.)
    with m.no_grad():
        view = x[:2]
        x.mul_(2)
    with raises(RuntimeError, "is being modified inplace"):
        view.fill_(2)
    assert view.tolist() == [2, 4]


def test_leaf_is_noticed_before_a_stale_operand(m):
    """saved_and_versions/I-02: the target is looked at first, then the history of the operand."""
    x = leaf(m, 1., 2.)
    view, operand = x[:1], x.unbind()[1]
    with m.no_grad():
        x.sin_()
    with raises(RuntimeError, "a view of a leaf Variable"):
        view.add_(operand)
    with raises(RuntimeError, INDIRECT):
        m.ones(1).add_(operand)


USES = {"multiplied": lambda m, w, v: w * v, "multiplied by itself": lambda m, w, v: v * v, "joined": lambda m, w, v: m.cat([w, v]),
        "written": lambda m, w, v: w.clone().mul_(v)}


def test_hooks_before_and_after_a_view_was_stale(m):
    """engine/H-21, saved_and_versions/W-10: a hook from before stays with the old grad_fn, one from after fires."""
    x = leaf(m, 1., 2.)
    view, other = x.view(2, 1), x[:1]
    fired = []
    view.register_hook(lambda g: fired.append("before"))
    with m.no_grad():
        other.mul_(-1)
    assert view.grad_fn
    view.register_hook(lambda g: fired.append("after"))
    view.sum().backward()
    assert fired == ["after"] and x.grad.tolist() == [1, 1]


def test_base_in_other_memory(m):
    """A view keeps its place, by strides and offset, when an assignment to `data` has put its base elsewhere."""
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    view = base[1:]
    base.data = base.data * 2
    view.mul_(5)
    assert base.tolist() == [2, 4, 6] and view.tolist() == [10, 15]
    base.sum().backward()
    assert x.grad.tolist() == [1, 5, 5]


@pytest.mark.parametrize("use", USES)
def test_nothing_is_saved_for_a_view_made_under_no_grad(m, use):
    """saved_and_versions/N-01: it requires a gradient, which no edge leads to. So its ops save nothing, and may run again."""
    x, w = leaf(m, 1., 2.), m.tensor([3., 4.])
    with m.no_grad():
        view = x[:]
    packed = []
    with m.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = USES[use](m, w, view)
    assert y.requires_grad and not [t for t in packed if t.is_floating_point()] and [n for n, _ in y.grad_fn.next_functions if n] == []
    w.mul_(2)
    y.sum().backward()
    y.sum().backward()
    assert x.grad is None and view.grad is None


def test_view_in_other_memory(m):
    """After an assignment to `data`, a view counts as that part of the base which its strides and its offset say."""
    x = leaf(m, 1., 2., 3., 4.)
    base = x * 1
    view = base[2:]
    view.data = m.ones(2)
    view.mul_(5)
    assert view.tolist() == [5, 5] and base.tolist() == [1, 2, 3, 4]
    base.sum().backward()
    assert x.grad.tolist() == [5, 5, 1, 1]


@pytest.mark.parametrize("replace", [lambda m, base, view: setattr(view, "data", m.ones(6)),
                                     lambda m, base, view: setattr(base, "data", m.zeros(2))])
def test_view_that_is_larger_than_its_base(m, replace):
    """After an assignment to `data`, no op reads or writes beyond the end of the memory."""
    x = leaf(m, 1., 2., 3., 4.)
    base = x * 1
    view = base[1:]
    replace(m, base, view)
    with raises(RuntimeError, "out of bounds for"):
        view.mul_(2)
        base.sum().backward()


@pytest.mark.parametrize("write, expected", [(lambda b, w: b.real.mul_(2), [8 + 2j, 16]), (lambda b, w: b[1:].real.mul_(w), [2 + 2j, 36]),
                                             (lambda b, w: b.real.zero_(), [2j, 0]), (lambda b, w: b.mul_(2j), [8 + 8j, 16])])
def test_write_to_the_real_part(m, write, expected):
    """saved_and_versions/W-22: the part has another dtype than the base."""
    x, w = m.tensor([1 + 1j, 2], requires_grad=True), leaf(m, 3.)
    base = x * 1
    write(base, w)
    (base * base.conj()).real.sum().backward()
    assert x.grad.tolist() == expected and value(w.grad) in (None, 24)


@pytest.mark.differs(
    what="A second hook on a view, after a write to the base",
    there="It is put on the node that the view had before the write, and is never called.",
    here="It is put on the view's new node, and is called.")
def test_a_hook_on_a_stale_view_is_called():
    """[better] PyTorch hangs it onto the node that the view had before the write."""
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base[:1]
    called = []
    view.register_hook(lambda g: called.append("first"))
    base.mul_(2)
    view.register_hook(lambda g: called.append("second"))
    view.sum().backward()
    assert called == ["second"]
