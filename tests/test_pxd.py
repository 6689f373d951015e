"""No drift between a .py and the .pxd beside it, which Cython compiles together without complaint.

What the .pxd declares has to exist in the .py, with the same argument names; every field that a compiled class sets
on itself has to be declared, or it would be an AttributeError only when compiled.
"""

import ast
import re
from pathlib import Path

import pytest

import minigrad

ROOT = Path(minigrad.__file__).parent
PAIRS = sorted(p for p in ROOT.rglob("*.pxd") if p.with_suffix(".py").exists() and p.read_text().strip()
               and p.name != "capi.pxd")       # capi.pxd declares C code; its twins have a test of their own below
FUNCTION = re.compile(r"(?:cdef|cpdef)\s+(?:inline\s+)?(?:(?P<type>[\w ]+?[\s*]+))?(?P<name>\w+)\((?P<args>[^)]*)\)")
FIELD = re.compile(r"cdef\s+(?:public\s+|readonly\s+)?(?P<type>[\w ]+?(?:\[\d+\])?)\s+(?P<names>\w+(?:\s*,\s*\w+)*)$")


def declared(path):
    """(functions, classes) of a .pxd: name -> argument names; class -> (fields, methods, base)."""
    functions, classes, inside, foreign = {}, {}, None, False
    for line in path.read_text().splitlines():
        line = line.split("#")[0].rstrip()
        text = line.strip()
        foreign = text.startswith("cdef extern") or (foreign and (line.startswith("    ") or not text))
        if foreign:     # what C declares
            inside = None
            continue
        opened = re.match(r"cdef class (\w+)(?:\((\w+)\))?:", text)
        if opened:
            inside = opened[1]
            classes[inside] = ({}, {}, opened[2])
        elif line.startswith("    ") and inside:
            f = FUNCTION.match(text)
            if f:
                classes[inside][1][f["name"]] = arguments(f["args"])
            elif (v := FIELD.match(text)):
                classes[inside][0].update(dict.fromkeys(re.split(r"\s*,\s*", v["names"]), v["type"]))
            else:
                assert text in ("pass", ""), f"{path.name}: this test cannot read {text!r}"
        elif text.startswith(("cdef", "cpdef")):
            inside = None
            if re.fullmatch(r"cdef class \w+", text):      # a promise of one that follows
                continue
            f = FUNCTION.match(text)
            assert f, f"{path.name}: this test cannot read {text!r}"
            functions[f["name"]] = arguments(f["args"])
    return functions, classes


def arguments(text):
    return [a.split("=")[0].split()[-1].lstrip("*") for a in text.split(",") if a.strip()]


def defined(path):
    """The same of a .py: functions, and class -> (methods, fields assigned to self, base names, decorators)."""
    functions, classes = {}, {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = [a.arg for a in node.args.args]
        elif isinstance(node, ast.ClassDef):
            methods = {m.name: [a.arg for a in m.args.args] for m in node.body if isinstance(m, ast.FunctionDef)}
            setters = {m.name for m in node.body if isinstance(m, ast.FunctionDef) and m.decorator_list}
            fields = {t.attr for m in ast.walk(node) if isinstance(m, (ast.Assign, ast.AugAssign, ast.AnnAssign))
                      for target in (m.targets if isinstance(m, ast.Assign) else [m.target])
                      for t in ast.walk(target)
                      if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "self"
                      and isinstance(t.ctx, ast.Store)}
            classes[node.name] = (methods, fields - setters, [b.id for b in node.bases if isinstance(b, ast.Name)],
                                  [ast.unparse(d) for d in node.decorator_list])
    return functions, classes


ALL_DECLARED = {name: entry for path in PAIRS for name, entry in declared(path)[1].items()}


def fields_of(name):
    """The fields of a class and of its bases, by the .pxd files."""
    found = {}
    while name in ALL_DECLARED:
        fields, _, base = ALL_DECLARED[name]
        found |= fields
        name = base
    return found


def test_pairs_were_found():
    assert {"node", "tensor", "execute", "apply", "saved_tensor", "accumulate_grad"} <= {p.stem for p in PAIRS}


@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.stem)
def test_functions(path):
    functions, _ = declared(path)
    real, _ = defined(path.with_suffix(".py"))
    for name, args in functions.items():
        assert name in real, f"{path.name} declares {name}(), which {path.stem}.py does not have"
        assert real[name] == args, f"{path.name} declares {name}({', '.join(args)}), {path.stem}.py has ({', '.join(real[name])})"


@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.stem)
def test_classes(path):
    _, classes = declared(path)
    _, real = defined(path.with_suffix(".py"))
    for name, (_, methods, base) in classes.items():
        assert name in real, f"{path.name} declares the class {name}, which {path.stem}.py does not have"
        own, _, bases, decorators = real[name]
        assert (base is None and not bases) or base in bases, f"{name}: base {base} in the .pxd, {bases} in the .py"
        assert "cython.cclass" in decorators, f"{name} has no @cython.cclass"
        for method, args in methods.items():
            assert method in own, f"{path.name} declares {name}.{method}(), which the .py does not have"
            assert own[method] == args, f"{name}.{method}: ({', '.join(args)}) in the .pxd, ({', '.join(own[method])}) in the .py"


@pytest.mark.parametrize("path", sorted([*(ROOT / "_core").rglob("*.py"), *(ROOT / "ops").rglob("*.py")]), ids=lambda p: p.stem)
def test_every_field_is_declared(path):
    for name, (_, fields, _, decorators) in defined(path)[1].items():
        if "cython.cclass" in decorators:
            missing = fields - set(fields_of(name))
            assert not missing or name not in ALL_DECLARED, f"{name} sets {sorted(missing)}, not declared in {path.stem}.pxd"
            assert name in ALL_DECLARED or not fields, f"{name} sets {sorted(fields)}, but no .pxd declares it"


@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.stem)
def test_every_declared_field_is_used(path):
    """A field that no source mentions is a leftover that makes every instance larger."""
    text = "\n".join(p.read_text() for folder in ("_core", "ops", "kernels/cuda") for p in (ROOT / folder).rglob("*.py"))
    for name, (fields, _, _) in declared(path)[1].items():
        unused = [f for f in fields if not f.startswith("__") and not re.search(rf"\.{f}\b", text)]
        assert not unused, f"{name} has the fields {unused}, which nothing reads or writes"


def test_interpreted_nodes_and_tensors_start_with_every_field():
    """Compiled, a field that nobody has set is None or 0; interpreted it would be an AttributeError (`clear_node`, `clear`)."""
    for module, owner, function in (("node", "Node", "clear_node"), ("tensor", "TensorBase", "clear")):
        tree = ast.parse((ROOT / "_core/graph" / f"{module}.py").read_text())
        body = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function)
        set_ = {t.attr for t in ast.walk(body) if isinstance(t, ast.Attribute) and isinstance(t.ctx, ast.Store)}
        assert set_ == {f for f in ALL_DECLARED[owner][0] if not f.startswith("__")}


def test_c_twins():
    """capi.py has an interpreted twin for all that capi.pxd takes from C."""
    names = re.findall(r"^\s+(?:[\w ]+?) (\w+)(?: \"\w+\")?\([^)]*\)(?: except -1)?$", (ROOT / "_core/graph/capi.pxd").read_text(), re.M)
    listed = re.search(r"__all__ = \[(.*?)\]", (ROOT / "_core/graph/capi.py").read_text(), re.S)
    real = re.findall(r'"(\w+)"', listed[1] if listed else "")
    assert {"reference_count", "allocate", "thread_id", "check_signals"} <= set(names) <= set(real)
