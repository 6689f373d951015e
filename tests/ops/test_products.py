"""Products, einsum and norms: values, dtypes, edges and errors are PyTorch's. Derivatives are in cases.py."""

import numpy as np
import pytest

import minigrad as mg
from tests.ops.alike import check_alike

INPUTS = {
    "matrix": lambda m: m.tensor([[3.0, -1.0, 2.0], [5.0, 0.0, 4.0]]), "square": lambda m: m.tensor([[1.0, 2.0], [3.0, -4.0]]),
    "row": lambda m: m.tensor([3.0, 1.0, -2.0]), "0-d": lambda m: m.tensor(-2.5), "empty": lambda m: m.zeros(0),
    "no rows": lambda m: m.zeros(0, 3), "strided": lambda m: m.tensor([[4.0, 2.0, 9.0, 1.0], [3.0, 0.0, 7.0, 8.0]]).t()[::2],
    "int": lambda m: m.tensor([[1, 2, 3], [4, 5, 6]]), "complex": lambda m: m.tensor([3 + 4j, 1j, 2 + 0j]),
    "cube": lambda m: m.arange(12.0).reshape(2, 2, 3),
}
INF = float("inf")
ONE = {
    "outer": lambda m, x: m.outer(x, x), "outer kinds": lambda m, x: x.outer(m.tensor([1, 2])), "inner": lambda m, x: m.inner(x, x),
    "inner row": lambda m, x: x.inner(m.tensor([1.0, 2.0, 3.0])), "vdot": lambda m, x: m.vdot(x, x), "vdot misfit": lambda m, x: m.vdot(
        x, m.ones(2)),
    "tensordot": lambda m, x: m.tensordot(x, x.mT if x.ndim > 1 else x, 1), "tensordot 0": lambda m, x: m.tensordot(x, x, 0),
    "tensordot lists": lambda m, x: m.tensordot(x, x, ([0], [0])), "tensordot far": lambda m, x: m.tensordot(x, x, 4),
    "tensordot uneven": lambda m, x: m.tensordot(x, x, ([0], [])), "tensordot -1": lambda m, x: m.tensordot(x, x, -1),
    "kron": lambda m, x: m.kron(x.contiguous(), m.tensor([[1, 2]])), "cross": lambda m, x: m.cross(x, x + 1, dim=-1), "cross found": lambda m, x: m.cross(
        x, x * x),
    "linalg.cross": lambda m, x: m.linalg.cross(x, x * x), "linalg.cross far": lambda m, x: m.linalg.cross(x, x, dim=5),
    "matrix_power 0": lambda m, x: m.matrix_power(x, 0), "matrix_power 3": lambda m, x: x.matrix_power(3),
    "multi_dot": lambda m, x: m.linalg.multi_dot([x, x.mT, x]), "multi_dot one": lambda m, x: m.linalg.multi_dot([x]),
    "chain_matmul": lambda m, x: m.chain_matmul(x, x.mT), "cdist": lambda m, x: m.cdist(x, m.tensor([[1.0, 2.0, 3.0]])),
    "cdist 0": lambda m, x: m.cdist(x, x, 0.0), "cdist inf": lambda m, x: m.cdist(x, x, INF), "cdist -1": lambda m, x: m.cdist(x, x, -1.0),
    "dist": lambda m, x: m.dist(x, x * 2), "dist 0": lambda m, x: m.dist(x, x * 2, 0), "renorm": lambda m, x: m.renorm(x, 2, 0, 1.0),
    "renorm 0": lambda m, x: x.renorm(0, 0, 1.0), "renorm -1": lambda m, x: x.renorm(1, -1, -1.0),
    "norm": lambda m, x: m.norm(x), "norm fro": lambda m, x: x.norm("fro", 0), "norm both": lambda m, x: x.norm(2, (0, 1), keepdim=True),
    "norm double": lambda m, x: x.norm(dtype=m.float64) if not x.dtype.is_complex else None,
    "linalg.norm": lambda m, x: m.linalg.norm(x), "linalg.norm 1": lambda m, x: m.linalg.norm(x, 1), "linalg.norm inf": lambda m, x: m.linalg.norm(
        x, INF, dim=0),
    "matrix_norm": lambda m, x: m.linalg.matrix_norm(x), "matrix_norm -inf": lambda m, x: m.linalg.matrix_norm(x, -INF, keepdim=True),
    "matrix_norm same": lambda m, x: m.linalg.matrix_norm(x, dim=(0, 0)), "matrix_norm 3": lambda m, x: m.linalg.matrix_norm(x, 3),
} | {
    f"vector_norm {p} {dim}": lambda m, x, p=p, dim=dim: m.linalg.vector_norm(x, p, dim, keepdim=dim is not None)
    for p in (0, 1, 2, 3.5, -1, INF, -INF) for dim in (None, 0, (0, -1), 7)
} | {
    f"einsum {e}": lambda m, x, e=e: m.einsum(e, *[x] * (e.count(",") + 1))
    for e in ("ij,ij", "ij->", "i", "...->...", "...i->...", "ij,kj->ik", "ii", "i,i->i", "ij->ii", "ij->k", "i.j", "i1", "i,j,k->ki", "ijk,ijk->k",
              "...a,...a->a", "a...,b...->ab...", "ij,jk", "..., ->...", "", "->", "...i...", "iJ->Ji")
}


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for make in INPUTS.values():
        check_alike(lambda m, make=make: ONE[name](m, make(m)))


@pytest.mark.parametrize("run", [
    lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2], [0, 2]), lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2]),
    lambda m, x, y: m.einsum(x, [..., 1], y, [1, 51], [51, ...]), lambda m, x, y: m.einsum(x, [0, 60]),
    lambda m, x, y: m.einsum("ij,jk->ik", [x, y]), lambda m, x, y: m.einsum("ij,jk->ik", x), lambda m, x, y: m.einsum("ij", x, y),
    lambda m, x, y: m.einsum("ij,ij", x, y), lambda m, x, y: m.einsum("ij,jk", x, y.double()), lambda m, x, y: m.einsum("ij"),
    lambda m, x, y: m.einsum("ij,jk", x.t().contiguous().t(), y[:, ::2]), lambda m, x, y: m.einsum("ij,jk->", x[:0], y),
    lambda m, x, y: m.einsum("ij,jk->ik", x[:, :0], y[:0]), lambda m, x, y: m.einsum("ij,jk->ik", x[:, :1], y),
    lambda m, x, y: m.einsum("ij,j->i", x[:, :1], y[:, 0]), lambda m, x, y: m.einsum("ij,jk,kl,lm->im", x, y, y.t(), x.t()),
    lambda m, x, y: m.einsum("i...,j...->...", x[:, :1], y), lambda m, x, y: m.einsum(3, x), lambda m, x, y: m.einsum("ij", 3),
])
def test_einsum(run):
    check_alike(lambda m: run(m, m.arange(6.0).reshape(2, 3), m.arange(12.0).reshape(3, 4) - 5))


@pytest.mark.differs(
    what="`cdist` of a dual tensor",
    there="NotImplementedError.",
    here="There is a tangent, for each p.")
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, INF])
def test_derivatives_of_cdist(p):
    """Not in cases.py: PyTorch has no forward mode for it."""
    x, y = [mg.tensor(numbers, dtype=mg.float64, requires_grad=True) for numbers in (
        [[[0.5, -1.0], [2.0, 0.1]]], [[1.5, 0.7], [-0.4, 3.0], [0.9, -2.0]])]
    mg.autograd.gradcheck(lambda x, y: mg.cdist(x, y, p), (x, y), check_forward_ad=True)
    mg.autograd.gradgradcheck(lambda x, y: mg.cdist(x, y, p) ** 2, (x, y))
    numbers = x.tolist(), y.tolist()
    check_alike(lambda m: _pair_gradients(m, numbers, p))


def _pair_gradients(m, numbers, p):
    x, y = [m.tensor(n, requires_grad=True) for n in numbers]
    return m.autograd.grad((m.cdist(x, y, p) ** 2).sum(), (x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", [((5, 3), (7, 3)), ((9, 40), (600, 40)), ((2, 3, 17), (2, 4, 17)), ((2, 3, 5), (4, 5)), ((3, 5), (0, 5))])
def test_backward_of_cdist(shapes, dtype):
    """It has a kernel; with create_graph, ops compute it."""
    rng = np.random.default_rng(0)
    x, y = [mg.tensor(rng.standard_normal(shape), dtype=getattr(mg, dtype), requires_grad=True) for shape in shapes]
    z = mg.cdist(x, y)
    g = mg.tensor(rng.standard_normal(tuple(z.shape)), dtype=z.dtype)
    wide = [v.detach().double().requires_grad_() for v in (x, y)]
    exact = mg.autograd.grad(mg.cdist(*wide), wide, g.double(), create_graph=True)
    found = mg.autograd.grad(z, (x, y), g, retain_graph=True)
    by_ops = mg.autograd.grad(z, (x, y), g, create_graph=True)
    for each, other, true in zip(found, by_ops, exact):
        close = 2e-6 if dtype == "float32" else 1e-14
        most = close * (1 + np.abs(true.detach().numpy()).max(initial=0))
        assert each.shape == true.shape and each.dtype == x.dtype
        assert np.abs(each.numpy() - true.detach().numpy()).max(initial=0) <= most
        assert np.abs(other.detach().numpy() - true.detach().numpy()).max(initial=0) <= most


def test_backward_of_near_points():
    """g / distance would be too large for a float32; the difference / distance is 1."""
    for function in (mg.cdist, lambda x, y: mg.pdist(mg.cat([x, y]))):
        x, y = mg.tensor([[1e-19, 0.0, 0.0]], requires_grad=True), mg.zeros(1, 3, requires_grad=True)
        dx, dy = mg.autograd.grad(function(x, y).sum() * 1e25, (x, y))
        assert dx[0, 0].item() == pytest.approx(1e25, rel=1e-5) and dy[0, 0].item() == -dx[0, 0].item()
        assert dx[0, 1:].tolist() == dy[0, 1:].tolist() == [0.0, 0.0]


def test_gradient_of_a_norm_of_zeros_is_zero():
    for p in (1, 2, 3):
        check_alike(lambda m, p=p: _gradient(m, lambda x: m.linalg.vector_norm(x, p)))
    check_alike(lambda m: _gradient(m, lambda x: m.cdist(x, x.detach()).sum()))


def _gradient(m, run):
    x = m.zeros(2, 2, requires_grad=True)
    return m.autograd.grad(run(x), x)[0]


@pytest.mark.parametrize("shapes", [((90, 40), (70, 40)), ((3, 90, 40), (70, 40)), ((90, 40), (3, 70, 40)), ((0, 4), (9, 4))])
def test_cdist_in_parts(shapes):
    """Without a backward, cdist computes some rows at a time: the same numbers."""
    rng = np.random.default_rng(0)
    x, y = [mg.tensor(rng.standard_normal(shape).astype(np.float32)) for shape in shapes]
    for p in (0.0, 1.0, 2.0, 3.0, INF):
        z = mg.cdist(x, y, p)
        assert not z.requires_grad and mg.equal(z, mg.cdist(x.detach().requires_grad_(), y, p))
