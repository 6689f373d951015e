"""Which dtype an op computes in: all pairs of dtypes, as tensors, 0-d tensors and Python numbers, against torch."""

import itertools
import operator

import numpy as np
import pytest

import minigrad as mg
from minigrad._core.record.promotion import default_dtype, operands_dtype

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
NUMBERS = {"True": True, "3": 3, "2.5": 2.5, "1j": 1j}
RANKS = {"tensor": lambda m, d: m.ones(2, dtype=getattr(m, d)), "0-d": lambda m, d: m.ones((), dtype=getattr(m, d))}
OPERANDS = {f"{rank} {d}": (lambda m, make=make, d=d: make(m, d)) for rank, make in RANKS.items() for d in DTYPES}
OPERANDS |= {name: (lambda m, v=v: v) for name, v in NUMBERS.items()}

# (a, b) -> result, the rules of the head of promotion.py in numbers; the whole table is compared with torch below.
EXAMPLES = [
    ("tensor int64", "tensor float32", "float32"), ("tensor float32", "0-d float64", "float32"),
    ("tensor float32", "2.5", "float32"),
    ("tensor int64", "2.5", "float32"), ("0-d int64", "tensor int8", "int8"), ("tensor bool", "3", "int64"),
    ("tensor uint8", "tensor int8", "int16"), ("tensor float16", "1j", "complex64"), ("tensor float64", "1j", "complex128"),
    ("0-d float32", "0-d float64", "float64"), ("tensor bool", "True", "bool"), ("tensor int8", "0-d bool", "int8"),
]


@pytest.mark.parametrize("a, b, expected", EXAMPLES)
def test_examples(a, b, expected):
    for x, y in ((a, b), (b, a)):
        assert operands_dtype((OPERANDS[x](mg), OPERANDS[y](mg))) is getattr(mg, expected)


def test_like_torch():
    """Every pair, in the table and in a product."""
    torch = pytest.importorskip("torch")
    wrong = []
    for a, b in itertools.product(OPERANDS, repeat=2):
        if a in NUMBERS and b in NUMBERS:
            continue
        expected = str(torch.result_type(OPERANDS[a](torch), OPERANDS[b](torch))).removeprefix("torch.")
        if expected == "complex32":
            expected = "complex64"      # minigrad has no half precision complex numbers
        found = operands_dtype((OPERANDS[a](mg), OPERANDS[b](mg))).name
        product = (OPERANDS[a](mg) * OPERANDS[b](mg)).dtype.name
        if (found, product) != (expected, expected):
            wrong.append(f"{a} and {b}: {found}, {product}, expected {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("a", DTYPES)
def test_promote_types(a):
    torch = pytest.importorskip("torch")
    for b in DTYPES:
        expected = str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
        if expected == "complex32":
            expected = "complex64"
        assert mg.promote_types(getattr(mg, a), getattr(mg, b)).name == expected, b


def test_promote_types_is_commutative_and_idempotent():
    for a, b in itertools.product(DTYPES, repeat=2):
        a, b = getattr(mg, a), getattr(mg, b)
        assert mg.promote_types(a, b) is mg.promote_types(b, a)
        assert mg.promote_types(a, mg.promote_types(a, b)) is mg.promote_types(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symbol", ["+", "*", "/", "<", "=="])
def test_numbers_of_numpy_are_numbers(dtype, symbol):
    """A NumPy scalar counts as a Python number: it does not widen."""
    op = {"+": operator.add, "*": operator.mul, "/": operator.truediv, "<": operator.lt, "==": operator.eq}[symbol]
    x = mg.ones(2, dtype=getattr(mg, dtype))
    if symbol == "<" and x.is_complex():
        pytest.skip("no order")
    for scalar, number in ((np.float64(2), 2.0), (np.int8(2), 2), (np.bool_(True), True)):
        assert op(x, scalar).dtype is op(x, number).dtype
        assert op(x, scalar).tolist() == op(x, number).tolist()


def test_default_dtype():
    """Only the default dtype determines the dtype of Python floats; set_default_dtype accepts only floating point dtypes."""
    assert mg.get_default_dtype() is mg.float32 and default_dtype() is mg.float32
    mg.set_default_dtype(mg.float64)
    assert mg.tensor(1.0).dtype is mg.float64
    assert (mg.tensor([1]) * 0.5).dtype is mg.float64
    assert mg.zeros(1).dtype is mg.float64 and mg.tensor(1j).dtype is mg.complex128
    assert (mg.ones(1, dtype=mg.float32) * 0.5).dtype is mg.float32
    mg.set_default_dtype(mg.float32)
    for bad in (mg.int64, mg.complex64, mg.bool, "float32", None):
        with pytest.raises(TypeError):
            mg.set_default_dtype(bad)
    assert mg.get_default_dtype() is mg.float32


@pytest.mark.parametrize("argument, expected", [
    (float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128"), (np.float32, "float32"),
    (np.dtype("int8"), "int8"),
    (mg.float16, "float16")])
def test_dtype_arguments(argument, expected):
    """Python types mean the same dtypes as in torch; NumPy dtypes are accepted too."""
    assert mg.zeros(1, dtype=argument).dtype.name == expected


@pytest.mark.parametrize("bad", ["float32", 3, np.dtype("M8[D]"), np.longdouble, object(), str])
def test_bad_dtype_arguments(bad):
    with pytest.raises(TypeError, match="dtype must be"):
        mg.zeros(1, dtype=bad)


def test_gradients_come_back_in_the_dtype_of_the_leaf():
    x = mg.ones(2, requires_grad=True)
    y = mg.ones(2, dtype=mg.float64, requires_grad=True)
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (mg.float32, mg.float64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_properties(dtype):
    """The attributes of a dtype, its pickle, and its names."""
    import copy
    import pickle
    d = getattr(mg, dtype)
    assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d
    assert repr(d) == f"minigrad.{dtype}"
    assert d.itemsize == np.dtype(dtype).itemsize == mg.ones(1, dtype=d).element_size()
    kind = np.dtype(dtype).kind
    assert (d.is_floating_point, d.is_complex) == (kind == "f", kind == "c")
    assert d.is_signed == (kind not in "bu")


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("number", [0, 3, 127, -1, True, 2.5])
def test_integers_and_numbers_like_torch(name, number):
    """Numbers that every integer dtype holds take a shorter way than the others."""
    torch = pytest.importorskip("torch")
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt, operator.eq,
               operator.ge):
        results = []
        for m in (mg, torch):
            x = m.tensor([0, 1, 5, 100], dtype=getattr(m, name))
            for pair in ((x, number), (x, x + 1)):
                try:
                    z = op(*pair)
                    results.append((str(z.dtype).split(".")[-1], repr(z.tolist())))     # nan is not equal to nan
                except RuntimeError:
                    results.append(RuntimeError)
        half = len(results) // 2
        assert results[:half] == results[half:], (op, results)


def test_integers_whose_result_is_a_float():
    x = mg.tensor([3, 6])
    for z in (mg.atan2(x, mg.tensor([4, 8])), mg.atan2(x, x), x / x, x / 2):
        assert z.dtype.numpy == z.numpy().dtype and z.dtype.is_floating_point
