"""The same expression in both libraries: equal results, or errors of the same class."""

import warnings

import numpy as np
import pytest

import minigrad as mg


def outcome(run, m):
    """The result of `run`: a tensor, numbers, tuples of them, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(m)
        except Exception as error:
            return error


def plain(x):
    """Tensors as (shape, dtype, numbers), so that they can be compared."""
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    if not hasattr(x, "dtype"):
        return x
    return list(x.shape), str(x.dtype).split(".")[-1], np.array(x.detach().tolist(), dtype=complex).reshape(tuple(x.shape))


def same(ours, theirs):
    """Whether two such results are equal up to rounding."""
    if isinstance(ours, np.ndarray):
        return np.allclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True)
    if isinstance(ours, (list, tuple)):
        return isinstance(theirs, (list, tuple)) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def check_alike(run):
    """`run` gives the same with both libraries; an error of ours is one of the class of theirs."""
    torch = pytest.importorskip("torch")
    theirs, ours = outcome(run, torch), outcome(run, mg)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"torch raises {theirs!r}, we give {ours}"
        bases = (RuntimeError, IndexError, TypeError, ValueError)
        kind = next(base for base in (*bases, Exception) if isinstance(theirs, base))
        assert isinstance(ours, kind), f"torch raises {theirs!r}, we {ours!r}"
        assert "MG-E" in str(ours) or kind is ValueError, repr(ours)
    else:
        assert not isinstance(ours, Exception), repr(ours)
        assert same(plain(ours), plain(theirs)), f"torch {theirs}, we {ours}"
