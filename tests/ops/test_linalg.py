"""Decompositions: values, edges and errors are PyTorch's; what they promise holds for matrices at random. Derivatives are in cases.py,
and here those of singular matrices, of complex ones, and what has none."""

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
    "double": lambda m: m.tensor([[2.0, 1.0], [1.0, 4.0]], dtype=m.float64), "strided": lambda m: m.arange(16.0).reshape(4, 4).t()[::2, ::2] + m.eye(2),
    "int": lambda m: m.eye(2, dtype=m.int64), "bool": lambda m: m.eye(2) > 0, "half": lambda m: m.eye(2).to(m.float16),
    "vector": lambda m: m.ones(3), "0-d": lambda m: m.tensor(1.0), "no tensor": lambda m: [[1.0]],
    "nan": lambda m: m.tensor([[1.0, NAN], [0.0, 1.0]]),
}
# A sign or a phase of vectors is an accident: compared is what does not depend on them.
ONE = {
    "det": lambda m, x: m.det(x), "linalg.det": lambda m, x: m.linalg.det(x), "slogdet": lambda m, x: m.slogdet(x), "logdet": lambda m, x: m.logdet(x),
    "linalg.slogdet": lambda m, x: m.linalg.slogdet(x), "inv": lambda m, x: m.linalg.inv(x), "inverse": lambda m, x: m.inverse(x),
    "inv_ex": lambda m, x: m.linalg.inv_ex(x).info, "inv_ex checked": lambda m, x: m.linalg.inv_ex(x, check_errors=True),
    "solve": lambda m, x: m.linalg.solve(x, m.ones(x.shape[-1], 2, dtype=x.dtype)), "solve vector": lambda m, x: m.linalg.solve(x, x[..., 0]),
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
    "svdvals": lambda m, x: m.linalg.svdvals(x), "svd driver": lambda m, x: m.linalg.svd(x, driver="gesvd"), "eigh": lambda m, x: [
        y.abs() for y in m.linalg.eigh(x)], "eigh U": lambda m, x: m.linalg.eigh(x, "u")[0], "eigh X": lambda m, x: m.linalg.eigh(x, "X"),
    "eigvalsh": lambda m, x: m.linalg.eigvalsh(x), "eigvalsh 3": lambda m, x: m.linalg.eigvalsh(x, 3), "pinv": lambda m, x: m.linalg.pinv(x),
    "pinv atol": lambda m, x: m.linalg.pinv(x, atol=1.1), "pinv rtol": lambda m, x: m.linalg.pinv(x, rtol=0.4), "pinv hermitian": lambda m, x: m.linalg.pinv(
        x, hermitian=True), "pinv tensors": lambda m, x: m.linalg.pinv(x, atol=m.tensor([0.0, 2.0]).reshape(2, *[1] * (x.ndim - 2))),
    "pinv text": lambda m, x: m.linalg.pinv(x, atol="x"), "pinverse": lambda m, x: x.pinverse(0.5), "matrix_rank": lambda m, x: m.linalg.matrix_rank(x),
    "matrix_rank atol": lambda m, x: m.linalg.matrix_rank(x, atol=1.1), "matrix_rank hermitian": lambda m, x: m.linalg.matrix_rank(
        x, hermitian=True), "matrix_rank rtol": lambda m, x: m.linalg.matrix_rank(x, rtol=m.tensor(0.5)), "matrix_power": lambda m, x: m.matrix_power(x, -2),
    "lstsq": lambda m, x: m.linalg.lstsq(x, x), "lstsq vector": lambda m, x: m.linalg.lstsq(x, x[..., 0], driver="gelsd"),
    "lstsq gels": lambda m, x: m.linalg.lstsq(x, x, driver="gels"), "lstsq what": lambda m, x: m.linalg.lstsq(x, x, driver="x"),
    "lstsq misfit": lambda m, x: m.linalg.lstsq(x, m.ones(7, 1)), "lstsq rcond": lambda m, x: m.linalg.lstsq(x, x, rcond=0.4).rank,
} | {f"cond {p}": lambda m, x, p=p: m.linalg.cond(x, p) for p in (None, 2, -2, "fro", "nuc", 1, -1, INF, -INF, 3)
} | {f"matrix_norm {p}": lambda m, x, p=p: m.linalg.matrix_norm(x, p) for p in (2, -2, "nuc", "x", None)
} | {f"norm {p}": lambda m, x, p=p: m.linalg.norm(x, p) for p in (2, "nuc", "fro")
} | {"norm nuc of all": lambda m, x: m.norm(x, "nuc"), "norm nuc dim": lambda m, x: m.norm(x, "nuc", dim=(1, 0), keepdim=True),
     "matrix_norm dtype": lambda m, x: m.linalg.matrix_norm(x, 2, dtype=m.float64)}


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for kind, make in INPUTS.items():
        if (name.split()[0], kind) in DIFFERS:
            continue
        check_alike(lambda m, make=make: ONE[name](m, make(m)))


DIFFERS = {}
