"""Ops without a derivative: their result has a history, and a backward through it raises; random draws have a gradient of 0."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad

WHERE = mg.tensor([0, 1, 1])
NONE = {
    "unique": lambda x: mg.unique(x), "unique dim": lambda x: mg.unique(x.reshape(3, 1), dim=0),
    "unique with counts": lambda x: x.unique(return_inverse=True, return_counts=True)[0],
    "unique_consecutive": lambda x: mg.unique_consecutive(x), "bincount": lambda x: mg.bincount(WHERE, x),
    "bincount float64": lambda x: WHERE.bincount(x.double()), "floor_divide": lambda x: mg.floor_divide(x, 2),
    "//": lambda x: x // 2, "2 //": lambda x: 2 // x, "// x": lambda x: mg.ones(3) // x, "heaviside": lambda x: mg.heaviside(x, mg.ones(3)),
    "heaviside y": lambda x: mg.heaviside(mg.ones(3), x), "floor_divide_": lambda x: (x * 1).floor_divide_(2),
    "heaviside_": lambda x: (x * 1).heaviside_(mg.ones(3)),
}


@pytest.mark.parametrize("name", NONE)
def test_backward_raises(name):
    """differences/S-01, S-02: no part of a gradient is dropped in silence."""
    x = mg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    z = NONE[name](x)
    assert z.requires_grad and not NONE[name](x.detach()).requires_grad
    with pytest.raises(NotImplementedError, match=r"the derivative for .* is not implemented") as caught:
        (z.sum() + x.sum()).backward()
    assert caught.value.code == "MG-E307" and isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("name", NONE)
def test_forward_mode_raises(name):
    """differences/S-01."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(mg.tensor([3.0, 1.0, 3.0]), mg.ones(3))
        with pytest.raises(NotImplementedError, match=r"Trying to use forward AD with .* that does not support it"):
            NONE[name](x)


def test_counts_and_places_have_no_history():
    x = mg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert values.requires_grad and not inverse.requires_grad and not counts.requires_grad
    assert not mg.bincount(WHERE).requires_grad and not mg.bincount(WHERE, mg.tensor([1, 2, 3])).requires_grad


def test_names_of_nodes():
    """differences/S-01: PyTorch's."""
    x = mg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    names = [NONE[name](x).grad_fn.name() for name in ("unique", "unique dim", "unique_consecutive", "bincount", "//", "heaviside")]
    assert names == ["Unique2Backward0", "UniqueDimBackward0", "UniqueConsecutiveBackward0", *["NotImplemented"] * 3]


DRAWN = {
    "bernoulli": lambda p, q: mg.bernoulli(p), "bernoulli method": lambda p, q: p.bernoulli_(q),
    "normal mean": lambda p, q: mg.normal(p, 1.0), "normal std": lambda p, q: mg.normal(0.0, p),
    "normal both": lambda p, q: mg.normal(p, q), "normal broadcast": lambda p, q: mg.normal(p, mg.ones(2, 3)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn(name):
    """differences/S-02: a gradient of 0, to be differentiated again."""
    p, q = mg.tensor([0.25, 0.5, 0.75], requires_grad=True), mg.tensor([0.5, 0.25, 1.0], requires_grad=True)
    z = DRAWN[name](p * 1, q)
    assert z.requires_grad
    used = (p, q) if name in ("bernoulli method", "normal both") else (p,)
    for grads in (mg.autograd.grad(z.sum(), used, retain_graph=True), mg.autograd.grad(z.sum(), used, create_graph=True)):
        assert all(g.tolist() == [0, 0, 0] for g in grads)


def test_normal_draws_a_number_for_each_element():
    """Each element of the broadcast shape is drawn; once every row had the same numbers."""
    z = mg.normal(mg.zeros(4), mg.ones(1000, 4))
    assert z.shape == (1000, 4) and abs(z.std(0) - 1).max() < 0.1 and len(set(z[:, 0].tolist())) == 1000


def test_bernoulli_by_a_tensor():
    p = mg.tensor([0.0, 0.5, 1.0])
    z = mg.empty(2000, 3).bernoulli_(p)
    np.testing.assert_allclose(z.mean(0).tolist(), [0, 0.5, 1], atol=0.06)
    assert mg.empty(2, 3, dtype=mg.int64).bernoulli_(mg.ones(3)).tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("call, error, text", [
    (lambda: mg.normal(mg.ones(2), 1.0, (2,)), TypeError, "must be float"),
    (lambda: mg.normal(0.0, 1.0), TypeError, "must be Tensor"),
    (lambda: mg.normal(mg.ones(2), -1.0), RuntimeError, "std >= 0.0"),
    (lambda: mg.normal(mg.ones(2), mg.tensor([1.0, -1.0])), RuntimeError, "std >= 0.0"),
    (lambda: mg.normal(mg.ones(2), mg.ones(3)), RuntimeError, "must match the size"),
    (lambda: mg.normal(mg.ones(2, dtype=mg.int64), 1.0), RuntimeError, "floating point"),
    (lambda: mg.empty(2).bernoulli_(mg.ones(3)), RuntimeError, "expanded size"),
    (lambda: mg.empty(2).bernoulli_(mg.tensor([2.0, 0.0])), RuntimeError, "p_in"),
    (lambda: mg.empty(2).uniform_(low=1), TypeError, "unexpected keyword argument 'low'"),
    (lambda: mg.empty(2).random_(low=1), TypeError, "unexpected keyword argument 'low'"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("others", [[mg.ones(2)], [mg.ones(2, 3)], []], ids=["vector", "matrix", "nothing"])
def test_an_empty_vector_in_cat_keeps_its_history(others):
    """differences/S-01: it fits everywhere, and takes part."""
    x = mg.zeros(0, requires_grad=True)
    z = mg.cat([*others, x])
    assert z.requires_grad and len(z.grad_fn.next_functions) == len(others) + 1
    assert mg.autograd.grad(z.sum(), x)[0].shape == (0,)


def test_a_power_of_0_has_a_gradient_of_0():
    """differences/S-01."""
    x = mg.ones(2, 2, requires_grad=True)
    z = x.matrix_power(0)
    assert z.tolist() == [[1, 0], [0, 1]] and mg.autograd.grad(z.sum(), x)[0].tolist() == [[0, 0], [0, 0]]
