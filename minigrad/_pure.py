"""The interpreted mode: ``MINIGRAD_PURE=1`` runs the sources beside the compiled modules.

An import finds ``engine.cpython-311-x86_64-linux-gnu.so`` before ``engine.py``. With the variable set we
put a finder before Python's own that knows source files only, for this package alone: then a breakpoint in
``_core/engine.py`` is one in the engine that runs.

A compiled module that is older than its source would win in silence; `stale` finds such.
"""

import importlib.machinery
import os
import sys
from pathlib import Path

PACKAGE = "minigrad"
PURE = os.environ.get("MINIGRAD_PURE", "0") not in ("", "0")


class SourceFinder:
    """Finds the modules of this package among source files alone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith(PACKAGE + "."):
            return None
        loaders = [(importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES)]
        for folder in path or ():
            spec = importlib.machinery.FileFinder(folder, *loaders).find_spec(name)
            if spec is not None:
                return spec
        # Kernels in .pyx have no source that Python can run: do not let the next finder fall back on the binary.
        raise ModuleNotFoundError(f"{name} has no interpreted form (MINIGRAD_PURE=1)", name=name)


def install():
    """Run interpreted if ``MINIGRAD_PURE`` says so."""
    if PURE and not any(finder is SourceFinder for finder in sys.meta_path):
        sys.meta_path.insert(0, SourceFinder)


def compiled_modules():
    """The modules of this package that were loaded from a binary."""
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    return sorted(name for name, module in sys.modules.items() if name.startswith(PACKAGE + ".")
                  and (getattr(module, "__file__", None) or "").endswith(suffixes))


def mode():
    """``"compiled"``, ``"interpreted"``, or ``"mixed"`` where some modules did not compile."""
    names = compiled_modules()
    if not names:
        return "interpreted"
    core = {f"{PACKAGE}._core.{p.stem}" for p in Path(__file__).with_name("_core").glob("*.pxd")} - {
        f"{PACKAGE}._core.c", f"{PACKAGE}._core.__init__"}
    return "compiled" if core <= set(names) else "mixed"


def stale():
    """Compiled modules whose source has been edited since they were built."""
    old = []
    for name in compiled_modules():
        binary = Path(sys.modules[name].__file__)
        source = binary.with_name(binary.name.partition(".")[0] + ".py")
        # A wheel unpacks both within a moment of each other, in any order.
        if source.exists() and source.stat().st_mtime > binary.stat().st_mtime + 60:
            old.append(name)
    return old
