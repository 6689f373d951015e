"""Copies of tensors: copy, deepcopy, pickle; and subclasses, which ops, copies and pickles keep."""

import contextlib
import copy
import importlib
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad._build import pure as _pure


class Mine(mg.Tensor):
    """A subclass with a method and an attribute."""

    def double(self):
        return self * 2


def round_trips():
    return [(f"pickle {p}", lambda x, p=p: pickle.loads(pickle.dumps(x, p))) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)] + \
        [("deepcopy", copy.deepcopy)]


trips = pytest.mark.parametrize("trip", [t for _, t in round_trips()], ids=[n for n, _ in round_trips()])


@trips
@pytest.mark.parametrize("make", [lambda: mg.tensor(2.5), lambda: mg.zeros(0, 3), lambda: mg.arange(6).reshape(2, 3).t(),
                                  lambda: mg.tensor([True]), lambda: mg.tensor([1j]), lambda: mg.ones(2, 3, dtype=mg.float16)],
                         ids=["0-d", "empty", "strided", "bool", "complex", "half"])
def test_round_trip(trip, make):
    x = make()
    y = trip(x)
    assert type(y) is mg.Tensor and (y.dtype, y.shape) == (x.dtype, x.shape) and y.tolist() == x.tolist()
    assert not y.requires_grad and y._version == 0
    if x.numel():
        assert not np.shares_memory(x.numpy(), y.numpy())
        before = x.tolist()
        y.zero_()
        assert x.tolist() == before


@trips
def test_leaf(trip):
    """tensor_surface/H-04: requires_grad stays, hooks do not; deepcopy takes .grad along."""
    x = mg.ones(2, requires_grad=True)
    calls = []
    x.grad = mg.full((2,), 3.0)
    x.register_hook(calls.append)
    with contextlib.nullcontext() if trip is copy.deepcopy else pytest.warns(UserWarning, match="will not be serialized"):
        y = trip(x)
    assert y.requires_grad and y.is_leaf and y._backward_hooks is None
    if trip is copy.deepcopy:
        assert y.grad.tolist() == [3.0, 3.0] and y.grad is not x.grad
    (y * 2).sum().backward()
    assert not calls


def test_unserializable_hook():
    """tensor_surface/H-04: a hook may be marked as not saved."""
    import warnings

    from minigrad.utils.hooks import unserializable_hook
    x = mg.ones(2, requires_grad=True)
    x.register_hook(unserializable_hook(lambda g: g))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(x)


def test_non_leaf():
    """tensor_surface/C-04: deepcopy refuses, pickle makes a leaf of it."""
    y = mg.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        copy.deepcopy(y)
    z = pickle.loads(pickle.dumps(y))
    assert z.is_leaf and z.requires_grad and z.tolist() == [2.0, 2.0]
    assert copy.deepcopy(y.detach()).tolist() == [2.0, 2.0]


def test_deepcopy_keeps_identity_within():
    """Two references to one tensor stay one."""
    x = mg.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b and a is not x
    d = copy.deepcopy({"w": x, "also": [x]})
    assert d["also"][0] is d["w"]


def test_copy_is_shallow():
    x = mg.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert type(y) is mg.Tensor and y.tolist() == x.tolist() and y.requires_grad


def test_pickle_of_a_view_takes_only_its_part():
    big = mg.zeros(10000)
    assert len(pickle.dumps(big[:2])) < 1000


def test_subclass_through_ops():
    """Ops give instances of the subclass, the same way as torch's."""
    x = mg.ones(2, requires_grad=True).as_subclass(Mine)
    assert type(x) is Mine
    for z in (x + 1, 1 + x, x * mg.ones(2), mg.ones(2) * x, x.sum(), x[0], x.exp(), mg.cat([x, mg.ones(2)]), x.double(),
              x.reshape(2, 1)):
        assert type(z) is Mine
    assert type(x.detach().numpy()) is np.ndarray


def test_subclass_has_gradients():
    w = mg.ones(2, requires_grad=True)
    x = w.as_subclass(Mine)
    x.double().sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


@trips
def test_subclass_round_trip(trip):
    x = mg.Tensor._make_subclass(Mine, mg.ones(2), True)
    y = trip(x)
    assert type(y) is Mine and y.requires_grad and y.tolist() == [1.0, 1.0]


def test_subclass_attributes():
    """A subclass has a __dict__, which copies keep."""
    x = mg.ones(2).as_subclass(Mine)
    x.note = ["kept"]
    assert x.note == ["kept"]
    assert pickle.loads(pickle.dumps(x)).note == ["kept"]
    y = copy.deepcopy(x)
    assert y.note == ["kept"] and y.note is not x.note


def test_subclass_of_subclass_decides():
    class Yours(Mine):
        pass
    assert type(mg.ones(2).as_subclass(Mine) + mg.ones(2).as_subclass(Yours)) is Yours


def test_subclass_overriding_an_operator():
    class Loud(mg.Tensor):
        def __add__(self, other):
            return "added"
    assert mg.ones(2).as_subclass(Loud) + 1 == "added"


def test_weak_references():
    import weakref
    x = mg.ones(2)
    r = weakref.ref(x)
    assert r() is x
    del x
    assert r() is None


@pytest.mark.skipif(_pure.PURE, reason="interpreted, our fields are in a __dict__")
def test_a_tensor_has_no_dict():
    """`__slots__`: a misspelt attribute is an error, not a silent new one."""
    with pytest.raises(AttributeError):
        mg.ones(2).requires_gard = True


@pytest.mark.parametrize("place, home, names", [
    ("ops.reduce.reduction", "ops.reduce.variance", "std var"),
    ("ops.sort.searching", "ops.sort.counting", "bincount histc one_hot"),
    ("ops.sort.searching", "ops.sort.unique", "unique unique_consecutive"),
    ("nn.functional._activations", "nn.functional._piecewise",
     "hardshrink hardsigmoid hardswish hardtanh leaky_relu prelu relu6 softshrink threshold")])
def test_functions_that_have_moved(place, home, names):
    """A pickle of minigrad 0.1.0 names a function by the module that it had then."""
    for name in names.split():
        found = pickle.loads(f"cminigrad.{place}\n{name}\n.".encode())
        assert found is getattr(importlib.import_module(f"minigrad.{home}"), name)
    with pytest.raises(AttributeError, match="attribute 'nothing'"):
        pickle.loads(f"cminigrad.{place}\nnothing\n.".encode())
