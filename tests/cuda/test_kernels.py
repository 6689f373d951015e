"""Every GPU kernel equals its NumPy twin: values, dtype, shape, and the memory of views."""

import ctypes
import inspect

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.contract import CONTRACT
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.runtime.memory import ArrayInterface, from_host
from minigrad.kernels.cuda.runtime.missing import Missing
from tests.kernels.samples import DTYPES, FLOATS, SAMPLES
from tests.kernels.test_contract import VIEWS, WRITABLE, close
from tests.kernels.test_contract import expected as reference

DEVICE = mg.device("cuda")
CUDA = DEVICE.backend.kernels
PRESENT = [name for name in CONTRACT if CUDA.origin[name] != Missing.__name__]
MOST = 10       # calls of a kernel that are tried, of the many that the CPU's are: the simulator needs milliseconds for each
LAYOUTS = ["contiguous", "transposed", "sliced", "broadcast", "negative"]
RANDOM = {"uniform", "normal", "bernoulli", "dropout"}     # have numbers of their own: test_randoms.py


def on_gpu(arg):
    """An argument as the kernels of a GPU take it, with the same strides."""
    if isinstance(arg, list):
        return [on_gpu(a) for a in arg]
    if isinstance(arg, tuple) and any(isinstance(a, np.ndarray) for a in arg):
        return tuple(on_gpu(a) for a in arg)
    if not isinstance(arg, np.ndarray):
        return arg
    if any(s % arg.itemsize for s in arg.strides):
        return from_host(np.ascontiguousarray(arg), DEVICE)
    low, high = np.lib.array_utils.byte_bounds(arg)
    span = np.array((ctypes.c_uint8 * max(high - low, 1)).from_address(low)) if arg.size else np.zeros(1, np.uint8)
    raw = from_host(span, DEVICE)
    start = raw.address + (arg.__array_interface__["data"][0] - low if arg.size else 0)
    whole = np.asarray(ArrayInterface(start, arg.shape, arg.dtype, arg.strides))
    return CudaArray(raw.block, whole, None if arg.base is None else raw)


def on_cpu(result):
    if isinstance(result, tuple):
        return tuple(on_cpu(r) for r in result)
    return CUDA.to_host(result) if isinstance(result, CudaArray) else result


def calls(name):
    found = []
    layouts = [layout for layout in LAYOUTS if layout in WRITABLE or not (name.endswith("_") or name == "accumulate")]
    if name == "resize":        # which shows what lies in the gaps of others
        layouts = layouts[:1]
    for number, (label, make) in enumerate(SAMPLES[name]):
        for d, dtype in enumerate(DTYPES.get(name, FLOATS)):
            if "special" in label and np.dtype(dtype).kind not in "fc":
                continue
            layout = layouts[(number + d) % len(layouts)]
            found.append((f"{name} {label} {dtype} {layout}", lambda d=dtype, at=layout, m=make, n=number: m(d, at, n)))
    step = max(len(found) // MOST, 1)
    return found[::step]


@pytest.mark.parametrize("name", [name for name in PRESENT if name not in {"empty", "geometry", "storage", "from_host", *RANDOM}])
def test_twins_agree(name, record_property):
    ours = getattr(CUDA, name)
    ran = 0
    for what, make in calls(name):
        theirs = make()
        mine = tuple(on_gpu(a) for a in make())
        expected, error = reference(name, theirs)
        try:
            found = ours(*mine)
        except NotImplementedError:
            record_property("refused", name)
            continue
        except Exception as failed:
            assert error is not None, f"{what}: {failed!r}"
            continue
        assert error is None, f"{what}: {error} is not raised"
        numbers = on_cpu(found)
        if name == "conv_input" and not np.isfinite(theirs[1]).all():       # which multiplies zeros around the gradient
            expected = np.where(np.isnan(numbers), numbers, expected)
        close(numbers, expected, what)
        for a, b in zip(mine, theirs):
            if isinstance(a, CudaArray):
                close(CUDA.to_host(a), b, f"argument of {what}")
        if name in VIEWS and expected is not None and expected.size:
            assert found.strides == expected.strides, what
        ran += 1
    assert ran, "nothing was compared"


def test_no_other_name_hides_a_kernel():
    """Modules of kernels import functions of each other, and one of those may be called like a kernel of the contract."""
    for name in PRESENT:
        parameters = [p.kind for p in inspect.signature(getattr(CUDA, name)).parameters.values() if p.default is p.empty]
        assert inspect.Parameter.VAR_POSITIONAL in parameters or len(parameters) == len(CONTRACT[name].arguments.split(",")), name
        assert inspect.isfunction(getattr(CUDA, name)) or inspect.ismethod(getattr(CUDA, name)), name


def test_what_is_missing_says_so():
    for name in CONTRACT:
        if name not in PRESENT:
            with pytest.raises(NotImplementedError, match="not implemented for 'cuda'"):
                getattr(CUDA, name)()
