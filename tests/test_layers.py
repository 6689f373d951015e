"""Imports point downward only, as the picture in DESIGN.md has it. Held over the syntax trees."""

import ast
import re
from pathlib import Path

import pytest

import minigrad

ROOT = Path(minigrad.__file__).parent

# Layer -> the layers that it may import from, besides itself. `surface` is the documented Python layer's common part.
SURFACE = {"tensor", "creation", "dtypes", "random", "_distributions", "_grids", "_conversions", "_data", "_tensor_str", "_arguments",
           "_warnings", "_legacy", "storage"}
BELOW = {
    "errors": set(), "_version": set(), "_pure": set(),
    "kernels": {"errors"},
    "_core": {"errors"},
    "ops": {"_core", "kernels", "errors"},
    "surface": {"ops", "_core", "errors"},
    "_record": {"_core", "errors"}, "_holders": {"_core"},
    "_debug": {"_record", "_holders", "autograd", "surface", "_core", "errors"},
    "autograd": {"surface", "ops", "_core", "errors"},
    "linalg": {"ops", "errors"},
    "cuda": {"kernels", "surface", "_core", "errors"},
    "nn": {"autograd", "surface", "ops", "_core", "errors"},
    "special": {"ops"},
    "optim": {"nn", "autograd", "surface", "ops", "_core", "errors"},
    "func": {"utils", "autograd", "surface", "_core", "errors"},
    "distributed": {"nn", "autograd", "surface", "errors"},
    "serialization": {"surface", "errors"},
    "_config": {"kernels", "_pure", "_version"},
}
# These stand above everything and may import anything: the package itself, and its commands.
TOP = {"__init__", "_C", "doctor", "demo", "utils", "viz", "testing", "grading", "library", "_custom_op"}

# Imports that point upward, inside a function, so that they run when all is loaded. Each has its reason.
UPWARD = {
    ("_conversions.py", "cuda"),    # pinned memory, which there is for a GPU's sake alone
    ("_record.py", "viz"),      # what a notebook shows for a record is its step-through
}


def layer(module):
    """The layer of a dotted name below minigrad."""
    first = module.split(".")[0]
    return "surface" if first in SURFACE else first


def imported(path):
    """Pairs (dotted name below minigrad, whether at the top level of the module) of what a file imports."""
    if path.suffix == ".py":
        tree = ast.parse(path.read_text())
        at_top = {id(n) for n in tree.body} | {id(n) for i in tree.body if isinstance(i, (ast.If, ast.Try)) for n in ast.walk(i)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = node.module.removeprefix("cython.cimports.")
                if module == "minigrad":
                    yield from ((a.name, id(node) in at_top) for a in node.names)
                elif module.startswith("minigrad."):
                    yield module.removeprefix("minigrad."), id(node) in at_top
            elif isinstance(node, ast.Import):
                yield from ((a.name.removeprefix("minigrad").lstrip(".") or "__init__", id(node) in at_top)
                            for a in node.names if a.name.split(".")[0] == "minigrad")
    else:
        text = re.sub(r"\s*\\\n\s*", " ", path.read_text())
        for module, names in re.findall(r"^\s*from (minigrad[\w.]*) c?import (.*)", text, re.M):
            if module == "minigrad":
                yield from ((name.split()[0], True) for name in names.split(","))
            else:
                yield module.removeprefix("minigrad."), True
        yield from ((m, True) for m in re.findall(r"^\s*c?import minigrad\.([\w.]+)", text, re.M))


FILES = sorted(p for suffix in ("py", "pyx", "pxd") for p in ROOT.rglob(f"*.{suffix}"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downward(path):
    relative = path.relative_to(ROOT)
    own = layer(relative.with_suffix("").parts[0])
    if own in TOP:
        return
    assert own in BELOW, f"{relative}: a new layer; say in this test what it may import"
    wrong = {(target, top) for target, top in imported(path)
             if layer(target) not in BELOW[own] | {own} and (top or (str(relative), layer(target)) not in UPWARD)}
    assert not wrong, f"{relative} imports what stands above or beside it: {sorted(wrong)}"


# The rooms of the core, each standing on those before it.
FLOORS = ("graph", "record", "engine", "mutation", "function", "surface", "observe")


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(ROOT).parts[0] == "_core"],
                         ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_of_the_core_stand_on_each_other(path):
    """A file imports from its own room and from lower ones, in functions too."""
    room, *rest = path.relative_to(ROOT / "_core").parts
    assert not rest or room in FLOORS, f"{room}: a new room; say in this test on which floor it is"
    above = FLOORS[FLOORS.index(room) + 1:] if rest else ()
    assert [target for target, _ in imported(path) if target.split(".")[0] == "_core" and target.split(".")[1] in above] == []


def test_exceptions_are_still_needed():
    found = {(str(p.relative_to(ROOT)), layer(t)) for p in FILES for t, _ in imported(p)}
    assert set(UPWARD) <= found


def test_the_core_names_no_op():
    """_core and kernels do not even mention the layers above in an import by string."""
    for path in FILES:
        if path.relative_to(ROOT).parts[0] in ("_core", "kernels"):
            assert not re.search(r"import_module\(.*minigrad\.(ops|tensor|autograd|nn|optim)", path.read_text()), path


def test_kernels_know_no_tensor():
    """DESIGN.md: arrays only, no Tensor and no Node."""
    for path in FILES:
        if path.relative_to(ROOT).parts[0] == "kernels" and path.suffix == ".py":
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"Tensor", "TensorBase", "Variable", "Node"}, path


def test_numpy_ref_is_numpy_only():
    """The reference runs anywhere: it imports NumPy, the standard library, and its own files."""
    for path in (ROOT / "kernels" / "numpy_ref").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module.split(".")[0] in ("numpy", "builtins", "contextvars", "math", "minigrad"), (path, node.module)
