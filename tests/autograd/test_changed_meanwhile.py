"""Shapes, dtypes and indices that change between two steps of a program, after an op or an optimiser has checked them."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.autograd.graph import saved_tensors_hooks
from tests.ops.cases import CASES

F = nn.functional


# ---- a parameter, its gradient and its state --------------------------------------------------------------------

OPTIMISERS = {
    "SGD": lambda ps: optim.SGD(ps, 0.1, momentum=0.9), "plain SGD": lambda ps: optim.SGD(ps, 0.1), "Adam": lambda ps: optim.Adam(ps, 0.1),
    "AMSGrad": lambda ps: optim.Adam(ps, 0.1, amsgrad=True), "AdamW": lambda ps: optim.AdamW(ps, 0.1), "RMSprop": lambda ps: optim.RMSprop(ps, 0.1, momentum=0.9),
    "Adagrad": lambda ps: optim.Adagrad(ps, 0.1), "Adadelta": lambda ps: optim.Adadelta(ps, 0.1), "Adamax": lambda ps: optim.Adamax(ps, 0.1),
    "NAdam": lambda ps: optim.NAdam(ps, 0.1), "RAdam": lambda ps: optim.RAdam(ps, 0.1), "Rprop": lambda ps: optim.Rprop(ps, 0.1),
    "ASGD": lambda ps: optim.ASGD(ps, 0.1),
}


def trained(make, shape):
    """A parameter of a shape, after one step."""
    p = nn.Parameter(mg.ones(shape))
    optimiser = make([p])
    p.grad = mg.full(shape, 0.5)
    optimiser.step()
    return p, optimiser


@pytest.mark.parametrize("name", [n for n in OPTIMISERS if n not in ("plain SGD", "ASGD")])
@pytest.mark.parametrize("shape", [(2,), (40,), (3, 7)])
def test_state_of_another_shape(name, shape):
    """differences/K-01"""
    make = OPTIMISERS[name]
    _, other = trained(make, shape)
    p, optimiser = trained(make, (8, 5))
    optimiser.load_state_dict(other.state_dict())
    before = p.detach().clone()
    with pytest.raises(RuntimeError, match="The size of tensor"):
        optimiser.step()
    assert mg.equal(p, before)


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("shape", [(40, 30), (2,), ()])
def test_data_of_another_shape(name, shape):
    """differences/K-01"""
    p, optimiser = trained(OPTIMISERS[name], (8, 5))
    p.data = mg.ones(shape)
    with pytest.raises(RuntimeError, match=r"The size of tensor|shape"):
        optimiser.step()
    assert mg.equal(p, mg.ones(shape))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_data_of_another_dtype(name):
    """differences/K-01: with float64 data the parameter takes a step or none; the step never misreads the memory of its state."""
    p, optimiser = trained(OPTIMISERS[name], (8, 5))
    p.data = mg.ones(8, 5, dtype=mg.float64)
    try:
        optimiser.step()
    except RuntimeError:
        assert mg.equal(p, mg.ones(8, 5, dtype=mg.float64))
    else:
        assert p.dtype is mg.float64 and mg.isfinite(p).all() and (p < 1).all()


# ---- indices ----------------------------------------------------------------------------------------------------

INDEXED = {
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i), "Target 1000000000 is out of bounds"),
    "cross_entropy, no reduction": (lambda x, i: F.cross_entropy(x, i, reduction="none"), "Target 1000000000 is out of bounds"),
    "nll_loss": (lambda x, i: F.nll_loss(x, i), "Target 1000000000 is out of bounds"),
    "weighted nll_loss": (lambda x, i: F.nll_loss(x, i, mg.ones(5)), "Target 1000000000 is out of bounds"),
    "nll_loss of planes": (lambda x, i: F.nll_loss(x[:, :, None], i[:, None]), "Target 1000000000 is out of bounds"),
    "gather": (lambda x, i: x.gather(1, i[:, None]), "out of bounds"), "take": (lambda x, i: x.take(i), "out of"),
    "index_select": (lambda x, i: x.index_select(1, i), "out of"), "x[:, i]": (lambda x, i: x[:, i], "out of bounds"),
    "scatter_add": (lambda x, i: x.scatter_add(1, i[:, None], x[:, :1]), "out of bounds"),
    "index_add": (lambda x, i: x.index_add(1, i, x[:, :4]), "out of"), "embedding": (lambda x, i: F.embedding(i, x.t()), "out of"),
    "index_put": (lambda x, i: x.index_put((mg.arange(4), i), x[:, 0]), "out of bounds"),
    "index_copy": (lambda x, i: x.index_copy(1, i, x[:, :4]), "out of"), "index_fill": (lambda x, i: x.index_fill(1, i, 2.0), "out of"),
    "scatter": (lambda x, i: x.scatter(1, i[:, None], x[:, :1]), "out of bounds"),
    "take_along_dim": (lambda x, i: x.take_along_dim(i[:, None], 1), "out of bounds"),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("bad", [10 ** 9, -(10 ** 9)])
def test_indices_that_change(name, bad):
    """differences/K-02: NumPy writes to the memory of an index, which counts no version."""
    run, text = INDEXED[name]
    x, index = mg.ones(4, 5, requires_grad=True), mg.tensor([0, 2, 1, 3])
    z = run(x, index)
    index.numpy()[0] = bad
    with pytest.raises(IndexError, match=text.replace("1000000000", str(bad))):
        z.sum().backward()
    assert x.grad is None


def test_places_of_a_pool_that_change():
    """differences/K-02"""
    x = mg.ones(1, 1, 4, 4, requires_grad=True)
    z, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(z, places, 2)
    places.numpy()[...] = 10 ** 9
    with pytest.raises((IndexError, RuntimeError)):
        back.sum().backward()


# ---- results of an unpack hook ---------------------------------------------------------------------------------

OTHERS = {
    "half as long": lambda t: t.reshape(-1)[: t.numel() // 2], "twice as long": lambda t: mg.cat([t.reshape(-1)] * 2), "0-d": lambda t: t.reshape(-1)[0] if t.numel() else t,
    "one dimension more": lambda t: t.unsqueeze(0).expand(3, *t.shape), "empty": lambda t: t.new_zeros(0), "turned": lambda t: t.permute(*reversed(range(t.ndim))),
    "float16": lambda t: t.to(mg.float16), "float32": lambda t: t.to(mg.float32), "int64": lambda t: t.to(mg.int64), "bool": lambda t: t != 0,
    "wider": lambda t: mg.ones([n + 3 for n in t.shape], dtype=t.dtype),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_unpacked_as_something_else(case):
    """differences/K-03: an error of ours, or a gradient; never numbers from beside the memory, which `make sanitize` watches for."""
    for kind, other in OTHERS.items():
        xs = [mg.tensor(a).requires_grad_() for a in case.arrays(np.dtype(case.dtype))]
        with saved_tensors_hooks(lambda t: t.detach(), other):
            z = case.run(mg, *xs)
        outs = [t for t in (z if isinstance(z, (tuple, list)) else [z]) if t.requires_grad]
        if not outs:
            return
        try:
            grads = mg.autograd.grad(outs, xs, [mg.ones_like(t) for t in outs], allow_unused=True)
        except (RuntimeError, IndexError) as error:
            assert isinstance(error, mg.errors.MinigradError), f"{kind}: {error!r}"
        else:
            assert all(g is None or g.shape == x.shape for x, g in zip(xs, grads)), kind


def test_what_was_packed_is_named():
    """differences/K-03"""
    x, w = mg.ones(3, requires_grad=True), mg.ones(2, 3, requires_grad=True)
    with saved_tensors_hooks(lambda t: t, lambda t: t.flatten()[:2]):
        y = w @ x
    with pytest.raises(RuntimeError, match="can't compute its gradient from what an unpack hook returned") as caught:
        y.sum().backward()
    assert "float32 [3]" in str(caught.value) or "float32 [2, 3]" in str(caught.value)
    assert caught.value.__cause__ is not None and x.grad is None and w.grad is None


def test_errors_of_hooks_stay_what_they_are():
    def unpack(t):
        raise ValueError("mine")
    x = mg.ones(3, requires_grad=True)
    with saved_tensors_hooks(lambda t: t, unpack):
        y = x * x
    with pytest.raises(ValueError, match=r"^mine$"):
        y.sum().backward()
