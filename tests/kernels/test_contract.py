"""Every kernel of kernels/contract.py exists and keeps the conventions, and a compiled one equals its NumPy twin."""

import ast
import importlib
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad import kernels
from minigrad._core.graph.metadata import CPU
from minigrad.kernels import cpu, numpy_ref, rounding
from minigrad.kernels.contract import (
    ARRAY_FIELDS,
    CONTRACT,
    DEVICE_ARRAY_FIELDS,
    KERNEL_ATTRIBUTES,
    NUMBER,
    SOURCE_ATTRIBUTES,
    Kernels,
)
from minigrad.random._stream import RandomStream
from tests.kernels.samples import DTYPES, EVERY, FLOATS, LAYOUTS, SAMPLES, WRITABLE, laid_out, numbers
from tests.ops.cases import CASES

COMPILED = [name for name in CONTRACT if kernels.CPU.origin[name] != numpy_ref.__name__]
VIEWS = {"view", "permute", "transpose", "t", "expand", "unsqueeze", "select", "slice", "diagonal", "storage", "as_strided", "real", "imag",
         "view_as_real", "view_as_complex"}
NO_ARRAY = {"geometry", "owns", "obeys_layout", "contiguous", "by_columns", "accumulate", "class_outside", "equal",
            "number"}
MAY_RETURN_ITS_ARGUMENT = VIEWS | {"cast", "resize", "to_host", "from_host"}


# ---- the contract itself -----------------------------------------------------------------------------------


def test_both_implementations_are_complete():
    for k in (kernels.NUMPY, kernels.CPU):
        for name, number in NUMBER.items():
            kernel = getattr(k, name)       # reads it, if it is late
            assert k.table[number] is kernel


def test_the_reference_has_nothing_else():
    """numpy_ref exports the kernels of the contract, and nothing else."""
    modules = {stem: importlib.import_module(f"minigrad.kernels.numpy_ref.{stem}") for stem in numpy_ref.FILES}
    public = {name for module in modules.values() for name in module.__all__}
    assert public == set(CONTRACT)
    for stem, module in modules.items():
        assert sorted(numpy_ref.FILES[stem].split()) == sorted(module.__all__), stem
    for stem, names in cpu.FILES.items():
        module = importlib.import_module(f"minigrad.kernels.cpu.{stem}")
        twins = {name for name in CONTRACT if name in dir(module) and getattr(module, name) is not getattr(numpy_ref, name)}
        assert sorted(names.split()) == sorted(twins), stem


def test_a_late_kernel_is_read_with_its_first_use():
    read = []

    def __getattr__(name):
        read.append(name)
        return getattr(numpy_ref, name)

    late = type("Late", (), {"__name__": "late", "LATE": frozenset(CONTRACT), "__dir__": lambda self: CONTRACT, "__getattr__": lambda self, name: __getattr__(name)})()
    for k in (Kernels("toy", late), Kernels("toy", SimpleNamespace(__name__="first", mul=numpy_ref.mul), late)):
        read.clear()
        x = np.ones(2, np.float32)
        assert k.table[NUMBER["add"]](x, x).tolist() == [2.0, 2.0] and k.exp(0 * x).tolist() == [1.0, 1.0]
        assert k.add is k.table[NUMBER["add"]] is numpy_ref.add and k.exp is k.table[NUMBER["exp"]] is numpy_ref.exp
        assert read == ["add", "exp"] and k.mul(x, x).tolist() == [1.0, 1.0]
        held, k.neg = k.neg, np.abs
        assert held(x).tolist() == [1.0, 1.0] and k.neg is np.abs       # what holds the late kernel calls the one in its place


def test_a_missing_kernel_is_named():
    class Half:
        add = staticmethod(np.add)
    Half.__name__ = "half"
    with pytest.raises(TypeError, match="no source of the toy kernels has 'accumulate'"):
        Kernels("toy", Half)


def test_argument_counts():
    """Every sample passes as many arguments as the contract says."""
    for name, uses in SAMPLES.items():
        expected = len(CONTRACT[name].arguments.split(","))
        for label, make in uses:
            assert len(make("float32", "contiguous", 0)) == expected, (name, label)


def test_every_kernel_has_a_sample():
    assert set(SAMPLES) == set(CONTRACT)


# ---- attributes of kernels, fields of arrays ----------------------------------------------------------------

ROOT = Path(kernels.__file__).parents[1]
# `cholesky_inverse` looks for the first 0 of a diagonal by `argmax`, which the arrays of a GPU do not have: a known bug.
NUMPY_ALONE = {"argmax"}


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_arrays_have_the_fields_of_the_contract():
    for k in (kernels.NUMPY, kernels.CPU):
        for x in (k.full((2, 3), 1, np.dtype("float32")), k.full((), 1, np.dtype("int64")), k.view(k.empty((6,), np.dtype("bool")), (2, 3))):
            assert not [field for field in ARRAY_FIELDS if not hasattr(x, field)]
            assert x.flags.writeable


def test_the_arrays_of_a_gpu_have_the_fields_of_the_contract():
    """Read from the source: importing it would start CUDA."""
    tree = ast.parse((ROOT / "kernels/cuda/array.py").read_text("utf-8"))
    cls = next(item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == "CudaArray")
    found = {item.name for item in cls.body if isinstance(item, ast.FunctionDef)}
    found |= {item.attr for item in ast.walk(cls) if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store)}
    assert (ARRAY_FIELDS.keys() | DEVICE_ARRAY_FIELDS.keys()) - found == set()


def test_the_core_and_the_ops_read_only_these_fields():
    read = {field for path in sources("_core", "ops") for field in re.findall(r"_array\.(\w+)", path.read_text("utf-8"))}
    assert read - ARRAY_FIELDS.keys() - DEVICE_ARRAY_FIELDS.keys() == NUMPY_ALONE


def test_attributes_of_kernels():
    """Kernels carry only attributes that the contract lists, and `Kernels` reads no others."""
    asked = re.findall(r"getattr\(found, \"(\w+)\"", (ROOT / "kernels/contract.py").read_text("utf-8"))
    assert set(asked) == KERNEL_ATTRIBUTES.keys()
    for path in sources("kernels"):
        for item in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store) and isinstance(item.value, ast.Name) and item.value.id == "kernel":
                assert item.attr in KERNEL_ATTRIBUTES or item.attr.startswith("__"), f"{path.name}: kernel.{item.attr}"


def test_kernels_that_write_in_place_take_out():
    for k in (kernels.NUMPY, kernels.CPU):
        for name, signature in CONTRACT.items():
            in_place = getattr(getattr(k, name), "in_place", None)
            if in_place is not None:
                x, out = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
                args = [0.5 if word in ("w", "value") else x for word in signature.arguments.split(", ")]
                expected = getattr(k, name)(*args)
                in_place(*args, out)
                np.testing.assert_array_equal(out, expected, err_msg=name)
    tree = ast.parse((ROOT / "kernels/cuda/elementwise/elementwise.py").read_text("utf-8"))
    inner = [item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef) and item.name == "kernel"]
    assert inner and {item.args.args[-1].arg for item in inner} == {"out"}


def test_attributes_of_sources():
    for source in (numpy_ref, *cpu.SOURCES):
        assert source.__name__.startswith("minigrad.kernels.") and getattr(source, "LATE", set()) <= CONTRACT.keys()
    assert (kernels.CPU.recycle is None) == (not any(hasattr(source, "RECYCLE") for source in cpu.SOURCES))
    assert {"__name__", "LATE", "RECYCLE"} == SOURCE_ATTRIBUTES.keys()


# ---- results -----------------------------------------------------------------------------------------


def run(kernel, args):
    """(result, exception class) of a call."""
    try:
        return kernel(*args), None
    except Exception as error:
        return None, type(error)


def arrays_in(args):
    return [a for arg in args for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, np.ndarray)]


def close(found, expected, what):
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected), what
        for f, e in zip(found, expected):
            close(f, e, what)
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray), f"{what}: {type(found)}, an array was expected"
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
        single = found.dtype in (np.float32, np.complex64)
        rtol = 1e-5 if single else 2e-3 if found.dtype == np.float16 else 1e-11
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1) if expected.dtype.kind in "fc" else 1
        # two float32 roundings more than here: other processors have no instruction that multiplies and adds at once
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=min(scale, 1e4) * rtol / 5, err_msg=what)
    else:
        assert found == expected and type(found) is type(expected), f"{what}: {found!r}, expected {expected!r}"


def uses(name):
    """The calls to try: every sample in every dtype, contiguous and in two other layouts; in all layouts if there are few samples."""
    layouts = WRITABLE if name.endswith("_") or name == "accumulate" else LAYOUTS
    others = layouts[1:]
    for number, (label, make) in enumerate(SAMPLES[name]):
        for dtype in DTYPES.get(name, FLOATS):
            if "special" in label and np.dtype(dtype).kind not in "fc":
                continue        # integers have no nan and no inf
            chosen = [others[(number + i) % len(others)] for i in (0, 3)] if len(SAMPLES[name]) > 20 else others
            for layout in (layouts[0], *chosen):
                yield f"{name} {label} {dtype} {layout}", lambda d=dtype, at=layout, m=make, n=number: m(d, at, n)


def ours(name, args):
    """(result, exception class) of the CPU's kernel for these arguments."""
    return run(getattr(kernels.ROUNDING if has_half(args) else kernels.CPU, name), args)


def expected(name, args):
    """(result, exception class) of the reference. If it computes with float16, it gets float32, and the result is rounded."""
    kernel = getattr(kernels.NUMPY, name)
    if name in rounding.UNCHANGED or name in ("accumulate", "nan_to_num") or not has_half(args):
        return run(kernel, args)
    wide = replace_arrays(args, lambda x: x.astype(np.float32) if x.dtype == np.float16 else x)
    result, error = run(kernel, wide)
    if name.endswith("_"):
        args[0][...] = wide[0]
    with np.errstate(over="ignore"):
        rounded = [x.astype(np.float16) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x
                   for x in (result if isinstance(result, tuple) else (result,))]
    return tuple(rounded) if isinstance(result, tuple) else rounded[0], error


def has_half(args):
    return any(x.dtype == np.float16 for x in arrays_in(args))


@pytest.mark.parametrize("name", COMPILED)
def test_twins_agree(name):
    """Compare values with nan and inf, dtype, shape, and for views the strides. Each kernel gets its own arguments."""
    for what, make in uses(name):
        mine, theirs = make(), make()
        right, error = expected(name, theirs)
        found, failed = ours(name, mine)
        assert failed is error, f"{what}: raises {failed}, the reference {error}"
        close(found, right, what)
        for a, b in zip(arrays_in(mine), arrays_in(theirs)):
            close(a, b, f"argument of {what}")
        if name == "copy_with_layout" and error is None:
            assert [s for s, n in zip(found.strides, found.shape) if n > 1] == [s for s, n in zip(right.strides, right.shape) if n > 1], what
        if name in VIEWS and right is not None and right.size:
            assert found.strides == right.strides, what
            assert found.flags.writeable == right.flags.writeable, what


def replace_arrays(args, place):
    """The arguments with each array `x` replaced by `place(x)`."""
    return [[b if b is None else place(b) for b in a] if isinstance(a, list) else place(a) if isinstance(a, np.ndarray) else a for a in args]


def shifted(x, by):
    """A copy of `x` that starts `by` elements after a fresh block's start."""
    out = np.empty(x.size + by, x.dtype)[by:].reshape(x.shape)
    out[...] = x
    return out


@pytest.mark.parametrize("name", [name for name in COMPILED if name != "storage"])     # which shows what is around its argument
def test_the_place_in_memory_changes_no_bit(name):
    """A loop's wide, narrow and single instructions must round alike; otherwise running backward twice gives two results.

    Which of them run depends on the addresses of the arrays, and on whether the result is so near an argument that they might
    overlap. So we shift some arrays, and free every second one of a row of copies, so that results take their places. All are
    row-major: sums of another layout add up in another order.
    """
    kernel = getattr(kernels.CPU, name)
    for (label, make), seed in itertools.product(SAMPLES[name], range(4)):
        for dtype in {"float32", "float64"} & set(DTYPES.get(name, FLOATS)):
            args = make(dtype, "contiguous", seed)
            if not any(a.dtype == dtype for a in arrays_in(args)) or isinstance(args[0], RandomStream):     # each call draws others
                continue
            crowd = sorted((replace_arrays(args, np.ndarray.copy) for _ in range(24)), key=lambda moved: arrays_in(moved)[0].ctypes.data)
            del crowd[::2]
            crowd[:0] = [replace_arrays(args, lambda x, by=by: shifted(x, by)) for by in range(4)]
            seen, held = set(), []
            for moved in reversed(crowd):
                result, _ = run(kernel, moved)
                held.append(result)
                results = moved if name.endswith("_") else result if isinstance(result, tuple) else (result,)
                seen.add(b"".join(z.tobytes() for z in arrays_in(results)))
            assert len(seen) == 1, f"{name} {label} {dtype}: {len(seen)} results"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_conventions(name):
    """Results are arrays, even if they are 0-d. Arguments do not change. Views share memory, and other results do not."""
    for what, make in uses(name):
        args, before = make(), make()
        result, error = ours(name, args)
        if error is not None:
            assert issubclass(error, (ValueError, TypeError, IndexError)), what
            continue
        if name.endswith("_"):
            assert result is None, what
        elif name not in NO_ARRAY and result is not None:
            for z in result if isinstance(result, tuple) else (result,):
                assert type(z) is np.ndarray, f"{what}: {type(z)}"
                if name not in MAY_RETURN_ITS_ARGUMENT:
                    assert not any(np.may_share_memory(z, a) for a in arrays_in(args)), f"{what} shares memory with an argument"
                elif name in VIEWS and name != "as_strided" and z.size and args[0].size:
                    assert np.shares_memory(z, args[0]), f"{what} is no view"
        written = 1 if name.endswith("_") or name == "accumulate" else 0
        if name in ("sgd_", "adam_"):
            continue
        for a, b in list(zip(arrays_in(args), arrays_in(before)))[written:]:
            np.testing.assert_array_equal(a, b, err_msg=f"{what} changed its argument")


def test_values_may_share_the_memory_that_they_are_written_to():
    """They are read before anything is written."""
    for k in (kernels.NUMPY, kernels.CPU):
        x = np.arange(6.0)
        k.index_put_(x, [np.array([1, 2, 3])], x[:3], False)
        assert x.tolist() == [0, 0, 1, 2, 4, 5]
        k.index_put_(x, [np.array([0, 1, 2])], x[2::-1], False)
        assert x.tolist() == [1, 0, 0, 2, 4, 5]


def test_elementwise_keeps_the_dtype():
    for name in ("add", "sub", "mul", "maximum", "neg", "relu"):
        for dtype in ("float16", "float32", "float64", "int32", "int64"):
            args = [np.ones(3, dtype)] * (1 if name in ("neg", "relu") else 2)
            assert getattr(kernels.CPU, name)(*args).dtype == dtype, name


def test_bad_shapes_raise_value_error():
    for k in (kernels.NUMPY, kernels.CPU):
        for name, shapes in (("add", ((2, 3), (2, 4))), ("mul", ((3,), (2,))), ("div", ((2, 2), (3,))), ("matmul", ((2, 3), (4,
                2))),
                             ("addmm", ((5,), (2, 3), (3, 4))), ("add_", ((2, 3), (4,)))):
            with pytest.raises(ValueError):
                getattr(k, name)(*[np.ones(s, np.float32) for s in shapes])


@pytest.mark.parametrize("shape, dims", [((3,), (-1, 0)), ((2, 3), (0, 0)), ((2, 3), (0, 2)), ((2, 3), (-2, -1)), ((), (0, 1))])
def test_no_diagonal_beyond_memory(shape, dims):
    """differences/K-07: NumPy's `as_strided` checks nothing."""
    with pytest.raises(ValueError):
        kernels.CPU.diagonal(np.ones(shape, np.float32), 0, *dims)


# ---- the ops on the other kernels ------------------------------------------------------------------------


@pytest.fixture
def on_numpy():
    before = CPU.backend.use(kernels.NUMPY)
    yield
    CPU.backend.use(before)


def outcome(case, dtype):
    xs = [mg.tensor(a).requires_grad_() for a in case.arrays(dtype)]
    z = case.run(mg, *xs)
    grads = mg.autograd.grad(z.sum(), xs, allow_unused=True) if z.requires_grad else [None] * len(xs)
    return [z.detach().numpy(), *[None if g is None else g.numpy() for g in grads]]


def _runs_in_float32(case):
    return not {"float64", "double"} & set(case.run.__code__.co_names)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_ops_on_both(case, dtype):
    """The case table of the ops: the same values and gradients on the compiled kernels and on NumPy's."""
    if dtype is np.float32 and not _runs_in_float32(case):
        dtype = np.float64
    ours = outcome(case, dtype)
    before = CPU.backend.use(kernels.NUMPY)
    try:
        theirs = outcome(case, dtype)
    finally:
        CPU.backend.use(before)
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None)
        if b is not None:
            close(np.asarray(a), np.asarray(b), case.name)


def test_use_swaps_all_kernels(on_numpy):
    assert CPU.backend.kernels is kernels.NUMPY and CPU.backend.table is kernels.NUMPY.table
    for name in ("accumulate", "copy_", "view"):
        assert getattr(CPU.backend, name) is getattr(kernels.NUMPY, name)
    assert CPU.backend.recycle is None
    x = mg.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


# ---- the samples are what they claim -------------------------------------------------------------------------


def test_layouts_differ():
    x = np.arange(12.0).reshape(3, 4)
    for layout in LAYOUTS:
        y = laid_out(x, layout)
        np.testing.assert_array_equal(y, np.broadcast_to(x[:1], x.shape) if layout == "broadcast" else x)
    assert laid_out(x, "negative").strides[1] < 0
    assert laid_out(x, "broadcast").strides[0] == 0
    assert not laid_out(x, "unaligned").flags.aligned
    assert not laid_out(x, "readonly").flags.writeable
    assert np.isnan(numbers((50,), "float32", np.random.default_rng(0), "special")).any()
    assert set(DTYPES) <= set(SAMPLES) and all(set(d) <= set(EVERY) for d in DTYPES.values())


def test_no_kernel_has_the_name_of_a_file():
    """Importing a file of a package makes its name an attribute of the package, which would hide the kernel."""
    folder = ROOT / "kernels"
    names = {path.stem for device in ("cpu", "numpy_ref", "meta") for path in (folder / device).iterdir() if path.suffix in (".py", ".pyx")}
    assert not names & set(CONTRACT)
