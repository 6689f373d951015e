"""func.vmap and stack_module_state: dimensions in and out, trees, nesting, with transforms, random numbers; every error."""

import numpy as np
import pytest

from tests.core.engine_tools import raises
from tests.func.tools import d


def close(found, expected):
    """Whether two tensors agree in shape and numbers."""
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12, strict=True)


def batch(m, *shape):
    n = 1
    for size in shape:
        n *= size
    return m.arange(n, dtype=m.float64).reshape(shape)


def test_values(m):
    x, y = batch(m, 4, 3), batch(m, 4, 3) + 1
    close(m.func.vmap(m.dot)(x, y), (x * y).sum(1))
    close(m.vmap(lambda x: x.sum())(x), x.sum(1))


@pytest.mark.parametrize(("in_dims", "shapes"), [
    (0, ((4, 3), (4, 3))), (1, ((3, 4), (3, 4))), ((0, None), ((4, 3), (3,))), ((None, -1), ((3,), (3, 4))), ((1, 0), ((3, 4), (4, 3)))])
def test_in_dims(m, in_dims, shapes):
    args = [batch(m, *shape) + i for i, shape in enumerate(shapes)]
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims, in_dims)
    expected = [sum((args[0] if dims[0] is None else args[0].select(dims[0], i)) * (args[1] if dims[1] is None else args[1].select(dims[1], i)))
                for i in range(4)]
    close(m.func.vmap(m.dot, in_dims)(*args), m.stack(expected))


@pytest.mark.parametrize("out_dims", [0, 1, -1])
def test_out_dims(m, out_dims):
    x = batch(m, 4, 3)
    found = m.func.vmap(lambda x: x * 2, out_dims=out_dims)(x)
    close(found, (x * 2 if out_dims == 0 else (x * 2).T))


def test_several_results(m):
    x = batch(m, 4, 3)
    a, b = m.func.vmap(lambda x: (x + 1, x.sum()), out_dims=(1, 0))(x)
    close(a, (x + 1).T)
    close(b, x.sum(1))


def test_trees(m):
    args = {"b": batch(m, 4, 3), "a": (batch(m, 3, 4), batch(m, 2))}
    found = m.func.vmap(lambda t, s: {"sum": t["b"] + t["a"][0] * s, "c": [t["a"][1].sum()]}, in_dims=({"b": 0, "a": (1, None)}, None))(args, 2)
    close(found["sum"], (args["b"] + args["a"][0].T * 2))
    close(found["c"][0], m.ones(4, dtype=m.float64))


def test_nested(m):
    x, y = batch(m, 4, 3), batch(m, 5, 3)
    outer = m.func.vmap(m.func.vmap(m.dot, (None, 0)), (0, None))
    close(outer(x, y), (x @ y.T))


def test_gradients_of_each_example(m):
    w, x = d(m, 1.0, 2.0, 3.0), batch(m, 4, 3)
    found = m.func.vmap(m.func.grad(lambda w, x: (w * x).sum() ** 2), (None, 0))(w, x)
    close(found, (2 * (x @ w)[:, None] * x))


def test_jacobian_by_rows(m):
    x = d(m, 1.0, 2.0, 3.0)
    _, pull = m.func.vjp(lambda x: x * x.sum(), x)
    (found,) = m.func.vmap(pull)(m.eye(3, dtype=m.float64))
    close(found, m.func.jacrev(lambda x: x * x.sum())(x))


def test_it_is_differentiable(m):
    x = batch(m, 4, 3).requires_grad_()
    w = d(m, 1.0, 2.0, 3.0).requires_grad_()
    m.func.vmap(lambda x: (x * w).sum() ** 2)(x).sum().backward()
    close(w.grad, (2 * (x.detach() @ w.detach()) @ x.detach()))
    close(x.grad, (2 * (x.detach() @ w.detach())[:, None] * w.detach()))
    found = m.func.grad(lambda w: m.func.vmap(lambda x: (x * w).sum() ** 2)(x.detach()).sum())(w.detach())
    close(found, w.grad)


def test_chunks(m):
    x = batch(m, 5, 3)
    close(m.func.vmap(lambda x: x.exp(), chunk_size=2)(x * 0.1), (x * 0.1).exp())


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers(m, randomness):
    found = m.func.vmap(lambda x: x + m.rand(()), randomness=randomness)(m.zeros(3)).tolist()
    assert len(set(found)) == (1 if randomness == "same" else 3)


def test_random_numbers_are_refused(m):
    with raises(RuntimeError, "called random operation while in randomness error mode"):
        m.func.vmap(lambda x: x + m.rand(()))(m.zeros(3))


def test_stack_module_state(m):
    models = [m.nn.Sequential(m.nn.Linear(3, 2), m.nn.BatchNorm1d(2)) for _ in range(3)]
    params, buffers = m.func.stack_module_state(models)
    assert {name: tuple(p.shape) for name, p in params.items()} == {"0.weight": (3, 2, 3), "0.bias": (3, 2), "1.weight": (3, 2), "1.bias": (3, 2)}
    assert list(buffers) == ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert all(p.requires_grad and p.is_leaf for p in params.values())
    models = [model[0] for model in models]
    params, _ = m.func.stack_module_state(models)
    x = m.rand(4, 3)
    found = m.func.vmap(lambda p, x: m.func.functional_call(models[0], p, (x,)), (0, None))(params, x)
    expected = m.stack([model(x) for model in models])
    assert m.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("wrong", "kind", "message"), [
    (lambda m: m.func.vmap(m.sin, randomness="some")(m.ones(2)), RuntimeError, "Only allowed values for randomness"),
    (lambda m: m.func.vmap(m.sin, chunk_size=0)(m.ones(2)), ValueError, "chunk_size should be None or greater than 0"),
    (lambda m: m.func.vmap(lambda: 1)(), ValueError, "got no inputs"),
    (lambda m: m.func.vmap(m.sin, in_dims="a")(m.ones(2)), ValueError, "expected `in_dims` to be int or a"),
    (lambda m: m.func.vmap(m.sin, in_dims=(0, 0))(m.ones(2)), ValueError, "in_dims is not compatible with the structure"),
    (lambda m: m.func.vmap(m.sin, in_dims=None)(m.ones(2)), ValueError, "in_dim"),
    (lambda m: m.func.vmap(m.add)(m.ones(2), 3), ValueError, "We cannot vmap over non-Tensor arguments"),
    (lambda m: m.func.vmap(m.sin, in_dims=1)(m.ones(2)), ValueError, "expected in_dim to satisfy -1 <= in_dim < 1"),
    (lambda m: m.func.vmap(m.add)(m.ones(2), m.ones(3)), ValueError, "Expected all tensors to have the same size in the mapped dimension"),
    (lambda m: m.func.vmap(lambda x: 3)(m.ones(2)), ValueError, "must only return Tensors, got type"),
    (lambda m: m.func.vmap(m.sin, out_dims=(0, 0))(m.ones(2)), ValueError, "out_dims is not compatible with the structure"),
    (lambda m: m.func.stack_module_state([]), RuntimeError, "Expected at least one model, got 0"),
    (lambda m: m.func.stack_module_state([m.nn.Linear(2, 2), m.nn.ReLU()]), RuntimeError, "Expected all models to be of the same class"),
    (lambda m: m.func.stack_module_state([m.nn.Linear(2, 2), m.nn.Linear(2, 2).eval()]), RuntimeError, "to have the same training/eval mode"),
])
def test_errors(m, wrong, kind, message):
    with raises(kind, message):
        wrong(m)
