"""Views taken in place: t_, transpose_, squeeze_, unsqueeze_, as_strided_; and resize_, set_. No number changes."""

import pytest

from tests.core.engine_tools import leaf, ours, raises

# name of the node -> the call, and the shape that it makes of (1, 2, 3)
VIEWS = {
    "TransposeBackward1": (lambda x: x.transpose_(1, 2), (1, 3, 2)), "UnsqueezeBackward1": (lambda x: x.unsqueeze_(1), (1, 1, 2, 3)),
    "SqueezeBackward3": (lambda x: x.squeeze_(), (2, 3)), "SqueezeBackward4": (lambda x: x.squeeze_(0), (2, 3)),
    "SqueezeBackward5": (lambda x: x.squeeze_((0, 1)), (2, 3)),
    "AsStridedBackward1": (lambda x: x.as_strided_((2, 2), (3, 1)), (2, 2)),
    "TransposeBackward1 swapaxes_": (lambda x: x.swapaxes_(1, 2), (1, 3, 2)),
    "TransposeBackward1 swapdims_": (lambda x: x.swapdims_(0, 1), (2, 1, 3)),
}


def made(m, requires_grad=True):
    return m.arange(6.).reshape(1, 2, 3).clone().requires_grad_(requires_grad)


def of_all(m, name, x):
    """The gradient of twice the sum of the view."""
    kept = name.startswith("AsStrided")
    return [[[2, 2, 0], [2, 2, 0]]] if kept else [[[2] * 3] * 2]


@pytest.mark.parametrize("name", VIEWS)
def test_on_a_base(m, name):
    """saved_and_versions/P-01, saved_and_versions/P-02, saved_and_versions/V-02."""
    write, shape = VIEWS[name]
    x = made(m)
    z = x * 1
    old, other = z.grad_fn, z[:]
    assert write(z) is z and tuple(z.shape) == shape and z._version == 1
    assert z.grad_fn.name() == name.split()[0] and z.grad_fn.next_functions == ((old, 0),) and not z._base
    (z * 2).sum().backward(retain_graph=True)
    assert x.grad.tolist() == of_all(m, name, x)
    if not name.startswith("AsStrided"):                # a view that was there before keeps its shape
        assert tuple(other.shape) == (1, 2, 3) and other.grad_fn.name() == "AsStridedBackward0"
        assert other.grad_fn.next_functions[0][0] is z.grad_fn
        x.grad = None
        (other * 3).sum().backward()
        assert x.grad.tolist() == [[[3] * 3] * 2]


@pytest.mark.parametrize("name", VIEWS)
def test_on_a_view(m, name):
    """The history of the base stays unchanged, and its version counts."""
    write, shape = VIEWS[name]
    x = made(m)
    z = x * 1
    view = z[:]
    node, old = z.grad_fn, view.grad_fn
    write(view)
    assert tuple(view.shape) == shape and tuple(z.shape) == (1, 2, 3) and z._version == view._version == 1
    assert view._base is z and z.grad_fn is node
    assert view.grad_fn.name() == name.split()[0] and view.grad_fn.next_functions == ((old, 0),)
    (view * 2).sum().backward()
    assert x.grad.tolist() == of_all(m, name, x)


@pytest.mark.parametrize("name", VIEWS)
def test_and_then_a_write(m, name):
    """saved_and_versions/W-10, saved_and_versions/W-20: a later write uses the new strides."""
    write, shape = VIEWS[name]
    x = made(m)
    z = x * 1
    view = z[:]
    write(view)
    view.mul_(3)
    assert z.grad_fn.name().endswith("CopySlices") and view.grad_fn.name() == "AsStridedBackward0" and tuple(view.shape) == shape
    z.sum().backward()
    seen = of_all(m, name, x)[0]
    assert x.grad.tolist() == [[[3 if n else 1 for n in row] for row in seen]]


@pytest.mark.parametrize("name", VIEWS)
def test_refused_views(m, name):
    """saved_and_versions/I-01, saved_and_versions/I-02, saved_and_versions/I-03, saved_and_versions/T-10."""
    write, _ = VIEWS[name]
    x = made(m)
    with m.no_grad():
        blind = (x * 1)[:]
    for target, key in ((x, "a leaf Variable that requires grad"), (x[:], "a view of a leaf Variable"),
                        ((x * 1).split(1)[0], "function that returns multiple views")):
        with raises(RuntimeError, key):
            write(target)
        assert tuple(target.shape) == (1, 2, 3) and target._version == 0
    write(blind)
    with m.no_grad():
        write(x)
    assert x._version == 1 and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("name", VIEWS)
def test_without_a_history(m, name):
    write, shape = VIEWS[name]
    for x in (made(m, False), made(m, False)[:], m.ones(2, 3).expand(1, 2, 3)):
        write(x)
        assert tuple(x.shape) == shape and x._version == 1 and x.is_leaf


def test_t_in_place(m):
    x = m.arange(6.).reshape(2, 3).clone().requires_grad_()
    z = x * 1
    assert z.t_() is z and tuple(z.shape) == (3, 2) and z.grad_fn.name() == "TBackward1"
    z[0].sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert m.ones(2).t_().tolist() == [1, 1] and m.tensor(1.).t_().item() == 1
    with raises(RuntimeError, "expects a tensor with <= 2 dimensions"):
        made(m, False).t_()


def test_who_saved_the_old_shape(m):
    """saved_and_versions/S-34: the shape counts like the numbers."""
    x = leaf(m, 1., 2.)
    z = x * 1
    y = z * z
    z.unsqueeze_(0)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.differs(
    what="`z.retain_grad(); z.squeeze_()`",
    there="`z.grad` has the shape that `z` had before.",
    here="`z.grad` has the shape of `z`.")
@ours
def test_what_belongs_to_the_tensor(m):
    """saved_and_versions/H-01: its retained gradient has its new shape, and its hooks stay with the old value. Torch leaves both."""
    shapes = []
    x = made(m)
    z = x * 1
    z.retain_grad()
    z.register_hook(lambda g: shapes.append(tuple(g.shape)))
    z.squeeze_()
    z.register_hook(lambda g: shapes.append(tuple(g.shape)))
    z.sum().backward()
    assert tuple(z.grad.shape) == (2, 3) and shapes == [(2, 3), (1, 2, 3)]


def test_no_grad_on_a_non_leaf(m):
    """The history does not know of it, so the gradient has the wrong shape."""
    z = m.ones(2, 3, requires_grad=True) * 1
    with m.no_grad():
        z.t_()
    with raises(RuntimeError, "invalid gradient at index 0"):
        z.sum().backward()


def test_second_derivative_of_views_in_place(m):
    """saved_and_versions/W-29."""
    x = made(m)
    z = x * x
    z.squeeze_().t_()
    first = m.autograd.grad((z * z).sum(), x, create_graph=True)[0]
    second = m.autograd.grad(first.sum(), x)[0]
    assert first.reshape(-1).tolist() == [4 * n ** 3 for n in range(6)]
    assert second.reshape(-1).tolist() == [12 * n ** 2 for n in range(6)]


@pytest.mark.differs(
    what="`x.t_()` on an inference tensor, outside inference mode",
    there="It raises, but the shape has already changed.",
    here="It raises, and changes nothing.")
@ours
def test_inference_of_a_view_in_place(m):
    """saved_and_versions/N-03, saved_and_versions/T-10: torch has changed the shape by the time it raises."""
    with m.inference_mode():
        x = m.ones(2, 3)
        x.t_()
    with raises(RuntimeError, "Inplace update to inference tensor"):
        x.t_()
    assert tuple(x.shape) == (3, 2)


# ---- resize_ and set_ ------------------------------------------------------------------------------------------


def test_resize(m):
    """saved_and_versions/V-02: the numbers that fit stay; a view can also grow into the rest of its storage."""
    x = m.arange(6.).reshape(2, 3).clone()
    row = x[1]
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]] and x._version == row._version == 1
    assert x.resize_(2, 2)._version == 1 and x.resize_((3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]] and x._version == 2
    assert row.tolist() == [3, 4, 5] and row.resize_(2).tolist() == [3, 4]
    x[1, 1] = 9
    assert row.tolist() == [9, 4]
    assert tuple(x.resize_(7).shape) == (7,) and x[:6].tolist() == [0, 1, 2, 9, 4, 5]
    assert x.resize_as_(m.ones(1, 2)).tolist() == [[0, 1]]
    assert m.arange(6.).reshape(2, 3).t().resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    with pytest.raises((RuntimeError, TypeError)):
        x.resize_(-1)


@pytest.mark.parametrize("context", ["enable_grad", "no_grad"])
def test_resize_of_what_requires_a_gradient(m, context):
    """saved_and_versions/T-10."""
    x = leaf(m, 1., 2., 3.)
    for y in (x, x * 1, x[:2]):
        with getattr(m, context)(), raises(RuntimeError, "cannot resize variables that require grad"):
            y.resize_(1)
    assert x.tolist() == [1, 2, 3] and x._version == 0


def test_set(m):
    """saved_and_versions/V-02: x looks at y's memory, and counts by its own counter."""
    x, y = m.arange(3.), m.ones(2)
    assert x.set_(y) is x and x.tolist() == [1, 1] and (x._version, y._version) == (1, 0)
    y.add_(1)
    assert x.tolist() == [2, 2] and x.data_ptr() == y.data_ptr()
    assert x.set_().numel() == 0
    for bad, key in ((m.ones(2).double(), "type"), (3, "set_()")):
        with pytest.raises((RuntimeError, TypeError), match=key.replace("(", r"\(").replace(")", r"\)")):
            m.ones(3).set_(bad)
    with raises(RuntimeError, "a leaf Variable that requires grad"):
        leaf(m, 1., 2.).set_(y)


@pytest.mark.differs(
    what="`z.set_(other)`, where `z` has a history",
    there="Only the backward raises.",
    here="`set_` itself raises, where the mistake is.")
@ours
def test_set_with_a_history(m):
    """Torch raises in the backward."""
    z = leaf(m, 1., 2.) * 1
    with raises(RuntimeError, "derivative for set_ is not implemented"):
        z.set_(m.ones(3))
    assert z.tolist() == [1, 2] and z._version == 0


# ---- as_strided ------------------------------------------------------------------------------------------------


def test_as_strided(m):
    """saved_and_versions/W-04: a view with a gradient, of any layout, also where its elements overlap."""
    x = m.arange(6.).requires_grad_()
    z = x * 1
    for source in (z, z.reshape(2, 3), z.reshape(2, 3).t()):
        x.grad = None
        y = source.as_strided((2, 2), (1, 1), 1)
        assert y.tolist() == [[1, 2], [2, 3]] and y.grad_fn.name() == "AsStridedBackward0" and y._base is z
        y.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [0, 1, 2, 1, 0, 0]
    y.select(0, 0).mul_(10)
    assert z.tolist() == [0, 10, 20, 3, 4, 5] and z.grad_fn.name().endswith("CopySlices")
    for size, stride, offset in (((7,), (1,), 0), ((2,), (-1,), 3), ((2,), (1, 1), 0), ((2,), (1,), 5)):
        with pytest.raises(RuntimeError):
            x.detach().clone().as_strided(size, stride, offset)
    part = m.arange(6.)[2:4]
    assert part.as_strided((2,), (1,)).tolist() == [2, 3] and part.as_strided((3,), (2,), 0).tolist() == [0, 2, 4]
