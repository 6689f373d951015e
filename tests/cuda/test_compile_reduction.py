"""The kernels of reductions compile for a real GPU: each fold, in both launches, for the dtypes that it is for."""

import re

import numpy as np
import pytest

from minigrad.kernels.cuda.reductions import argreduce, reduce, reduction
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
EVERY = [*FLOATS, *COMPLEX, "int64", "int32", "uint8", "bool"]
CASES = [("sum", reduction.sums, EVERY), ("prod", reduction.products, EVERY),
         ("mean", reduction.means, [*FLOATS, *COMPLEX]),
         ("amax", lambda kind: reduction.extremes(kind, True), ["float16", "float32", "int64", "uint8", "bool"]),
         ("amin", lambda kind: reduction.extremes(kind, False), ["float32", "float64", "int32"]),
         ("var", reduction.moments, [*FLOATS, *COMPLEX]), ("logsumexp", reduction.exponentials, FLOATS)]


def signature(x, z, value, outer=2, inner=1):
    """Types of the arguments of a launch, from an array of dtype x into one of z."""
    from numba import from_dtype, types
    i = types.int64
    steps = [types.UniTuple(i, n) for n in (outer, outer, inner, inner)]
    return (i, i, i, i, i, i, *steps, array(x), i, i, array(z), i, i, from_dtype(np.dtype(value)))


def lean(ptx):
    """Nothing of float64, which a Python float in an expression brings in, and no array that has left the registers."""
    assert not re.search(r"\.f64\b", ptx)
    assert not re.search(r"\b(ld|st)\.local\b", ptx)


@pytest.mark.parametrize("name, make, dtypes", CASES, ids=[name for name, _, _ in CASES])
def test_folds(name, make, dtypes):
    for dtype in map(np.dtype, dtypes):
        wide, kind = reduction.wide_of(dtype)
        made, part, value = make(kind), np.dtype(kind), type(kind(0).real)
        z = np.dtype(value) if name == "var" and dtype.kind == "c" else dtype
        for width in (16 // dtype.itemsize, 1):
            ptx = compiles(reduce.kernel_of(made, wide, True, True, width, 1), *signature(dtype, z, value))
            if dtype == np.float32:
                lean(ptx)
                assert width == 1 or ptx.count("ld.global.v4") > reduce.AHEAD // width
        compiles(reduce.kernel_of(made, wide, True, False, 0, 1), *signature(dtype, part, value, 1, 3))
        compiles(reduce.kernel_of(made, wide, False, True, 0, 1), *signature(part, z, value))


@pytest.mark.parametrize("name, make, dtypes", CASES, ids=[name for name, _, _ in CASES])
def test_columns_beside_each_other(name, make, dtypes):
    for dtype in map(np.dtype, dtypes):
        beside = 16 // dtype.itemsize
        if not 1 < beside <= reduce.MOST_BESIDE:
            continue
        wide, kind = reduction.wide_of(dtype)
        made, part, value = make(kind), np.dtype(kind), type(kind(0).real)
        z = np.dtype(value) if name == "var" and dtype.kind == "c" else dtype
        ptx = compiles(reduce.kernel_of(made, wide, True, True, 1, beside), *signature(dtype, z, value))
        if dtype == np.float32:
            lean(ptx)
            assert ptx.count("ld.global.v4") > reduce.AHEAD // beside and "ld.global.f32" not in ptx
        compiles(reduce.kernel_of(made, wide, True, False, 1, beside), *signature(dtype, part, value, 1, 1))


@pytest.mark.parametrize("beats", [argreduce.after_all, argreduce.before_all])
def test_positions(beats):
    from numba import types
    i = types.int64
    steps = [types.UniTuple(i, n) for n in (2, 2, 1, 1)]
    for dtype in map(np.dtype, [*FLOATS, "int64", "uint8", "bool"]):
        for first, width in ((True, 16 // dtype.itemsize), (True, 1), (True, 0), (False, 0)):
            ptx = compiles(argreduce.kernel_of(beats, *argreduce.wide_of(dtype), first, width), i, i, i, i, i, i, *steps,
                           array(dtype), i, array("int64"), array("int64"))
            if dtype == np.float32:
                lean(ptx)
