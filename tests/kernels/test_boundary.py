"""Each argument of every kernel is replaced by a wrong one: no call crashes, and C raises where its twin in NumPy raises.

The calls run in another process, with bounded memory, because a call could crash it. The process prints each call before it makes
it, so that the last line names the call that crashed. What kernels check, and why: minigrad/kernels/README.md, "What a kernel checks".
"""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minigrad import kernels
from minigrad.kernels import numpy_ref
from tests.kernels.samples import SAMPLES
from tests.limits import bound_memory

COMPILED = sorted(name for name in SAMPLES if kernels.CPU.origin[name] != numpy_ref.__name__)
PARTS = 4
USES = 3                # samples of each kernel
MEMORY = 4 << 30        # bytes of addresses
FAR = 1 << 62

WRONG = {
    "None": lambda a: None, "str": lambda a: "x", "object": lambda a: object(), "list": lambda a: [a], "-1": lambda a: -1, "7": lambda a: 7,
    "2^62": lambda a: FAR, "-2^62": lambda a: -FAR, "2^64": lambda a: 1 << 64, "nan": lambda a: float("nan"), "1.5": lambda a: 1.5,
    "empty tuple": lambda a: (), "far tuple": lambda a: (FAR, FAR), "long tuple": lambda a: (1,) * 65, "tuple of None": lambda a: (None,),
    "another": lambda a: np.ones((2, 3), np.float32), "0-d": lambda a: np.array(1.0), "empty": lambda a: np.zeros(0),
    "64 dims": lambda a: np.ones((1,) * 64), "objects": lambda a: np.array([None, 1]), "far indices": lambda a: np.array([FAR, -FAR, 7]),
}
# Changes to an array that fits.
CHANGED = {
    "shorter": lambda a: a.reshape(-1)[: a.size // 2].copy(), "longer": lambda a: np.concatenate([a.reshape(-1)] * 2),
    "one dim more": lambda a: a[None], "rows cut": lambda a: a[:-1] if a.ndim else a, "other shape": lambda a: np.ones([n + 1 for n in a.shape], a.dtype),
    "float16": lambda a: a.astype(np.float16), "int64": lambda a: a.astype(np.int64), "bool": lambda a: a.astype(bool),
    "complex": lambda a: a.astype(np.complex64), "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "expanded": lambda a: np.broadcast_to(a.reshape(-1)[:1].reshape(()), a.shape) if a.size else a,
    "beyond": lambda a: a + 1000 if a.dtype.kind in "iu" else a, "before": lambda a: a - 1000 if a.dtype.kind == "i" else a,
}


def variants(args):
    """(label, arguments), with one of them replaced each time."""
    for i, good in enumerate(args):
        for label, make in WRONG.items():
            yield f"argument {i} {label}", (*args[:i], make(good), *args[i + 1:])
        if isinstance(good, np.ndarray) and good.dtype.kind in "fiubc":
            for label, make in CHANGED.items():
                yield f"argument {i} {label}", (*args[:i], make(good), *args[i + 1:])


def outcome(kernel, args):
    """What came of a call: its numbers, read to the last, or its error."""
    try:
        result = kernel(*args)
    except Exception as error:
        return error
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.array(part) if isinstance(part, np.ndarray) and part.size < 1 << 20 else None for part in parts]


def calls(part):
    """(name, label, a function that makes equal arguments each time) of one part of the kernels."""
    for name in COMPILED[part::PARTS]:
        uses = SAMPLES[name]
        for label, make in uses[:: max(1, len(uses) // USES)][:USES]:
            for dtype in ("float32", "int64") if name in ("cast", "copy_", "view", "cat") else ("float32",):
                yield name, label, lambda make=make, dtype=dtype: make(dtype, "contiguous", 0)


def main(part):
    """Make the calls; print those where C accepts arguments that NumPy refuses."""
    bound_memory(MEMORY)
    wrong, count = [], 0
    with np.errstate(all="ignore"):
        for name, use, make in calls(part):
            for (label, args), (_, others) in zip(variants(make()), variants(make())):
                print(f"{name} {use}, {label}", file=sys.stderr, flush=True)
                found = outcome(getattr(kernels.CPU, name), args)
                count += 1
                if label.split(maxsplit=2)[2] in CHANGED and not isinstance(found, Exception) and isinstance(
                        expected := outcome(getattr(kernels.NUMPY, name), others), Exception):
                    wrong.append(f"{name} {use}, {label}: {str(found)[:60]}, NumPy: {expected!r:.100}")
    print(json.dumps([count, wrong]))


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a process cannot be bounded")
@pytest.mark.skipif(not COMPILED, reason="interpreted, all kernels are NumPy's")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_kernel_crashes(part):
    """differences/K-01, K-02, K-03: a kernel in C checks all that it will address."""
    done = subprocess.run([sys.executable, "-c", f"from tests.kernels.test_boundary import main; main({part})"], timeout=600,
                          cwd=Path(__file__).parents[2], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}, in {done.stderr[-500:]}"
    count, wrong = json.loads(done.stdout.splitlines()[-1])
    assert count > 1000
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:40])


def test_all_uses_have_variants():
    """Every sample has arguments that can be replaced."""
    for name, _, make in itertools.chain(*[calls(part) for part in range(PARTS)]):
        assert next(variants(make())), name
