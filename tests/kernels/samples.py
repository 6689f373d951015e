"""Arguments for every kernel of the contract: tests/kernels/test_contract.py calls the kernels with them.

    SAMPLES[name]  ->  list of (label, make),  make(dtype, layout, seed) -> tuple of arguments

`make` returns the same numbers in the same memory layout each time, so that two implementations get arguments of their own, also
if they write to them. A layout is an arrangement in memory: see `laid_out`.
"""

import itertools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from minigrad.kernels import resampling
from minigrad.random._stream import RandomStream

LAYOUTS = ("contiguous", "transposed", "sliced", "offset", "negative", "broadcast", "readonly", "unaligned", "column-major")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int64", "int32", "uint8")
REAL = (*FLOATS, "float16", *INTEGERS)
EVERY = (*REAL, "bool", *COMPLEX)

SAMPLES = {}
DTYPES = {}     # kernel -> the dtypes that it is called with
WRITABLE = [layout for layout in LAYOUTS if layout not in ("readonly", "broadcast")]


def numbers(shape, dtype, rng, kind="any"):
    """Random numbers; for floats and kind "special" mostly nan, inf, zeros of both signs and extremes."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(1 if kind == "positive" else 0 if dtype.kind == "u" else -5, 6, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if kind == "positive":
        return rng.uniform(0.3, 3, shape).astype(dtype)
    if kind == "special":
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, -1e4, 88.0, -104.0, 710.0, 0.5]
        with np.errstate(all="ignore"):
            return rng.choice(odd, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def laid_out(x, layout):
    """The array `x` in a memory layout; one that is impossible for it leaves it contiguous."""
    x = np.ascontiguousarray(x) if x.ndim else np.array(x)
    if layout == "readonly":
        x.flags.writeable = False
    if x.ndim == 0 or layout in ("contiguous", "readonly"):
        return x
    if layout == "unaligned":
        raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype) if x.size else x.ravel()
        out = raw.reshape(x.shape)
    elif layout == "broadcast":
        return np.broadcast_to(x[:1], x.shape)
    elif layout in ("transposed", "column-major"):
        out = np.empty(x.shape[::-1] if layout == "transposed" else x.shape, x.dtype, "C" if layout == "transposed" else "F")
        out = out.T if layout == "transposed" else out
    elif layout == "sliced":
        out = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    elif layout == "offset":
        out = np.zeros((x.shape[0] + 1, *x.shape[1:]), x.dtype)[1:]      # the result of `storage` has the gaps too
    elif layout == "negative":
        out = np.empty(x.shape, x.dtype)[..., ::-1]
    out[...] = x
    return out


def sample(names, label, *specs, dtypes=None, after=lambda *arrays: arrays):
    """Add one use of each of `names`. A spec is a shape or (shape, kind) of an array; `after` turns arrays into arguments."""
    for name in names.split():
        def make(dtype, layout, seed, specs=specs):
            rng = np.random.default_rng(seed)
            arrays = []
            for spec in specs:
                shape, kind = spec if len(spec) == 2 and isinstance(spec[1], str) else (spec, "any")
                arrays.append(laid_out(numbers(shape, dtype, rng, kind), layout))
            return tuple(after(*arrays))
        SAMPLES.setdefault(name, []).append((label, make))
        if dtypes is not None:
            DTYPES[name] = dtypes


SHAPES = [(), (1,), (5,), (0,), (33,), (2, 3), (3, 0), (2, 3, 4), (130, 70)]

# ---- elementwise ----------------------------------------------------------------------------------------
for _names, _dtypes, _kinds in [
        ("neg abs conj", (*REAL, *COMPLEX), ("any", "special")), ("sign relu", REAL, ("any", "special")),
        ("exp sin cos tanh sigmoid sqrt", (*FLOATS, "float16", *COMPLEX), ("any",)),
        ("exp sin cos tanh sigmoid sqrt", (*FLOATS, "float16"), ("special",)),
        ("log log1p rsqrt reciprocal", (*FLOATS, "float16"), ("positive", "special")), ("invert", (*INTEGERS, "bool"), ("any",)),
        ("floor ceil trunc round", REAL, ("any", "special")), ("exp2 expm1 tan sinh cosh atan asinh", FLOATS, ("any", "special")),
        ("isnan isinf isfinite", (*EVERY,), ("any", "special")), ("sgn", (*REAL, *COMPLEX), ("any", "special")),
        ("signbit frac", REAL, ("any", "special")), ("erf erfc sinc gelu gelu_tanh silu mish hardsigmoid hardswish", FLOATS, ("any", "special")), ("lgamma digamma erfinv", FLOATS, ("any", "special")),
        ("log2 log10 acosh", FLOATS, ("positive", "special")), ("asin acos atanh", FLOATS, ("any",)),
        ("copy to_host", EVERY, ("any",)), ("contiguous owns", EVERY, ("any",))]:
    for _shape, _kind in itertools.product(SHAPES, _kinds):
        sample(_names, f"{_shape} {_kind}", (_shape, _kind), dtypes=_dtypes)
for _shape in SHAPES:
    sample("from_host", f"{_shape}", _shape, dtypes=EVERY, after=lambda x: (x, True))
for _name in ("exp", "sin", "cos", "tanh", "sigmoid", "sqrt"):
    DTYPES[_name] = (*FLOATS, "float16")

for _shape, _kind in itertools.product(SHAPES, ("any", "special")):
    sample("equal", f"{_shape} {_kind}", (_shape, _kind), dtypes=EVERY, after=lambda x: (x, x))
    sample("equal", f"{_shape} {_kind}, a copy", (_shape, _kind), dtypes=EVERY, after=lambda x: (x, x.copy()))
    sample("equal", f"{_shape} {_kind}, another", (_shape, _kind), (_shape, _kind), dtypes=EVERY)

PAIRS = [((), ()), ((5,), (5,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2, 3), ()), ((), (2, 3)),
         ((2, 3), (1,)), ((2, 3), (2, 1)), ((0, 3), (3,)), ((0,), (1,)), ((2, 3, 4), (3, 1)), ((4, 1, 5), (3, 1)), ((2, 1, 3, 1),
                 (3, 4)),
         ((150, 60), (150, 60)), ((150, 60), (60,)), ((60,), (150, 60)), ((150, 60), (150, 1))]
for _a, _b in PAIRS:
    for _kind in ("any", "special"):
        sample("add mul sub rsub maximum minimum", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=REAL)
        sample("eq ne lt le gt ge", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=(*REAL, "bool"))
        sample("div relu_backward sigmoid_backward tanh_backward", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=FLOATS)
        sample("gelu_backward gelu_tanh_backward silu_backward mish_backward hardsigmoid_backward hardswish_backward", f"{_a} {_b} {_kind}",
               (_a, _kind), (_b, _kind), dtypes=FLOATS)
        sample("floor_divide trunc_divide", f"{_a} {_b} {_kind}", (_a, _kind), (_b, "positive"), dtypes=(*FLOATS, *INTEGERS))
        sample("atan2 hypot fmod remainder prelu", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=FLOATS)
        sample("copysign heaviside fmax fmin", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=FLOATS)
    sample("logaddexp logaddexp2", f"{_a} {_b}", _a, _b, dtypes=FLOATS)
    sample("xlogy xlog1py", f"{_a} {_b}", (_a, "any"), (_b, "positive"), dtypes=FLOATS)
    sample("xlogy xlog1py", f"{_a} {_b} special", (_a, "special"), (_b, "special"), dtypes=FLOATS)
    sample("pow", f"{_a} {_b}", (_a, "positive"), (_b, "any"), dtypes=(*FLOATS, *COMPLEX))
    sample("logical_and logical_or logical_xor", f"{_a} {_b}", _a, _b, dtypes=(*INTEGERS, "bool"))
    sample("where", f"{_a} {_b}", _a, _b, dtypes=EVERY, after=lambda x, y: (np.asarray(x.real > 0), x, y))
for _shape in SHAPES:
    for _number in (2, 0, 1.5, -1.0):
        for _kind in ("any", "special"):
            sample("add sub rsub mul div maximum minimum", f"{_shape} {_kind} number {_number}", (_shape, _kind),
                   after=lambda x, n=_number: (x, abs(int(n)) if x.dtype.kind in "iu" else n))
            sample("add sub mul div maximum minimum", f"number {_number} {_shape} {_kind}", (_shape, _kind),
                   after=lambda x, n=_number: (abs(int(n)) if x.dtype.kind in "iu" else n, x))
    for _number in (2, 3, 0.5, -1, 0, 1, -0.5, 2.7):
        sample("pow", f"{_shape} to {_number}", (_shape, "positive"), after=lambda x, n=_number: (x, n))
        sample("pow", f"special {_shape} to {_number}", (_shape, "special"), after=lambda x, n=_number: (x, n))
        sample("pow", f"{abs(_number)} to {_shape}", _shape, after=lambda x, n=_number: (abs(n), x))
    for _low, _high in ((-1, None), (None, 1), (0, 1), (1, 0)):
        sample("clamp", f"{_shape} {_low} {_high}", (_shape, "special"), dtypes=REAL,
               after=lambda x, low=_low, high=_high: (x, max(low, 0) if low is not None and x.dtype.kind == "u" else low, high))
    for _kind in ("any", "special"):
        sample("lerp", f"{_shape} {_kind} near", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 0.3))
        sample("lerp", f"{_shape} {_kind} far", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 0.9))
        sample("huber", f"{_shape} {_kind}", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 1.0, 0.5))
        sample("threshold", f"{_shape} {_kind}", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 0.5, 0.1))
        sample("zero_within", f"{_shape} {_kind}", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 0.5))
        sample("softshrink", f"{_shape} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x: (x, 0.5))
        sample("softplus", f"{_shape} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x: (x, 2.0, 1.0))
        sample("elu", f"{_shape} {_kind}", (_shape, _kind), (_shape, _kind), dtypes=FLOATS, after=lambda x, y: (x, y, 1.5, 0.5))
        sample("log_sigmoid", f"{_shape} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x: (x, np.asarray(np.exp(-np.abs(x)))))
        sample("bce_with_logits bce_with_logits_slope", f"{_shape} {_kind}", (_shape, _kind), (_shape, "any"), dtypes=FLOATS)
        sample("addcmul addcdiv", f"{_shape} {_kind}", (_shape, "any"), (_shape, _kind), (_shape, "positive"), dtypes=FLOATS,
               after=lambda b, x, y: (b, x, y, -0.3))
for _name in ("add", "sub"):
    DTYPES[_name] = (*REAL, *COMPLEX)
for _alpha in (0.5, -3, 1.0, float("inf")):
    sample("add_scaled", f"{_alpha}", (2, 3), (2, 3), after=lambda x, y, a=_alpha: (x, y, a), dtypes=FLOATS)
    sample("add_scaled", f"broadcast {_alpha}", (2, 3), (3,), after=lambda x, y, a=_alpha: (x, y, a), dtypes=FLOATS)
sample("add_scaled", "complex", (2, 3), (2, 1), after=lambda x, y: (x, y, 2 - 1j), dtypes=COMPLEX)
sample("addcmul addcdiv", "broadcast", (2, 3), (3,), ((2, 1), "positive"), after=lambda b, x, y: (b, x, y, 0.5))
sample("lerp", "broadcast", (2, 3), (3,), after=lambda x, y: (x, y, 0.5))
sample("huber", "broadcast", (2, 3), (3,), after=lambda x, y: (x, y, 0.5, 0.5))
sample("threshold", "broadcast", (2, 3), (3,), after=lambda x, y: (x, y, 0.5, 0.5))
sample("zero_within", "broadcast", (2, 3), (3,), after=lambda x, y: (x, y, 0.5))
sample("elu", "broadcast", (2, 3), (3,), after=lambda x, y: (x, y, 0.5, 0.5))
sample("clamp", "arrays", (2, 3), (3,), (2, 1), after=lambda x, low, high: (x, low, high))
for _shape in SHAPES:
    sample("polygamma", f"{_shape}", (_shape, "positive"), dtypes=FLOATS, after=lambda x: (x, 2))
    for _kind in ("any", "positive", "special"):
        sample("polygamma", f"{_shape} {_kind} 1", (_shape, _kind), dtypes=FLOATS, after=lambda x: (x, 1))
    sample("frexp", f"{_shape}", (_shape, "special"), dtypes=FLOATS)
    for _kind in ("any", "special"):
        sample("i0 i1 i0e i1e", f"{_shape} {_kind}", (_shape, _kind), dtypes=FLOATS)
    sample("gammainc gammaincc zeta", f"{_shape}", (_shape, "positive"), (_shape, "positive"), dtypes=FLOATS)
    sample("nextafter", f"{_shape}", (_shape, "special"), (_shape, "special"), dtypes=FLOATS)
    sample("nan_to_num", f"{_shape}", (_shape, "special"), dtypes=FLOATS, after=lambda x: (x, 0.0, 1.0, None))
    sample("nan_to_num", f"{_shape} to the largest numbers", (_shape, "special"), dtypes=FLOATS, after=lambda x: (x, 2.5, None, None))
sample("where", "numbers", (2, 3), after=lambda x: (np.asarray(x.real > 0), x, x.dtype.type(1)))

# ---- gradients and layout -----------------------------------------------------------------------------------
for _a, _b in [((), ()), ((5,), (5,)), ((2, 3), (2, 3)), ((130, 70), (130, 70)), ((0, 3), (0, 3))]:
    for _kind in ("any", "special"):
        sample("add_ accumulate obeys_layout copy_with_layout", f"{_a} {_kind}", (_a, _kind), (_b, _kind), dtypes=FLOATS)
    sample("copy_", f"{_a}", _a, _b, dtypes=EVERY)
sample("add_ copy_", "broadcast", (2, 3), (3,))
sample("accumulate obeys_layout", "other shape", (2, 3), (3, 2))
sample("accumulate", "other strides", (2, 3), (2, 3), after=lambda x, y: (x, np.asfortranarray(y)))
sample("accumulate", "other dtype", (2, 3), (2, 3), after=lambda x, y: (x, y.astype(np.float16)))
sample("copy_", "cast", (2, 3), (2, 3), after=lambda x, y: (x, (y * 0 + 1).astype(np.int32) if x.dtype.kind != "c" else y))
sample("obeys_layout copy_with_layout", "of a transposed", (2, 3), (3, 2), after=lambda g, x: (g, x.T))
sample("obeys_layout copy_with_layout", "of a strided", (2, 3), (4, 6), after=lambda g, x: (g, x[::2, ::2]))
sample("obeys_layout copy_with_layout", "3-d permuted", (2, 3, 4), (4, 2, 3), after=lambda g, x: (g, x.transpose(1, 2, 0)))
sample("obeys_layout copy_with_layout", "with one row", (3, 1, 4), (4, 3, 1), after=lambda g, x: (g, x.transpose(1, 2, 0)), dtypes=EVERY)
sample("copy_with_layout", "of a permuted with gaps", (2, 3, 4), (4, 2, 6), after=lambda g, x: (g, x.transpose(1, 2, 0)[:, ::2]), dtypes=EVERY)
sample("copy_with_layout", "of empty columns", (3, 0), (0, 3), after=lambda g, x: (g, x.T))

# ---- creation, views ------------------------------------------------------------------------------------------
for _shape in ((), (3,), (2, 0)):
    for _value in (0, 1, 2.5, True, -1):
        sample("full", f"{_shape} {_value}", (1,), dtypes=EVERY, after=lambda x, s=_shape, v=_value: (s, v, x.dtype))
    sample("empty", f"{_shape}", (1,), dtypes=EVERY, after=lambda x, s=_shape: (s, x.dtype))
for _value in (0, 1, -1, 300, 2.7, True):
    sample("number", f"{_value}", (1,), dtypes=EVERY, after=lambda x, v=_value: (v, x.dtype))
    sample("fill_", f"{_value}", (2, 3), dtypes=EVERY, after=lambda x, v=_value: (x, v))
for _to in EVERY:
    for _shape in ((), (2, 3), (0,), (40,)):
        for _kind in ("any", "special"):
            sample("cast", f"{_shape} {_to} {_kind}", (_shape, _kind), dtypes=EVERY, after=lambda x, to=_to: (x, np.dtype(to)))
for _a, _b in [((2, 3), (3, 2)), ((2, 3), (6,)), ((6,), (2, 3)), ((2, 3, 4), (2, 12)), ((2, 3, 4), (6, 4)), ((), (1,)), ((1,),
        ()), ((0, 3), (3, 0)),
               ((2, 3), (2, 1, 3)), ((1, 3, 1), (3,)), ((2, 3), (2, 3))]:
    sample("view", f"{_a} {_b}", _a, dtypes=("float32", "int64"), after=lambda x, s=_b: (x, s))
for _shape, _dims in [((2, 3), (1, 0)), ((2, 3), (0, 1)), ((2, 3, 4), (2, 0, 1)), ((), ()), ((0, 3), (1, 0))]:
    sample("permute", f"{_shape} {_dims}", _shape, dtypes=("float32", "bool"), after=lambda x, d=_dims: (x, d))
for _shape, _dims in [((2, 3), (1, 0)), ((2, 3, 4), (0, 2)), ((2, 3), (1, 1)), ((), (0, 0)), ((0, 3), (0, 1))]:
    sample("transpose", f"{_shape} {_dims}", _shape, dtypes=("float32", "bool"), after=lambda x, d=_dims: (x, *d))
for _shape in ((2, 3), (3,), (), (0, 3)):
    sample("t", f"{_shape}", _shape, dtypes=("float32", "bool"))
for _a, _b in [((3,), (2, 3)), ((2, 1), (2, 5)), ((), (2, 3)), ((2, 3), (2, 3)), ((1, 3), (0, 3)), ((2, 1, 3), (4, 2, 5, 3))]:
    sample("expand", f"{_a} {_b}", _a, dtypes=("float32", "int64"), after=lambda x, s=_b: (x, s))
for _shape, _dim in [((2, 3), 0), ((2, 3), 1), ((2, 3), 2), ((), 0), ((0, 3), 1)]:
    sample("unsqueeze", f"{_shape} {_dim}", _shape, dtypes=("float32", "int64"), after=lambda x, d=_dim: (x, d))
for _dim, _index in [(0, 0), (0, 1), (1, 2), (2, 3), (2, 0)]:
    sample("select", f"{_dim} {_index}", (2, 3, 4), dtypes=("float32", "int64"), after=lambda x, d=_dim, i=_index: (x, d, i))
for _dim, _start, _stop, _step in [(0, 0, 2, 1), (1, 1, 3, 1), (2, 0, 4, 2), (2, 3, 3, 1), (2, 1, 4, 3), (0, 1, 1, 5)]:
    sample("slice", f"{_dim} {_start}:{_stop}:{_step}", (2, 3, 4), dtypes=("float32", "int64"),
           after=lambda x, *a, at=(_dim, _start, _stop, _step): (x, *at))
for _shape, _whole, _place in [((2, 3), (2, 5), (1, 1, 4, 1)), ((2,), (5,), (0, 1, 5, 3)), ((0, 3), (4, 3), (0, 2, 2, 1))]:
    sample("into_slice", f"{_shape} {_whole}", _shape, dtypes=("float32", "bool", "complex64"),
           after=lambda y, s=_whole, p=_place: (y, s, *p))
for _offset in (-5, -1, 0, 2, 4):
    sample("tril triu", f"{_offset}", (2, 3, 4), dtypes=EVERY, after=lambda x, o=_offset: (x, o))
    sample("diagonal", f"{_offset}", (3, 4), dtypes=("float32",), after=lambda x, o=_offset: (x, o, 0, 1))
for _name, _of in [("row", lambda x: x[1]), ("column", lambda x: x[:, 1]), ("itself", lambda x: x), ("corner", lambda x: x[1:, ::2]),
                   ("transposed", lambda x: x.T), ("elsewhere", lambda x: x.copy()), ("nothing", lambda x: x[:0])]:
    sample("geometry", _name, (3, 4), dtypes=("float32", "int64"), after=lambda x, of=_of: (of(x), x))
for _name, _of in [("whole", lambda x: x), ("slice", lambda x: x[1:, 1:]), ("transposed", lambda x: x.T), ("nothing", lambda x: x[:0])]:
    sample("storage", _name, (3, 4), dtypes=("float32", "int64"), after=lambda x, of=_of: (of(x),))
for _part in [((1,), (2, 2), (1, 2), 1), ((1,), (3,), (2,), 0), ((1,), (), (), 5), ((2,), (2,), (1,), 0)]:
    sample("as_strided", f"{_part}", (6,), dtypes=("float32", "int64"), after=lambda x, p=_part: (x, *p))
    sample("as_strided_scatter", f"{_part}", (6,), _part[1], dtypes=("float32", "int64"), after=lambda x, y, p=_part: (x, y, *p))
    sample("as_strided_scatter", f"{_part} number", (6,), dtypes=("float32",), after=lambda x, p=_part: (x, 0, *p))
    sample("as_strided_add", f"{_part}", _part[1], dtypes=("float32", "int64"), after=lambda y, p=_part: (y, (6,), *p))
sample("as_strided", "plain", (6,), dtypes=("float32",), after=lambda x: (x, (1,), (2, 2), (1, 2), 1))
sample("as_strided_scatter", "plain", (6,), (2, 2), dtypes=("float32",), after=lambda x, y: (x, y, (1,), (2, 2), (1, 2), 1))
for _strides in ((1, 1, 1), (4, 1, 2), (2, 4, 0), (0, 0, 0)):
    sample("as_strided_add", f"windows {_strides}", (3, 4, 5), dtypes=(*REAL, *COMPLEX), after=lambda y, s=_strides: (y, (4, 8), (8, 1), y.shape, s, 3))
sample("as_strided_add", "overlapping", (2, 2), dtypes=("float32",), after=lambda y: (y, (6,), (1,), (2, 2), (1, 1), 1))
for _shape in ((2, 2), (6,), (), (0, 3), (3, 4)):
    sample("resize", f"{_shape}", (2, 3), dtypes=("float32", "int64"), after=lambda x, s=_shape: (x, s))
sample("real imag view_as_real", "complex", (2, 3), dtypes=COMPLEX)
sample("view_as_complex", "pairs", (3, 2), dtypes=FLOATS, after=lambda x: (np.ascontiguousarray(x),))
sample("complex", "parts", (2, 3), (3,), dtypes=FLOATS)
sample("angle", "any", (2, 3), dtypes=(*FLOATS, *COMPLEX))

# ---- reductions -----------------------------------------------------------------------------------------------
REDUCED = [((5,), (0,)), ((2, 3), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (0,
        1)), ((2, 3, 4), (1, 2)),
           ((1, 1), (0, 1)), ((3, 0), (0,)), ((130, 70), (0,)), ((130, 70), (1,)), ((130, 70), (0, 1)), ((4, 130, 9), (1,)),
           ((40, 3, 4, 9), (0, 2, 3))]
for (_shape, _dims), _keep in itertools.product(REDUCED, (False, True)):
    for _kind in ("any", "special"):
        sample("sum prod amax amin", f"{_shape} {_dims} {_keep} {_kind}", (_shape, _kind), dtypes=REAL,
               after=lambda x, d=_dims, k=_keep: (x, d, k))
        sample("cumprod", f"{_shape} {_dims[0]} {_kind}", (_shape, _kind), dtypes=REAL, after=lambda x, d=_dims[0]: (x, d))
        for _reverse in (False, True):
            sample("cumsum", f"{_shape} {_dims[0]} {_kind} {_reverse}", (_shape, _kind), dtypes=REAL,
                   after=lambda x, d=_dims[0], r=_reverse: (x, d, r))
            sample("recurrence", f"{_shape} {_dims[0]} {_kind} {_reverse}", (_shape, _kind), (_shape, _kind), dtypes=(*FLOATS, "float16"),
                   after=lambda x, y, d=_dims[0], r=_reverse: (x, y, d, r))
    for _kind in ("any", "special"):
        sample("var", f"{_shape} {_dims} {_keep} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x, d=_dims, k=_keep: (x, d, 1, k))
        sample("nansum logsumexp", f"{_shape} {_dims} {_keep} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x, d=_dims, k=_keep: (x, d, k))
        sample("mean", f"{_shape} {_dims} {_keep} {_kind}", (_shape, _kind), dtypes=(*FLOATS, "float16"),
               after=lambda x, d=_dims, k=_keep: (x, d, k))
    if 0 not in _shape:
        for _kind in ("any", "special"):
            sample("argmax argmin", f"{_shape} {_dims[0]} {_keep} {_kind}", (_shape, _kind), dtypes=REAL,
                   after=lambda x, d=_dims[0], k=_keep: (x, d, k))
for _shape in ((3, 0), (0,)):
    sample("sum prod", f"of nothing {_shape}", _shape, after=lambda x: (x, (x.ndim - 1,), False))
    sample("mean", f"of nothing {_shape}", _shape, dtypes=FLOATS, after=lambda x: (x, (x.ndim - 1,), False))
    sample("var", f"of nothing {_shape}", _shape, after=lambda x: (x, (x.ndim - 1,), 1, False))
    sample("logsumexp", f"of nothing {_shape}", _shape, after=lambda x: (x, (x.ndim - 1,), False))
for _dim in range(3):       # windows; the dimensions in another order; with gaps
    sample("sum mean", f"windows {_dim}", (3, 4, 20), dtypes=FLOATS, after=lambda x, d=_dim: (sliding_window_view(x, 3, d), (3,), False))
    sample("sum mean", f"permuted {_dim}", (4, 9, 10), dtypes=FLOATS, after=lambda x, d=_dim: (x.transpose(1, 2, 0), (d,), True))
    sample("sum mean", f"gaps {_dim}", (70, 5, 20), dtypes=FLOATS, after=lambda x, d=_dim: (x[:, 1:4, ::-1][..., 2:13], (d,), False))
    sample("sum mean", f"more gaps {_dim}", (70, 5, 20), dtypes=FLOATS, after=lambda x, d=_dim: (x[::-1, :, 2:13], (d,), False))
for _shape in ((9, 10, 1), (1, 10, 4), (10, 4), (9, 1, 4)):
    sample("sum_to", f"permuted {_shape}", (4, 9, 10), dtypes=FLOATS, after=lambda x, s=_shape: (x.transpose(1, 2, 0), s))
    sample("sum_to", f"expanded {_shape}", (9, 10), dtypes=FLOATS, after=lambda x, s=_shape: (np.broadcast_to(x[..., None], (9, 10, 4)), s))
sample("sum", "windows of a long row", (1200,), dtypes=FLOATS, after=lambda x: (sliding_window_view(x, 100), (1,), False))
sample("sum", "0-d", (), after=lambda x: (x, (), False))
sample("mean", "0-d", (), after=lambda x: (x, (), False))
DTYPES["sum"], DTYPES["mean"] = (*REAL, *COMPLEX), (*FLOATS, *COMPLEX)
for _shape, _to in [((5,), ()), ((5,), (1,)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 1)), ((2, 3), (1, 1)), ((2, 3), ()),
                    ((2, 3, 4), (3, 4)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4), (1,)),
                    ((1, 3), (3,)), ((1, 1), ()), ((3, 0), (0,)), ((3, 0), (3, 1)), ((0, 3), (1, 3)), ((130, 70), (70,)),
                    ((130, 70), (130, 1)), ((2, 3), (2, 3))]:
    for _kind in ("any", "special"):
        sample("sum_to", f"{_shape} {_to} {_kind}", (_shape, _kind), dtypes=REAL, after=lambda x, t=_to: (x, t))
sample("argmax argmin", "all", (2, 3), after=lambda x: (x, None, False))
for _dims in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2), (0, 2)):
    sample("amax amin", f"long {_dims}", ((3, 40, 35), "special"), dtypes=REAL, after=lambda x, d=_dims: (x, d, False))
    sample("amax amin", f"bools {_dims}", (3, 4, 5), dtypes=REAL, after=lambda x, d=_dims: (x.real > 0, d, True))
    sample("argmax argmin", f"long {_dims}", (3, 40, 35), dtypes=REAL, after=lambda x, d=_dims: (x, d[0], True))
sample("argmax argmin", "ties", (40,), after=lambda x: (np.round(x.astype(np.float64)).astype(x.dtype), 0, False))
for _shape, _dim in [((5,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 4), 1), ((0, 3), 1), ((3, 0), 1), ((130, 70), 1), ((130, 70), 0)]:
    for _kind in ("any", "special"):
        sample("softmax log_softmax", f"{_shape} {_dim} {_kind}", (_shape, _kind), dtypes=FLOATS, after=lambda x, d=_dim: (x, d))
        sample("softmax_backward log_softmax_backward", f"{_shape} {_dim} {_kind}", (_shape, _kind), (_shape, _kind), dtypes=FLOATS,
               after=lambda g, z, d=_dim: (g, z, d))

for _shape in ((3, 5), (2, 3, 4), (5, 3), (2, 0, 3), (4, 130)):
    for _scale, _causal in ((1.0, False), (0.5, True), (-2.0, True)):
        sample("attention_weights", f"{_shape} {_scale} {_causal}", _shape, dtypes=FLOATS, after=lambda x, s=_scale, c=_causal: (x, s, c))
for _lead, _l, _s, _e, _v in (((2, 3), 32, 32, 16, 16), ((2, 3), 7, 9, 5, 6), ((3,), 50, 18, 8, 4), ((), 5, 70, 33, 7), ((2, 2), 3, 2, 4, 1),
                              ((2, 0), 3, 4, 4, 4), ((1, 2, 2), 3, 4, 4, 4)):
    _q, _k, _z, _w = (*_lead, _l, _e), (*_lead, _s, _e), (*_lead, _s, _v), (*_lead, _l, _s)
    for _scale, _causal in ((0.5, False), (0.5, True), (-2.0, True)):
        sample("attention", f"{_w} {_scale} {_causal}", _q, _k, _z, dtypes=FLOATS, after=lambda q, k, v, s=_scale, c=_causal: (q, k, v, s, c))
        for _needs in ((True, True, True), (False, True, False)):
            sample("attention_backward", f"{_w} {_scale} {_causal} {_needs}", (*_lead, _l, _v), _q, _k, _z, (_w, "positive"), dtypes=FLOATS,
                   after=lambda g, q, k, v, w, s=_scale, c=_causal, n=_needs: (g, q, k, v, np.tril(w) if c else w, s, c, n))
for _shape, _n in (((3, 5), 1), ((2, 3, 4), 2), ((4,), 1), ((2, 1), 1), ((130, 70), 1)):
    _inner, _stats = _shape[-_n:], (*_shape[:-_n], *[1] * _n)
    sample("layer_norm", f"{_shape} {_n}", _shape, _inner, _inner, dtypes=FLOATS, after=lambda x, w, b, n=_n: (x, w, b, n, 1e-5))
    sample("layer_norm", f"{_shape} {_n} plain", _shape, dtypes=FLOATS, after=lambda x, n=_n: (x, None, None, n, 1e-5))
    sample("layer_norm_backward", f"{_shape} {_n}", _shape, _shape, _inner, _stats, (_stats, "positive"), dtypes=FLOATS,
           after=lambda g, x, w, m, s, n=_n: (g, x, w, m, s, n))
    sample("layer_norm_backward", f"{_shape} {_n} plain", _shape, _shape, _stats, (_stats, "positive"), dtypes=FLOATS,
           after=lambda g, x, m, s, n=_n: (g, x, None, m, s, n))
    sample("rms_norm", f"{_shape} {_n}", _shape, _inner, dtypes=FLOATS, after=lambda x, w, n=_n: (x, w, n, 1e-5))
    sample("rms_norm", f"{_shape} {_n} plain", _shape, dtypes=FLOATS, after=lambda x, n=_n: (x, None, n, 1e-5))
    sample("rms_norm_backward", f"{_shape} {_n}", _shape, _shape, _inner, (_stats, "positive"), dtypes=FLOATS,
           after=lambda g, x, w, s, n=_n: (g, x, w, s, n))
    sample("rms_norm_backward", f"{_shape} {_n} plain", _shape, _shape, (_stats, "positive"), dtypes=FLOATS,
           after=lambda g, x, s, n=_n: (g, x, None, s, n))

for _mode, _gates in (("RNN_TANH", 1), ("RNN_RELU", 1), ("LSTM", 4), ("GRU", 3)):
    for _t, _n, _i, _h, _reverse in ((3, 2, 4, 3, False), (7, 1, 1, 2, True), (1, 3, 2, 5, False), (2, 0, 3, 2, False), (2, 20, 8, 17, True)):
        _rows, _steps, _state = _gates * _h, (_t, _n, _h), (_n, _h)
        _weights = ((_rows, _i), (_rows, _h))
        sample("rnn_layer", f"{_mode} {_t} {_n}", (_t, _n, _i), *_weights, (_rows,), (_rows,), _state, _state, dtypes=FLOATS,
               after=lambda *arrays, m=_mode, r=_reverse: (*arrays, m, r))
        sample("rnn_layer", f"{_mode} {_t} {_n} plain", (_t, _n, _i), *_weights, _state, _state, dtypes=FLOATS,
               after=lambda x, w, u, h, c, m=_mode, r=_reverse: (x, w, u, None, None, h, c, m, r))
        _saved = (_steps, (_t, _n, _rows), _steps)
        sample("rnn_layer_backward", f"{_mode} {_t} {_n}", _steps, _state, _state, (_t, _n, _i), *_weights, _state, _state, *_saved, dtypes=FLOATS,
               after=lambda z, h, c, *rest, m=_mode, r=_reverse: (z, h, c, None, None, *rest, m, r, (True,) * 7))
        sample("rnn_layer_backward", f"{_mode} {_t} {_n} of gates", (_t, _n, _rows), _steps, (_t, _n, _i), *_weights, _state, _state, *_saved,
               dtypes=FLOATS, after=lambda g, c, *rest, m=_mode, r=_reverse: (None, None, None, g, c, *rest, m, r, (True,) * 7))
        sample("rnn_layer_backward", f"{_mode} {_t} {_n} few", _steps, (_t, _n, _i), *_weights, _state, _state, *_saved, dtypes=FLOATS,
               after=lambda z, *rest, m=_mode, r=_reverse: (z, None, None, None, None, *rest, m, r, (False, True, False, False, True, False, False)))
for _shape in ((3, 5), (2, 3, 4), (4, 1, 2, 2), (2, 3, 6, 7), (130, 70), (3, 513), (2, 3, 2, 300), (1, 40, 31)):
    _channels = (_shape[1],)
    # a large ε: of a batch that is a broadcast image, the variance is 0
    sample("batch_norm", f"{_shape}", _shape, _channels, _channels, dtypes=FLOATS, after=lambda x, w, b: (x, w, b, 0.1))
    sample("batch_norm", f"{_shape} plain", _shape, dtypes=FLOATS, after=lambda x: (x, None, None, 0.1))
    sample("normalize_channels", f"{_shape}", _shape, _channels, _channels, _channels, dtypes=FLOATS)
    sample("normalize_channels", f"{_shape} plain", _shape, _channels, _channels, dtypes=FLOATS, after=lambda x, m, s: (x, m, s, None))
    sample("batch_norm_backward", f"{_shape}", _shape, _shape, _channels, _channels, (_channels, "positive"), dtypes=FLOATS)
    sample("batch_norm_backward", f"{_shape} plain", _shape, _shape, _channels, (_channels, "positive"), dtypes=FLOATS,
           after=lambda g, x, m, s: (g, x, None, m, s))
for _shape, _groups in (((3, 6), 2), ((3, 6), 6), ((2, 130), 1), ((2, 4, 3), 2), ((4, 1, 2, 2), 1), ((2, 6, 6, 7), 3), ((2, 3, 2, 300), 3),
                        ((1, 40, 31), 4)):
    _channels, _stats = (_shape[1],), (_shape[0], _groups)
    sample("group_norm", f"{_shape} {_groups}", _shape, _channels, _channels, dtypes=FLOATS, after=lambda x, w, b, n=_groups: (x, w, b, n, 1e-5))
    sample("group_norm", f"{_shape} {_groups} plain", _shape, dtypes=FLOATS, after=lambda x, n=_groups: (x, None, None, n, 1e-5))
    sample("group_norm_backward", f"{_shape} {_groups}", _shape, _shape, _channels, _stats, (_stats, "positive"), dtypes=FLOATS)
    sample("group_norm_backward", f"{_shape} {_groups} plain", _shape, _shape, _stats, (_stats, "positive"), dtypes=FLOATS,
           after=lambda g, x, m, s: (g, x, None, m, s))

# ---- matrices, joining, indexing -----------------------------------------------------------------------------
for _a, _b in [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3,
        4)), ((2, 1, 3, 2), (4, 2, 3)),
               ((70, 40), (40, 90))]:
    sample("matmul", f"{_a} {_b}", _a, _b, dtypes=(*FLOATS, "int64", *COMPLEX))
sample("matmul", "special", ((4, 3), "special"), ((3, 5), "special"))
for _a, _b in [((3, 2), (5, 2)), ((5, 7), (130, 7)), ((1, 600), (2, 600)), ((2, 3, 4), (2, 5, 4)), ((2, 3, 4), (5, 4)), ((3, 4), (2, 5, 4)),
               ((0, 4), (2, 4)), ((3, 4), (0, 4)), ((3, 0), (2, 0)), ((2, 1, 3, 2), (4, 5, 2))]:
    for _kind in ("any", "special"):
        sample("distances", f"{_a} {_b} {_kind}", (_a, _kind), (_b, _kind), dtypes=FLOATS)
    _pairs = (*np.broadcast_shapes(_a[:-2], _b[:-2]), _a[-2], _b[-2])
    sample("distances_backward", f"{_a} {_b}", _pairs, (_pairs, "positive"), _a, _b, dtypes=FLOATS)
    sample("distances_backward", f"{_a} {_b} zero", _pairs, _pairs, _a, _b, dtypes=FLOATS, after=lambda g, z, x, y: (g, z * (z > 0), x, y))
sample("dot", "special", ((6,), "special"), ((6,), "special"))
for _bias in ((4,), (2, 4), (1, 4), (2, 1), (), (1,)):
    sample("addmm", f"{_bias}", _bias, (2, 3), (3, 4), dtypes=FLOATS)
sample("addmm", "nothing inside", (4,), (2, 0), (0, 4))
sample("addmm", "large", (40,), (90, 33), (33, 40))
for _n in (0, 1, 5, 200):
    sample("dot", f"{_n}", (_n,), (_n,), dtypes=(*FLOATS, "int64"))
for _shape, _dims in itertools.product(((5,), (4, 6), (3, 5, 7), (2, 0, 3)), ((0,), (-1,), (0, 1), (2, 0))):
    if max(_dims) < len(_shape) and not (len(_dims) > 1 and 0 in _shape):
        _dims = tuple(d % len(_shape) for d in _dims)
        for _norm, _flag in itertools.product((0, 1, 2), (False, True)):
            sample("fft_c2c", f"{_shape} {_dims} {_norm} {_flag}", _shape, dtypes=COMPLEX, after=lambda x, d=_dims, n=_norm, f=_flag: (x, d, n, f))
            sample("fft_r2c", f"{_shape} {_dims} {_norm} {_flag}", _shape, dtypes=FLOATS, after=lambda x, d=_dims, n=_norm, f=_flag: (x, d, n, f))
            sample("fft_c2r", f"{_shape} {_dims} {_norm} {_flag}", _shape, dtypes=COMPLEX,
                   after=lambda x, d=_dims, n=_norm, f=_flag: (x, d, n, max(2 * x.shape[d[-1]] - 2 + f, 1)))
for _shape in ((3, 3), (2, 3, 3), (0, 0), (0, 2, 2), (70, 70), (2, 2), (3, 1, 1), (6, 4, 4)):
    sample("det slogdet cofactors inv eig eigvals matrix_exp", f"{_shape}", _shape, dtypes=(*FLOATS, *COMPLEX))
    for _flag in (False, True):
        sample("lu_rows", f"{_shape} {_flag}", _shape, dtypes=(*FLOATS, *COMPLEX))
        sample("lu", f"{_shape} {_flag}", _shape, dtypes=(*FLOATS, *COMPLEX), after=lambda x, pivot=_flag: (x, pivot))
        sample("cholesky", f"{_shape} {_flag}", _shape, dtypes=(*FLOATS, *COMPLEX),
               after=lambda x, u=_flag: (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(x.shape[-1], dtype=x.dtype), u))
        sample("eigh eigvalsh", f"{_shape} {_flag}", _shape, dtypes=(*FLOATS, *COMPLEX), after=lambda x, u=_flag: (x, u))
        sample("solve_triangular", f"{_shape} {_flag}", _shape, (*_shape[:-1], 2), dtypes=(*FLOATS, *COMPLEX),
               after=lambda x, y, u=_flag: (x, y, u, not u))
for _flag in (False, True):
    sample("solve_triangular", f"large, zeros on the diagonal {_flag}", (130, 130), (130, 3), dtypes=FLOATS,
           after=lambda x, y, u=_flag: (np.where(np.arange(130) % 50 == 0, 0, x / 10).astype(x.dtype) + 2 * (np.arange(130) % 50 > 0)
                                        * np.eye(130, dtype=x.dtype), y, u, False))
ODD = [("singular", np.zeros((3, 3))), ("nan", np.full((3, 3), np.nan)), ("small", np.diag([1e-200, 1e-200, 1e200]))]
for _kind, _matrix in ODD:          # one of a batch
    _change = np.stack([np.ones((3, 3)), _matrix, np.ones((3, 3))])
    sample("det inv cofactors", f"{_kind}", (3, 3, 3), after=lambda x, c=_change: ((x * c).astype(x.dtype),))
    sample("solve", f"{_kind}", (3, 3, 3), (3, 3, 2), after=lambda x, y, c=_change: ((x * c).astype(x.dtype), y))
sample("solve", "vectors", (5, 4, 4), (5, 4, 1), dtypes=FLOATS)
sample("solve", "broadcast", (2, 1, 3, 3), (4, 3, 2), dtypes=(*FLOATS, *COMPLEX))
for _shape in ((3, 3), (2, 4, 3), (2, 5), (0, 3), (3, 0)):
    for _mode in ("reduced", "complete", "r"):
        sample("qr", f"{_shape} {_mode}", _shape, dtypes=(*FLOATS, *COMPLEX), after=lambda x, m=_mode: (x, m))
    sample("svd", f"{_shape}", _shape, dtypes=(*FLOATS, *COMPLEX), after=lambda x: (x, False))
    sample("svd", f"{_shape} full", _shape, dtypes=(*FLOATS, *COMPLEX), after=lambda x: (x, True))
    sample("svdvals", f"{_shape}", _shape, dtypes=(*FLOATS, *COMPLEX))
for _dim in range(3):
    sample("glu", f"{_dim}", (2, 4, 6), dtypes=FLOATS, after=lambda x, dim=_dim: (x, dim))
    sample("glu_backward", f"{_dim}", [(1, 4, 6), (2, 2, 6), (2, 4, 3)][_dim], (2, 4, 6), dtypes=FLOATS,
           after=lambda g, x, dim=_dim: (g, x, dim))
for _kind in ("any", "special"):
    sample("glu", f"row {_kind}", ((130,), _kind), dtypes=FLOATS, after=lambda x: (x, 0))
    sample("glu_backward", f"row {_kind}", ((65,), _kind), ((130,), _kind), dtypes=FLOATS, after=lambda g, x: (g, x, 0))
sample("glu", "of nothing", (0, 4), dtypes=FLOATS, after=lambda x: (x, 1))
sample("cat", "two", (2, 3), (2, 4), dtypes=EVERY, after=lambda x, y: ([x, y], 1))
sample("cat", "three", (2, 3, 2), (1, 3, 2), (0, 3, 2), dtypes=EVERY, after=lambda x, y, z: ([x, y, z], 0))
sample("cat", "large", (70, 40), (30, 40), dtypes=EVERY, after=lambda x, y: ([x, y], 0))
sample("cat", "large, narrow", (900, 3), (900, 1), dtypes=EVERY, after=lambda x, y: ([x, y, y], 1))
sample("stack", "two", (2, 3), (2, 3), dtypes=EVERY, after=lambda x, y: ([x, y], 2))
for _shape, _dim in [((), 0), ((3,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 0), 1)]:
    sample("stack", f"three {_shape} {_dim}", _shape, _shape, _shape, after=lambda x, y, z, d=_dim: ([x, y, z], d))
INDEX = np.array([[0, 1, 1], [2, 0, 2]])
sample("gather", "2-d", (2, 3), dtypes=REAL, after=lambda x: (x, 1, INDEX))
sample("scatter_add", "2-d", (2, 3), (2, 3), dtypes=REAL, after=lambda x, y: (x, 1, INDEX, y))
for _reduce in ("prod", "amax", "amin"):
    sample("scatter_reduce", _reduce, (2, 3), (2, 3), dtypes=REAL, after=lambda x, y, r=_reduce: (x, 1, INDEX, y, r))
sample("scatter", "2-d", (2, 3), (2, 3), dtypes=EVERY, after=lambda x, y: (x, 1, np.array([[0, 1, 2], [2, 0, 1]]), y))
sample("scatter", "number", (2, 3), dtypes=EVERY, after=lambda x: (x, 1, INDEX, x.dtype.type(1)))
ROWS = np.array([[0, 1, 1, 0], [4, 0, 2, 3]])
for _at in (INDEX.copy(order="F"), INDEX[::-1, ::2], INDEX[:, :0], INDEX + 1):      # with strides, of nothing, out of range
    sample("gather", "any index", (2, 3), dtypes=EVERY, after=lambda x, at=_at: (x, 1, at))
    sample("scatter", "any index", (2, 3), (2, 3), dtypes=EVERY, after=lambda x, y, at=_at: (x, 0, np.minimum(at, at > 2), y))
    sample("scatter_add", "any index", (2, 3), (2, 3), dtypes=REAL, after=lambda x, y, at=_at: (x, 1, at, y))
    for _reduce in ("prod", "amax", "amin"):
        sample("scatter_reduce", f"any index {_reduce}", ((2, 3), "special"), ((2, 3), "special"), dtypes=REAL,
               after=lambda x, y, at=_at, r=_reduce: (x, 1, at, y, r))
for _dim in range(3):
    sample("gather", f"3-d {_dim}", (5, 4, 6), dtypes=EVERY, after=lambda x, d=_dim: (x, d, np.stack([ROWS, ROWS % 2, ROWS % 4]).transpose(1, 0, 2)))
    sample("scatter_add", f"3-d {_dim}", (5, 4, 6), (3, 4, 4), dtypes=REAL, after=lambda x, y, d=_dim: (x, d, np.stack([ROWS, ROWS % 2, ROWS % 4])[:, :, :3] % 4, y))
    sample("index_select", f"3-d {_dim}", (5, 4, 6), dtypes=EVERY, after=lambda x, d=_dim: (x, d, ROWS[0]))
    sample("index_add", f"3-d {_dim}", (5, 4, 6), [(4, 4, 6), (5, 4, 6), (5, 4, 4)][_dim], dtypes=REAL, after=lambda x, y, d=_dim: (x, d, ROWS[0], y))
LONG = np.stack([np.arange(11) * 7 % 11, np.arange(11) * 3 % 11])      # more than the elements of one turn of a loop
_OUTSIDE = LONG.copy()
_OUTSIDE[1, 10] = 11
for _dim, _at in itertools.product((0, 1), (LONG, LONG.copy(order="F"), np.repeat(LONG, 2, 1)[:, ::2], _OUTSIDE)):
    _at = _at.T if _dim == 0 else _at
    sample("gather", f"long {_dim}", _at.shape, dtypes=EVERY, after=lambda x, d=_dim, at=_at: (x, d, at))
    sample("scatter", f"long {_dim}", _at.shape, _at.shape, dtypes=EVERY, after=lambda x, y, d=_dim, at=_at: (x, d, at, y))
    sample("scatter_add", f"long {_dim}", _at.shape, _at.shape, dtypes=REAL, after=lambda x, y, d=_dim, at=_at: (x, d, at, y))
    sample("index", f"long {_dim}", (11, 11), dtypes=EVERY, after=lambda x, d=_dim, at=_at: (x, [None] * d + [at]))
    for _reduce in ("prod", "amax", "amin"):
        sample("scatter_reduce", f"long {_dim} {_reduce}", _at.shape, (_at.shape, "special"), dtypes=REAL,
               after=lambda x, y, d=_dim, at=_at // 2, r=_reduce: (x, d, at, y, r))
        sample("scatter_reduce", f"long {_dim} {_reduce} runs", (_at.shape, "special"), _at.shape, dtypes=REAL,
               after=lambda x, y, d=_dim, at=_at, r=_reduce: (x, d, np.broadcast_to(at[:1, :1], at.shape), y, r))
        sample("scatter_reduce", f"long {_dim} {_reduce} of range", _at.shape, _at.shape, dtypes=FLOATS,
               after=lambda x, y, d=_dim, at=_at, r=_reduce: (x, d, at, y, r))
    for _accumulate in (False, True):
        sample("index_put index_put_", f"long {_dim} {_accumulate}", (11, 11), (1, 1, 1), dtypes=REAL,
               after=lambda x, y, d=_dim, at=_at, a=_accumulate: (x, [None] * d + [at], y, a))
for _at in (np.array([4]), np.array([5]), np.array([], int)):
    sample("index", "of empty rows", (5, 0), after=lambda x, at=_at: (x, [at]))
sample("scatter_add", "crowd", (2, 3), (40, 3), dtypes=REAL, after=lambda x, y: (x, 0, np.zeros((40, 3), np.int64), y))
sample("index_add", "crowd", (2, 3), (60, 3), dtypes=REAL, after=lambda x, y: (x, 0, np.zeros(60, np.int64), y))
sample("index_put index_put_", "crowd", (2, 3), (60, 3), dtypes=REAL, after=lambda x, y: (x, [np.zeros(60, np.int64)], y, True))
_INDICES = [[ROWS], [None, ROWS % 4], [None, None, ROWS], [ROWS, ROWS % 4], [ROWS[:, :1], ROWS % 4], [ROWS[0], None, ROWS], [None, ROWS[1] % 4, ROWS[:, :1]],
            [ROWS[:, ::-2]], [ROWS[:0]], [ROWS + 1], [None, ROWS, ROWS[:, :3]]]
for _number, _indices in enumerate(_INDICES):
    sample("index", f"3-d {_number}", (5, 4, 6), dtypes=EVERY, after=lambda x, at=_indices: (x, at))
    for _accumulate in (False, True):
        for _shape in ((), (6,), (2, 4, 1, 1), (3, 7)):
            sample("index_put", f"3-d {_number} {_shape} {_accumulate}", (5, 4, 6), _shape, dtypes=REAL,
                   after=lambda x, y, at=_indices, a=_accumulate: (x, at, y, a))
for _shape in ((2, 3), (2, 1), (3,), (), (1, 1)):
    sample("masked_fill_", f"{_shape}", (2, 3), (), dtypes=EVERY,
           after=lambda x, y, s=_shape: (x, np.arange(np.prod(s, dtype=int)).reshape(s) % 2 == 0, y))
sample("masked_fill_", "large", (70, 90), (), dtypes=EVERY, after=lambda x, y: (x, np.arange(6300).reshape(70, 90) % 3 == 0, y))
sample("masked_fill_", "strided", (8, 6), (), dtypes=EVERY, after=lambda x, y: (x[::2], np.arange(4)[:, None] > 1, y))
for _shape, _count in (((), 1), ((7,), 3), ((70, 90), 2100), ((70, 90), 2099), ((4, 6), 99), ((0, 3), 0)):      # 2099: too few
    sample("masked_scatter", f"{_shape} {_count}", _shape, (_count,), dtypes=EVERY,
           after=lambda x, y: (x, np.asarray(np.arange(x.size).reshape(x.shape) % 3 == 0), y))
sample("masked_scatter", "2-d", (2, 3), (2, 3), dtypes=EVERY, after=lambda x, y: (x, np.array([True, False, True]), y))
for _number, _at in enumerate(([[3, 1, 0, 1, 2, 3, 4, 3], None, [0, 0, 1, 2, 3, 4, 5]], [None, [3, 2, 1], None],
                               [None, None, [5, 1, 2, 3]], [[], None, [1]], [None, None, None], [None, [0, 4], None])):      # 4: out of range
    _places = [None if _positions is None else np.array(_positions, dtype=np.int64) for _positions in _at]
    sample("take_grid", f"3-d {_number}", (5, 4, 6), dtypes=EVERY, after=lambda x, at=_places: (x, at))
for _shape, _at in (((3, 4, 20), [19, *range(20), 0]), ((20,), [*range(5, 20), 3]), ((2, 20), range(10, 21))):       # 20 is out of range
    sample("index_select", f"in runs {_shape}", _shape, dtypes=EVERY, after=lambda x, at=_at: (x, x.ndim - 1, np.array(at)))
sample("index_select", "repeats", (2, 3), dtypes=EVERY, after=lambda x: (x, 1, np.array([2, 0, 2])))
sample("index_add", "repeats", (3, 2), (2, 2), dtypes=REAL, after=lambda x, y: (x, 0, np.array([1, 1]), y))
sample("index", "two", (2, 3, 4), dtypes=EVERY, after=lambda x: (x, [np.array([0, 1]), None, np.array([3, 0])]))
for _accumulate in (False, True):
    sample("index_put index_put_", f"{_accumulate}", (3, 2), (2, 2), dtypes=REAL, after=lambda x, y, a=_accumulate: (x,
            [np.array([2, 0])], y, a))
for _name in ("scatter_add", "index_add", "index_put", "index_put_"):
    DTYPES[_name] = (*REAL, *COMPLEX)

# ---- order -----------------------------------------------------------------------------------------------------
for _shape, _dims in (((5,), (0,)), ((2, 3), (1,)), ((2, 3), ()), ((), ()), ((3, 0), (1,)), ((60, 50), (0, 1)), ((2, 3), (0, 0))):
    sample("flip", f"{_shape} {_dims}", _shape, dtypes=EVERY, after=lambda x, d=_dims: (x, d))
for _shape in ((), (7,), (3, 0), (2, 3, 4)):
    sample("nonzero", f"bools {_shape}", _shape, dtypes=EVERY, after=lambda x: (np.asarray(x.real > 0),))
sample("flip", "two", (2, 3, 4), dtypes=EVERY, after=lambda x: (x, (0, 2)))
for _dim in (0, 1):
    sample("argsort median", f"{_dim}", (3, 4), dtypes=REAL, after=lambda x, d=_dim: (x, d, True))
    sample("mode", f"{_dim}", (3, 4), dtypes=REAL, after=lambda x, d=_dim: (np.round(x), d))
for _shape, _dim in (((90,), 0), ((3, 50), 1), ((50, 3), 0), ((2, 20, 3), 1), ((), 0), ((3, 0), 1)):
    for _flag in (False, True):
        for _kind in ("any", "special"):
            sample("argsort cumextremum", f"{_shape} {_flag} {_kind}", (_shape, _kind), dtypes=REAL, after=lambda x, d=_dim, f=_flag: (x, d, f))
            if np.prod(_shape):
                sample("median", f"{_shape} {_flag} {_kind}", (_shape or (1,), _kind), dtypes=REAL, after=lambda x, d=_dim, f=_flag: (x, d, f))
for _shape, _dim in (((90,), 0), ((3, 50), 1), ((50, 3), 0), ((2, 80, 3), 1)):
    for _number in (0, 1, 2, 40, 70):
        for _kind in ("any", "special"):
            sample("topk", f"{_shape} {_number} {_kind}", (_shape, _kind), dtypes=REAL,
                   after=lambda x, d=_dim, n=_number: (np.round(x), min(n, x.shape[d]), d, n != 40))
LIMITS = np.array([3, -1, 0, 1 << 62, -1 << 63, (1 << 63) - 1, -1, 3] * 40)
sample("argsort", "limits of int64", after=lambda: (LIMITS, 0, False))
sample("argsort", "both signs", after=lambda: (np.arange(900) * 7 % 100 - 50, 0, True))
sample("median", "long, ties", (3, 700), dtypes=REAL, after=lambda x: (np.round(x), 1, False))
sample("topk", "long, ties", (700,), dtypes=REAL, after=lambda x: (np.round(x), 300, 0, True))
sample("cumextremum", "ties", (3, 4), dtypes=REAL, after=lambda x: (np.round(x), 1, True))
sample("logcumsumexp", "2-d", (3, 4), after=lambda x: (x, 1))
sample("nonzero", "2-d", (2, 3), dtypes=EVERY, after=lambda x: (x * (x != x[0, 0]),))
sample("searchsorted", "rows", (2, 5), (2, 3), dtypes=REAL, after=lambda x, y: (np.sort(x), y, False))

# ---- neural networks -------------------------------------------------------------------------------------------
TARGET = np.array([1, 0, 2, -100, 2])
for _n, _target in itertools.product((2, 3), (TARGET, TARGET.reshape(1, 5), TARGET[:0], np.array([[0, -1], [7, 1]]))):
    sample("class_outside", f"{_n} {_target.tolist()}", after=lambda n=_n, t=_target: (t, n, -100))
for _last in (1, 2):
    sample("class_outside", f"long {_last}", after=lambda last=_last: (np.array([0, -100, 1] * 700 + [last]), 2, -100))
for _target in (TARGET[:, None], np.array([[0], [7], [-1]]), np.arange(8).reshape(2, 1, 4)[:, :, ::2]):      # expanded
    sample("class_outside", f"expanded {_target.shape}", after=lambda t=_target: (np.broadcast_to(t, (*t.shape[:1], 3, *t.shape[2:])), 3, -100))
for _shape in ((3, 2), (1, 4), (2, 0)):
    sample("by_columns", f"{_shape}", _shape, dtypes=EVERY)
for _reduction in ("none", "mean", "sum"):
    for _weighted in (False, True):
        sample("nll_loss", f"{_reduction} {_weighted}", (5, 3), ((3,), "positive"), dtypes=FLOATS,
               after=lambda x, w, r=_reduction, weighted=_weighted: (x, TARGET, w if weighted else None, -100, r))
        sample("nll_loss_backward", f"{_reduction} {_weighted}", (5,) if _reduction == "none" else (), ((3,), "positive"), ((),
                "positive"),
               dtypes=FLOATS, after=lambda g, w, t, r=_reduction, weighted=_weighted: (g, (5, 3), TARGET, w if weighted else None,
                       t, -100, r))
    sample("nll_loss", f"planes {_reduction}", (2, 3, 4), after=lambda x, r=_reduction: (x, np.arange(8).reshape(2, 4) % 3, None,
            -100, r))
    sample("nll_loss", f"weighted planes {_reduction}", (2, 3, 2, 2), ((3,), "positive"), dtypes=FLOATS,
           after=lambda x, w, r=_reduction: (x, np.arange(8).reshape(2, 2, 2) % 3, w, 1, r))
    sample("nll_loss_backward", f"weighted planes {_reduction}", (2, 2, 2) if _reduction == "none" else (), ((3,), "positive"),
           ((), "positive"), dtypes=FLOATS,
           after=lambda g, w, t, r=_reduction: (g, (2, 3, 2, 2), np.arange(8).reshape(2, 2, 2) % 3, w, t, 1, r))
    sample("nll_loss", f"all ignored {_reduction}", (2, 3), after=lambda x, r=_reduction: (x, np.array([1, 1]), None, 1, r))
    sample("nll_loss_backward", f"planes {_reduction}", (2, 4) if _reduction == "none" else (), ((), "positive"),
           after=lambda g, t, r=_reduction: (g, (2, 3, 4), np.arange(8).reshape(2, 4) % 3, None, t, -100, r))
CONVOLUTIONS = [      # input, weight, stride, padding, dilation, groups
    ((2, 3, 5, 6), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1), ((2, 2, 5, 6), (3, 2, 3, 3), (2, 1), (1, 2), (1, 1), 1),
    ((1, 2, 7, 6), (3, 2, 3, 2), (1, 1), (1, 1), (2, 2), 1), ((2, 4, 4, 4), (6, 2, 3, 3), (1, 1), (0, 0), (1, 1), 2),
    ((2, 3, 4, 4), (5, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1), ((2, 4, 5, 5), (4, 1, 3, 3), (2, 2), (1, 1), (1, 1), 4),
    ((0, 2, 4, 4), (3, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1), ((1, 1, 3, 3), (1, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((6, 8, 12, 12), (9, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1), ((3, 1, 28, 28), (6, 1, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    ((2, 4, 9, 41), (14, 2, 3, 4), (2, 2), (1, 3), (1, 2), 2), ((2, 3, 5, 23), (3, 1, 2, 3), (1, 3), (0, 1), (2, 1), 3),
    ((1, 2, 3, 4, 20), (7, 2, 2, 2, 3), (1, 1, 1), (1, 0, 3), (2, 1, 2), 1), ((2, 2, 34), (5, 2, 5), (1,), (9,), (2,), 1), ((2, 4, 7), (6, 2, 3), (2,), (1,), (2,), 2),
    # short rows, many images; many channels, so that vectors are of images, or of taps for the gradient of the weights
    ((19, 3, 5, 6), (7, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1), ((37, 4, 9, 7), (6, 2, 3, 2), (2, 3), (1, 2), (1, 2), 2),
    ((33, 2, 3, 4, 5), (4, 2, 2, 2, 3), (1, 2, 1), (1, 0, 3), (2, 1, 2), 1), ((16, 16, 6, 6), (13, 16, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((5, 34, 4, 18), (3, 17, 1, 2), (1, 1), (0, 2), (1, 2), 2), ((2, 40, 20, 19), (9, 40, 3, 3), (1, 2), (1, 1), (1, 1), 1),
    ((2, 2, 4, 5, 6), (3, 2, 3, 2, 3), (1, 2, 1), (1, 0, 2), (1, 1, 2), 1), ((1, 1, 2, 2, 2), (1, 1, 1, 1, 1), (2, 1, 1), (1, 0, 0), (1, 1, 1), 1)]
for _x, _w, _stride, _padding, _dilation, _groups in CONVOLUTIONS:
    _out = tuple((_x[2 + i] + 2 * _padding[i] - _dilation[i] * (_w[2 + i] - 1) - 1) // _stride[i] + 1 for i in range(len(_stride)))
    _g, _label, _rest = (_x[0], _w[0], *_out), f"{_x} {_w} {_stride} {_padding} {_dilation} {_groups}", (_stride, _padding,
            _dilation, _groups)
    sample("conv", f"{_label} special", (_x, "special"), _w, after=lambda x, w, r=_rest: (x, w, *r))
    sample("conv", _label, _x, _w, dtypes=FLOATS, after=lambda x, w, r=_rest: (x, w, *r))
    sample("conv_input", _label, _g, _w, dtypes=FLOATS, after=lambda g, w, s=_x, r=_rest: (g, w, s, *r))
    sample("conv_input", f"{_label} special", _g, (_w, "special"), after=lambda g, w, s=_x, r=_rest: (g, w, s, *r))
    sample("conv_weight", f"{_label} special", _g, (_x, "special"), after=lambda g, x, s=_w, r=_rest: (g, x, s, *r))
    sample("conv_weight", _label, _g, _x, dtypes=FLOATS, after=lambda g, x, s=_w, r=_rest: (g, x, s, *r))
    if len(_stride) == 2:
        _size, _columns = _w[2:], (_x[0], _x[1] * _w[2] * _w[3], _out[0] * _out[1])
        sample("im2col", _label, _x, dtypes=(*FLOATS, "bool"), after=lambda x, a=(_size, *_rest[:3]): (x, *a))
        sample("col2im", _label, _columns, dtypes=FLOATS, after=lambda x, a=(_x, _size, *_rest[:3]): (x, *a))
# a gradient of fewer windows than there would be
sample("conv_input", "fewer windows", (1, 2, 3), (2, 1, 2), after=lambda g, w: (g, w, (1, 1, 8), (1,), (0,), (3,), 1))
sample("conv_input", "fewer windows in groups", (1, 2, 4, 4), (2, 3, 3, 3), after=lambda g, w: (g, w, (1, 6, 7, 7), (1, 1), (1, 1), (2, 2), 2))
sample("conv_weight", "fewer windows", (1, 1, 2), (1, 1, 6), after=lambda g, x: (g, x, (1, 1, 2), (1,), (0,), (1,), 1))
POOLS = [((2, 2, 4, 5), (2, 2), (2, 2), (0, 0)), ((1, 2, 5, 6), (3, 3), (2, 2), (1, 1)), ((1, 1, 5, 7), (2, 3), (2, 3), (0, 1)),
         ((0, 1, 4, 4), (2, 2), (2, 2), (0, 0)), ((2, 4, 4), (2, 2), (2, 2), (0, 0)), ((2, 3, 7), (3,), (2,), (1,)),
         ((6, 8, 12, 12), (2, 2), (2, 2), (0, 0)), ((1, 2, 70, 64), (2, 3), (1, 1), (1, 1)), ((1, 2, 6, 6), (2, 2), (1, 1), (0, 0)), ((1, 2, 3, 4, 5), (2, 2, 3), (1, 2, 2), (1, 0, 1)),
         ((2, 3, 9, 41), (3, 3), (2, 3), (1, 1)), ((1, 2, 75), (3,), (2,), (1,)), ((2, 2, 3, 19), (1, 5), (1, 4), (0, 2))]
for (_x, _size, _stride, _padding), _ceil in itertools.product(POOLS, (False, True)):
    _n = len(_size)
    _places = tuple(resampling.places(_x[i - _n], _size[i], _stride[i], _padding[i], 1, _ceil) for i in range(_n))
    for _kind in ("any", "special"):
        sample("max_pool", f"{_x} {_size} {_stride} {_padding} {_ceil} {_kind}", (_x, _kind), dtypes=FLOATS,
               after=lambda x, p=_places: (x, p))
sample("max_pool", "dilated", (1, 2, 6, 6), after=lambda x: (x, (resampling.places(6, 2, 1, 0, 2, False),) * 2))
sample("max_pool", "adaptive", (2, 5, 7), after=lambda x: (x, (resampling.adaptive(5, 3, True), resampling.adaptive(7, 4, True))))
sample("max_pool", "adaptive, long rows", (2, 5, 47), after=lambda x: (x, (resampling.adaptive(5, 3, True), resampling.adaptive(47, 20, True))))
sample("max_pool", "nothing", (2, 5, 7), after=lambda x: (x, (resampling.adaptive(5, 0, True), resampling.adaptive(7, 4, True))))
PLACES = np.array([[[[0, 3], [3, 8]], [[1, 1], [1, 15]]]])
sample("max_pool_backward", "repeats", (1, 2, 2, 2), dtypes=FLOATS, after=lambda g: (g, PLACES, (1, 2, 4, 4), 2))
sample("max_pool_backward", "volumes", (1, 2, 2, 2), dtypes=FLOATS, after=lambda g: (g, PLACES, (1, 2, 2, 8), 3))
sample("max_pool_select", "repeats", (1, 2, 4, 4), dtypes=FLOATS, after=lambda x: (x, PLACES, 2))
for _label, _taps in (("means", resampling.averages(5, 3, 2, 1, True, False, None)), ("linear", resampling.linear(5, 9, False, None, "float64")),
                      ("backward", resampling.linear(9, 5, True, None, "float32").adjoint()), ("none", resampling.adaptive(5, 0))):
    for _x, _dim in (((5,), 0), ((2, 5), 1), ((5, 3), 0), ((2, 5, 130), 1), ((0, 5), 1)):
        for _kind in ("any", "special"):
            sample("resample", f"{_label} {_x} {_kind}", (_x, _kind), dtypes=FLOATS,
                   after=lambda x, d=_dim, t=_taps: (x, d, t.starts, t.columns, t.weights))
sample("uniform", "", (1,), dtypes=("float16", *FLOATS), after=lambda x: (RandomStream(0), (3, 4), -1, 2, x.dtype))
sample("normal", "", (1,), dtypes=("float16", *FLOATS), after=lambda x: (RandomStream(0), (3, 4), 1, 2, x.dtype))
sample("poisson standard_gamma", "", ((3, 4), "positive"), dtypes=FLOATS, after=lambda x: (RandomStream(0), x))
sample("bernoulli", "", (1,), dtypes=EVERY, after=lambda x: (RandomStream(0), (3, 4), 0.3, x.dtype))
for _n in (0, 5):
    sample("permutation", f"{_n}", after=lambda n=_n: (RandomStream(n), n))
for _n in (7, 37):      # few numbers are drawn in pairs, others in blocks
    sample("normal", f"{_n}", (1,), dtypes=FLOATS, after=lambda x, n=_n: (RandomStream(n), (n,), 0, 1, x.dtype))
for _high in (1, 10, 1 << 28, 1 << 33, (1 << 62) + 5):      # a large range takes two words for each number
    sample("integers", f"{_high}", after=lambda h=_high: (RandomStream(0), (3, 4), -h // 2, h))
for _shape in ((), (0,), (3, 4), (37,)):
    sample("dropout", f"{_shape}", (_shape, "special"), dtypes=("float16", *FLOATS), after=lambda x: (RandomStream(0), x, 0.3))
    sample("dropout_backward", f"{_shape}", (_shape, "special"), _shape, dtypes=("float16", *FLOATS), after=lambda g, x: (g, np.asarray(x > 0), 0.3))

# ---- optimiser steps ---------------------------------------------------------------------------------------------
for _shape in ((), (5,), (2, 3), (130, 70), (0,)):
    for _momentum, _dampening, _decay, _nesterov, _maximize, _first in [
            (0, 0, 0, False, False, True), (0, 0, 0.1, False, True, False), (0.9, 0, 0, False, False, True), (0.9, 0.3, 0.1,
                    False, False, False),
            (0.9, 0, 0.1, True, False, True), (0.9, 0, 0, True, True, False)]:
        sample("sgd_", f"{_shape} {_momentum} {_dampening} {_decay} {_nesterov} {_maximize} {_first}", _shape, _shape, _shape,
               dtypes=FLOATS,
               after=lambda w, g, b, m=_momentum, rest=(_dampening, _decay, _nesterov, _maximize, _first): (w, g,
                       None if not m else np.full_like(b, np.nan) if rest[-1] else b, 0.1, m, *rest))
    for _step, _decay, _decoupled, _maximize, _amsgrad in [(1, 0, False, False, False), (3, 0.1, False, True, True), (2, 0.1,
            True, False, False)]:
        sample("adam_", f"{_shape} {_step} {_decay} {_decoupled} {_maximize} {_amsgrad}", _shape, _shape, _shape, (_shape,
                "positive"),
               (_shape, "positive"), dtypes=FLOATS,
               after=lambda w, g, m, v, top, s=_step, d=_decay, rest=(_decoupled, _maximize), a=_amsgrad:
                   (w, g, m, v, top if a else None, s, 0.1, 0.9, 0.99, 1e-8, d, *rest))
