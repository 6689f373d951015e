"""The launch of a kernel: its arguments, the choice of the compiled function, and its cache. Needs no GPU."""

import os
import shutil
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from minigrad._build import pure as _pure
from minigrad.kernels.cuda.array import Block, CudaArray, Statistics, Typed
from minigrad.kernels.cuda.runtime import specialise
from minigrad.kernels.cuda.runtime.launch import pack_arguments
from minigrad.kernels.cuda.runtime.streams import SIMULATED

# A driver that writes down what it is asked for. A function of it is the number of words that a kernel takes.
DRIVER = """
#include <stdint.h>
#include <stdlib.h>
uint64_t last[200];
int cuCtxSetCurrent(void *context) { return 0; }
int cuMemAllocAsync(uint64_t *p, size_t n, void *stream) { *p = (uint64_t)malloc(n); return n > 1000000 ? 2 : 0; }
int cuMemFreeAsync(uint64_t p, void *stream) { free((void *)p); return 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **words, void **extra) {
    for (uint64_t i = 0; i < (uint64_t)function; i++) last[i] = *(uint64_t *)words[i];
    return gx * bx == 35 ? 0 : 1;
}
"""

PROGRAM = """
import ctypes, sys
import numpy as np
from minigrad.kernels.cuda import quick
from minigrad.kernels.cuda.runtime import streams
from minigrad.kernels.cuda.array import Statistics
from minigrad.kernels.cuda.runtime.launch import pack_arguments

class Device:
    index, context, statistics = 0, 5, Statistics()

class Stream:
    handle = 0

device = Device()
streams._current.__dict__[0] = Stream()
quick.pool_of = lambda index: None
library = ctypes.CDLL("libcuda.so.1")
x, y = quick.empty_array((3, 4), np.dtype("f4"), device), quick.empty_array((5,), "c16", device)
assert x.shape == (3, 4) and x.strides == (16, 4) and x.flags.c_contiguous and x.start == 0 and y.dtype == np.complex128
assert device.statistics.allocated == 128
references = sys.getrefcount(np.dtype("f4"))

def check(*args):
    types, words = pack_arguments(args)
    asked = []
    quick.function_for = lambda kernel, key, on: (asked.append(key), len(words))[1]
    quick.launch(object(), 5, 7, device, *args)
    assert asked == [types]
    assert list((ctypes.c_uint64 * 200).in_dll(library, "last")[:len(words)]) == [w & 0xFFFFFFFFFFFFFFFF for w in words]

check(1, -2, True, (3, -4, 5), x, y, x.block.of(np.dtype("f4")), x.make_view(x.layout[1:, 2]))
check(np.float32(1.5), np.float64(2.5), np.int64(-7), np.uint8(3), np.complex64(1 + 2j), np.complex128(3 - 4j), np.float16(1), np.True_)
for _ in range(100):
    check(x, quick.empty_array((3, 4), np.dtype("f4"), device))
assert sys.getrefcount(np.dtype("f4")) == references
for wrong, class_ in (("x", TypeError), (None, TypeError), (1 << 70, OverflowError), ((1,) * 200, ValueError)):
    try:
        quick.launch(object(), 5, 7, device, wrong)
    except class_:
        continue
    raise AssertionError(wrong)

# `empty_like` and `alike`: views of one array against each other, with NumPy's word for where they lie
f4 = np.dtype("f4")
whole = quick.empty_array((4, 4, 2), f4, device)
views = [whole.make_view(of(whole.layout)) for of in (
    lambda a: a, lambda a: a.transpose(2, 0, 1), lambda a: a.T, lambda a: a[::2], lambda a: a[:, :, 0], lambda a: a[0],
    lambda a: a[..., None], lambda a: np.broadcast_to(a[:1], (4, 4, 2)))]
for v in views:
    if v.flags.c_contiguous or v.size == whole.size and v.base is not None and 0 not in v.strides:
        z = quick.empty_like(v, np.dtype("f8"))
        assert z.shape == v.shape and z.dtype == np.float64
        assert all(n == 1 or s == 2 * t for n, s, t in zip(v.shape, z.strides, v.strides))
        assert quick.alike(z, [v]) and quick.alike(v, [z, v])
    for w in views:
        same = v.shape == w.shape and v.strides == w.strides
        gaps = len({sum(i * s for i, s in zip(at, v.strides)) for at in np.ndindex(v.shape)}) != v.size or (
            v.size and max(sum((n - 1) * s for n, s in zip(v.shape, v.strides)), 0) // 4 + 1 != v.size)
        assert quick.alike(v, [w]) == (same and not gaps), (v, w)
del x, y, v, w, z, whole, views
assert device.statistics.allocated == 0 and device.statistics.most >= 128
print("done")
"""


@pytest.mark.skipif(_pure.PURE or shutil.which("gcc") is None or sys.platform != "linux" or not SIMULATED,
                    reason="compares the compiled launch with its twin, on a driver that gcc makes: where there is no other")
def test_what_the_driver_is_given(tmp_path):
    (tmp_path / "driver.c").write_text(DRIVER)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", tmp_path / "driver.c"], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def array(dtype):
    class Device:
        statistics = Statistics()
    block = Block(4096, 64, Device(), None, Typed)
    return CudaArray(block, np.empty(64 // np.dtype(dtype).itemsize, dtype))


def test_what_is_written_down():
    x = array("f4")
    x = x.make_view(np.asarray(type("A", (), {"__array_interface__": {"data": (4096 + 8, False), "shape": (2,), "typestr": "<f4", "version": 3}})))
    assert pack_arguments([x]) == (b"afi", [0, 0, 16, 4, 4096, 16, 4, 2])
    assert pack_arguments([x.block.of(np.dtype("f8"))]) == (b"ad", [0, 0, 8, 8, 4096, 8, 8])
    assert pack_arguments([7, True, (1, 2)]) == (b"iit\x02", [7, 1, 1, 2])
    assert pack_arguments([np.complex64(1)]) == (b"sF", [0x3F800000, 0])
    with pytest.raises(TypeError, match=r"a kernel cannot be given a float: 1\.5"):
        pack_arguments([1.5])


# ---- which function it is -------------------------------------------------------------------------------


def made(f, n):
    def kernel(x):
        for i in range(n):
            x[i] = f(x[i])
    return kernel


def test_a_kernel_is_what_it_is_compiled_from():
    """Not where it is written, nor when: the same lines with another function or number in their closure are another kernel."""
    def double(x):
        return x * 2
    same = [specialise.fingerprint(made(double, 3)), specialise.fingerprint(made(double, 3)),
            specialise.fingerprint(made(lambda x: x * 2, 3))]
    assert len(set(same[:2])) == 1
    others = [specialise.fingerprint(made(f, n)) for f, n in ((lambda x: x * 3, 3), (double, 4), (lambda x: x + 2, 3))]
    assert len({same[0], *others}) == 4


def test_the_same_in_another_process():
    program = textwrap.dedent("""
        from minigrad.kernels.cuda.elementwise import elementwise, expressions
        from minigrad.kernels.cuda.runtime import specialise
        import numpy as np
        kernel = elementwise.two(elementwise.device_function(expressions.TWO["relu_backward"].f), np.float32)[0]
        print(specialise.fingerprint(getattr(kernel, "py_func", None) or kernel.fn))
    """)
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    found = {subprocess.run([sys.executable, "-c", program], env={**environment, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
                            check=True).stdout for seed in "12"}
    assert len(found) == 1 and len(found.pop()) == 65


# ---- the cache ----------------------------------------------------------------------------------------


class Kernel:
    """As numba has them, for what specialise.py asks of them."""

    targetoptions = {}
    compiled = 0

    def __init__(self):
        self.py_func = made(abs, 2)

    def compile(self, types):
        Kernel.compiled += 1
        code = type("Code", (), {"code": b"machine code"})
        function = type("Function", (), {"handle": 42})
        return type("Compiled", (), {"entry_name": "entry", "_codelibrary": type("Library", (), {
            "get_cubin": staticmethod(lambda: code), "get_cufunc": staticmethod(lambda: function)})})


def test_compiled_once(tmp_path, monkeypatch):
    device = type("Device", (), {"index": 0})
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "new"))
    monkeypatch.setattr(specialise, "versions", lambda index: "compiler 1 sm_90")
    monkeypatch.setattr(specialise, "load_function", lambda code, entry: (code, entry))
    monkeypatch.setattr(Kernel, "compiled", 0)
    assert specialise.function_for(Kernel(), b"afi", device) == 42
    assert specialise.function_for(Kernel(), b"afi", device) == (b"machine code", "entry")
    assert specialise.function_for(Kernel(), b"adi", device) == 42
    assert len(list((tmp_path / "new").iterdir())) == 2 and Kernel.compiled == 2
    monkeypatch.setattr(specialise, "versions", lambda index: "compiler 2 sm_90")
    assert specialise.function_for(Kernel(), b"afi", device) == 42


@pytest.mark.parametrize("folder", ["", "/proc/nowhere"])
def test_where_nothing_can_be_kept(folder, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE", folder)
    monkeypatch.setattr(specialise, "versions", lambda index: "")
    monkeypatch.setattr(Kernel, "compiled", 0)
    for _ in range(2):
        assert specialise.function_for(Kernel(), b"afi", type("Device", (), {"index": 0})) == 42
    assert Kernel.compiled == 2


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_the_folder_of_compiled_kernels(tmp_path):
    """differences/F-02: made for its user alone; one that others may write to is not used."""
    made = tmp_path / "cache" / "minigrad"
    assert specialise.prepare_folder(made) and stat.S_IMODE(made.stat().st_mode) == 0o700
    for mode, trusted in ((0o755, True), (0o775, False), (0o707, False), (0o777, False)):
        made.chmod(mode)
        assert specialise.prepare_folder(made) is trusted
    (tmp_path / "file").touch()
    assert not specialise.prepare_folder(tmp_path / "file") and not specialise.prepare_folder(tmp_path / "file" / "below") and not specialise.prepare_folder(None)
