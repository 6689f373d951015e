"""The interpreted mode: ``MINIGRAD_PURE=1`` runs the sources beside the compiled modules.

An import finds ``execute.cpython-311-x86_64-linux-gnu.so`` before ``execute.py``. If the variable is set, a finder that knows only
source files comes first, for this package alone. A breakpoint in ``_core/engine/execute.py`` then stops the engine that runs.

The extension modules need the GIL (docs/notes/threads.md). A free-threaded Python turns it on when it loads the first of them, and
says so. Where the user has forced it off (PYTHON_GIL=0, or python -X gil=0), it would stay off and they would be unsafe: then
minigrad runs interpreted, and says so.

Python would silently prefer a compiled module to a newer source; `stale` finds such modules.
"""

import functools
import importlib
import importlib.machinery
import os
import sys
import warnings

PACKAGE = "minigrad"
ROOT = os.path.dirname(os.path.dirname(__file__))      # the folder of the package
NOTE = os.path.join(ROOT, "_built.json")
SOURCES = (".py", ".pyx", ".pxd")
BINARIES = tuple(importlib.machinery.EXTENSION_SUFFIXES)
FREE_THREADED = "free-threading" in sys.version     # a Python that can run without the GIL
WITHOUT_GIL = getattr(sys.flags, "gil", None) == 0  # the user forbids the GIL: no extension module of ours may be loaded
PURE = WITHOUT_GIL or os.environ.get("MINIGRAD_PURE", "0") not in ("", "0")


class SourceFinder:
    """Finds only the source files of this package."""

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
        why = "the GIL is forced off" if WITHOUT_GIL else "MINIGRAD_PURE=1" if PURE else "some extension modules are missing"
        raise ModuleNotFoundError(f"{name} has no interpreted form ({why})", name=name)


def folder_of(package):
    """Return the folder of a package of minigrad from its dotted name; of a module, the path without the suffix."""
    return os.path.join(ROOT, *package.split(".")[1:])


def stem_of(file):
    """Return the last part of the name of the module that a file belongs to: execute.cpython-311-x86_64-linux-gnu.so -> execute."""
    return file.partition(".")[0]


def suffix_of(file):
    """Return the rest of the name: .cpython-311-x86_64-linux-gnu.so. Another Python does not load it, though it may load a .so."""
    return file[len(stem_of(file)):]


def built_for_others():
    """Return the suffixes of binaries that are here for other Pythons, such as ``.cpython-311-x86_64-linux-gnu.so``."""
    suffixes = {suffix_of(file) for file in os.listdir(folder_of(f"{PACKAGE}._core.graph"))}
    return sorted(suffix for suffix in suffixes if suffix.endswith((".so", ".pyd")) and suffix not in BINARIES)


def compiled_here():
    """Return, for each module of the core and the ops that the last build lists, whether its binary is there.

    These modules call each other's C functions, so they run either all compiled or all interpreted.
    """
    found, listings = {}, {}
    for name in built_from():
        package, _, stem = name.rpartition(".")
        if not package.startswith((PACKAGE + "._core", PACKAGE + ".ops")):
            continue
        if package not in listings:
            files = os.listdir(folder_of(package)) if os.path.isdir(folder_of(package)) else []
            listings[package] = set(files), {stem_of(file) for file in files if suffix_of(file) in BINARIES}
        files, binaries = listings[package]
        if stem + ".py" in files:       # not so where the note is older than the source tree
            found[name] = stem in binaries
    return found


def missing():
    """Return the modules without a binary, if other modules have one."""
    modules = compiled_here()
    return sorted(name for name, there in modules.items() if not there) if any(modules.values()) else []


class CimportFinder:
    """Makes ``from cython.cimports.minigrad._core.graph.node import Node`` work in interpreted code: it imports the module itself.

    Compiled, such a line is a cimport: it takes C functions and C classes from the ``.pxd`` of the module.
    """

    PREFIX = "cython.cimports."

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name + "." != cls.PREFIX and not (name + ".").startswith(cls.PREFIX + PACKAGE + "."):
            return None
        return importlib.machinery.ModuleSpec(name, cls, is_package=True)     # pyright: ignore[reportArgumentType]

    @staticmethod
    def create_module(spec):
        return None     # an empty one

    @classmethod
    def exec_module(cls, module):
        if module.__name__ + "." != cls.PREFIX:
            real = importlib.import_module(module.__name__.removeprefix(cls.PREFIX))
            module.__getattr__ = functools.partial(getattr, real)


def install():
    """Run interpreted if ``MINIGRAD_PURE`` is set, if the GIL is forced off, or if binaries are missing or are another Python's."""
    if WITHOUT_GIL and os.environ.get("MINIGRAD_PURE", "0") in ("", "0") and any(compiled_here().values()):
        warnings.warn("minigrad runs interpreted, twenty to forty times slower: its extension modules need the GIL, and PYTHON_GIL=0 or "
                      "-X gil=0 forbids it. Set MINIGRAD_PURE=1 as well if you want this, or leave the GIL to Python",
                      RuntimeWarning, stacklevel=3)
    built = set() if PURE else set(compiled_here().values())      # {True} if it is whole
    if built == {False} and built_for_others():
        warnings.warn("minigrad runs interpreted, twenty to forty times slower: its extension modules here were built for another Python "
                      f"({', '.join(built_for_others())}). Build them for this one (make build, with this Python), or set "
                      "MINIGRAD_PURE=1 if you want this", RuntimeWarning, stacklevel=3)
    if (PURE or len(built) == 2) and SourceFinder not in sys.meta_path:
        sys.meta_path.insert(0, SourceFinder)
    if built != {True} and CimportFinder not in sys.meta_path:
        sys.meta_path.insert(0, CimportFinder)
        if "cython" not in sys.modules:
            sys.modules["cython"] = importlib.import_module(f"{PACKAGE}._build.shadow")
        cimports = sys.modules.get("cython.cimports")       # of Cython, if somebody has imported it: importlib wants its spec
        if cimports is not None:
            cimports.__spec__ = importlib.machinery.ModuleSpec("cython.cimports", None, is_package=True)


def compiled_modules():
    """Return the modules of this package that were loaded from a binary."""
    return sorted(name for name, module in sys.modules.items() if name.startswith(PACKAGE + ".")
                  and (getattr(module, "__file__", None) or "").endswith(BINARIES))


def mode():
    """``"compiled"``, ``"interpreted"``, or ``"mixed"`` where some modules did not compile."""
    names = compiled_modules()
    if not names:
        return "interpreted"
    core = {name for name in compiled_here() if name.startswith(f"{PACKAGE}._core.")}
    return "compiled" if core & set(sys.modules) <= set(names) else "mixed"


def sources(stem):
    """Return the source files of the extension module at the path `stem`, which has no suffix."""
    return [stem + suffix for suffix in SOURCES if os.path.exists(stem + suffix)]


def fingerprint(stem):
    """A hash of a module's sources."""
    import hashlib
    digest = hashlib.sha256()
    for path in sources(stem):
        with open(path, "rb") as file:
            digest.update(file.read() + b"\0")
    return digest.hexdigest()


def stale():
    """Return the compiled modules whose source has changed since the build, also those that are not imported yet.

    The time of the build's note nearly always suffices. If a source is newer, its hash in the note decides. In ``site-packages``
    a source counts as newer after a minute: an installer writes the note and the sources in any order.
    """
    if not compiled_modules():
        return []
    built = built_from()
    made = os.stat(NOTE).st_mtime if built else 0.0
    if os.path.basename(os.path.dirname(ROOT)) in ("site-packages", "dist-packages"):
        made += 60
    newer = [f"{package}.{stem_of(entry.name)}" for package in {name.rpartition(".")[0] for name in built}
             for entry in os.scandir(folder_of(package)) if entry.name.endswith(SOURCES) and entry.stat().st_mtime > made]
    return sorted(name for name in {*newer} & {*built} if built[name] != fingerprint(folder_of(name))
                  and any(os.path.exists(folder_of(name) + suffix) for suffix in BINARIES))


@functools.cache
def built_from():
    """Return module -> fingerprint of its source at build time, from the note of setup.py: a JSON object of strings.

    The names and fingerprints have no quotation marks, so we do not need the module `json`: its import takes 1 ms.
    """
    if not os.path.exists(NOTE):
        return {}
    with open(NOTE, encoding="utf-8") as file:
        words = file.read().split('"')
    return dict(zip(words[1::4], words[3::4], strict=True))
