"""Decompositions: values, edge cases and errors equal PyTorch's, and the factors of random matrices have their defining properties.

The derivatives are in cases.py. Here are those of singular and complex matrices, and outputs without a derivative.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.ops.alike import check_alike

INF = float("inf")
NAN = float("nan")
INPUTS = {
    "regular": lambda m: m.tensor([[2.0, -1.0, 0.5], [1.0, 3.0, 0.2], [0.3, 0.4, 1.5]]), "symmetric": lambda m: m.tensor([[4.0, 1.0], [1.0, 3.0]]),
    "lower": lambda m: m.tensor([[2.0, 7.0], [1.0, 3.0]]), "singular": lambda m: m.tensor([[1.0, 2.0], [2.0, 4.0]]),
    "indefinite": lambda m: m.tensor([[1.0, 2.0], [2.0, 1.0]]), "batch": lambda m: m.stack([m.eye(2), m.tensor([[2.0, 1.0], [1.0, 3.0]])]),
    "batch with a singular": lambda m: m.stack([m.eye(2), m.zeros(2, 2)]), "tall": lambda m: m.tensor([[1.0, 2.0], [3.0, 5.0], [0.5, -1.0]]),
    "wide": lambda m: m.tensor([[1.0, 2.0, 0.3], [3.0, 5.0, -1.0]]), "0x0": lambda m: m.zeros(0, 0), "no batch": lambda m: m.zeros(0, 2, 2),
    "batch of 0x0": lambda m: m.zeros(2, 0, 0), "no rows": lambda m: m.zeros(0, 3), "no columns": lambda m: m.zeros(3, 0),
    "complex": lambda m: m.tensor([[2 + 1j, 1j], [0.5 + 0j, 3 - 1j]]), "hermitian": lambda m: m.tensor([[2 + 0j, 1j], [-1j, 3 + 0j]]),
    "single": lambda m: m.tensor([[2.0, 1.0], [1.0, 4.0]]), "strided": lambda m: m.arange(16.0).reshape(4, 4).t()[::2, ::2] + m.eye(2),
    "int": lambda m: m.eye(2, dtype=m.int64), "bool": lambda m: m.eye(2) > 0, "half": lambda m: m.eye(2).to(m.float16),
    "vector": lambda m: m.ones(3), "0-d": lambda m: m.tensor(1.0),
    "nan": lambda m: m.tensor([[1.0, NAN], [0.0, 1.0]]),
}
# The sign or phase of a singular vector is arbitrary: these functions do not depend on it.
ONE = {
    "det": lambda m, x: m.det(x), "linalg.det": lambda m, x: m.linalg.det(x), "slogdet": lambda m, x: m.slogdet(x), "logdet": lambda m, x: m.logdet(x),
    "linalg.slogdet": lambda m, x: m.linalg.slogdet(x), "inv": lambda m, x: m.linalg.inv(x), "inverse": lambda m, x: m.inverse(x),
    "inv_ex": lambda m, x: m.linalg.inv_ex(x).info, "inv_ex checked": lambda m, x: m.linalg.inv_ex(x, check_errors=True),
    "solve": lambda m, x: m.linalg.solve(x, m.ones(2, 2, dtype=x.dtype)), "solve vector": lambda m, x: m.linalg.solve(x, x[..., 0]),
    "solve right": lambda m, x: m.linalg.solve(x, x[..., :1, :], left=False), "solve_ex": lambda m, x: m.linalg.solve_ex(x, x).info,
    "solve_triangular": lambda m, x: m.linalg.solve_triangular(x, x, upper=True), "solve_triangular unit": lambda m, x: m.linalg.solve_triangular(
        x, x.mT, upper=False, left=False, unitriangular=True), "cholesky": lambda m, x: m.linalg.cholesky(x),
    "cholesky upper": lambda m, x: m.linalg.cholesky(x, upper=True), "cholesky_ex": lambda m, x: m.linalg.cholesky_ex(x).info,
    "cholesky_ex checked": lambda m, x: m.linalg.cholesky_ex(x, check_errors=True), "cholesky old": lambda m, x: m.cholesky(x),
    "cholesky method": lambda m, x: x.cholesky(True), "cholesky_solve": lambda m, x: m.cholesky_solve(x, x), "cholesky_solve upper": lambda m, x: (
        x.cholesky_solve(x, upper=True)), "cholesky_inverse": lambda m, x: m.cholesky_inverse(x), "qr": lambda m, x: m.linalg.qr(x),
    "qr complete": lambda m, x: m.linalg.qr(x, "complete")[1], "qr r": lambda m, x: m.linalg.qr(x, mode="r"), "qr what": lambda m, x: m.linalg.qr(x, "q"),
    "qr old": lambda m, x: m.qr(x, some=False).R, "svd": lambda m, x: [y.abs() for y in m.linalg.svd(x, full_matrices=False)],
    "svd full": lambda m, x: [list(y.shape) for y in m.linalg.svd(x)], "svd old": lambda m, x: [y.abs() for y in m.svd(x)],
    "svd some": lambda m, x: [list(y.shape) for y in m.svd(x, False)], "svd values": lambda m, x: m.svd(x, compute_uv=False),
    "svdvals": lambda m, x: m.linalg.svdvals(x), "eigh": lambda m, x: [
        y.abs() for y in m.linalg.eigh(x)], "eigh U": lambda m, x: m.linalg.eigh(x, "u")[0], "eigh X": lambda m, x: m.linalg.eigh(x, "X"),
    "eigvalsh": lambda m, x: m.linalg.eigvalsh(x), "eigvalsh 3": lambda m, x: m.linalg.eigvalsh(x, 3), "pinv": lambda m, x: m.linalg.pinv(x),
    "pinv atol": lambda m, x: m.linalg.pinv(x, atol=1.1), "pinv rtol": lambda m, x: m.linalg.pinv(x, rtol=0.4), "pinv hermitian": lambda m, x: m.linalg.pinv(
        x, hermitian=True), "pinv tensors": lambda m, x: m.linalg.pinv(
        x, atol=m.tensor([0.0, 2.0])),
    "pinv text": lambda m, x: m.linalg.pinv(x, atol="x"), "pinverse": lambda m, x: x.pinverse(0.5), "matrix_rank": lambda m, x: m.linalg.matrix_rank(x),
    "matrix_rank atol": lambda m, x: m.linalg.matrix_rank(x, atol=1.1), "matrix_rank hermitian": lambda m, x: m.linalg.matrix_rank(
        x, hermitian=True), "matrix_rank rtol": lambda m, x: m.linalg.matrix_rank(x, rtol=m.tensor(0.5)), "matrix_power": lambda m, x: m.matrix_power(x, -2),
    "matrix_exp": lambda m, x: m.matrix_exp(x), "tensorinv": lambda m, x: m.linalg.tensorinv(x, ind=1), "tensorsolve": lambda m, x: m.linalg.tensorsolve(
        x, x[0]), "vecdot": lambda m, x: m.linalg.vecdot(x, x), "diagonal": lambda m, x: m.linalg.diagonal(x),
    "lstsq": lambda m, x: m.linalg.lstsq(x, x), "lstsq vector": lambda m, x: m.linalg.lstsq(x, x[..., 0], driver="gelsd"),
    "lstsq gels": lambda m, x: m.linalg.lstsq(x, x, driver="gels"), "lstsq what": lambda m, x: m.linalg.lstsq(x, x, driver="x"),
    "lstsq misfit": lambda m, x: m.linalg.lstsq(x, m.ones(7, 1)), "lstsq rcond": lambda m, x: m.linalg.lstsq(x, x, rcond=0.4).rank,
} | {f"cond {p}": lambda m, x, p=p: m.linalg.cond(x, p) for p in (None, 2, -2, "fro", "nuc", 1, -1, INF, -INF, 3)
} | {f"matrix_norm {p}": lambda m, x, p=p: m.linalg.matrix_norm(x, p) for p in (2, -2, "nuc", "x", None)
} | {f"norm {p}": lambda m, x, p=p: m.linalg.norm(x, p) for p in (2, "nuc", "fro")
} | {"norm nuc of all": lambda m, x: m.norm(x, "nuc"), "norm nuc dim": lambda m, x: m.norm(x, "nuc", dim=(1, 0), keepdim=True),
     "matrix_norm dtype": lambda m, x: m.linalg.matrix_norm(x, 2, dtype=m.float64)}


def exact(m, x, kind):
    """`x` in double precision, in which the two libraries agree to more digits than the test compares; `single` is unchanged."""
    return x.to({m.float32: m.float64, m.complex64: m.complex128}.get(x.dtype, x.dtype)) if kind != "single" else x


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for kind, make in INPUTS.items():
        if not any(name.startswith(which) and kind in kinds for which, kinds in DIFFERS.items()):
            check_alike(lambda m, make=make, kind=kind: ONE[name](m, exact(m, make(m), kind)))


# Kinds of inputs that are not compared: results that depend on rounding or on the handling of nan; empty matrices that are not
# square, which PyTorch accepts; matrices that should be Hermitian and are not; half precision, which overflows; and square matrices
# without full rank, which PyTorch's gels does not detect.
DIFFERS = {
    "matrix_exp": {"half"}, "tensorsolve": {"no columns"}, "slogdet": {"nan"}, "linalg.slogdet": {"nan"}, "qr": {"nan"}, "cond fro": {"nan"}, "cond 1": {"nan"}, "cond -": {"nan", "singular"},
    "cond inf": {"nan"}, "cond N": {"singular"}, "cond 2": {"singular"}, "cond nuc": {"singular"}, "cholesky": {"no rows", "no columns"},
    "pinv hermitian": {"no rows", "no columns", "complex"}, "matrix_rank hermitian": {"no rows", "no columns", "complex"},
    "lstsq gels": {"singular", "batch with a singular", "nan"}, "lstsq": {"nan", "tall"}, "solve_ex": {"nan"},
    "solve_triangular": {"nan"}, "cholesky_inverse": {"complex"}, "pinv atol": {"vector", "0-d"},
}


@pytest.mark.parametrize("run", [
    lambda m: m.linalg.det([[1.0]]), lambda m: m.linalg.inv(3.0), lambda m: m.linalg.solve(m.eye(2), [1.0]), lambda m: m.linalg.cholesky(None),
    lambda m: m.linalg.svd([[1.0]]), lambda m: m.linalg.eigh("x"), lambda m: m.linalg.pinv([[1.0]]), lambda m: m.linalg.lstsq(m.eye(2), 1.0),
    lambda m: m.linalg.svd(m.eye(2), driver="gesvd"), lambda m: m.linalg.cond([[1.0]]),
    lambda m: m.linalg.solve(m.eye(2), m.eye(2).double()), lambda m: m.linalg.solve(m.eye(2), m.ones(3, 2)), lambda m: m.linalg.solve(
        m.eye(2), m.ones(2), left=False), lambda m: m.linalg.solve(m.ones(2, 2, 2), m.ones(3, 2, 2)), lambda m: m.linalg.solve(m.eye(2), m.tensor(1.0)),
    lambda m: m.linalg.solve(m.stack([m.eye(2)] * 3), m.ones(3, 2)), lambda m: m.linalg.solve(m.stack([m.eye(2)] * 3), m.ones(2, 2)),
    lambda m: m.linalg.solve(m.stack([m.eye(2)] * 3), m.ones(2)), lambda m: m.linalg.solve(m.zeros(0, 2, 2), m.zeros(0, 2)),
    lambda m: m.linalg.solve_triangular(m.eye(2), m.ones(3, 2), upper=True), lambda m: m.linalg.solve_triangular(m.eye(2), m.ones(2), upper=True),
    lambda m: m.linalg.solve_triangular(m.zeros(2, 2), m.eye(2), upper=True), lambda m: m.linalg.solve_triangular(
        m.zeros(2, 2), m.eye(2), upper=False, left=False), lambda m: m.linalg.solve_triangular(m.tensor([[INF, 1.0], [0.0, 1.0]]), m.eye(2), upper=True),
    lambda m: m.cholesky_solve(m.ones(2), m.eye(2)), lambda m: m.cholesky_solve(m.ones(3, 1), m.eye(2)), lambda m: m.cholesky_solve(
        m.ones(2, 1).double(), m.eye(2)), lambda m: m.cholesky_solve(m.ones(3, 1, 2, 1), m.stack([m.eye(2)] * 2)),
    lambda m: m.cholesky_inverse(m.stack([m.eye(2), m.tensor([[1.0, 0.0], [0.0, 0.0]])])), lambda m: m.linalg.lstsq(m.ones(2, 4, 3), m.ones(4)),
    lambda m: m.linalg.lstsq(m.eye(2), m.eye(2).double()), lambda m: m.linalg.lstsq(m.ones(4), m.ones(4)), lambda m: m.linalg.lstsq(
        m.zeros(0, 4, 3), m.zeros(0, 4, 2), driver="gelsd"), lambda m: m.linalg.lstsq(m.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), m.ones(3), driver="gels"),
    lambda m: m.linalg.matrix_norm(m.ones(2, 3, 4), "nuc", dim=(0, 0)), lambda m: m.linalg.matrix_norm(m.ones(2, 3), 2, dim=(0, 1, 1)),
    lambda m: m.linalg.matrix_norm(m.arange(24.0).reshape(2, 3, 4), -2, dim=(2, 0), keepdim=True), lambda m: m.linalg.norm(m.ones(3, 3, 3), "nuc"),
    lambda m: m.norm(m.ones(3, 3, 3), "nuc"), lambda m: m.norm(m.ones(3, 3), "x"), lambda m: m.norm(m.ones(3, 3, 3), "nuc", dim=0),
    lambda m: m.matrix_power(m.eye(2, dtype=m.int64), -1), lambda m: m.linalg.matrix_power(m.zeros(0, 0), -1), lambda m: m.logdet(-m.eye(3)),
    lambda m: m.linalg.inv(m.eye(2), out=m.zeros(2, 2)), lambda m: m.linalg.svdvals(m.eye(2), out=m.zeros(2)), lambda m: m.linalg.eigvals(
        m.eye(2), out=m.zeros(2, dtype=m.complex64)), lambda m: m.linalg.det(m.eye(2), out=m.zeros(())),
    lambda m: m.linalg.eig(m.tensor([[1.0, 2.0], [0.0, 3.0]])).eigenvalues, lambda m: m.linalg.eigvals(m.zeros(0, 2, 2)), lambda m: m.linalg.eig(
        m.zeros(2, 0, 0)), lambda m: m.linalg.eig(m.ones(2, 3)), lambda m: m.linalg.eig(m.tensor([[NAN, 0.0], [0.0, 1.0]])),
    lambda m: m.linalg.tensorinv(m.eye(6).reshape(2, 3, 6)), lambda m: m.linalg.tensorinv(m.eye(2), ind=0), lambda m: m.linalg.tensorinv(m.ones(2, 3), 1),
    lambda m: m.linalg.tensorsolve(m.eye(6).reshape(2, 3, 6), m.ones(2, 3)), lambda m: m.linalg.tensorsolve(m.ones(2, 3, 5), m.ones(2, 3)),
    lambda m: m.linalg.vecdot(m.ones(2, 3), m.ones(2)), lambda m: m.linalg.vecdot(m.ones(2), m.ones(2).double()), lambda m: m.linalg.vecdot(
        m.tensor([1j]), m.tensor([1j])), lambda m: m.matrix_exp(m.tensor([[[0.0, 30.0], [-30.0, 0.0]], [[1.0, 0.0], [2.0, 1e-3]]], dtype=m.float64)),
    lambda m: m.linalg.pinv(m.eye(2), atol=m.tensor(1j)), lambda m: m.linalg.pinv(m.ones(2, 3), hermitian=True), lambda m: m.linalg.matrix_rank(
        m.eye(3), rtol=m.tensor([0.1, 2.0]))])
def test_calls(run):
    check_alike(run)


# ---- properties of the factors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1, INF, -INF])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3)])
def test_norms_of_empty_matrices(shape, order):
    check_alike(lambda m: m.linalg.matrix_norm(m.zeros(shape), order))


@st.composite
def matrices_of(draw, square=False, dtypes=("float32", "float64", "complex64", "complex128")):
    """A batch of matrices at random, now and then without any numbers, of numbers that are not too far apart."""
    batch = draw(st.lists(st.integers(0, 3), max_size=2))
    m = draw(st.integers(0, 6))
    n = m if square else draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10 ** 6)))
    dtype = draw(st.sampled_from(dtypes))
    x = rng.standard_normal((*batch, m, n)) + (1j * rng.standard_normal((*batch, m, n)) if "complex" in dtype else 0)
    return mg.tensor(x.astype(dtype))


def close(a, b, scale=1.0):
    assert a.dtype is b.dtype and a.shape == b.shape
    precision = 2e-4 if a.dtype.name in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=precision, atol=precision * scale)


def identity(x, n):
    return mg.eye(n, dtype=x.dtype).expand(*x.shape[:-2], n, n)


def adjoint(x):
    return x.mT.conj()


@settings(max_examples=60, deadline=None)
@given(matrices_of())
def test_qr(A):
    for mode in ("reduced", "complete"):
        Q, R = mg.linalg.qr(A, mode)
        close(Q @ R, A)
        close(adjoint(Q) @ Q, identity(Q, Q.shape[-1]))
        close(R.triu(), R)
    assert mg.linalg.qr(A, "r").R.shape == mg.linalg.qr(A).R.shape


@settings(max_examples=60, deadline=None)
@given(matrices_of())
def test_svd(A):
    U, S, Vh = mg.linalg.svd(A, full_matrices=False)
    close((U * S.unsqueeze(-2)) @ Vh, A)
    for x in (U, adjoint(Vh), mg.linalg.svd(A).U, adjoint(mg.linalg.svd(A).Vh)):
        close(adjoint(x) @ x, identity(x, x.shape[-1]))
    assert not S.dtype.is_complex and bool((S.diff() <= 0).all()) and bool((S >= 0).all())
    close(mg.linalg.svdvals(A), S)


@settings(max_examples=60, deadline=None)
@given(matrices_of())
def test_pinv(A):
    """The four equations of Penrose."""
    z = mg.linalg.pinv(A)
    size = float(z.abs().sum()) + 1
    close(A @ z @ A, A, size)
    close(z @ A @ z, z, size)
    for x in (A @ z, z @ A):
        close(adjoint(x), x, size)


@settings(max_examples=60, deadline=None)
@given(matrices_of(square=True))
def test_square(A):
    n = A.shape[-1]
    A = A + 6 * mg.eye(n, dtype=A.dtype)
    close(mg.linalg.inv(A) @ A, identity(A, n))
    close(A @ mg.linalg.solve(A, A.mT), A.mT + 0)
    close(mg.linalg.solve(A, A.mT, left=False) @ A, A.mT + 0)
    for upper in (False, True):
        T = A.triu() if upper else A.tril()
        close(T @ mg.linalg.solve_triangular(A, A.mT, upper=upper), A.mT + 0)
    sign, logarithm = mg.linalg.slogdet(A)
    det = mg.linalg.det(A)
    close(sign * logarithm.exp(), det, 10.0 ** n)
    close(mg.linalg.det(A @ A), det * det, 100.0 ** n)
    close(mg.matrix_power(A, -2) @ A @ A, identity(A, n))


@settings(max_examples=60, deadline=None)
@given(matrices_of(square=True))
def test_hermitian(A):
    n = A.shape[-1]
    A = A @ adjoint(A) + mg.eye(n, dtype=A.dtype)
    for upper in (False, True):
        L = mg.linalg.cholesky(A, upper=upper)
        close(adjoint(L) @ L if upper else L @ adjoint(L), A)
        close(L.triu() if upper else L.tril(), L)
        close(mg.cholesky_inverse(L, upper) @ A, identity(A, n), 100)
        close(A @ mg.cholesky_solve(A.mT, L, upper), A.mT + 0, 100)
        w, V = mg.linalg.eigh(A, "U" if upper else "L")
        close((V * w.unsqueeze(-2)) @ adjoint(V), A, 10)
        close(adjoint(V) @ V, identity(A, n))
        assert bool((w.diff() >= 0).all())


@settings(max_examples=60, deadline=None)
@given(matrices_of(square=True))
def test_eig(A):
    w, V = mg.linalg.eig(A)
    close(A.to(V.dtype) @ V, V * w.unsqueeze(-2), 10)
    close(w.sum(-1), A.to(V.dtype).diagonal(0, -2, -1).sum(-1), 10)
    close((V.abs() ** 2).sum(-2), mg.ones(w.shape, dtype=V.abs().dtype))


# ---- derivatives -----------------------------------------------------------------------------------------------------------

SINGULAR = {
    "rank 2 of 3": [[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], "rank 1 of 3": [[1.0, 2, 3], [2, 4, 6], [3, 6, 9]], "zeros": np.zeros((3, 3)),
    "diagonal": [[1.0, 0, 0], [0, 2, 0], [0, 0, 0]], "equal values": np.eye(3), "equal values, singular": np.diag([1.0, 1, 0]),
    "one 0": [[0.0]], "nearly": [[1.0, 2.0], [2.0, 4.0 + 1e-9]], "batch": [[[1.0, 2], [2, 4]], [[1.0, 0], [0, 3]]], "tiny": 1e-9 * np.eye(2),
}


@pytest.mark.differs(
    what="The derivatives of `det` of a singular matrix",
    there="The gradient is 0, and the second one can be nan.",
    here="Both are right.")
@pytest.mark.parametrize("phase", [1.0, 0.6 + 0.8j], ids=["real", "complex"])
@pytest.mark.parametrize("name", SINGULAR)
def test_determinant_of_a_singular_matrix(name, phase):
    """Both derivatives, both ways. PyTorch's gradient without create_graph is 0 here, its second one nan if two singular values are 0."""
    x = mg.tensor(np.array(SINGULAR[name]) * phase, requires_grad=True)
    assert mg.autograd.gradcheck(mg.linalg.det, (x,), check_forward_ad=True)
    assert mg.autograd.gradgradcheck(mg.linalg.det, (x,), check_fwd_over_rev=True, atol=1e-4)


def test_determinant_of_a_singular_matrix_is_torchs():
    """Where PyTorch gets it right: with create_graph, and one singular value 0."""
    def derivatives(m):
        x = m.tensor(SINGULAR["rank 2 of 3"], dtype=m.float64, requires_grad=True)
        (first,) = m.autograd.grad(m.linalg.det(x), x, create_graph=True)
        return first, m.autograd.grad((first * m.arange(9.0).reshape(3, 3)).sum(), x)
    check_alike(derivatives)


def parts(m, A):
    """A number of everything that does not depend on phases, of a matrix that is also made Hermitian."""
    H = A @ A.mT.conj() + m.eye(3, dtype=A.dtype)
    U, S, Vh = m.linalg.svd(A)
    L, V = m.linalg.eigh(H)
    w, X = m.linalg.eig(A)
    Q, R = m.linalg.qr(A)
    sign, logarithm = m.linalg.slogdet(A)
    return {
        "det": m.linalg.det(A), "slogdet": sign * logarithm, "logdet": m.logdet(H), "inv": m.linalg.inv(A), "pinv": m.linalg.pinv(A[:, :2]),
        "cholesky": m.linalg.cholesky(H), "cholesky upper": m.linalg.cholesky(H, upper=True), "qr": Q @ R.sin(), "svd": (U * S.sin()) @ Vh,
        "svd of u": U.abs(), "svd of v": Vh.abs() * S.unsqueeze(-1), "svdvals": m.linalg.svdvals(A[:2]), "eigh": (V * L.sin()) @ V.mT.conj(),
        "eigh vectors": V.abs(), "eigvalsh": m.linalg.eigvalsh(H), "eig": w.abs() * X.abs(), "solve": m.linalg.solve(A, A.mT), "eigvals": w.abs(),
        "solve_triangular": m.linalg.solve_triangular(A, A.mT, upper=True, left=False), "lstsq": m.linalg.lstsq(A[:, :2], A.mT, driver="gelsd")[:2],
        "qr wide": m.linalg.qr(A[:2])[1], "qr tall": m.linalg.qr(A[:, :2])[0] ** 2, "matrix_norm": m.linalg.matrix_norm(A, "nuc"),
        "matrix_exp": m.matrix_exp(A), "vecdot": m.linalg.vecdot(A, A.mT),
        "cholesky_solve": m.cholesky_solve(A, m.tril(A @ A) + 3 * m.eye(3, dtype=A.dtype)),
        "cholesky_inverse": m.cholesky_inverse(m.linalg.cholesky(H, upper=True), upper=True),
    }


NUMBERS = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, 0.2], [0.3, 0.4, 1.5]]) + 1j * np.array([[0.1, 0.7, -0.3], [0.2, -0.5, 0.4], [-0.6, 0.3, 0.8]])


def size_of(z):
    """A real number that depends on all of it."""
    if isinstance(z, tuple):
        return size_of(z[0]) + size_of(z[1])
    return (z.real.sin() + (2 * z.imag).sin()).sum() if z.dtype.is_complex else z.sin().sum()


@pytest.mark.parametrize("name", parts(mg, mg.tensor(NUMBERS)))
def test_complex_derivatives(name):
    """Against PyTorch, first and second, and against differences in both directions."""
    def derivatives(m):
        A = m.tensor(NUMBERS, dtype=m.complex128, requires_grad=True)
        (first,) = m.autograd.grad(size_of(parts(m, A)[name]), A, create_graph=True)
        return first, m.autograd.grad((first * first.conj()).real.sum(), A)
    check_alike(derivatives)
    A = mg.tensor(NUMBERS, requires_grad=True)
    assert mg.autograd.gradcheck(lambda A: size_of(parts(mg, A)[name]), (A,), check_forward_ad=True)


PHASES = {
    "svd": lambda m, A: m.linalg.svd(A).U.real.sum(), "svd of v": lambda m, A: m.linalg.svd(A).Vh.imag.sum(),
    "eigh": lambda m, A: m.linalg.eigh(A + A.mT.conj()).eigenvectors.real.sum(), "eig": lambda m, A: m.linalg.eig(A).eigenvectors.imag.sum(),
}


@pytest.mark.parametrize("name", PHASES)
def test_a_loss_may_not_depend_on_phases(name):
    for m in (mg, pytest.importorskip("torch")):
        A = m.tensor(NUMBERS, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"specified up to multiplication by e\^\{i phi\}"):
            PHASES[name](m, A).backward()


@pytest.mark.parametrize("mode, shape", [("r", (3, 3)), ("complete", (4, 3))])
def test_qr_without_a_derivative(mode, shape):
    messages = []
    for m in (mg, pytest.importorskip("torch")):
        A = m.ones(shape, requires_grad=True)
        with pytest.raises(RuntimeError) as caught:
            m.linalg.qr(A, mode).R.sum().backward()
        messages.append(str(caught.value).split("\n")[0])
        with m.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError):
            m.linalg.qr(m.autograd.forward_ad.make_dual(m.ones(shape), m.ones(shape)), mode)
    assert messages[0] == messages[1]


def test_values_that_are_equal():
    """Equal singular values and eigenvalues have a derivative; their vectors have none."""
    def gradient(m, function):
        x = m.eye(3, dtype=m.float64).requires_grad_()
        return m.autograd.grad(function(m, x).sum(), x)
    check_alike(lambda m: gradient(m, lambda m, x: m.linalg.svdvals(x)))
    check_alike(lambda m: gradient(m, lambda m, x: m.linalg.eigvalsh(x)))
    assert not mg.isfinite(gradient(mg, lambda m, x: m.linalg.eigh(x)[1])[0]).all()


@pytest.mark.differs(
    what="The backward of `linalg.cond(A, 1)`",
    there="RuntimeError: PyTorch itself writes to what it has saved.",
    here="The derivatives are right.")
@pytest.mark.parametrize("p", ["fro", 1, -1, INF, -INF])
def test_derivatives_of_the_condition(p):
    """Not in cases.py: PyTorch writes to the inverse that it has saved, and refuses the backward."""
    A = mg.tensor(NUMBERS.real, requires_grad=True)
    assert mg.autograd.gradcheck(lambda A: mg.linalg.cond(A, p), (A,), check_forward_ad=True)
    assert mg.autograd.gradgradcheck(lambda A: mg.linalg.cond(A, p), (A,))


@pytest.mark.differs(
    what="The gradient of `cholesky_solve`, `cholesky_inverse`",
    there="The triangle that is not read has a gradient too.",
    here="It is 0 there.")
def test_only_one_triangle_has_a_gradient():
    """An op that reads one triangle gives the other a gradient of 0. (PyTorch gives it other numbers for a Cholesky factor.)"""
    L = mg.tensor(NUMBERS.real, requires_grad=True)
    B = mg.tensor([[1.0], [2.0], [3.0]], dtype=mg.float64)
    for upper in (False, True):
        for function in (lambda L, u=upper: mg.cholesky_solve(B, L, u), lambda L, u=upper: mg.cholesky_inverse(L, u),
                         lambda L, u=upper: mg.linalg.solve_triangular(L, B, upper=u)):
            assert mg.autograd.gradcheck(function, (L,), check_forward_ad=True)


# ---- failures --------------------------------------------------------------------------------------------------------------

FAILING = {
    "inv": lambda m, x: m.linalg.inv(x), "inverse": lambda m, x: m.inverse(x), "inv_ex": lambda m, x: m.linalg.inv_ex(x, check_errors=True),
    "solve": lambda m, x: m.linalg.solve(x, x), "solve_ex": lambda m, x: m.linalg.solve_ex(x, x, check_errors=True),
    "cholesky": lambda m, x: m.linalg.cholesky(x), "cholesky old": lambda m, x: m.cholesky(x), "power": lambda m, x: m.matrix_power(x, -3),
    "cholesky_ex": lambda m, x: m.linalg.cholesky_ex(x, check_errors=True), "cholesky_inverse": lambda m, x: m.cholesky_inverse(x),
}


@pytest.mark.parametrize("numbers", [[[0.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]]]], ids=["one", "second of a batch"])
@pytest.mark.parametrize("name", FAILING)
def test_failures(name, numbers):
    """The class and the sentence are PyTorch's."""
    messages = []
    for m in (mg, pytest.importorskip("torch")):
        with pytest.raises(m.linalg.LinAlgError) as caught:
            FAILING[name](m, m.tensor(numbers))
        assert isinstance(caught.value, RuntimeError)
        messages.append(str(caught.value).split("\n")[0])
    assert messages[0] == messages[1]


def test_a_failure_says_where_and_leaves_the_rest():
    """`info` equals LAPACK's, and the other matrices of the batch are computed."""
    x = mg.stack([mg.eye(3) * 2, mg.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]]), mg.zeros(3, 3), mg.eye(3)])
    for z, info in (mg.linalg.inv_ex(x), mg.linalg.solve_ex(x, mg.eye(3))):
        assert info.tolist() == [0, 3, 1, 0] and info.dtype is mg.int32
        assert z[0].tolist() == (mg.eye(3) / 2).tolist() and z[3].tolist() == mg.eye(3).tolist() and bool(z[1:3].isnan().all())
    L, info = mg.linalg.cholesky_ex(mg.stack([mg.eye(2) * 4, mg.tensor([[1.0, 2], [2, 1]]), -mg.eye(2)]))
    assert info.tolist() == [0, 2, 1] and L[0].tolist() == (mg.eye(2) * 2).tolist() and bool(L[1:].isnan().all())


def test_a_large_triangle_is_solved_in_blocks():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 150, 150)) / 20 + np.eye(150), rng.standard_normal((150, 3))
    for upper in (False, True):
        z = mg.linalg.solve_triangular(mg.tensor(A), mg.tensor(B), upper=upper).numpy()
        np.testing.assert_allclose((np.triu(A) if upper else np.tril(A)) @ z, np.broadcast_to(B, z.shape), rtol=1e-9, atol=1e-9)


SAVED = {
    "det": lambda m, A: m.linalg.det(A), "slogdet": lambda m, A: m.linalg.slogdet(A)[1], "inv": lambda m, A: m.linalg.inv(A), "solve": lambda m, A: (
        m.linalg.solve(A, A)), "solve_triangular": lambda m, A: m.linalg.solve_triangular(A, A, upper=True), "qr": lambda m, A: m.linalg.qr(A)[0],
    "cholesky": lambda m, A: m.linalg.cholesky(A @ A.mT), "svd": lambda m, A: m.linalg.svdvals(A), "eigh": lambda m, A: m.linalg.eigvalsh(A),
    "eig": lambda m, A: m.linalg.eigvals(A), "pinv": lambda m, A: m.linalg.pinv(A), "lstsq": lambda m, A: m.linalg.lstsq(A, A)[0],
    "cholesky_solve": lambda m, A: m.cholesky_solve(A, A), "cholesky_inverse": lambda m, A: m.cholesky_inverse(A),
    "matrix_exp": lambda m, A: m.matrix_exp(A),
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_values_have_torchs_names(name):
    found = []
    for m in (mg, pytest.importorskip("torch")):
        node = SAVED[name](m, m.tensor(NUMBERS.real, requires_grad=True)).grad_fn
        found.append((node.name(), {n for n in dir(node) if n.startswith("_saved_") and isinstance(getattr(node, n), m.Tensor)}))
    assert found[0][0] == found[1][0] and found[0][1] <= found[1][1]
