"""Derivatives of the same functions by minigrad and by PyTorch, to 1e-10 in float64: autograd.functional and func.

Contract: tensor_surface/U-01 to U-05, U-07.
"""

import collections

import numpy as np
import pytest
import torch

import minigrad as mg

Point = collections.namedtuple("Point", "x y")
rng = np.random.default_rng(0)
V, W = rng.standard_normal(4), rng.standard_normal(4)
M = rng.standard_normal((3, 4))
S = np.array(0.7)

# name: (function of the library and its inputs, inputs). The outputs may have any shape; `number` makes one number of them.
FUNCTIONS = {
    "polynomial": (lambda m, x: x ** 3 - 2 * x ** 2 + x, [V]),
    "transcendental": (lambda m, x: m.sin(x) * m.exp(x / 2) + m.tanh(x), [V]),
    "quotient": (lambda m, x, y: x / (1 + y * y), [V, W]),
    "broadcast": (lambda m, x, y: x * y + y.exp(), [M, V]),
    "matmul": (lambda m, a, x: m.tanh(a @ x), [M, V]),
    "gram": (lambda m, a: (a @ a.transpose(0, 1)).sigmoid(), [M]),
    "softmax": (lambda m, x: m.softmax(x, 0), [V]),
    "log_softmax": (lambda m, a: m.log_softmax(a * a, 1), [M]),
    "logsumexp": (lambda m, a: m.logsumexp(a, 1), [M]),
    "reductions": (lambda m, a: a.mean(0) * a.var(0) + a.prod(0), [M]),
    "views": (lambda m, a, x: a.transpose(0, 1)[1:, ::2].reshape(-1) * x[0] ** 2, [M, V]),
    "indexing": (lambda m, x: x[[0, 2, 2]] * x[1] ** 2, [V]),
    "joining": (lambda m, x, y: m.cat([x ** 2, (x * y).cumsum(0)]), [V, W]),
    "where": (lambda m, x, y: m.where(x > 0, x ** 3, y ** 2), [V, W]),
    "written": (lambda m, x: (x * 1).mul_(x).add_(x.sin()), [V]),
    "several outputs": (lambda m, x, s: (x ** 2 * s, (x * x).sum() * s ** 3), [V, S]),
}
CASE = pytest.mark.parametrize("case", FUNCTIONS)


def leaves(tree):
    if isinstance(tree, dict):
        return [x for key in tree for x in leaves(tree[key])]
    return [x for part in tree for x in leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


def agree(ours, theirs):
    """The same structure, shapes and dtypes, and numbers within 1e-10."""
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert tuple(a.shape) == tuple(b.shape) and str(a.dtype)[8:] == str(b.dtype)[5:][-len(str(a.dtype)[8:]):]
        assert a.requires_grad == b.requires_grad
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-10)


def tensors(m, arrays):
    return tuple(m.tensor(a.tolist(), dtype=m.float64) for a in arrays)


def number(m, f):
    """`f`, its outputs made one number in which every second derivative shows."""
    def one(*inputs):
        outputs = f(m, *inputs)
        return sum((y * (y + 0.3)).sum() for y in (outputs if isinstance(outputs, tuple) else (outputs,)))
    return one


def directions(m, like):
    """Vectors that are the same for both libraries."""
    r = np.random.default_rng(1)
    return tuple(m.tensor(r.standard_normal(tuple(x.shape)).tolist(), dtype=m.float64) for x in like)


@CASE
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_first_derivatives(case, name, create_graph):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        inputs = tensors(m, arrays)
        def own(*inputs, m=m):
            return f(m, *inputs)
        v = ()
        if name == "vjp":
            outputs = own(*inputs)
            v = directions(m, outputs if isinstance(outputs, tuple) else (outputs,))
            v = (v if isinstance(outputs, tuple) else v[0],)
        elif name == "jvp":
            v = (directions(m, inputs),)
        found.append(getattr(m.autograd.functional, name)(own, inputs, *v, create_graph=create_graph))
    agree(*found)


@CASE
@pytest.mark.parametrize("name", ["hessian", "hvp", "vhp"])
def test_second_derivatives(case, name):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        inputs = tensors(m, arrays)
        v = () if name == "hessian" else (directions(m, inputs),)
        found.append(getattr(m.autograd.functional, name)(number(m, f), inputs, *v))
    agree(*found)


@CASE
@pytest.mark.parametrize("options", [{"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=["rows", "columns"])
def test_vectorized(case, options):
    f, arrays = FUNCTIONS[case]
    agree(*[m.autograd.functional.jacobian(lambda *inputs, m=m: f(m, *inputs), tensors(m, arrays), **options) for m in (mg, torch)])


# ---- func, on trees ----------------------------------------------------------------------------------------


def as_tree(inputs):
    """The inputs as a tree with one of each kind of node."""
    first, *rest = inputs
    return {"first": [Point(first, ())], "rest": tuple(rest)}


def on_tree(f):
    """`f` of such a tree; its outputs are one too."""
    def function(tree):
        outputs = f(tree["first"][0].x, *tree["rest"])
        return {"out": [*outputs] if isinstance(outputs, tuple) else [outputs]}
    return function


@CASE
def test_grad(case):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        one = number(m, f)
        found.append(m.func.grad_and_value(lambda tree, one=one: one(tree["first"][0].x, *tree["rest"]))(as_tree(tensors(m, arrays))))
        assert isinstance(found[-1][0]["first"][0], Point)
    agree(*found)


@CASE
def test_vjp(case):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        output, pull = m.func.vjp(on_tree(lambda *inputs, m=m: f(m, *inputs)), as_tree(tensors(m, arrays)))
        found.append((output, pull({"out": list(directions(m, output["out"]))})))
    agree(*found)


@CASE
def test_jvp(case):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        inputs = tensors(m, arrays)
        found.append(m.func.jvp(on_tree(lambda *inputs, m=m: f(m, *inputs)), (as_tree(inputs),), (as_tree(directions(m, inputs)),)))
    agree(*found)


@CASE
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians(case, name):
    f, arrays = FUNCTIONS[case]
    agree(*[getattr(m.func, name)(on_tree(lambda *inputs, m=m: f(m, *inputs)))(as_tree(tensors(m, arrays))) for m in (mg, torch)])


@CASE
def test_hessian(case):
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        one = number(m, f)
        found.append(m.func.hessian(lambda tree, one=one: one(tree["first"][0].x, *tree["rest"]))(as_tree(tensors(m, arrays))))
    agree(*found)


@CASE
def test_third_derivative(case):
    """grad of grad of grad, of the sum each time."""
    f, arrays = FUNCTIONS[case]
    found = []
    for m in (mg, torch):
        derivative = number(m, f)
        for _ in range(3):
            derivative = (lambda g: lambda *inputs: g(*inputs).sum())(m.func.grad(derivative))
        found.append(derivative(*tensors(m, arrays)))
    agree(*found)
