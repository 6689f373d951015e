"""kernels/rounding.py: float16 is computed in float32 and rounded once, and is not converted where nothing is computed."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels import CPU, ROUNDING
from minigrad.kernels.contract import CONTRACT
from minigrad.kernels.rounding import ADDING, ROUND_NUMBERS, UNCHANGED, WRITING

HALF = np.dtype("float16")


def test_the_lists_name_kernels():
    assert CONTRACT.keys() >= (UNCHANGED | ADDING | ROUND_NUMBERS | WRITING)


def test_one_rounding():
    """4096 + 1 is 4096 in float16; 300² is infinite in float16 alone."""
    x = np.full((3,), 300, HALF)
    assert ROUNDING.mean(ROUNDING.mul(x, 1.0), (0,), False) == 300
    assert ROUNDING.var(np.array([300, -300], HALF), (0,), 0, False).tolist() == np.inf
    assert ROUNDING.softmax(np.zeros(4096, HALF), 0).astype(float).sum() == 1
    assert ROUNDING.sum(np.ones(5000, HALF), (0,), False) == 5000
    assert ROUNDING.mul(np.array([6e-8], HALF), 3e4).tolist() == [np.float16(2 ** -24 * 3e4)]


def test_numbers_are_kept_or_rounded():
    """As in PyTorch: x + 0.1 adds all digits of 0.1, and x == 0.1 compares with the nearest float16."""
    x = np.array([0.1, 256], HALF)
    assert ROUNDING.eq(x, 0.1).tolist() == [True, False]
    assert ROUNDING.add(x, 0.1).tolist() == (x.astype(np.float32) + np.float32(0.1)).astype(HALF).tolist()


def test_other_dtypes_pass():
    x = np.ones(3)
    assert ROUNDING.add(x, x).dtype == np.float64
    assert ROUNDING.sum_to(np.ones((2, 3), np.float32), (3,)).dtype == np.float32


@pytest.mark.parametrize("name, args", [
    ("copy", ()), ("flip", ((0,),)), ("index_select", (0, np.arange(64))), ("gather", (0, np.arange(64))),
    ("index", ([np.arange(64)],)), ("scatter", (0, np.arange(64), 0.0)), ("index_put", ([np.arange(3)], np.ones(3, HALF), False))])
def test_what_only_moves_numbers_converts_nothing(name, args, monkeypatch):
    """Every bit arrives, those of a nan too."""
    monkeypatch.setattr("minigrad.kernels.rounding.widen", None)
    x = np.arange(0x7c01, 0x7c41, dtype=np.uint16).view(HALF)
    z = getattr(ROUNDING, name)(x, *args)
    assert z.dtype == HALF and set(z.view(np.uint16).tolist()) <= {*x.view(np.uint16).tolist(), 0, 0x3c00}


def test_arguments_are_written_to():
    w, g = np.ones(3, HALF), np.full(3, 1e-3, HALF)
    before = g.copy()
    ROUNDING.add_(w, g)
    assert w.tolist() == (1 + before.astype(np.float32)).astype(HALF).tolist() and np.array_equal(g, before)
    ROUNDING.index_put_(w, [np.array([0, 0])], np.full(2, 2048, HALF), True)
    assert w[0] == np.float16(np.float32(1.001) + 4096)
    x, y = np.ones((2, 3), HALF), np.ones((2, 3), HALF)
    assert ROUNDING.accumulate(x, y) is True and x.tolist() == [[2] * 3] * 2
    assert ROUNDING.accumulate(x, y.astype(np.float32)) is False and ROUNDING.accumulate(x[:, :2], y[:, :2]) is False
    g.flags.writeable = False
    ROUNDING.add_(x[0], g)
    assert np.array_equal(g, before)


def test_results_that_are_not_rounded():
    x = np.full((2, 4), 300, HALF)
    z, rstd = ROUNDING.rms_norm(x, None, 1, 1e-5)
    assert z.dtype == HALF and rstd.dtype == np.float32
    assert ROUNDING.cast(x, np.dtype("float32")).dtype == np.float32


@pytest.mark.parametrize("dtype, most", [(mg.float16, 65504.0), (mg.bfloat16, 3.3895313892515355e38)])
def test_the_largest_numbers(dtype, most):
    x = mg.tensor([float("inf"), -float("inf"), float("nan")], dtype=dtype)
    assert mg.nan_to_num(x).tolist() == [most, -most, 0]
    assert mg.nan_to_num(x, 1.0, 2.0, 3.0).tolist() == [2, 3, 1]


def test_layouts():
    """The results have the strides of float32's."""
    x = np.arange(24, dtype=HALF).reshape(2, 3, 4)
    for y in (x, x.transpose(2, 0, 1), x[:, ::2], x[..., ::-1], np.broadcast_to(x[:1], (5, 3, 4)), x[1, 1, 1], x[:0]):
        z, right = ROUNDING.exp(y), CPU.exp(y.astype(np.float32, order="C" if 0 in y.strides else "K"))
        assert np.array_equal(z, right.astype(HALF)) and z.strides == tuple([s // 2 for s in right.strides])
