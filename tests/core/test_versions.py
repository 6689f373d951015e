"""Saved tensors, and the check on unpack for later writes: versions, `detach`, `data`, inference mode."""

import gc
import re
import weakref

import pytest

import minigrad
from tests.core.engine_tools import leaf, raises

MODIFIED = "modified by an inplace operation"
SPENT = "through the graph a second time"


def with_values(m, *values):
    return m.tensor(list(values))


# ---- stored data -----------------------------------------------------------------------------------------------


def test_input_is_kept_itself(m):
    """saved_and_versions/S-05: of a plain tensor, a leaf and a non-leaf."""
    x, plain = leaf(m, 1., 2.), with_values(m, 3., 4.)
    inner = x * 2
    assert (x * plain).grad_fn._saved_other is plain
    y = inner * x
    assert y.grad_fn._saved_self is inner and y.grad_fn._saved_other is x
    assert y.grad_fn._saved_self.grad_fn is inner.grad_fn


def test_output_is_kept_as_an_alias(m):
    """saved_and_versions/S-06: unpacked, it is another object on the same memory, with its node for grad_fn."""
    x = leaf(m, 1., 2.)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y and saved.data_ptr() == y.data_ptr() and saved.grad_fn is y.grad_fn and saved.output_nr == 0
    assert not saved._is_view()


def test_saved_output_of_a_write_through_a_view(m):
    """The node of a write through a view is not the view's grad_fn, but can still unpack its result."""
    x = leaf(m, 1., 2.)
    base = x * 1
    base[:1].exp_()
    base.sum().backward()
    assert x.grad.tolist() == pytest.approx([2.7182817, 1.])


def test_rebuilt_output_shares_the_counter(m):
    """saved_and_versions/S-24."""
    y = leaf(m, 1., 2.).exp()
    saved = y.grad_fn._saved_result
    with m.no_grad():
        saved.zero_()
    assert y._version == saved._version == 1
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize("op", ["exp", "sigmoid", "tanh", "sqrt", "relu", "reciprocal", "exp_", "tanh_", "softmax", "write to a part"])
def test_saved_output_makes_no_cycle(m, op):
    """Of built-in ops: the node dies with the last reference to its output, without the collector.

    saved_and_versions/S-07, saved_and_versions/T-05.
    """
    gc.disable()
    try:
        x = leaf(m, 1., 2.)
        nodes_hold = weakref.ref(x)
        if op == "softmax":
            y = m.softmax(x, 0)
        elif op == "write to a part":
            y = x * 1
            y[:1].exp_()
        else:
            y = getattr(x * 1 if op.endswith("_") else x, op)()
        output = weakref.ref(y)
        del x
        assert nodes_hold() is not None
        del y
        assert output() is None and nodes_hold() is None
    finally:
        gc.enable()


# ---- the check -------------------------------------------------------------------------------------------------

ALIASES = {"a": lambda a: a, "a[1:]": lambda a: a[1:], "detach": lambda a: a.detach(), "view": lambda a: a.view(-1),
           "data": lambda a: a.data, "detached view": lambda a: a[1:].detach(), "view of detached": lambda a: a.detach()[1:]}


@pytest.mark.parametrize("write", ALIASES)
@pytest.mark.parametrize("save", ALIASES)
def test_who_notices_a_write(m, save, write):
    """Base, views and detached aliases share a counter; `data` has its own.

    saved_and_versions/T-01, saved_and_versions/V-04, saved_and_versions/D-02, saved_and_versions/S-35.
    """
    a = with_values(m, 1., 2., 3.)
    saved, target = ALIASES[save](a), ALIASES[write](a)
    y = (leaf(m, *[1.] * len(saved)) * saved).sum()
    target.add_(1)
    if "data" in (save, write) and not save == write == "a":
        assert saved._version == (0 if save == "data" or write == "data" else 1)
        y.backward()
    else:
        assert saved._version == target._version == a._version == 1
        with raises(RuntimeError, MODIFIED):
            y.backward()


SAID = r"modified by an inplace operation: \[[^]]*\[3\]\], which is output 0 of [\w:]*?(\w+), is at version (\d+); " \
       r"expected version (\d+) instead\. Hint: "


@pytest.mark.parametrize("write, op, versions", [
    (lambda b: b.mul_(2), "Mul", (1, 0)), (lambda b: b.add_(1).neg_(), "Neg", (2, 0)), (lambda b: b.detach().zero_(), "Clone", (1, 0)),
    (lambda b: b[:1].mul_(2), "CopySlices", (1, 0))])
def test_message(m, write, op, versions):
    """saved_and_versions/S-31, saved_and_versions/S-32: the error has the saved tensor, the op that made its current values, and the two versions."""
    b = leaf(m, 1., 2., 3.).clone()
    y = b * b
    write(b)
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    found = re.search(SAID, str(error.value))
    assert found and found.groups() == (op, *map(str, versions))
    assert "set_detect_anomaly(True, check_nan=False)" in str(error.value)


def test_message_of_what_has_no_grad_fn(m):
    """saved_and_versions/S-32."""
    x, plain = leaf(m, 1., 2., 3.), m.ones(3)
    y = x * plain
    plain.zero_()
    with pytest.raises(RuntimeError, match=r"\[3\]\] is at version 1; expected version 0 instead") as error:
        y.sum().backward()
    assert "which is output" not in str(error.value)


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_hint_in_anomaly_mode(m):
    """saved_and_versions/S-31: the traceback has been printed already."""
    with m.autograd.set_detect_anomaly(True, check_nan=False):
        b = leaf(m, 1., 2., 3.).exp()
        y = b.sum()
        b.detach().zero_()
        with raises(RuntimeError, "Hint: the") as error:
            y.backward()
    assert "trace" in str(error.value) and "set_detect_anomaly" not in str(error.value)


def test_check_is_at_unpack(m):
    """saved_and_versions/S-33: the write itself is all right, and so is a backward that does not come by."""
    x, w = leaf(m, 1., 2.), leaf(m, 1., 2.)
    y, z = x * w, x * 3
    with m.no_grad():
        w.zero_()
    assert m.autograd.grad((y + z).sum(), z, retain_graph=True)[0].tolist() == [1, 1]
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize("write", [
    lambda m, b: b.mul_(1), lambda m, b: b.copy_(b.clone()), lambda m, b: b[2:].zero_(), lambda m, b: b[3:].zero_(),
    lambda m, b: b.__setitem__(2, 0.)])
def test_only_the_counter_matters(m, write):
    """saved_and_versions/S-34, saved_and_versions/S-30: the same numbers again, or another part of the memory, or an empty one."""
    b = m.ones(3)
    y = leaf(m, 1., 1.) * b[:2]
    write(m, b)
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda b: b.data.zero_(), lambda b: b.numpy().fill(0),
                                   lambda b: setattr(b, "data", b.clone().zero_())], ids=["data", "numpy", "set data"])
def test_undetectable(m, write):
    """No error is raised, and the gradient is computed from the new numbers.

    saved_and_versions/S-35, saved_and_versions/D-04, saved_and_versions/V-06.
    """
    x, b = leaf(m, 1., 1.), m.ones(2)
    y = x * b
    write(b)
    assert b._version == 0
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_detached_in_place(m):
    """saved_and_versions/S-21, saved_and_versions/T-06: an input, not a saved output, which is an alias."""
    x = leaf(m, 1., 2.)
    inner = x * 1
    y = inner * inner
    inner.detach_()
    with raises(RuntimeError, "saved tensor that has been detached in-place"):
        y.sum().backward()
    z = x.exp()
    total = z.sum()
    z.detach_()
    total.backward()
    assert x.grad.tolist() == pytest.approx([2.7182817, 7.389056])


def test_freed(m):
    """saved_and_versions/S-40: spent comes before a wrong version; in a formula and by name."""
    x, b = leaf(m, 1., 2.), m.ones(2)
    y = x * b
    node, total = y.grad_fn, y.sum()
    total.backward()
    b.zero_()
    with raises(RuntimeError, SPENT):
        assert node._saved_other
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        total.backward()


def test_release_is_by_execution(m):
    """saved_and_versions/R-01: a node that the backward does not run keeps its saved tensors; the nodes that ran release theirs."""
    x, w, b = leaf(m, 1., 2.), leaf(m, 1., 2.), m.ones(2)
    left, right = x * b, w * b
    watched = weakref.ref(b)
    total = (left + right).sum()
    m.autograd.grad(total, w)
    del b
    assert watched() is not None and left.grad_fn._saved_other is watched()
    with raises(RuntimeError, SPENT):
        assert right.grad_fn._saved_other
    del left, right, total
    assert watched() is None


# ---- the counter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda m, x: m.zeros(2), lambda m, x: x * 2, lambda m, x: x.clone(), lambda m, x: m.tensor([1.]), lambda m, x: m.ones_like(x),
    lambda m, x: m.randn(2), lambda m, x: x[m.tensor([0])], lambda m, x: m.cat([x, x]), lambda m, x: x.data])
def test_starts_at_zero(m, make):
    """saved_and_versions/V-01, saved_and_versions/V-05: a factory, an op, and the fresh counter of `data`."""
    x = m.ones(2)
    x.add_(1)
    assert make(m, x)._version == 0 and x._version == 1


WRITES = {
    "add_": lambda m, x: x.add_(1), "sub_": lambda m, x: x.sub_(x.clone()), "copy_": lambda m, x: x.copy_(m.ones(3)),
    "zero_": lambda m, x: x.zero_(), "fill_": lambda m, x: x.fill_(2), "setitem number": lambda m, x: x.__setitem__(0, 1.),
    "setitem all": lambda m, x: x.__setitem__(slice(None), m.ones(3)), "setitem index": lambda m, x: x.__setitem__([0, 1], 1.),
    "setitem mask": lambda m, x: x.__setitem__(x > 1, 1.), "uniform_": lambda m, x: x.uniform_(), "normal_": lambda m, x: x.normal_(),
    "index_put_": lambda m, x: x.index_put_((m.tensor([0]),), m.ones(1)), "clamp_": lambda m, x: x.clamp_(0, 1),
    "index_add_": lambda m, x: x.index_add_(0, m.tensor([0]), m.ones(1)), "pow_": lambda m, x: x.pow_(2),
    "scatter_add_": lambda m, x: x.scatter_add_(0, m.tensor([0]), m.ones(1)), "square_": lambda m, x: x.square_(),
    "relu_": lambda m, x: x.relu_(),
    "write to a view": lambda m, x: x[1:][:1].exp_(), "write to an empty view": lambda m, x: x[3:].exp_(),
    "write to detached": lambda m, x: x.detach().neg_(), "init": lambda m, x: m.nn.init.zeros_(x),
}


@pytest.mark.parametrize("kind", ["plain", "leaf", "non-leaf", "inference mode"])
@pytest.mark.parametrize("name", WRITES)
def test_one_per_write(m, name, kind):
    """Of PyTorch's writers, `out=` and `resize_` are not there.

    saved_and_versions/V-02, saved_and_versions/I-04, saved_and_versions/N-04.
    """
    x = m.tensor([1., 2., 3.], requires_grad=kind != "plain")
    if kind == "non-leaf":
        x = x * 1
    with m.inference_mode() if kind == "inference mode" else m.no_grad():
        WRITES[name](m, x)
    assert x._version == 1
    assert x.requires_grad == (kind != "plain") and x.is_leaf == (kind != "non-leaf")


@pytest.mark.parametrize("act", [
    lambda m, x: x.requires_grad_(), lambda m, x: x.detach_(), lambda m, x: (x.requires_grad_() * 1).retain_grad(), lambda m, x: x.tolist(),
    lambda m, x: (x[0], x.view(-1), x.detach(), x.t()), lambda m, x: setattr(x, "data", m.zeros(2)), lambda m, x: x.numpy().fill(1),
    lambda m, x: x.requires_grad_().sum().backward()])
def test_not_counted(m, act):
    """saved_and_versions/V-03, saved_and_versions/V-06."""
    x = m.ones(2)
    x.add_(1)
    act(m, x)
    assert x._version == 1


def test_set_data_keeps_the_counter(m):
    """saved_and_versions/V-06: the tensor keeps its counter, and shares it neither with the new data nor with old views."""
    x, new = m.ones(2), m.zeros(2)
    old = x[:1]
    new.add_(1).add_(1)
    x.data = new
    assert x._version == 0 and x.data_ptr() == new.data_ptr()
    x.add_(1)
    assert (x._version, new._version, old._version) == (1, 2, 1)
    assert new.tolist() == [3, 3] and old.tolist() == [1]


def test_version_is_read_only(m):
    """saved_and_versions/V-07."""
    with pytest.raises(AttributeError):
        m.ones(2)._version = 3


# ---- detach and data -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1, lambda x: x[:1], lambda x: (x * 1)[:1], lambda x: x.detach()])
def test_detach(m, make):
    """saved_and_versions/D-01, saved_and_versions/V-05."""
    x = make(leaf(m, 1., 2.))
    for alias, counted in [(x.detach(), True), (x.data, False)]:
        assert not alias.requires_grad and alias.grad_fn is None and alias.is_leaf
        assert not alias._is_view() and alias._base is None and alias.data_ptr() == x.data_ptr()
        before = x._version
        alias.add_(1)
        assert x._version == before + counted


def test_write_to_a_detached_leaf(m):
    """saved_and_versions/D-03."""
    x = leaf(m, 1., 2.)
    x.detach().add_(1)
    assert x._version == 1 and x.tolist() == [2, 3] and x.requires_grad and x.is_leaf


def test_detach_in_place(m):
    """saved_and_versions/D-05: the history goes, the hooks stay."""
    x = leaf(m, 1., 2.)
    y = x * 2
    y.register_hook(lambda g: None)
    assert y.detach_() is y and not y.requires_grad and y.grad_fn is None and y._version == 0 and len(y._backward_hooks) == 1
    assert x.detach_() is x and not x.requires_grad
    for view in (m.ones(2)[:1], (leaf(m, 1., 2.) * 1)[:1]):
        with raises(RuntimeError, "Can't detach views in-place"):
            view.detach_()


@pytest.mark.parametrize("value, error, key", [
    (lambda m: 3, TypeError, "Variable data has to be a tensor"), (lambda m: None, TypeError, "Variable data has to be a tensor"),
    (lambda m: m.tensor([1, 2]), RuntimeError, "must be floating point or complex dtype")])
def test_set_data_refused(m, value, error, key):
    """saved_and_versions/D-06."""
    x = leaf(m, 1., 2.)
    with raises(error, key):
        x.data = value(m)
    assert x.tolist() == [1, 2]


def test_set_data(m):
    """saved_and_versions/D-06: another shape is all right, `grad` stays, and another dtype takes a new accumulator."""
    x = leaf(m, 1., 2.)
    (x * 3).sum().backward()
    old = x.view_as(x).grad_fn.next_functions[0][0]
    x.data = m.ones(3, dtype=m.float64)
    assert x.shape == (3,) and x.dtype is m.float64 and x.grad.shape == (2,) and x.requires_grad
    assert x.view_as(x).grad_fn.next_functions[0][0] is not old
    plain = m.ones(2)
    plain.data = m.tensor([1, 2])
    assert plain.dtype is m.int64


# ---- no_grad and inference mode --------------------------------------------------------------------------------


def test_views_under_no_grad(m):
    """saved_and_versions/N-01."""
    x = leaf(m, 1., 2.)
    with m.no_grad():
        view, result = x[:1], x * 1
    assert view.requires_grad and view.is_leaf and view.grad_fn is None and view._base is x
    assert not result.requires_grad


def test_inference_tensors(m):
    """saved_and_versions/N-02, saved_and_versions/V-08: tensors made inside are inference tensors; a view is one if its base is; a clone outside is normal."""
    normal = m.ones(2)
    with m.inference_mode():
        made, result, view_of_normal = m.ones(2), normal + 1, normal[:1]
    assert made.is_inference() and result.is_inference() and made[:1].is_inference() and made.detach().is_inference()
    assert not view_of_normal.is_inference() and not made.clone().is_inference() and not (made + 1).is_inference()
    for x in (made, made[:1]):
        with raises(RuntimeError, "do not track version counter"):
            assert x._version
    with m.inference_mode():
        assert not normal.is_inference() and made.clone().is_inference()


@pytest.mark.differs(
    what="A write to an inference tensor outside inference mode",
    there="It raises after the write.",
    here="It raises before the write, so the numbers stay as they were.")
@pytest.mark.parametrize("act, key", [
    (lambda m, x: x.add_(1), "Inplace update to inference tensor"), (lambda m, x: x.zero_(), "Inplace update to inference tensor"),
    (lambda m, x: x[:1].zero_(), "Inplace update to inference tensor"),
    (lambda m, x: x.__setitem__(0, 1.), "Inplace update to inference tensor"),
    (lambda m, x: x.copy_(m.zeros(2)), "Inplace update to inference tensor"),
    (lambda m, x: x.requires_grad_(), "requires_grad=True on inference tensor")])
def test_refused_outside(m, act, key):
    """saved_and_versions/N-03: we say it before the write, PyTorch after it."""
    with m.inference_mode():
        x = m.ones(2)
    with raises(RuntimeError, key):
        act(m, x)
    assert x.tolist() == [1, 1] or m is not minigrad


def test_inference_tensor_that_is_not_saved(m):
    """A sum needs no value of its operands, so that nothing speaks against one."""
    with m.inference_mode():
        plain = m.ones(2)
    x = leaf(m, 1., 2.)
    (x + plain).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_write_inside_is_noticed_outside(m):
    """saved_and_versions/N-04: a write inside to a normal tensor, also a leaf, makes a later backward through it raise."""
    x = leaf(m, 1., 2.)
    y = x * x
    with m.inference_mode():
        x.add_(1)
        x[:1].mul_(2)
    assert x._version == 2 and x.tolist() == [4, 3] and x.requires_grad and x.is_leaf
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


def test_modes(m):
    """saved_and_versions/N-05, saved_and_versions/N-06."""
    x = leaf(m, 1., 2.)
    with m.inference_mode():
        assert not m.is_grad_enabled()
        with m.enable_grad():
            assert not (x * 2).requires_grad
    with m.no_grad(), m.inference_mode(False):
        assert m.is_grad_enabled() and (x * 2).requires_grad
    with m.no_grad(), m.inference_mode(), m.inference_mode(False):
        assert m.is_grad_enabled() and (x * 2).requires_grad and not (x * 2).is_inference()
    assert m.is_grad_enabled()


def test_backward_inside_inference_mode(m):
    """saved_and_versions/N-07."""
    x = leaf(m, 1., 2.)
    y = (x * x).sum()
    with m.inference_mode():
        y.backward()
    assert x.grad.tolist() == [2, 4]
