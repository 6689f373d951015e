"""Conversions between float16 and float32: the C loops give the bits of NumPy's."""

import numpy as np
import pytest

from minigrad.kernels import CPU, NUMPY

HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


def bits(x):
    """The bits of the numbers; one number for all nan, whose other bits say nothing."""
    return np.where(x != x, 0, x.view(f"u{x.itemsize}"))


def test_every_float16():
    x = np.arange(1 << 16, dtype=np.uint16).view(HALF)
    assert np.array_equal(bits(CPU.cast(x, SINGLE)), bits(NUMPY.cast(x, SINGLE)))
    assert np.array_equal(bits(CPU.cast(CPU.cast(x, SINGLE), HALF)), bits(x))


@pytest.mark.parametrize("shift", [0, 11, 12, 13, 14])
def test_float32_around_every_float16(shift):
    """Each number that a float16 is, and those on both sides: below, between two and beyond the ends of the range."""
    x = np.arange(1 << 16, dtype=np.uint16).view(HALF).astype(SINGLE).view(np.uint32)
    for step in (-1, 0, 1):
        y = (x + np.uint32(1 << shift) + np.uint32(step & 0xffffffff)).view(SINGLE)
        with np.errstate(all="ignore"):
            assert np.array_equal(bits(CPU.cast(y, HALF)), bits(NUMPY.cast(y, HALF)))


def test_random_float32():
    y = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, dtype=np.uint32).view(SINGLE)
    with np.errstate(all="ignore"):
        assert np.array_equal(bits(CPU.cast(y, HALF)), bits(NUMPY.cast(y, HALF)))
