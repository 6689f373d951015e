"""In-place ops: the tensors that they refuse, the new history, and gradients against the out-of-place ops."""

from functools import partial

import pytest

from tests.core.engine_tools import leaf, note, raises, value

LEAF, VIEW_OF_LEAF = "a leaf Variable that requires grad", "a view of a leaf Variable"
MODIFIED = "modified by an inplace operation"

# ---- refused writes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [
    lambda m, x: x.add_(1), lambda m, x: x.__iadd__(1), lambda m, x: x.copy_(m.zeros(4)), lambda m, x: x.zero_(), lambda m, x: x.exp_(),
    lambda m, x: x.__setitem__([0], 1.), lambda m, x: x.__setitem__(slice(None), m.zeros(4)), lambda m, x: x.mul_(x), lambda m, x: x.uniform_(), lambda m, x: x.clamp_(0, 1),
    lambda m, x: x.index_put_((m.tensor([0]),), m.zeros(1)), lambda m, x: x.square_()])
def test_leaf(m, write):
    """saved_and_versions/I-03, saved_and_versions/T-10, saved_and_versions/T-04: refused before anything is touched."""
    x = leaf(m, 1., 2., 3., 4.)
    with pytest.raises(RuntimeError, match=f"{LEAF} .*is being used in an in-place operation"):
        write(m, x)
    assert x.tolist() == [1, 2, 3, 4] and x._version == 0 and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("write", [
    lambda m, x: x.__setitem__(0, 1.), lambda m, x: x[:2].zero_(), lambda m, x: x.view(2, 2)[0].add_(1), lambda m, x: x.view_as(x).exp_(),
    lambda m, x: x[1:].t().copy_(m.zeros(3)), lambda m, x: x[:0].zero_()])
def test_view_of_a_leaf(m, write):
    """saved_and_versions/I-02, saved_and_versions/T-10, saved_and_versions/T-04."""
    x = leaf(m, 1., 2., 3., 4.)
    with raises(RuntimeError, VIEW_OF_LEAF):
        write(m, x)
    assert x.tolist() == [1, 2, 3, 4] and x._version == 0 and x.is_leaf


def test_expanded_view_of_a_leaf(m):
    """saved_and_versions/I-02 comes before saved_and_versions/I-07."""
    x = leaf(m, 1., 2., 3.)
    with raises(RuntimeError, VIEW_OF_LEAF):
        x.expand(2, 3).clamp_(min=0)


def test_view_of_a_leaf_in_other_memory(m):
    """Nor does it matter where an assignment to `data` has put the view."""
    view = leaf(m, 1., 2., 3.).expand(2, 3)
    view.data = m.zeros(2, 3)
    with raises(RuntimeError, VIEW_OF_LEAF):
        view.mul_(2)


def test_view_with_a_flag_of_its_own(m):
    """saved_and_versions/I-02: also one that requires_grad_() was called on."""
    base = m.ones(4)
    view = base[:2].requires_grad_()
    with raises(RuntimeError, VIEW_OF_LEAF):
        view.mul_(2)
    base.mul_(2)
    assert base.tolist() == [2] * 4


@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x[:1].mul_(2), lambda x: x.detach().add_(1)])
def test_no_check_under_no_grad(m, write):
    """saved_and_versions/I-04: the numbers change and the version counts; no history is recorded."""
    x = leaf(m, 1., 2.)
    with m.no_grad():
        write(x)
    assert x.tolist() != [1, 2] and x._version == 1 and x.is_leaf and x.requires_grad
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_plain_leaf_and_a_gradient(m):
    """saved_and_versions/I-05: a leaf that required no gradient becomes a non-leaf."""
    x, w = m.ones(2), leaf(m, 2., 3.)
    x.mul_(w)
    assert x.requires_grad and not x.is_leaf
    x.sum().backward()
    assert w.grad.tolist() == [1, 1]


@pytest.mark.parametrize("make", [lambda x: x.expand(3), lambda x: x.view(1, 1).expand(2, 2), lambda x: x.expand(3)[1:],
                                  lambda x: (x * 1).expand(3)])
@pytest.mark.parametrize("requires", [False, True])
def test_expanded(m, make, requires):
    """saved_and_versions/I-07: several elements in one place."""
    x = m.tensor([1.], requires_grad=requires) * 1
    y = make(x)
    with raises(RuntimeError, "refers to a single memory location"):
        y.add_(1)
    assert x._version == 0 and x.tolist() == [1]


@pytest.mark.parametrize("write, key", [
    (lambda m, x: x.add_(m.ones(3, 2)), "doesn't match the broadcast shape"), (lambda m, x: m.ones(2).long().add_(x), "can't be cast"),
    (lambda m, x: x.copy_(m.ones(3)), "must match the"), (lambda m, x: x.fill_(m.ones(2)), "0-dimension")])
def test_bad_operand(m, write, key):
    """saved_and_versions/T-10: neither numbers nor version nor history change when the operands do not fit."""
    x = leaf(m, 1., 2.) * 1
    node = x.grad_fn
    with raises(RuntimeError, key):
        write(m, x)
    assert x.tolist() == [1, 2] and x._version == 0 and x.grad_fn is node


# ---- the history -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, write", [
    ("AddBackward0", lambda x: x.add_(1)), ("MulBackward0", lambda x: x.__imul__(2)), ("ExpBackward0", lambda x: x.exp_()),
    ("PowBackward0", lambda x: x.square_()), ("CopyBackwards", lambda x: x.copy_(x.detach().clone())),
    ("ZeroBackward0", lambda x: x.zero_()), ("FillBackward2", lambda x: x.fill_(1)), ("NegBackward0", lambda x: x.negative_()),
    ("DivBackward0", lambda x: x.true_divide_(2)), ("AbsBackward0", lambda x: x.absolute_()), ("ClampBackward1", lambda x: x.clamp_(0, 1))])
def test_node(m, name, write):
    """The name of the out-of-place op, on top of the old history, in the same object.

    saved_and_versions/P-01, saved_and_versions/P-02.
    """
    x = leaf(m, 1., 2.) * 1
    old = x.grad_fn
    assert write(x) is x
    assert x.grad_fn.name().endswith(name) and x.grad_fn.next_functions[0][0] is old and x._version == 1


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 1), (1, 1), ()], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "atan2"])
def test_operand_that_broadcasts(m, name, shape):
    """The numbers, the gradients and the node are those of the out-of-place op."""
    found = []
    for in_place in (True, False):
        x = (m.arange(6.) + 1).reshape(2, 3).requires_grad_()
        n = 1
        for size in shape:
            n *= size
        y = (m.arange(float(n)) + 2).reshape(shape).requires_grad_()
        z = getattr(x * 1, name + "_" * in_place)(y)
        node = type(z.grad_fn).__name__
        (z * (m.arange(6.).reshape(2, 3) + 1)).sum().backward()
        found.append((z.tolist(), x.grad.tolist(), y.grad.tolist(), tuple(y.grad.shape), node))
    assert found[0] == found[1]


@pytest.mark.parametrize("part, through_a_view", [
    (slice(None), False), (slice(0, 3), False), (slice(0, 9), False), (slice(-3, None), True), (slice(1, None), True),
    (slice(None, -1), True)])
@pytest.mark.parametrize("size", [3, 0])
def test_assignment_to_all(m, size, part, through_a_view):
    """A slice that begins at 0 and takes all is the tensor itself; one that begins elsewhere is a view, though it takes all too."""
    x = m.ones(size, requires_grad=True) * 1
    x[part] = leaf(m, 2.)
    assert ("CopySlices" in x.grad_fn.name()) == through_a_view


def test_index_put_node(m):
    """saved_and_versions/P-01: the nodes of in-place ops with indices."""
    x = leaf(m, 1., 2.) * 1
    at = m.tensor([0])
    for write, name in [(lambda: x.index_add_(0, at, m.ones(1)), "IndexAddBackward0"),
                        (lambda: x.scatter_add_(0, at, m.ones(1)), "ScatterAddBackward0"),
                        (lambda: x.index_put_((at,), m.ones(1)), "IndexPutBackward0")]:
        old = x.grad_fn
        assert write() is x and x.grad_fn.name() == name and x.grad_fn.next_functions[0][0] is old


def test_formula_sees_the_old_numbers(m):
    """saved_and_versions/P-03."""
    w, x, y = leaf(m, 2., 3.), leaf(m, 5., 7.), leaf(m, 3., 2.)
    z = w * 1
    z.mul_(x)
    z.sum().backward()
    assert x.grad.tolist() == [2, 3] and w.grad.tolist() == [5, 7]
    z = w * 1
    z.pow_(y)
    gw, gy = m.autograd.grad(z.sum(), (w, y))
    assert gw.tolist() == [12, 6] and gy.tolist() == pytest.approx([5.5451774, 9.887511])


def test_operand_that_is_the_target(m):
    """saved_and_versions/P-04."""
    x = leaf(m, 2., 3.) * 1
    x.mul_(x)
    assert x.tolist() == [4, 9]
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        x.sum().backward()


def test_saved_result(m):
    """saved_and_versions/P-05: it is saved at the version after the write."""
    x = leaf(m, 1., 2.)
    y = x * 1
    y.exp_().sum().backward()
    assert x.grad.tolist() == pytest.approx([2.7182817, 7.389056])
    y = x * 1
    y.exp_()
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1"):
        y.sum().backward()


def test_rebase_moves_what_belongs_to_the_tensor(m):
    """saved_and_versions/H-01, saved_and_versions/P-06: its retained gradient comes along, its hooks stay with the old value."""
    events = []
    x = leaf(m, 1., 2.)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: events.append(("old", g.tolist())))
    y.mul_(2)
    assert not y._backward_hooks
    y.register_hook(lambda g: events.append(("new", g.tolist())))
    (y * 5).sum().backward()
    assert events == [("new", [5, 5]), ("old", [10, 10])]
    assert y.grad.tolist() == [5, 5] and y.retains_grad and x.grad.tolist() == [30, 30]


def test_hooks_of_a_tensor_that_was_not_written_to(m):
    """saved_and_versions/H-01: a hook on the node stays with the node."""
    ran = []
    y = leaf(m, 1., 2.) * 3
    y.grad_fn.register_hook(note(ran, "mul"))
    y.add_(1)
    y.grad_fn.register_hook(note(ran, "add"))
    y.sum().backward()
    assert ran == ["add", "mul"]


# ---- gradients -------------------------------------------------------------------------------------------------

# name -> the call with x and y, of x's shape. `f` gives the method, in place or out of place.
OPS = {
    "add_": lambda x, y, f: f("add_")(y, alpha=3), "sub_": lambda x, y, f: f("sub_")(y), "mul_": lambda x, y, f: f("mul_")(y),
    "div_": lambda x, y, f: f("div_")(y), "pow_": lambda x, y, f: f("pow_")(y), "pow_ number": lambda x, y, f: f("pow_")(3),
    "square_": lambda x, y, f: f("square_")(), "clamp_": lambda x, y, f: f("clamp_")(0.8, 1.5),
    "clamp_ tensor": lambda x, y, f: f("clamp_")(min=y), "mul_ broadcast": lambda x, y, f: f("mul_")(y.sum()),
    "index_put_": lambda x, y, f: f("index_put_")((x.new_tensor([0, -1]).long(),), y[:1]),
    "index_put_ add": lambda x, y, f: f("index_put_")((x.new_tensor([0] * len(y)).long(),), y, accumulate=True),
    "index_add_": lambda x, y, f: f("index_add_")(0, x.new_tensor([0] * len(y)).long(), y, alpha=2),
    "scatter_add_": lambda x, y, f: f("scatter_add_")(0, (x.detach() * 0).long(), y),
    **{name: lambda x, y, f, name=name: f(name)() for name in (
        "neg_", "exp_", "log_", "log1p_", "sqrt_", "rsqrt_", "reciprocal_", "abs_", "sign_", "sin_", "cos_", "tanh_", "sigmoid_", "relu_")},
}
# name -> the target of the write, made from a (3, 2) or (2, 3) base
PLACES = {
    "base": lambda x: x, "view": lambda x: x[1:], "column": lambda x: x[:, :1], "view of view": lambda x: x[1:].view(-1)[:2],
    "transposed": lambda x: x.t(), "transposed part": lambda x: x.t()[:, 1:], "strided": lambda x: x.view(-1)[::2],
    "unsqueezed": lambda x: x.unsqueeze(1)[0], "permuted": lambda x: x.unsqueeze(0).permute(2, 0, 1)[:, 0],
}
X = [[0.7, 1.3], [1.1, 0.9], [1.7, 0.6]]
WEIGHTS = [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]


def out_of_place(m, x, place, result):
    """x with `result` in `place`, without a write in place."""
    at = place(m.arange(x.numel()).view(x.shape)).reshape(-1)
    return x.reshape(-1).index_add(0, at, (result - place(x)).reshape(-1)).view(x.shape)


def out_of_place_method(x, name):
    """The out-of-place method for the in-place one `name`. For index_put_, which has none, the method of a copy."""
    return x.clone().index_put_ if name == "index_put_" else getattr(x, name[:-1])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OPS)
def test_gradient(m, name, place):
    """First and second gradient, in the target and in the operand.

    saved_and_versions/T-02, saved_and_versions/W-22, saved_and_versions/W-29.
    """
    op, part = OPS[name], PLACES[place]
    found = []
    for in_place in (True, False):
        x = m.tensor(X, dtype=m.float64, requires_grad=True)
        y = m.tensor(part(m.tensor(X)).tolist(), dtype=m.float64).mul_(1.1).requires_grad_()
        z = x * x
        if in_place:
            op(part(z), y, part(z).__getattribute__)
            assert z._version == 1
        else:
            z = out_of_place(m, z, part, op(part(z), y, partial(out_of_place_method, part(z))))
        total = (z * z * m.tensor(WEIGHTS, dtype=m.float64)).sum()
        first = m.autograd.grad(total, (x, y), create_graph=True, allow_unused=True, materialize_grads=True)
        second = m.autograd.grad((first[0] * first[0]).sum() + first[1].sum(), (x, y), allow_unused=True, materialize_grads=True)
        found.append([g.reshape(-1).tolist() for g in (z, *first, *second)])
    for ours, expected in zip(*found):
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("write, expected", [
    (lambda x, v: x.copy_(v), ([0, 0, 0], [1, 2, 4])), (lambda x, v: x.zero_(), ([0, 0, 0], None)),
    (lambda x, v: x.fill_(v.sum()), ([0, 0, 0], [7, 7, 7])), (lambda x, v: x.fill_(3), ([0, 0, 0], None)),
    (lambda x, v: x[1:].copy_(v[:2]), ([1, 0, 0], [2, 4, 0])), (lambda x, v: x[1:].zero_(), ([1, 0, 0], None)),
    (lambda x, v: x.__setitem__(0, v[2]), ([0, 2, 4], [0, 0, 1])), (lambda x, v: x.__setitem__([2, 0], v[:2]), ([0, 2, 0], [4, 1, 0])),
    (lambda x, v: x.uniform_(), ([0, 0, 0], None)), (lambda x, v: x[:1].normal_(), ([0, 2, 4], None)),
    (lambda x, v: x.__setitem__(x > 1.5, v[0]), ([1, 0, 0], [6, 0, 0]))])
def test_gradient_of_an_overwrite(m, write, expected):
    """saved_and_versions/T-02: of the ops that exist in place only."""
    x, v = leaf(m, 1., 2., 3.), leaf(m, 5., 6., 7.)
    z = x * 1
    write(z, v)
    (z * m.tensor([1., 2., 4.])).sum().backward()
    assert (value(x.grad), value(v.grad)) == expected


def test_clamp_refuses_limits_that_do_not_fit(m):
    """saved_and_versions/T-10"""
    for x, low in [(m.arange(3), 0.5), (m.arange(3), m.zeros(3)), (m.zeros(3), m.zeros(2)), (m.zeros(3), m.zeros(2, 3)),
                   (m.zeros(2, dtype=m.complex64), 0), (m.zeros(2, dtype=m.bool), 1)]:
        before = x.tolist()
        with pytest.raises(RuntimeError):
            x.clamp_(low)
        assert x._version == 0 and x.tolist() == before
    assert m.arange(3).clamp_(True).tolist() == [1, 1, 2]


def test_fill_of_nothing_is_an_ordinary_write(m):
    x = m.ones(2, 0, requires_grad=True)
    for compute in (lambda: (x * 1).fill_(0.5), lambda: (x * 1).zero_()):
        y = compute()
        assert y.grad_fn.name() in ("FillBackward2", "ZeroBackward0") and y._version == 1


def test_integers_in_place(m):
    """Small numbers and tensors of the same dtype go through fewer steps; the others, and their errors, are as before."""
    for dtype in (m.int64, m.int32, m.int8, m.uint8):
        n = m.arange(1, 5, dtype=dtype)
        version = n._version
        n.add_(1).mul_(n).sub_(2).remainder_(100).floor_divide_(2)
        assert n.dtype is dtype and n.tolist() == [1, 3, 7, 11] and n._version == version + 5
        n += n[:1].clone()
        n.clamp_(3, 8).pow_(2)
        assert n.dtype is dtype and n.tolist() == [9, 16, 64, 64]
    n = m.tensor([100, 27], dtype=m.int8)
    assert n.add_(100).tolist() == [-56, 127]           # wraps around
    assert m.tensor(5).pow_(2).item() == 25
    for call in (lambda: n.div_(2), lambda: n.sqrt_(), lambda: n.add_(0.5), lambda: n.floor_divide_(0), lambda: n.pow_(-1),
                 lambda: n.add_(m.arange(3))):
        with pytest.raises(RuntimeError):
            call()
    assert n.tolist() == [-56, 127]
