"""exp, log, sin and their like, by arithmetic that vectorises: floats nearly as exact as they can be, doubles within three units of the
last place.

NumPy's functions of doubles are the reference. Interpreted, the kernels are NumPy's own.
"""

import itertools

import numpy as np
import pytest

from minigrad.kernels import CPU, numpy_ref

# name: the name in NumPy, and where numbers are drawn from: the smallest and largest size, and whether of both signs
FUNCTIONS = {
    "exp": ("exp", 1e-10, 87, True), "exp2": ("exp2", 1e-10, 126, True), "expm1": ("expm1", 1e-10, 87, True),
    "log": ("log", 1e-37, 1e37, False), "log2": ("log2", 1e-37, 1e37, False), "log10": ("log10", 1e-37, 1e37, False),
    "log1p": ("log1p", 1e-10, 1e37, False), "sin": ("sin", 1e-10, 2e6, True), "cos": ("cos", 1e-10, 2e6, True),
    "tan": ("tan", 1e-10, 2e6, True), "asin": ("arcsin", 1e-10, 1, True), "acos": ("arccos", 1e-10, 1, True),
    "atan": ("arctan", 1e-10, 1e10, True), "sinh": ("sinh", 1e-10, 88, True), "cosh": ("cosh", 1e-10, 88, True),
    "tanh": ("tanh", 1e-10, 20, True), "asinh": ("arcsinh", 1e-10, 1e30, True), "acosh": ("arccosh", 1, 1e30, False),
    "atanh": ("arctanh", 1e-10, 1, True),
}
PAIRS = {"pow": "power", "atan2": "arctan2"}
numpys = pytest.mark.skipif(CPU.origin["exp"] == numpy_ref.__name__, reason="NumPy's own, which differ from machine to machine")
UNITS = {"float32": 0.55, "float64": 3.0}       # NumPy's own error is up to one unit
# units of floats, which functions.h computes without doubles; of exp and exp2 0.9 where multiplications are fused with additions
BY_FLOATS = {"exp": 1.1, "exp2": 1.1, "log": 0.85, "log1p": 0.8, "tanh": 1.1}
ENDS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 10.0, 100.0, 1000.0, 1024.0, 1e-3, 1e-10, 1e5,
        1e6, 2e6, 1e10, 1e15, 1e22, 1e30, 1e38, 2.0 ** 24, 2.0 ** 25 + 4, 2.0 ** 28, 2.0 ** 29, 1e-45, -1e-45, 127.0, 128.0, -149.0,
        -150.0, 88.7, 88.8, -87.4, -103.9, -104.1, 709.7, 709.8, 710.4, 710.5, -745.1, -745.2, -1074.0, 1023.0, *(np.pi * np.arange(1, 9) / 4)]


def draw(name, dtype, n=20000):
    """Numbers of all sizes, and as many between the ends."""
    _, low, high, signs = FUNCTIONS[name]
    rng = np.random.default_rng(len(name))
    x = np.concatenate([np.exp(rng.uniform(np.log(low), np.log(high), n)), rng.uniform(low, min(high, 1000), n)])
    return np.clip(x * rng.choice([-1, 1], 2 * n) if signs else x, -high, high).astype(dtype)


def units(found, exact, dtype):
    """The error in units of the last place; a nan where it should be one, or the same infinity, counts as 0."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        return np.where(same, 0.0, np.abs(found - exact) / np.spacing(np.abs(rounded)))


def reference(name, *arguments):
    with np.errstate(all="ignore"):
        return getattr(np, PAIRS.get(name) or FUNCTIONS[name][0])(*[x.astype("float64") for x in arguments])


@numpys
@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_last_digit(name, dtype):
    x = draw(name, dtype)
    found = getattr(CPU, name)(x)
    allowed = BY_FLOATS.get(name, UNITS[dtype]) if dtype == "float32" else UNITS[dtype]
    assert units(found, reference(name, x), dtype).max() <= allowed


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(ENDS + [-1e38, np.finfo(dtype).max, np.finfo(dtype).tiny, np.finfo(dtype).eps, 1 - np.finfo(dtype).eps], dtype)
        found, exact = getattr(CPU, name)(x), reference(name, x)
    assert (units(found, exact, dtype) <= 4).all()
    real = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(exact[real]))


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name, dtype):
    rng = np.random.default_rng(0)
    ends = np.array(list(itertools.product(ENDS, ENDS))).T
    many = np.array([np.exp(rng.normal(size=20000) * 8) * rng.choice([1, 1, -1], 20000),
                     np.where(rng.random(20000) < 0.3, rng.integers(-9, 9, 20000), rng.normal(size=20000) * 4)])
    with np.errstate(all="ignore"):
        x, y = np.concatenate([ends, many], axis=1).astype(dtype)
        found, exact = getattr(CPU, name)(x, y), reference(name, x, y)
    assert (units(found, exact, dtype) <= 4).all()
    real = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(exact[real]))


@numpys
@pytest.mark.parametrize(("name", "most"), [("erfc", 10.5), ("erfinv", 1.0)])
def test_error_functions_of_floats(name, most):
    """Also where erfc is as small as a float can be, and next to 1, where erfinv is steep."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-most, most, 20000), np.exp(rng.uniform(-80, 0, 2000)), np.linspace(most * 0.9, most, 2000)])
    x = np.concatenate([x, -x, [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1 - 2.0 ** -24, 2.0 ** -24 - 1]])
    x = x.astype("float32")
    found, exact = getattr(CPU, name)(x), getattr(numpy_ref, name)(x.astype("float64"))
    normal = ~(np.abs(exact) < np.finfo("float32").tiny)
    assert units(found, exact, "float32")[normal].max() <= 0.7
    np.testing.assert_allclose(found[~normal], exact[~normal], rtol=0, atol=2e-45)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(exact)]), np.signbit(exact[~np.isnan(exact)]))
    for start in (1, 2, 5):
        np.testing.assert_array_equal(getattr(CPU, name)(x[start:].copy()), found[start:])


@numpys
@pytest.mark.parametrize(("name", "most"), [("lgamma", 0.51), ("digamma", 2.0)])
def test_gamma_functions_of_floats(name, most):
    """Also next to their zeros, where a difference of large numbers has few digits left."""
    rng = np.random.default_rng(0)
    steps = np.arange(-50, 50) * 2.0 ** -23
    x = np.concatenate([np.exp(rng.uniform(-87, 80, 20000)), rng.uniform(0, 20, 20000), -rng.uniform(0, 9, 2000), np.arange(-5, 40),
                        1 + steps, 2 + steps, 1.4616321 + steps, [1e-45, 3.4e38, np.inf, -np.inf, np.nan, -0.0]]).astype("float32")
    with np.errstate(all="ignore"):
        found, exact = getattr(CPU, name)(x), getattr(CPU, name)(x.astype("float64"))
        assert units(found, exact, "float32").max() <= most
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(getattr(CPU, name)(x[3:].copy()), found[3:])


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithm_of_a_sum(name, dtype):
    rng = np.random.default_rng(0)
    ends = np.array(list(itertools.product(ENDS, ENDS))).T
    with np.errstate(all="ignore"):
        x, y = np.concatenate([ends, rng.normal(size=(2, 20000)) * 9, rng.uniform(-1e-3, 1e-3, (2, 99)) + [[700], [701]]], 1).astype(dtype)
        exact = getattr(np, name)(x.astype("float64"), y.astype("float64"))
        found = getattr(CPU, name)(x, y)
        limit = 2 * np.finfo(dtype).eps * np.maximum(1, np.maximum(np.abs(x), np.abs(y)))
        close = (np.abs(found - exact) <= limit) | (found == exact.astype(dtype)) | (np.isnan(found) & np.isnan(exact))
    assert close.all()


@numpys
@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_has_the_same_digits_everywhere(name, dtype):
    """Alone, at any place of an array, and beside numbers that libm computes."""
    x, kernel = draw(name, dtype, 300), getattr(CPU, name)
    whole = kernel(x)
    for start in (1, 2, 3, 5, 17):
        np.testing.assert_array_equal(kernel(x[start:].copy()), whole[start:])
    for i in range(0, len(x), 37):
        np.testing.assert_array_equal(kernel(x[i:i + 1]), whole[i:i + 1])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(kernel(np.append(x, x.dtype.type(np.inf)))[:-1], whole)


@numpys
def test_powers_of_ten_and_two():
    tens, twos = np.arange(-300, 300), np.arange(-1074, 1024)
    np.testing.assert_array_equal(CPU.log10(np.array([float(f"1e{k}") for k in tens])), tens)
    np.testing.assert_array_equal(CPU.log2(np.ldexp(1.0, twos)), twos)
    np.testing.assert_array_equal(CPU.exp2(twos.astype(float)), np.ldexp(1.0, twos))


@numpys
@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_bessel_functions(name, dtype):
    """They equal their integrals, the mean of e^(x cos t) and of x e^(x cos t) sin² t over 0 < t < pi, by the midpoint rule."""
    rng = np.random.default_rng(0)
    most = 2000 if name[2:] else 85 if dtype == "float32" else 700
    x = np.concatenate([rng.uniform(0, 30, 300), np.exp(rng.uniform(np.log(1e-8), np.log(most), 300)), [8, np.nextafter(8, 9), most]]).astype(dtype)
    exact, t = x.astype(np.longdouble), (np.arange(1000, dtype=np.longdouble) + 0.5) * (np.pi / 1000)
    of = np.exp(-2 * exact[:, None] * np.sin(t / 2) ** 2)
    value = (of * np.sin(t) ** 2).mean(1) * exact if name[1] == "1" else of.mean(1)
    if not name[2:]:
        value = value * np.exp(exact)
    for sign in (1, -1):
        found = getattr(CPU, name)(x * sign) * (sign if name[1] == "1" else 1)
        assert units(found, value, dtype).max() <= UNITS[dtype]
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], dtype)
    np.testing.assert_array_equal(getattr(CPU, name)(ends), {"i0": [np.inf, np.inf, np.nan, 1, 1], "i1": [np.inf, -np.inf, np.nan, 0, -0.0],
                                                             "i0e": [0, 0, np.nan, 1, 1], "i1e": [0, 0, np.nan, 0, -0.0]}[name])
