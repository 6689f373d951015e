"""The interpreted mode: ``MINIGRAD_PURE=1`` runs the sources beside the compiled modules.

An import finds ``engine.cpython-311-x86_64-linux-gnu.so`` before ``execute.py``. With the variable set we
put a finder before Python's own that knows source files only, for this package alone: then a breakpoint in
``_core/engine/execute.py`` is one in the engine that runs.

A compiled module that is older than its source would win in silence; `stale` finds such.
"""

import importlib.machinery
import os
import sys

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
        why = "MINIGRAD_PURE=1" if PURE else "some extension modules are missing"
        raise ModuleNotFoundError(f"{name} has no interpreted form ({why})", name=name)


def declared():
    """Whether each module that is to be compiled has been: of the core and the ops those that have a ``.pxd``."""
    found, root = {}, os.path.dirname(__file__)
    for part in ("_core", "ops"):
        for folder, _, files in os.walk(os.path.join(root, part)):
            package = ".".join((PACKAGE, *os.path.relpath(folder, root).split(os.sep)))
            for stem in [f[:-4] for f in files if f.endswith(".pxd") and f not in ("capi.pxd", "__init__.pxd")]:
                found[f"{package}.{stem}"] = any(stem + suffix in files for suffix in importlib.machinery.EXTENSION_SUFFIXES)
    return found


def missing():
    """Modules that did not compile while others did, without which the others cannot run: they take C functions from them."""
    modules = declared()
    return sorted(name for name, built in modules.items() if not built) if any(modules.values()) else []


def install():
    """Run interpreted if ``MINIGRAD_PURE`` says so, or if what was compiled is not whole."""
    if (PURE or missing()) and not any(finder is SourceFinder for finder in sys.meta_path):
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
    core = {name for name in declared() if name.startswith(f"{PACKAGE}._core.")}
    return "compiled" if core & set(sys.modules) <= set(names) else "mixed"


def sources(stem):
    """The files that the extension module at the path `stem`, without a suffix, is built from."""
    return [stem + suffix for suffix in (".py", ".pyx", ".pxd") if os.path.exists(stem + suffix)]


def fingerprint(stem):
    """A hash of a module's sources."""
    import hashlib
    digest = hashlib.sha256()
    for path in sources(stem):
        with open(path, "rb") as file:
            digest.update(file.read() + b"\0")
    return digest.hexdigest()


def stale():
    """Compiled modules whose source is not the one that they were built from.

    A look at the times of the files is enough nearly always; where a source is the younger one, the hash
    that the build noted down decides.
    """
    old = []
    built = None
    for name in compiled_modules():
        binary = sys.modules[name].__file__ or ""
        stem = os.path.join(os.path.dirname(binary), os.path.basename(binary).partition(".")[0])
        if all(os.stat(source).st_mtime <= os.stat(binary).st_mtime for source in sources(stem)):
            continue
        if built is None:
            built = built_from()
        if built.get(name) != fingerprint(stem):
            old.append(name)
    return old


def built_from():
    """Module -> fingerprint of its source at build time."""
    import json
    note = os.path.join(os.path.dirname(__file__), "_built.json")
    if not os.path.exists(note):
        return {}
    with open(note) as file:
        return json.load(file)
