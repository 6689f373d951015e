"""Calls that once ran without end: matrices with infinite numbers, huge empty counts, lists that contain themselves.

A hang would stop the tests, so each group of calls runs in a process with a time limit.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = """
import minigrad as mg
from minigrad.errors import MinigradError
import warnings
warnings.simplefilter("ignore")

def ours(function, *args):
    try:
        return function(*args)
    except MinigradError as error:
        return error
"""


def run(code):
    """Run `code` in a separate process, which gets two minutes for work of less than a second."""
    done = subprocess.run([sys.executable, "-c", HEAD + code], cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stderr and "**" not in done.stdout, done.stderr      # LAPACK prints its complaints


MATRICES = ["svd", "svdvals", "pinv", "eigh", "eigvalsh", "eig", "eigvals", "lstsq", "cond", "matrix_rank", "norm 2", "norm nuc", "norm -2", "qr",
            "inv", "solve", "det", "slogdet", "cholesky", "matrix_exp", "matrix_power"]


@pytest.mark.parametrize("name", MATRICES)
def test_infinite_matrices(name):
    """differences/H-02: nan, an infinite number, or our LinAlgError; and the finite matrices of a batch are right."""
    run(f"""
name = {name!r}
L = mg.linalg
def call(x):
    if name.startswith("norm"):
        return L.matrix_norm(x, int(name[5:]) if name != "norm nuc" else "nuc")
    if name in ("lstsq", "solve"):
        return getattr(L, name)(x, mg.ones_like(x))
    return L.matrix_power(x, -2) if name == "matrix_power" else getattr(L, name)(x)
for bad in (float("inf"), -float("inf"), float("nan")):
    for dtype in (mg.float32, mg.float64, mg.complex64):
        for n in (1, 2, 3, 40):
            for at in ((0, 0), (0, n - 1), (n - 1, 0)):
                x = mg.rand(n, n).to(dtype)
                x[at] = bad
                found = ours(call, x)
                if isinstance(found, MinigradError):
                    assert isinstance(found, mg.linalg.LinAlgError), repr(found)
        x = mg.eye(3, dtype=dtype).repeat(3, 1, 1)
        x[1] = bad
        found = ours(call, x)
        if name in ("qr", "eigh", "eigvalsh", "matrix_exp") or (name in ("svd", "svdvals") and bad == bad):
            parts = found if isinstance(found, tuple) else (found,)
            assert all(p[[0, 2]].isfinite().all() and not p[1].isfinite().any() for p in parts), (name, bad, found)
""")


def test_much_of_nothing():
    """differences/H-03."""
    run("""
nothing = mg.zeros(0)
for shape in ((0, 2**40), (2**40, 0)):
    u, s, vh = mg.linalg.svd(mg.zeros(shape), full_matrices=False)
    assert (u.shape, s.shape, vh.shape) == ((shape[0], 0), (0,), (0, shape[1])) and mg.linalg.svdvals(mg.zeros(shape)).shape == (0,)
assert nothing.repeat(2**40).shape == nothing.tile((2**40,)).shape == (0,)
assert mg.zeros(0, 3).repeat(2**40, 2**10).shape == (0, 3 * 2**10)
assert mg.zeros(0, 2**40).flip(0).roll(1).cumsum(1).shape == (0, 2**40)
assert mg.zeros(0, 1).expand(0, 2**40).clone().sum().item() == 0
for f in (lambda: mg.tensor_split(mg.ones(3), 2**63), lambda: mg.tensor_split(nothing, 2**62), lambda: nothing.repeat(2**63), lambda: nothing.repeat(2**62, 2**62),
          lambda: mg.chunk(mg.ones(3), 2**63), lambda: mg.repeat_interleave(mg.ones(2), 2**60), lambda: mg.zeros(2**40, 0).unbind(0),
          lambda: mg.zeros(2**40, 0).split(1), lambda: mg.combinations(mg.ones(100), 50), lambda: mg.cartesian_prod(*[mg.ones(100)] * 12),
          *[lambda mode=mode: mg.nn.functional.pad(mg.ones(1, 3), (2**40, 0), mode=mode) for mode in ("replicate", "reflect", "circular")],
          lambda: mg.vander(mg.ones(2), 2**40), lambda: mg.mvlgamma(mg.ones(2) * 1e10, 10**12)):
    assert isinstance(ours(f), MinigradError), f
""")


def test_polygamma_of_a_huge_order():
    """differences/H-03."""
    run("""
for n in (171, 1000, 10**6, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1):
    for dtype in (mg.float32, mg.float64):
        x = mg.tensor([0.5, 1.0, 3.0, 1e10, -0.5, -1.5, -1e10, float("inf"), float("nan")], dtype=dtype, requires_grad=True)
        z = ours(mg.polygamma, n, x)
        if not isinstance(z, MinigradError):
            ours(z.sum().backward)
assert isinstance(ours(mg.polygamma, 2**63, mg.ones(1)), MinigradError)
""")


def test_deep_lists():
    """differences/H-01: a list that holds itself, or lists nested 100,000 deep, wherever data, sizes or indices are taken."""
    run("""
import importlib.util
SAVE = [lambda v: mg.save(v, "deep.safetensors")] if importlib.util.find_spec("safetensors") else []
itself = []
itself.append(itself)
deep = 1.0
for _ in range(100_000):
    deep = [deep]
tuples = 1.0
for _ in range(100_000):
    tuples = (tuples,)
x = mg.ones(3)
for value in (itself, deep, tuples):
    for f in (mg.tensor, mg.as_tensor, mg.stack, mg.cat, mg.ones, x.new_tensor, x.view, x.sum, mg.broadcast_shapes, mg.autograd.backward,
              lambda v: x[v], lambda v: mg.isin(x, v), lambda v: mg.where(x > 0, v, 1.0), lambda v: mg.einsum("i->i", v), mg.Size,
              lambda v: mg.autograd.grad(v, v), lambda v: mg.nn.functional.pad(x, v), lambda v: mg.autograd.functional.vjp(lambda y: y, v)):
        try:
            f(value)
        except MinigradError:
            continue
        raise SystemExit(f"{f} takes {type(value)}")
    for f in (lambda v: mg.nn.Parameter(v), lambda v: mg.optim.SGD(v), lambda v: x.__setitem__(0, v), lambda v: x + v, mg.func.grad(lambda y: y),
              lambda v: mg.testing.assert_close(v, v), *SAVE):
        try:
            f(value)
        except (MinigradError, TypeError, RecursionError):
            continue
        raise SystemExit(f"{f} takes {type(value)}")
try:
    mg.tensor(itself)
except ValueError as error:
    assert isinstance(error, MinigradError)
else:
    raise SystemExit("no ValueError")
""")
