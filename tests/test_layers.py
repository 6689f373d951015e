"""The layers of the package: imports point downward only, and they form no cycle.

    TOP            the package itself, its commands, viz, testing ...      may import anything
    nn, optim, func, autograd ...                                          what each may import: BELOW
    surface        tensor, creation, dtypes ...
    ops
    kernels, _core                                                         neither imports the other

Each test reads the imports of all files (tests/import_graph.py), collects the wrong ones, and reports every one with its line.
"""

import ast
import re
from itertools import pairwise
from pathlib import Path

import minigrad
from tests import import_graph

ROOT = Path(minigrad.__file__).parent
FILES = import_graph.files(ROOT)
KNOWN = import_graph.modules([ROOT])

# Layer -> the layers that it may import from, besides itself. `surface` is the common part of the documented Python layer.
SURFACE = {"tensor", "_tensor", "creation", "dtypes", "random", "_arguments", "_warnings", "_absent", "storage"}
BELOW = {
    "_user_line": set(), "errors": {"_user_line"}, "_explain": {"errors"}, "_version": set(), "_lazy": set(), "_late": set(),
    "kernels": {"errors", "_lazy"},
    "_core": {"errors"},
    "ops": {"_core", "kernels", "errors", "_lazy"},
    "surface": {"ops", "_core", "errors", "_lazy"},
    "_debug": {"autograd", "surface", "_core", "errors"},
    "autograd": {"surface", "ops", "_core", "errors", "_lazy"},
    "linalg": {"ops", "errors"},
    "cuda": {"amp", "kernels", "surface", "_core", "errors"},
    "amp": {"autograd", "surface", "ops", "_core", "errors"},
    "_bfloat16": {"surface", "_core", "kernels"},
    "nn": {"_lazy", "autograd", "surface", "ops", "_core", "errors"},
    "special": {"ops"},
    "sparse": {"surface", "ops", "errors"},
    "fft": {"surface", "ops", "_core", "errors"},
    "functional": {"nn", "autograd", "surface", "linalg", "ops", "_build", "_core", "errors"},
    "optim": {"nn", "autograd", "surface", "ops", "_core", "errors"},
    "func": {"utils", "autograd", "surface", "ops", "_core", "errors"},
    "distributed": {"nn", "utils", "autograd", "surface", "ops", "_build", "_core", "errors"},
    "distributed.states": {"distributed", "serialization", "optim", "autograd", "surface", "ops", "errors"},
    "nn.parallel": {"distributed", "nn", "utils", "autograd", "surface", "ops", "errors"},
    "serialization": {"_serialization", "surface", "errors"},
    "_serialization": {"nn", "surface", "ops", "_core", "errors"},
    "_build": {"kernels", "_version"},
    "_capi": set(),
    "version": {"_version"},
    "types": set(),
}
# The top layer may import anything: the package itself, its commands, and what uses all of it.
TOP = {"__init__", "_C", "doctor", "demo", "utils", "viz", "testing", "grading", "library", "_custom_op", "distributions", "engine", "run"}
# Surroundings of a program, above all else too: imported when a program asks for one.
TOP |= {"_dynamo", "_foreach", "accelerator", "ao", "quantization", "backends", "compiler", "cpu", "functorch", "futures", "hub", "jit", "mps", "multiprocessing",
        "onnx", "profiler", "torch_version", "xpu"}


def layer(module):
    """The layer of a dotted name below minigrad."""
    if module.startswith("nn.parallel"):        # nn loads it when a program asks for it, so it may stand above distributed
        return "nn.parallel"
    if module.startswith(("distributed.optim", "distributed.checkpoint")):      # the states of optimizers, above `optim`
        return "distributed.states"
    first = module.split(".")[0]
    return "surface" if first in SURFACE else first


def imports_of(path):
    """(target below minigrad, layer of the target, line, whether at the top level of the module) of each import of a file."""
    for target, line, at_top in import_graph.imports(path, ROOT, KNOWN):
        below = target.removeprefix("minigrad").lstrip(".") or "__init__"
        yield below, layer(below), line, at_top


def report(offenders):
    """The text of a failure: each offender on a line."""
    return "\n" + "\n".join(offenders)


def test_imports_point_downward():
    offenders = []
    for path in FILES:
        relative = path.relative_to(ROOT).as_posix()
        own = layer(".".join(path.relative_to(ROOT).with_suffix("").parts))
        if own in TOP:
            continue
        if own not in BELOW:
            offenders.append(f"{relative}: a new layer, {own}: add to BELOW the layers that it may import")
            continue
        for target, its_layer, line, _ in imports_of(path):
            if its_layer not in BELOW[own] | {own}:
                offenders.append(f"{relative}:{line} imports minigrad.{target}: the layer {own} may not import {its_layer}")
    assert not offenders, report(offenders)


# The rooms of the core, from the lowest floor to the highest.
FLOORS = ("graph", "record", "engine", "mutation", "function", "surface", "observe")


def test_rooms_of_the_core_stand_on_each_other():
    """A file of the core imports from its own room and from lower ones only, also inside functions."""
    offenders = []
    for path in FILES:
        room, *rest = path.relative_to(ROOT).parts[1:] or [""]
        if path.relative_to(ROOT).parts[0] != "_core" or not rest:
            continue
        relative = path.relative_to(ROOT).as_posix()
        if room not in FLOORS:
            offenders.append(f"{relative}: a new room, {room}: add it to FLOORS")
            continue
        above = FLOORS[FLOORS.index(room) + 1:]
        offenders += [f"{relative}:{line} imports minigrad.{target}: {target.split('.')[1]} is above {room}"
                      for target, _, line, _ in imports_of(path) if target.startswith("_core.") and target.split(".")[1] in above]
    assert not offenders, report(offenders)


PACKAGES = [ROOT, *[folder for name in ("tools", "tests", "benchmarks") if (folder := ROOT.parent / name).is_dir()]]


def test_no_import_cycle():
    """No module imports itself by way of others, neither at the top of a file nor inside a function."""
    graph = import_graph.read(PACKAGES)
    assert len(graph) > 300
    offenders = [f"{' -> '.join(cycle)}   ({', '.join([graph[a][b] for a, b in pairwise(cycle)])})"
                 for cycle in import_graph.cycles(graph)]
    assert not offenders, report(offenders)


def test_cycles_are_found():
    """In a graph with two cycles: each is found once, and nodes that only lead to a cycle are left out."""
    graph = {"a": "b", "b": "c", "c": "ad", "d": "", "e": "f", "f": "e", "g": "ae", "h": "gd"}
    assert import_graph.cycles(graph) == [("a", "b", "c", "a"), ("e", "f", "e")]
    assert import_graph.cycles({"a": "bc", "b": "d", "c": "d", "d": ""}) == []


def test_a_cycle_through_many_modules_is_found():
    """The search uses no recursion, so the length of a cycle does not matter."""
    ring = {str(i): [str((i + 1) % 3000)] for i in range(3000)}
    assert len(import_graph.way_back(ring, "0")) == 3000


def package(folder, **sources):
    """A package `p` in `folder`, with these sources: ``a__py="..."`` is the text of a.py."""
    root = folder / "p"
    root.mkdir(parents=True)
    for name, text in {"__init____py": "", **sources}.items():
        stem, _, suffix = name.rpartition("__")
        (root / f"{stem}.{suffix}").write_text(text, "utf-8")
    return root


def chains(root):
    return [" -> ".join(cycle) for cycle in import_graph.cycles(import_graph.read([root]))]


def test_cycles_of_each_kind_of_import_are_found(tmp_path):
    """Imports at the top, in a function, in a class, relative ones, and those of Cython."""
    forms = ["from p import b", "from p.b import x", "import p.b", "import p.b as b", "from . import b", "from .b import x",
             "def f():\n    from p import b", "class C:\n    def f(self):\n        import p.b",
             "try:\n    import p.b\nexcept ImportError:\n    pass", "from cython.cimports.p.b import x",
             "if TYPE_CHECKING:\n    pass\nelse:\n    import p.b"]
    for number, form in enumerate(forms):
        root = package(tmp_path / str(number), a__py=form, b__py="import p.a")
        assert chains(root) == ["p.a -> p.b -> p.a"], form
    for number, form in enumerate(["from p.b cimport x", "from p cimport b", "cimport p.b", "from p cimport (\n    b)",
                                   "from p cimport c, \\\n    b", "def f():\n    from p import b"]):
        for suffix in ("pyx", "pxd"):
            root = package(tmp_path / f"cython{number}{suffix}", **{f"a__{suffix}": form}, b__py="import p.a", c__py="")
            assert chains(root) == ["p.a -> p.b -> p.a"], (form, suffix)


def test_imports_that_make_no_cycle(tmp_path):
    """An import for the type checker, one of the module's own .pxd, and a package that imports its own submodule."""
    root = package(tmp_path, a__py="if TYPE_CHECKING:\n    from p import b\nfrom cython.cimports.p.a import x", a__pxd="cdef int x",
                   b__py="from p import a, c", c__py="import os, numpy", __init____py="from p import a, b")
    assert chains(root) == []


def test_a_package_and_a_module_that_imports_a_name_of_it_are_a_cycle(tmp_path):
    root = package(tmp_path, __init____py="from p.a import x\ny = 1", a__py="from p import y\nx = 1")
    assert chains(root) == ["p -> p.a -> p"]


def test_the_core_names_no_op():
    """The core and the kernels do not import a layer above them by its name in a string either."""
    for path in FILES:
        if path.relative_to(ROOT).parts[0] in ("_core", "kernels"):
            assert not re.search(r"import_module\(.*minigrad\.(ops|tensor|autograd|nn|optim)", path.read_text()), path


def test_kernels_know_no_tensor():
    """Kernels compute with arrays: their sources name no Tensor and no Node."""
    for path in FILES:
        if path.relative_to(ROOT).parts[0] == "kernels" and path.suffix == ".py":
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"Tensor", "TensorBase", "Variable", "Node"}, path


def test_numpy_ref_is_numpy_only():
    """The reference kernels run anywhere: they import NumPy, the standard library, and minigrad's own files."""
    for path in (ROOT / "kernels" / "numpy_ref").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module.split(".")[0] in ("numpy", "builtins", "contextvars", "math", "minigrad"), (path, node.module)
