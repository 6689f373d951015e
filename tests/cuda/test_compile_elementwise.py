"""The elementwise kernels compile for a real GPU, which needs numba's compiler and no GPU: types fit, every function exists there."""

import numpy as np
import pytest

from minigrad.kernels.cuda import elementwise, expressions
from tests.cuda.compiling import array, compiles, needs_compiler

pytestmark = needs_compiler

FLOATS = ["float16", "float32", "float64"]
OTHERS = ["int64", "uint8", "bool", "complex64"]


def signatures(operands, z, value=None):
    """Types of the arguments of the two kernels of a template."""
    from numba import from_dtype, types
    steps = types.UniTuple(types.int64, 2)
    values = [] if value is None else [from_dtype(np.dtype(value))]
    pairs = [part for x in operands for part in (array(x), types.int64)]
    triples = [part for x in operands for part in (array(x), types.int64, steps)]
    return ((types.int64, array(z), types.int64, *pairs, *values),
            (types.int64, steps, array(z), types.int64, steps, *triples, *values))


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
            kernels = elementwise.one(elementwise.compiled(f), elementwise.width(np.dtype(dtype)))
            for kernel, types in zip(kernels, signatures([dtype], gives(expression, dtype))):
                compiles(kernel, *types)


@pytest.mark.parametrize("name", expressions.TWO)
def test_two(name):
    expression = expressions.TWO[name]
    for dtype in ["float32", *OTHERS]:
        f = expression.of(np.dtype(dtype))
        if f is None or (expression.gives == "complex" and dtype != "float32"):
            continue
        f, wide, z = elementwise.compiled(f), elementwise.width(np.dtype(dtype)), gives(expression, dtype)
        compiles(elementwise.two(f, wide)[1], *signatures([dtype] * 2, z)[1])
        compiles(elementwise.one_and_number(f, wide)[0], *signatures([dtype], z, dtype)[0])
