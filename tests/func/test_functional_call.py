"""functional_call: a module with other tensors in it, tied and partial; it is as before afterwards; every error."""

import pytest

from tests.core.engine_tools import raises


def linear(m, rows=1):
    """A layer, and tensors of ones for it."""
    model = m.nn.Linear(2, rows)
    return model, {name: m.ones_like(p).detach() for name, p in model.named_parameters()}


def tied(m):
    """A module with one parameter under two names, and a buffer that counts calls."""
    class Tied(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = m.nn.Parameter(m.ones(()))
            self.b = self.a
            self.register_buffer("calls", m.zeros(()))

        def forward(self, x):
            self.calls = self.calls + 1
            return x + self.a + 2 * self.b

    return Tied()


def test_arguments(m):
    model, params = linear(m)
    x = m.ones(2)
    call = m.func.functional_call
    for found in (call(model, params, x), call(model, params, (x,)), call(model, params, None, {"input": x}),
                  call(model, params, kwargs={"input": x}), call(model, ({"weight": params["weight"]}, {"bias": params["bias"]}), x),
                  call(model, [params], x)):
        assert found.tolist() == [3]


def test_the_module_is_as_before(m):
    model, params = linear(m)
    weight, before = model.weight, list(model.state_dict())
    m.func.functional_call(model, {**params, "extra": m.ones(1)}, m.ones(2))
    with pytest.raises((RuntimeError, TypeError)):
        m.func.functional_call(model, params, m.ones(5))
    assert model.weight is weight and list(model.state_dict()) == before and not hasattr(model, "extra")


def test_what_is_not_given_stays(m):
    model, params = linear(m)
    with m.no_grad():
        model.weight.fill_(10.0)
    assert m.func.functional_call(model, {"bias": params["bias"]}, m.ones(2)).tolist() == [21]
    assert m.func.functional_call(model, {"bias": None}, m.ones(2)).tolist() == [20]


def test_modules_in_modules(m):
    inner, params = linear(m)
    model = m.nn.Sequential(inner, m.nn.ReLU())
    assert m.func.functional_call(model, {f"0.{name}": -p for name, p in params.items()}, m.ones(2)).tolist() == [0]
    assert m.func.functional_call(model, {f"0.{name}": p for name, p in params.items()}, m.ones(2)).tolist() == [3]


def test_grad_by_parameters(m):
    """The way to train without `.grad`: nothing is added to the parameters of the module."""
    model, params = linear(m)
    x = m.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = m.func.grad(lambda params, x: (m.func.functional_call(model, params, x) ** 2).sum())(params, x)
    assert {name: g.tolist() for name, g in found.items()} == {"weight": [[2 * (4 + 24), 2 * (8 + 32)]], "bias": [2 * (4 + 8)]}
    assert model.weight.grad is None
    found = m.func.grad(lambda params: m.func.functional_call(model, params, x).sum())(dict(model.named_parameters()))
    assert found["bias"].tolist() == [2] and model.weight.grad is None
    jacobian = m.func.jacrev(lambda params: m.func.functional_call(model, params, x))(params)
    assert jacobian["weight"].tolist() == [[[[1, 2]]], [[[3, 4]]]] and tuple(jacobian["bias"].shape) == (2, 1, 1)


def test_backward_reaches_the_tensors_given(m):
    model, params = linear(m)
    params = {name: p.requires_grad_() for name, p in params.items()}
    m.func.functional_call(model, params, m.ones(2)).sum().backward()
    assert params["weight"].grad.tolist() == [[1, 1]] and model.weight.grad is None


def test_tied_weights(m):
    zero, one = m.zeros(()), m.ones(())
    call = m.func.functional_call
    model = tied(m)
    for given, options, expected in (({"a": zero}, {}, 0), ({"b": zero}, {}, 0), ({"a": zero}, {"tie_weights": False}, 2),
                                     ({"a": zero, "b": zero}, {}, 0), ({"a": zero, "b": one}, {"tie_weights": False}, 2),
                                     ({"a": zero, "calls": zero}, {"strict": True}, 0)):
        assert call(model, given, zero, **options).tolist() == expected
    with raises(ValueError, "functional_call got multiple values for keys ['a', 'b'], which are tied. Consider using tie_weights=False"):
        call(model, {"a": zero, "b": one}, zero)


def test_buffers(m):
    """A buffer that the forward assigns goes into the dict, and the module keeps its own."""
    model, given = tied(m), {"calls": m.tensor(5.0)}
    m.func.functional_call(model, given, m.zeros(()))
    assert given["calls"].tolist() == 6 and model.calls.tolist() == 0


def test_dicts(m):
    model, params = linear(m)
    with raises(ValueError, "['weight'] appeared in multiple dictionaries; behavior of functional call is ambiguous"):
        m.func.functional_call(model, (params, {"weight": params["weight"]}), m.ones(2))
    with raises(ValueError, "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got <class 'int'>"):
        m.func.functional_call(model, 3, m.ones(2))
    with raises(ValueError, "Expected all elements of parameter_and_buffer_dicts to be dictionaries"):
        m.func.functional_call(model, (3,), m.ones(2))


def test_names_and_values(m):
    model, params = linear(m)
    with raises(TypeError, "3 is not an instance of "):
        m.func.functional_call(model, {"bias": 3}, m.ones(2))
    with raises(AttributeError, "has no attribute `a`"):
        m.func.functional_call(model, {"a.b": params["bias"]}, m.ones(2))
    with raises(TypeError, "is not an instance of "):
        m.func.functional_call(m.nn.Sequential(model), {"0": params["bias"]}, m.ones(2))
    with raises(RuntimeError, "Error(s) in reparametrizing for Linear:") as caught:
        m.func.functional_call(model, {"weight": params["weight"], "foo": params["bias"]}, m.ones(2), strict=True)
    assert "Unexpected key(s): 'foo'." in str(caught.value) and "Missing key(s): 'bias'." in str(caught.value)
