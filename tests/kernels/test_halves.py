"""Conversions from and to float16 and bfloat16: the C loops give the bits of NumPy's and of ml_dtypes'."""

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


def numbers(dtype):
    """Numbers of all sizes; floats next to float16 and bfloat16, and halfway between two of them."""
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.random(4099) > 0.5
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.concatenate([rng.integers(ends.min, ends.max, 4099, dtype, endpoint=True), np.arange(99, dtype=dtype)])
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    halves = np.arange(1 << 16, dtype=np.uint16).view(HALF).astype(dtype)
    short = (np.arange(1 << 16, dtype=np.uint32) << 16).view(SINGLE).astype(dtype)
    near = [x * (1 + dtype.type(step)) for x in (halves, short) for step in (0, 2.0 ** -8, 2.0 ** -9, 2.0 ** -11, 2.0 ** -12)]
    lost = [x * (1 + dtype.type(sign * 2.0 ** -40)) for x in near for sign in (-1, 1)]
    return np.concatenate([*near, *lost, rng.integers(0, 256, 8 * 4099, np.uint8).view(dtype)])


@pytest.mark.parametrize("short", ["float16", "bfloat16"])
@pytest.mark.parametrize("other", ["bool", "uint8", "int32", "int64", "float32", "float64", "float16", "bfloat16"])
def test_every_dtype(other, short):
    """float64 becomes float16 by one rounding, so that 1 + 2**-11 + 2**-40 is not rounded down; the others by way of float32."""
    short, other = [np.dtype(getattr(pytest.importorskip("ml_dtypes"), name) if name == "bfloat16" else name) for name in (short, other)]
    with np.errstate(all="ignore"):
        for origin, target in ((other, short), (short, other)):
            x = numbers(origin)
            for some in (x, x[1::2]):
                found, expected = CPU.cast(some, target), NUMPY.cast(some, target)
                assert found.dtype == target
                if target.kind in "fV":
                    found, expected = bits(found), bits(expected)
                np.testing.assert_array_equal(found, expected)
