"""The configuration of this installation: mode, versions, threads, devices.

`show_config` returns it as text; ``python -m minigrad.doctor`` prints it, with the problems and their fixes.

Mirrors ``torch.__config__``.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import numpy as np

from minigrad import kernels
from minigrad._build import DISTRIBUTION, pure
from minigrad._version import __version__
from minigrad.kernels import flags

__all__ = ["are_deterministic_algorithms_enabled", "get_num_threads", "set_num_threads", "show_config",
           "use_deterministic_algorithms"]

try:
    from minigrad.kernels.cpu import threads as _threads  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:     # interpreted, or not compiled
    _threads = None


def available_cpus():
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


UNTESTED = (3, 16)      # the first Python that `make test-pythons` does not know
MOST_THREADS = 1024     # which OpenMP and BLAS can still start
_number = available_cpus()
if _threads is not None:
    _threads.set_num_threads(_number)


def set_num_threads(n: int) -> None:
    """Set the number of threads for large arrays; for BLAS too, if the package threadpoolctl is installed.

    Without threadpoolctl set OPENBLAS_NUM_THREADS before Python starts. Mirrors ``torch.set_num_threads``.

    Raises:
        RuntimeError: `n` is not positive.
        TypeError: `n` is not an int.

    >>> mg.set_num_threads(1); mg.get_num_threads()
    1
    """
    global _number
    if not isinstance(n, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _number = n = min(n, MOST_THREADS)
    if _threads is not None:
        _threads.set_num_threads(n)
    if importlib.util.find_spec("threadpoolctl") is not None:
        import threadpoolctl
        threadpoolctl.threadpool_limits(n, "blas")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Set whether all ops must give the same bits in every run on the same machine.

    On a GPU, additions by index (`scatter_add`, `index_add`, `index_put` with accumulate, the gradients of `embedding`, `gather`
    and pooling) are atomic and run in any order; with `mode` they are sorted first, which takes longer. All other ops, and all
    ops on the CPU, are always deterministic, so nothing is refused and `warn_only` changes nothing.

    Mirrors ``torch.use_deterministic_algorithms``.

    >>> mg.use_deterministic_algorithms(True)
    >>> mg.are_deterministic_algorithms_enabled()
    True
    >>> mg.use_deterministic_algorithms(False)
    """
    flags.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms(True)` is in effect. Mirrors ``torch.are_deterministic_algorithms_enabled``.

    >>> mg.are_deterministic_algorithms_enabled()
    False
    """
    return flags.deterministic


def get_num_threads() -> int:
    """Return the number of threads that large arrays are divided among. Mirrors ``torch.get_num_threads``.

    >>> mg.get_num_threads() > 0
    True
    """
    return _number


def version_of(package):
    """The installed version of a package, or None."""
    from importlib import metadata  # 15 ms: not at every import of minigrad
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def facts():
    """The configuration as pairs (name, value)."""
    import platform
    openmp = _threads is not None and _threads.has_openmp()
    compiled = sum(source != "minigrad.kernels.numpy_ref" for source in kernels.CPU.origin.values())
    mode = {"compiled": "compiled: the engine, the usual rules and the CPU kernels are extension modules",
            "interpreted": "interpreted: pure Python and NumPy" + (
                " (the GIL is forced off)" if pure.WITHOUT_GIL else " (MINIGRAD_PURE=1)" if pure.PURE else ""),
            "mixed": "mixed: some modules are compiled, some are not"}[pure.mode()]
    extras = [f"{name} {version_of(name)}" for name in ("safetensors", "threadpoolctl", "matplotlib", "pygraphviz", "torch")
              if version_of(name)]
    return [
        ("minigrad", __version__),
        ("mode", mode),
        ("kernels", f"{compiled} of {len(kernels.CPU.origin)} in C, the rest in NumPy"),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *([("GIL", gil())] if pure.FREE_THREADED else []),
        ("NumPy", np.__version__),
        ("Cython", version_of("cython") or "not installed"),
        ("threads", f"{get_num_threads()} of {available_cpus()} processors, " + ("OpenMP" if openmp else "no OpenMP")),
        ("CUDA", cuda()),
        ("found", ", ".join(extras) or "none of the optional packages"),
    ]


def gil():
    """On a free-threaded Python: whether the GIL is on, and why."""
    if not sys._is_gil_enabled():       # pyright: ignore[reportAttributeAccessIssue]
        return "off: threads run in parallel"
    if sys.flags.gil == 1:              # pyright: ignore[reportAttributeAccessIssue]
        return "on, as PYTHON_GIL=1 or -X gil=1 asks"
    if pure.mode() == "interpreted":
        return "on: an extension module of another package needs it"
    return "on: our extension modules need it; with MINIGRAD_PURE=1 threads run in parallel, each twenty to "\
        "forty times slower"


def cuda():
    """Whether a GPU can be used, without asking the driver: that would take a second."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return f"numba-cuda {version_of('numba-cuda') or 'not installed'}, on its simulator"
    found = version_of("numba-cuda")
    if found is None:
        return f"not installed: {DISTRIBUTION}[cuda]"
    return f"numba-cuda {found}; mg.cuda.is_available() says whether there is a GPU"


def problems():
    """Return the problems as pairs (problem, what to do)."""
    found = []
    absent = pure.missing()
    if absent and not pure.PURE:
        found.append((f"extension modules are missing, so all of minigrad runs interpreted: {', '.join(absent)}",
                      f"build them all: MINIGRAD_BUILD=require pip install --force-reinstall --no-binary {DISTRIBUTION} {DISTRIBUTION}"))
    elif pure.mode() == "interpreted" and not pure.PURE and pure.built_for_others():
        found.append(("the extension modules were built for another Python, so all of minigrad runs interpreted: "
                      f"{', '.join(pure.built_for_others())}", "build them for this Python: make build"))
    elif pure.mode() == "interpreted" and not pure.PURE:
        found.append(("no extension modules: minigrad is complete, but about ten times slower",
                      "install a C compiler (gcc, clang) and reinstall minigrad"))
    old = pure.stale()
    if old:
        found.append((f"the sources of {', '.join(old)} have been edited since they were compiled: the edits do not run",
                      "rebuild (make build), or run the sources with MINIGRAD_PURE=1"))
    other = version_of("minigrad")
    if other is not None:       # Note [The name on PyPI] in minigrad/_build/__init__.py
        found.append((f"a distribution called minigrad ({other}) is installed too, and shares the folder of {DISTRIBUTION}",
                      f"pip uninstall -y minigrad {DISTRIBUTION}, then install {DISTRIBUTION} again"))
    if sys.version_info >= UNTESTED:
        found.append((f"Python {sys.version.split()[0]} has not been tested", f"use Python 3.11 to 3.{UNTESTED[1] - 1}"))
    return found


def show_config() -> str:
    """The configuration as text. Mirrors ``torch.__config__.show``.

    >>> mg.show_config().splitlines()[0].split()[0]
    'minigrad'
    """
    return "\n".join(f"{name:<10}{value}" for name, value in facts())
