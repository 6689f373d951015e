"""The lookup of a module's attributes, and its call: equal in PyTorch, interpreted, and in nn/modules/_quick.pyx."""

import abc
import copy
import pickle
import types
import typing

import pytest

import minigrad


@pytest.fixture(params=["minigrad", "torch"])
def m(request):
    return minigrad if request.param == "minigrad" else request.getfixturevalue("torch")


def layer(m):
    """A module of a class with a plain value and two properties."""
    class Layer(m.nn.Module):
        bias = "of the class"

        def __init__(self):
            super().__init__()
            self.weight = m.nn.Parameter(m.ones(1))
            self.register_buffer("mean", m.zeros(1))
            self.inner = m.nn.Identity()

        @property
        def failing(self):
            return self.nothing

        @property
        def scale(self):
            return "of the property"

        def forward(self, x):
            return x
    return Layer()


def delegating(m, inner):
    """A module with the same attributes as its submodule."""
    class Delegating(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)
    return Delegating()


def test_tables(m):
    a = layer(m)
    assert a.weight is a._parameters["weight"] and a.mean is a._buffers["mean"] and a.inner is a._modules["inner"]
    assert a.__getattr__("weight") is getattr(a, "weight", None) is a.weight
    assert m.nn.Module.__getattribute__(a, "training") is True
    other = a._parameters["weight"] = m.nn.Parameter(m.zeros(2))
    assert a.weight is other and "weight" not in a.__dict__
    del a.weight
    assert not hasattr(a, "weight")


def test_a_table_of_somebody_elses(m):
    class Counting(dict):
        def __getitem__(self, key):
            found.append(key)
            return super().__getitem__(key)
    a, found = layer(m), []
    a._parameters = Counting(a._parameters)
    assert a.weight is dict.__getitem__(a._parameters, "weight") and found == ["weight"]
    assert a.mean is a._buffers["mean"]


def test_the_class_comes_first(m):
    a = layer(m)
    for name in ("bias", "scale"):
        a._parameters[name] = m.nn.Parameter(m.zeros(1))
    assert (a.bias, a.scale) == ("of the class", "of the property")
    a.__dict__["weight"] = "its own"
    assert a.weight == "its own"


@pytest.mark.parametrize("name", ["nothing", "failing"])
def test_what_is_missing(m, name):
    a = layer(m)
    with pytest.raises(AttributeError, match=f"'Layer' object has no attribute '{name}'"):
        getattr(a, name)
    assert getattr(a, name, 7) == 7
    with pytest.raises(AttributeError, match="weight"):
        type(a).__new__(type(a)).weight     # noqa: B018 (__init__ has not run)
    with pytest.raises(AttributeError, match="_hooks"):
        type(a).__new__(type(a))(1)


def test_getattr_of_a_subclass(m):
    a = layer(m)
    b = delegating(m, a)
    assert b.inner is a and b.weight is a.weight and b.bias == "of the class" and b.training
    with pytest.raises(AttributeError, match="'Layer' object has no attribute 'nothing'"):
        b.nothing       # noqa: B018
    assert copy.deepcopy(b).weight is not a.weight and copy.copy(b).weight is a.weight


def test_getattribute_of_a_subclass(m):
    class Odd(m.nn.Identity):
        def __getattribute__(self, name):
            return 42 if name == "answer" else super().__getattribute__(name)
    odd = Odd()
    odd.weight = m.nn.Parameter(m.ones(1))
    assert odd.answer == 42 and odd.weight is odd._parameters["weight"] and odd(3) == 3


def test_getattr_put_into_a_class_later(m, monkeypatch):
    a = layer(m)
    monkeypatch.setattr(m.nn.Module, "__getattr__", lambda self, name: "found later")
    assert a.weight == a.nothing == "found later" and a.bias == "of the class"
    monkeypatch.undo()
    assert a.weight is a._parameters["weight"] and not hasattr(a, "nothing")


def test_what_is_called(m):
    class Calls(m.nn.Module):
        def __call__(self, *args, **kwargs):
            return "called", super().__call__(*args, **kwargs)

        def forward(self, x, *, y=0):
            return x, y
    a = Calls()
    assert a(1) == ("called", (1, 0)) and a(1, y=2) == ("called", (1, 2))
    a.forward = lambda x: ("its own", x)
    assert a(1) == ("called", ("its own", 1))
    b = layer(m)
    b.forward = types.MethodType(lambda self, x: self, b)
    assert b(1) is b
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        m.nn.ReLU()()
    hooked = m.nn.Identity()
    handle = hooked.register_forward_hook(lambda module, args, output: output + 1)
    assert hooked(1) == 2
    handle.remove()
    assert hooked(1) == 1


def test_bases_beside_a_module(m):
    t = typing.TypeVar("t")

    class Marked(m.nn.Module):
        def __init_subclass__(cls, mark=None):
            cls.mark = mark

    class Generic(m.nn.Module, typing.Generic[t]):
        pass

    class Abstract(abc.ABC, Marked, mark=3):
        pass

    class Mapping(m.nn.Module, dict):
        pass
    for made in (Generic[int](), Abstract(), Mapping()):
        made.weight = m.nn.Parameter(m.ones(1))
        assert made.weight is made._parameters["weight"]
    assert Abstract.mark == 3


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(m, protocol):
    a = pickle.loads(pickle.dumps(m.nn.Linear(2, 1), protocol))
    assert a.weight.tolist() == next(a.parameters()).tolist() and a.training and a(m.ones(2)).shape == (1,)
