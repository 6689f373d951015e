"""The data of a saved tensor besides its values, the errors for changed values, and the release."""

import gc
import weakref

import pytest

from tests.core.engine_tools import leaf, ours, raises

MODIFIED = "modified by an inplace operation"
SPENT = "through the graph a second time"
DETACHED = "saved tensor that has been detached in-place"
NOT_SAVED = "Inference tensors cannot be saved for backward"


def hooks(m, pack=lambda t: t.detach(), unpack=lambda t: t):
    return m.autograd.graph.saved_tensors_hooks(pack, unpack)


# ---- the name in the message ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make, write, said", [
    (lambda m, x: x.exp(), lambda y: y.mul_(2), "[2]], which is output 0 of Exp, is at version 1; expected version 0"),
    (lambda m, x: x.sigmoid(), lambda y: y.detach().zero_(), "[2]], which is output 0 of Sigmoid, is at version 1"),
    (lambda m, x: (x * 1).exp_(), lambda y: y.mul_(2), "[2]], which is output 0 of Exp, is at version 2; expected version 1"),
    (lambda m, x: m.softmax(x, 0), lambda y: y.add_(1).mul_(1), "[2]], which is output 0 of Softmax, is at version 2"),
])
def test_message_of_a_saved_output(m, make, write, said):
    """saved_and_versions/S-31, saved_and_versions/S-32, saved_and_versions/P-05: it is called after the node that made it."""
    y = make(m, leaf(m, 1., 2.))
    write(y)
    with raises(RuntimeError, said):
        y.sum().backward()


def test_message_of_an_output_written_through_a_view(m):
    """saved_and_versions/S-09: the view has another grad_fn now, but the message still names the output of the write."""
    base = leaf(m, 1., 2.) * 1
    base[:1].exp_()
    base.mul_(2)
    with raises(RuntimeError, "[1]], which is output 0 of Exp, is at version 2; expected version 1"):
        base.sum().backward()


def test_second_derivative_of_a_write_through_a_view(m):
    """saved_and_versions/S-09: unpacked with a history, so that the result in the formula is differentiated too."""
    x = leaf(m, 1., 2.)
    base = x * 1
    base[:1].exp_()
    g, = m.autograd.grad(base.sum(), x, create_graph=True)
    assert m.autograd.grad(g.sum(), x)[0].tolist() == pytest.approx([2.7182817, 0.])


def test_message_of_an_integer_output(m):
    """An integer output has no grad_fn, so the message names none."""
    x = m.tensor([[1., 3.], [4., 2.]], requires_grad=True)
    values, places = x.max(1)
    places.add_(1)
    with raises(RuntimeError, "[2]] is at version 1; expected version 0"):
        values.sum().backward()


@pytest.mark.parametrize("act", [
    lambda m, x, i, mask: x[i], lambda m, x, i, mask: x[None, i], lambda m, x, i, mask: m.gather(x, 0, i),
    lambda m, x, i, mask: m.where(mask, x, -x), lambda m, x, i, mask: (x * 1).index_put_((i,), leaf(m, 5., 6.))])
def test_indices_are_checked_too(m, act):
    """saved_and_versions/S-30: also those that a formula knows by one name together."""
    i, mask = m.tensor([0, 1]), m.tensor([True, False])
    y = act(m, leaf(m, 1., 2.), i, mask)
    i.zero_()
    mask.zero_()
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


def test_detached_in_place_comes_before_the_version(m):
    """saved_and_versions/S-20: freed, detached in place, overwritten, in this order."""
    inner = leaf(m, 1., 2.) * 1
    y = (inner * inner).sum()
    inner.detach().mul_(2)
    inner.detach_()
    with raises(RuntimeError, DETACHED):
        y.backward()


# ---- inference tensors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [
    lambda m, x, p: x * p, lambda m, x, p: p * x, lambda m, x, p: x / p, lambda m, x, p: x * p[:1], lambda m, x, p: (x * 1).mul_(p),
    lambda m, x, p: x[p > 0] * p, lambda m, x, p: x @ p, lambda m, x, p: x * p.detach(), lambda m, x, p: x * p.data])
@pytest.mark.parametrize("packing", [False, True])
def test_inference_tensors_cannot_be_saved(m, act, packing):
    """saved_and_versions/S-02: with and without pack hooks. A clone can be saved."""
    with m.inference_mode():
        p = m.ones(2)
    x = leaf(m, 1., 2.)
    with raises(RuntimeError, NOT_SAVED):
        if packing:
            with hooks(m):
                act(m, x, p)
        else:
            act(m, x, p)
    act(m, x, p.clone()).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("act", [lambda m, x, i, mask: x[i], lambda m, x, i, mask: m.gather(x, 0, i),
                                 lambda m, x, i, mask: m.where(mask, x, -x)])
def test_inference_indices(m, act):
    """saved_and_versions/S-02: of whatever dtype they are."""
    with m.inference_mode():
        i, mask = m.tensor([0]), m.tensor([True, False])
    with raises(RuntimeError, NOT_SAVED):
        act(m, leaf(m, 1., 2.), i, mask)


@pytest.mark.parametrize("act", [
    lambda m, x, p: x + p, lambda m, x, p: x - p, lambda m, x, p: m.cat([x, p]), lambda m, x, p: x.detach() * p,
    lambda m, x, p: (x * 1).add_(p), lambda m, x, p: (x * 1).copy_(p), lambda m, x, p: x * float(p[0])])
def test_inference_tensors_that_are_not_saved(m, act):
    """saved_and_versions/S-02: only where a formula needs the values."""
    with m.inference_mode():
        p = m.ones(2)
    assert not act(m, leaf(m, 1., 2.), p).is_inference()


@ours
def test_refused_write_has_written_nothing(m):
    """PyTorch refuses too, but leaves the tensor with a node that has nothing saved."""
    with m.inference_mode():
        p = m.ones(2) * 3
    x = leaf(m, 1., 2.) * 1
    node = x.grad_fn
    with raises(RuntimeError, NOT_SAVED):
        x.mul_(p)
    assert x.tolist() == [1, 2] and x._version == 0 and x.grad_fn is node


# ---- recorded data ------------------------------------------------------------------------------------------------


def test_nothing(m):
    """saved_and_versions/S-01: for an optional argument that is missing, nothing is saved and None comes back."""
    x = m.ones(2, 3, requires_grad=True)
    node = x[:, m.tensor([0, 2])].grad_fn
    assert node._saved_indices[0] is None and node._saved_indices[1].tolist() == [0, 2]
    nothing = node._raw_saved_indices[0]
    with raises(RuntimeError, "saved tensor with value None is forbidden"):
        nothing.register_hooks(lambda t: t, lambda t: t)


def test_one_of_several_is_packed(m):
    """graph/S-40: each tensor of an index has a handle of its own."""
    x, seen = m.ones(2, 3, requires_grad=True), []
    y = x[m.tensor([0, 1]), m.tensor([2, 2])]
    raw = y.grad_fn._raw_saved_indices
    raw[1].register_hooks(lambda t: seen.append(t.tolist()), lambda packed: m.tensor([0, 0]))
    assert seen == [[2, 2]] and [i.tolist() for i in y.grad_fn._saved_indices] == [[0, 1], [0, 0]]
    with raises(RuntimeError, "hooks have already been set"):
        raw[1].register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_indices_pass_through_hooks(m):
    """graph/S-10: as every saved tensor does."""
    packed = []
    with hooks(m, lambda t: packed.append(t) or t):
        y = leaf(m, 1., 2.)[m.tensor([1])]
    assert [t.tolist() for t in packed] == [[1]]
    y.sum().backward()


def test_version_is_recorded(m):
    """saved_and_versions/S-03: the version at the save counts, not 0."""
    x, w = leaf(m, 1., 2.), m.ones(2)
    w.add_(1).add_(1)
    y = x * w
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    y = x * w
    w.add_(1)
    with raises(RuntimeError, "is at version 3; expected version 2"):
        y.sum().backward()


@pytest.mark.parametrize("packing", [False, True])
def test_place_in_the_graph_is_recorded(m, packing):
    """saved_and_versions/S-03, saved_and_versions/S-04, saved_and_versions/S-22: of a leaf, of a second output, of the node's own."""
    x = leaf(m, 1., 2., 3.)
    second = (x * 1).split(2)[1]
    with hooks(m) if packing else m.enable_grad():
        a, b, c = x * x, second * second, x.exp()
    saved = a.grad_fn._saved_self
    assert saved.is_leaf and saved.requires_grad and (saved is x) != packing
    saved = b.grad_fn._saved_self
    assert saved.grad_fn is second.grad_fn and saved.output_nr == second.output_nr == 1 and (saved is second) != packing
    saved = c.grad_fn._saved_result
    assert saved.grad_fn is c.grad_fn and saved.output_nr == 0 and saved is not c
    g, = m.autograd.grad(a.sum() + c.sum(), x, create_graph=True)
    (g.sum() + b.sum()).backward()
    assert x.grad.tolist() == pytest.approx([2 + 2.7182817, 2 + 7.389056, 2 + 20.085537 + 6], rel=1e-5)


def test_unpacked_is_wrapped_where_it_needs_a_place(m):
    """saved_and_versions/S-23: the result of an unpack hook for a tensor without a gradient comes back unchanged."""
    x, plain = leaf(m, 1., 2.), m.ones(2)
    made = []

    def unpack(t):
        made.append(t.clone())
        return made[-1]
    with hooks(m, unpack=unpack):
        y = x * plain
        z = x * x
    assert y.grad_fn._saved_other is made[-1]
    saved = z.grad_fn._saved_self
    assert saved is not made[-1] and saved.data_ptr() == made[-1].data_ptr() and saved.requires_grad and saved.is_leaf


@pytest.mark.parametrize("op", ["exp", "tanh", "sqrt", "sigmoid"])
def test_saved_values_are_left_alone(m, op):
    """saved_and_versions/S-10: the alias is not a view, even if the input was one, and no formula writes to its saved tensors."""
    x = leaf(m, 1., 2., 3.)
    y = getattr((x * 1)[1:], op)()
    saved = y.grad_fn._saved_result
    assert not saved._is_view() and saved._base is None and saved.data_ptr() == y.data_ptr()
    before = y.tolist()
    for _ in range(2):
        y.backward(m.ones(2), retain_graph=True)
    assert y.tolist() == before and y._version == saved._version == 0


# ---- letting go ---------------------------------------------------------------------------------------------------


def test_release_drops_everything(m):
    """saved_and_versions/S-41: a release frees the values, the places in the graph and the packed objects; the handle still exists."""
    class Packed:
        pass
    gc.disable()
    try:
        x = leaf(m, 1., 2.)
        inner, plain = x * 1, m.ones(2)
        watched = [weakref.ref(inner), weakref.ref(plain)]
        left = inner * plain
        with hooks(m, lambda t: Packed(), lambda p: m.ones(2)):
            right = left * plain
        node = right.grad_fn
        raw = left.grad_fn._raw_saved_other
        del inner, plain
        assert watched[1]() is not None
        right.sum().backward()
        del left
        assert watched[1]() is None
        assert node._raw_saved_other is not None
        with raises(RuntimeError, SPENT):
            assert node._saved_other
        with raises(RuntimeError, SPENT):
            raw.unpack()
        del right, node, raw
        assert all(ref() is None for ref in watched)
    finally:
        gc.enable()


def test_release_more_than_once(m):
    """saved_and_versions/R-02: after a backward that failed later on, and when the node goes."""
    x = leaf(m, 1., 2.)
    y = (x.exp() * m.ones(2)).sum()
    y.backward(retain_graph=True)
    y.backward()
    for _ in range(3):
        with raises(RuntimeError, SPENT):
            y.backward()
    del y
    x.exp().sum().backward()
    assert x.grad.tolist() == pytest.approx([3 * 2.7182817, 3 * 7.389056])


@ours
def test_release_runs_what_it_likes(m):
    """saved_and_versions/R-02: an object that reads the node in its __del__ finds it released, and disturbs nothing."""
    said = []

    class Packed:
        def __del__(self):
            try:
                said.append(node._saved_other)
            except RuntimeError as error:
                said.append(SPENT in str(error))
    x = leaf(m, 1., 2.)
    with hooks(m, lambda t: Packed(), lambda p: m.ones(2)):
        y = x * m.ones(2)
    node = y.grad_fn
    y.sum().backward()
    gc.collect()
    assert said == [True]
