"""Ops that share memory: writes seen on both sides, bases, versions and strides, against torch."""

import numpy as np
import pytest

import minigrad as mg

# name -> function of a contiguous (2, 3, 4) tensor. Each is a view of it.
VIEWS = {
    "view": lambda x: x.view(6, 4), "reshape": lambda x: x.reshape(4, 6), "reshape -1": lambda x: x.reshape(-1),
    "view_as": lambda x: x.view_as(x.reshape(24)),
    "transpose": lambda x: x.transpose(0, 2), "permute": lambda x: x.permute(2, 0, 1), "T": lambda x: x[1].T, "mT": lambda x: x.mT,
    "t": lambda x: x[0].t(),
    "movedim": lambda x: x.movedim(0, 2), "expand": lambda x: x.unsqueeze(0).expand(5, 2, 3, 4),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze dim": lambda x: x[:1].squeeze(0), "squeeze nothing": lambda x: x.squeeze(1), "unsqueeze": lambda x: x.unsqueeze(-1),
    "flatten": lambda x: x.flatten(),
    "flatten 1": lambda x: x.flatten(1), "ravel": lambda x: x.ravel(), "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "select": lambda x: x.select(1, 2),
    "select negative": lambda x: x.select(-1, -1), "narrow": lambda x: x.narrow(1, 1, 2), "index": lambda x: x[1],
    "slice": lambda x: x[:, 1:3],
    "step": lambda x: x[..., ::2], "empty slice": lambda x: x[2:], "ellipsis": lambda x: x[...], "None": lambda x: x[None],
    "mixed": lambda x: x[0, ..., None, 1:],
    "chunk": lambda x: x.chunk(2, 2)[1], "split": lambda x: x.split(2, 1)[0], "split sizes": lambda x: x.split([1, 3], 2)[1],
    "unbind": lambda x: x.unbind(1)[2],
    "iteration": lambda x: list(x)[1], "expand_as": lambda x: x.expand_as(x), "detach": lambda x: x.detach(),
    "view of view": lambda x: x.transpose(0, 1)[1:].select(2, 0),
}
# The same: each is a copy.
COPIES = {
    "clone": lambda x: x.clone(), "contiguous of strided": lambda x: x.transpose(0, 2).contiguous(),
    "reshape of strided": lambda x: x.transpose(0, 2).reshape(-1),
    "flatten of strided": lambda x: x.mT.flatten(), "tensor index": lambda x: x[[1, 0]], "mask": lambda x: x[x > 3],
    "double": lambda x: x.double(),
    "add": lambda x: x + 0, "mul": lambda x: x * 1, "index_select": lambda x: x.index_select(0, x.new_tensor([0, 1]).long()),
    "to copy": lambda x: x.to(x.dtype, copy=True),
    "sum over one": lambda x: x[:1].sum(0), "abs": lambda x: x.abs(), "relu": lambda x: x.relu(),
    "tensor()": lambda x: x.new_tensor(x.tolist()),
}
# The same: each is the tensor itself.
SELVES = {
    "contiguous": lambda x: x.contiguous(), "float": lambda x: x.float(), "to": lambda x: x.to(x.dtype), "cpu": lambda x: x.cpu(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "flatten of one dim": lambda x: x.flatten(1, 1), "+x": lambda x: +x, "conj": lambda x: x.conj(),
}


def start(m=mg):
    return m.arange(24.0).reshape(2, 3, 4).clone()


def strides(x):
    """The strides that mean something: of dimensions longer than 1, where there is something to step over."""
    return [s for n, s in zip(x.shape, x.stride()) if n > 1] if x.numel() else []


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    """The memory is shared: a write on either side is seen on the other, and counts for both."""
    x = start()
    view = VIEWS[name](x)
    assert name == "detach" or (view._is_view() and view._base is x)
    if view.numel():
        assert np.shares_memory(view.numpy(), x.numpy())
        x.mul_(2)
        np.testing.assert_array_equal(view.numpy(), VIEWS[name](mg.tensor(x.numpy())).numpy())
        if name not in ("expand",):
            view.zero_()
            assert (x.numpy() == 0).sum() >= view.numel()
        assert x._version == view._version > 0


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    x = start()
    copy = COPIES[name](x)
    assert not copy._is_view() and not np.shares_memory(copy.numpy(), x.numpy())
    copy.zero_()
    assert x._version == 0 and x.numpy().sum() == 276


@pytest.mark.parametrize("name", SELVES)
def test_selves(name):
    x = start()
    assert SELVES[name](x) is x


@pytest.mark.parametrize("name", [*VIEWS, *COPIES, *SELVES])
def test_like_torch(name):
    """Whether it is a view, a copy or the tensor itself; strides, offset, contiguity, numbers."""
    torch = pytest.importorskip("torch")
    make = {**VIEWS, **COPIES, **SELVES}[name]
    x, y = start(), start(torch)
    ours, theirs = make(x), make(y)
    assert (ours is x, ours._is_view()) == (theirs is y, theirs._is_view())
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert strides(ours) == strides(theirs)
    assert ours.is_contiguous() == theirs.is_contiguous()
    if ours.numel():
        assert ours.storage_offset() == theirs.storage_offset()
        if name not in COPIES:
            assert ours.data_ptr() - x.data_ptr() == theirs.data_ptr() - y.data_ptr()
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("detach", "empty slice")])
def test_gradient_of_a_view(name):
    """The gradient of an element is the sum over its places in the view."""
    x = start().requires_grad_()
    view = VIEWS[name](x)
    weights = np.cos(np.arange(view.numel())).reshape(tuple(view.shape)).astype(np.float32)
    view.backward(mg.tensor(weights))
    expected = np.zeros(24)
    np.add.at(expected, VIEWS[name](start()).numpy().astype(int), weights)
    np.testing.assert_allclose(x.grad.numpy().ravel(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("detach", "empty slice", "expand")])
def test_gradient_after_a_write_to_the_base(name):
    """A view made before the base was written to has the history of the base since, as in torch."""
    if name in ("chunk", "split", "split sizes", "unbind", "iteration"):
        pytest.skip("one of several views of one op cannot be made anew")
    w = mg.full((), 3.0, requires_grad=True)
    x = start()
    view = VIEWS[name](x)
    x.mul_(w)
    view.sum().backward()
    assert w.grad.item() == pytest.approx(VIEWS[name](start()).sum().item())


@pytest.mark.parametrize("name", ["chunk", "split", "split sizes", "unbind", "iteration"])
def test_write_to_one_of_several_views(name):
    x = start().requires_grad_() * 1
    view = VIEWS[name](x)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        view.mul_(2)


@pytest.mark.parametrize("shape", [(4, 6), (24,), (2, 12), (1, 24), (3, 2, 4), (2, 3, 2, 2)])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "expanded"])
def test_view_of_strided(layout, shape):
    """view() works exactly where torch's does; reshape copies exactly where view fails."""
    make = {"contiguous": lambda m: m.arange(24.0).reshape(2, 3, 4), "transposed": lambda m: m.arange(24.0).reshape(3, 2,
                                                                                                                    4).transpose(0,
                                                                                                                                 1),
            "sliced": lambda m: m.arange(48.0).reshape(2, 3, 8)[..., :4],
            "expanded": lambda m: m.arange(4.0).expand(2, 3, 4)}[layout]
    x = make(mg)
    try:
        view = x.view(shape)
    except RuntimeError as error:
        assert "view size is not compatible" in str(error)
        view = None
    again = x.reshape(shape)
    np.testing.assert_array_equal(again.numpy(), x.numpy().reshape(shape))
    assert (again.data_ptr() == x.data_ptr()) == (view is not None)
    torch = pytest.importorskip("torch")
    try:
        expected = make(torch).view(shape).stride()
    except RuntimeError:
        assert view is None
    else:
        assert view is not None and (view.stride() == expected or 1 in shape)


def test_write_to_expanded():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        mg.zeros(1).expand(3).add_(1)
    assert mg.zeros(0, 1).expand(0, 3).add_(1).shape == (0, 3)


@pytest.mark.parametrize("look", ["transpose(0, -1)", "movedim(0, 0)", "t()", "permute(())"])
def test_views_of_a_number(look):
    """A 0-d tensor has no dimensions to swap; the nodes are PyTorch's."""
    torch = pytest.importorskip("torch")
    ours, theirs = (eval(f"x.{look}", {"x": m.ones((), requires_grad=True)}) for m in (mg, torch))
    assert ours.grad_fn.name() == theirs.grad_fn.name() and ours._is_view()


@pytest.mark.parametrize(("name", "dim"), [("sum", 1), ("amax", 0), ("argmax", 0)])
def test_results_of_reductions_are_row_major(name, dim):
    x = mg.arange(24, dtype=mg.complex128 if name == "sum" else mg.float64).view(2, 3, 4).permute(2, 0, 1)
    assert getattr(x, name)(dim).is_contiguous()


def test_ravel_is_contiguous():
    """Also of a vector with gaps, which is one-dimensional already."""
    x = mg.arange(6)
    assert x[::2].ravel().stride() == (1,) and x.ravel().data_ptr() == x.data_ptr()


def test_layout_of_an_expanded_tensor_that_is_converted():
    """Row-major: its strides of 0 say nothing."""
    assert mg.ones(1, 3).expand(2, 3, 3).to(mg.complex128).is_contiguous()
