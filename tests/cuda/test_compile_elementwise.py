"""The elementwise kernels compile for a real GPU, which needs numba's compiler and no GPU: types fit, every function exists there."""

import re

import numpy as np
import pytest

from minigrad.kernels.cuda.elementwise import elementwise, expressions
from minigrad.kernels.cuda.shape import layout
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

FLOATS = ["float16", "float32", "float64"]
OTHERS = ["int64", "uint8", "bool", "complex64"]


def signatures(operands, z, value=None):
    """Types of the arguments of the two kernels of a template."""
    from numba import from_dtype, types
    steps = types.UniTuple(types.int64, 2)
    values = [] if value is None else [from_dtype(np.dtype(value))]
    pairs = [part for x in (z, *operands) for part in (array(x), types.int64)]
    triples = [part for x in (z, *operands) for part in (array(x), types.int64, steps)]
    return ((types.int64, types.int64, *pairs, *values),
            (types.int64, steps, types.int64, types.UniTuple(types.int64, len(operands) + 1), *triples, *values))


def gives(expression, dtype):
    dtype = np.dtype(dtype)
    return {"bool": lambda d: np.dtype(bool), "real": elementwise.real_of, "complex": elementwise.complex_of,
            "same": lambda d: d}[expression.gives](dtype)


@pytest.mark.parametrize("name", expressions.ONE)
def test_one(name):
    expression = expressions.ONE[name]
    for dtype in [*FLOATS, *OTHERS]:
        f = expression.of(np.dtype(dtype))
        if f is not None:
            kernels = elementwise.one(elementwise.device_function(f), elementwise.width(np.dtype(dtype)))
            for kernel, types in zip(kernels, signatures([dtype], gives(expression, dtype))):
                compiles(kernel, *types)


@pytest.mark.parametrize("name", expressions.TWO)
def test_two(name):
    expression = expressions.TWO[name]
    for dtype in ["float32", *OTHERS]:
        f = expression.of(np.dtype(dtype))
        if f is None or (expression.gives == "complex" and dtype != "float32"):
            continue
        f, wide, z = elementwise.device_function(f), elementwise.width(np.dtype(dtype)), gives(expression, dtype)
        compiles(elementwise.two(f, wide)[1], *signatures([dtype] * 2, z)[1])
        compiles(elementwise.one_and_number(f, wide)[0], *signatures([dtype], z, dtype)[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8", "complex64"])
def test_where_and_fill(dtype):
    from numba import from_dtype
    for kernel, types in zip(elementwise.three(elementwise.choose), signatures(["bool", dtype, dtype], dtype)):
        compiles(kernel, *types)
    number = "float32" if dtype == "float16" else dtype
    for kernel, types in zip(elementwise.fill_kernels, signatures([], dtype)):
        compiles(kernel, *types, from_dtype(np.dtype(number)))


def test_numbers_are_read_and_written_sixteen_bytes_at_a_time():
    """All reads of a thread come before its first write, and no division is of 64 bits."""
    float32 = np.dtype("float32")
    f = elementwise.device_function(expressions.TWO["mul"].of(float32))
    kernels = elementwise.two(f, elementwise.width(float32))
    in_order, strided = [compiles(kernel, *types) for kernel, types in zip(kernels, signatures(["float32"] * 2, "float32"))]
    assert in_order.count("ld.global.v4.f32") == 4 and in_order.count("st.global.v4.f32") == 2
    assert in_order.rindex("ld.global.v4.f32") < in_order.index("st.global.v4.f32")
    assert strided.count("ld.global.v4.f32") == 2 and strided.count("st.global.v4.f32") == 1
    assert strided.count("div.u32") == 1 and "div.u64" not in strided and "div.s64" not in strided
    assert ".f64" not in in_order + strided


@pytest.mark.parametrize("name", ["sigmoid", "gelu", "gelu_tanh", "silu", "mish", "relu", "reciprocal", "rsqrt", "exp2", "tanh"])
def test_float32_is_computed_in_float32(name):
    """See Note [Constants have a type] in kernels/cuda/runtime/mathematics.py."""
    f = elementwise.device_function(expressions.ONE[name].of(np.dtype("float32")))
    ptx = compiles(elementwise.one(f, elementwise.plain)[0], *signatures(["float32"], "float32")[0])
    assert not re.search(r"\.f64\s", ptx)


@pytest.mark.parametrize("dtype", [*FLOATS, *OTHERS])
def test_copies(dtype):
    from numba import from_dtype, types
    triple = types.int64, types.UniTuple(types.int64, 2)
    for target in ["float16", "float32", "int64", "int16", "uint8", "bool", "complex64"]:
        f = layout.conversion(np.dtype(dtype), np.dtype(target))
        for kernel, types_of in zip(elementwise.one(f, elementwise.plain), signatures([dtype], target)):
            compiles(kernel, *types_of)
        kernel = layout.transpose_kernel(f, from_dtype(np.dtype(dtype)), 64)
        compiles(kernel, types.int64, types.int64, triple[1], array(target), *triple, types.int64, array(dtype), *triple, types.int64,
                 types.int64)


def test_a_float_becomes_a_small_integer_by_way_of_a_large_one():
    """-2.0 is 254 as uint8, as NumPy has it, and not 0, what cvt.rzi.u16.f32 makes of it."""
    f = layout.conversion(np.dtype("float32"), np.dtype("uint8"))
    ptx = compiles(elementwise.one(f, elementwise.plain)[0], *signatures(["float32"], "uint8")[0])
    assert "cvt.rzi.s64.f32" in ptx and "cvt.rzi.u" not in ptx
