"""A .py and the .pxd beside it agree. Cython compiles the two together and does not complain where they differ.

- The .py has every function, class and method that the .pxd declares, with the same argument names.
- The .pxd declares every field that a compiled class sets on itself: otherwise the compiled class raises an AttributeError.
- Some source uses every field that a .pxd declares.

Each test collects all differences and reports every one with its file.
"""

import ast
import re
from pathlib import Path

import minigrad
from minigrad._build import shadow

ROOT = Path(minigrad.__file__).parent
PAIRS = sorted(p for p in ROOT.rglob("*.pxd") if p.with_suffix(".py").exists() and p.read_text().strip()
               and p.name != "capi.pxd")       # capi.pxd declares C code: see test_c_twins
FUNCTION = re.compile(r"(?:cdef|cpdef)\s+(?:inline\s+)?(?:(?P<type>[\w ]+?[\s*]+))?(?P<name>\w+)\((?P<args>[^)]*)\)")
FIELD = re.compile(r"cdef\s+(?:public\s+|readonly\s+)?(?P<type>[\w ]+?(?:\[\d+\])?)\s+\*?(?P<names>\w+(?:\s*,\s*\w+)*)$")


def declared(path):
    """(functions, classes) of a .pxd: function -> argument names; class -> (field -> type, method -> argument names, base)."""
    functions, classes, inside, foreign = {}, {}, None, False
    for line in re.sub(r",\n +(?!#)", ", ", path.read_text()).splitlines():       # arguments may continue on the next line
        line = line.split("#")[0].rstrip()
        text = line.strip()
        foreign = text.startswith("cdef extern") or (foreign and (line.startswith("    ") or not text))
        if foreign:     # a declaration of C code
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
            if re.fullmatch(r"cdef class \w+", text):      # a forward declaration
                continue
            f = FUNCTION.match(text)
            assert f, f"{path.name}: this test cannot read {text!r}"
            functions[f["name"]] = arguments(f["args"])
    return functions, classes


def arguments(text):
    """The names of the arguments in a declaration, without types and defaults."""
    return [a.split("=")[0].split()[-1].lstrip("*") for a in text.split(",") if a.strip()]


def defined(path):
    """The same for a .py: functions, and class -> (methods, fields assigned to self, base names, decorators)."""
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
    """The fields of a class and of its bases, as the .pxd files declare them."""
    found = {}
    while name in ALL_DECLARED:
        fields, _, base = ALL_DECLARED[name]
        found |= fields
        name = base
    return found


def test_pairs_were_found():
    assert {"node", "tensor", "execute", "apply", "saved_tensor", "accumulate_grad"} <= {p.stem for p in PAIRS}


def report(offenders):
    """The text of a failure: each difference on a line."""
    return "\n" + "\n".join(offenders)


def differences_of_functions(path):
    """The functions that a .pxd declares and its .py does not have."""
    real, _ = defined(path.with_suffix(".py"))
    for name, args in declared(path)[0].items():
        if name not in real:
            yield f"{path}: declares {name}(), which {path.stem}.py does not have"
        elif real[name] != args:
            yield f"{path}: declares {name}({', '.join(args)}); {path.stem}.py has {name}({', '.join(real[name])})"


def differences_of_classes(path):
    """The classes and methods that a .pxd declares and its .py does not have."""
    _, real = defined(path.with_suffix(".py"))
    for name, (_, methods, base) in declared(path)[1].items():
        if name not in real:
            yield f"{path}: declares the class {name}, which {path.stem}.py does not have"
            continue
        own, _, bases, decorators = real[name]
        if (base or bases) and base not in bases:
            yield f"{path}: the base of {name} is {base}; in {path.stem}.py it is {', '.join(bases) or None}"
        if "cython.cclass" not in decorators:
            yield f"{path}: declares the class {name}, which has no @cython.cclass in {path.stem}.py"
        for method, args in methods.items():
            if method not in own:
                yield f"{path}: declares {name}.{method}(), which {path.stem}.py does not have"
            elif own[method] != args:
                yield f"{path}: declares {name}.{method}({', '.join(args)}); {path.stem}.py has ({', '.join(own[method])})"


def test_functions():
    """Every function that a .pxd declares is in the .py, with the same arguments."""
    offenders = [text for path in PAIRS for text in differences_of_functions(path)]
    assert not offenders, report(offenders)


def test_classes():
    """Every class and method that a .pxd declares is in the .py, with the same base and the same arguments."""
    offenders = [text for path in PAIRS for text in differences_of_classes(path)]
    assert not offenders, report(offenders)


def test_differences_are_reported(tmp_path):
    pxd = tmp_path / "x.pxd"
    pxd.write_text("cdef int f(int a, b=*)\ncdef lost()\ncdef class C(B):\n    cdef int n\n    cdef m(self, a)\n    cdef l(self)\n"
                   "cdef class D:\n    pass\n", "utf-8")
    pxd.with_suffix(".py").write_text("def f(a): ...\nclass C(A):\n    def m(self, b): ...\n", "utf-8")
    assert list(differences_of_functions(pxd)) == [f"{pxd}: declares f(a, b); x.py has f(a)",
                                                   f"{pxd}: declares lost(), which x.py does not have"]
    assert list(differences_of_classes(pxd)) == [
        f"{pxd}: the base of C is B; in x.py it is A", f"{pxd}: declares the class C, which has no @cython.cclass in x.py",
        f"{pxd}: declares C.m(self, a); x.py has (self, b)", f"{pxd}: declares C.l(), which x.py does not have",
        f"{pxd}: declares the class D, which x.py does not have"]


def test_every_field_is_declared():
    """A compiled class sets only fields that a .pxd declares."""
    offenders = []
    for path in sorted([*(ROOT / "_core").rglob("*.py"), *(ROOT / "ops").rglob("*.py")]):
        for name, (_, fields, _, decorators) in defined(path)[1].items():
            missing = sorted(fields - set(fields_of(name)))
            if "cython.cclass" in decorators and missing:
                offenders.append(f"{path}: {name} sets {', '.join(missing)}, which no .pxd declares")
    assert not offenders, report(offenders)


def test_every_declared_field_is_used():
    """A field that no source mentions is left over, and makes every instance larger."""
    text = "\n".join(p.read_text() for folder in ("_core", "ops", "kernels/cuda") for p in (ROOT / folder).rglob("*.py"))
    used = set(re.findall(r"\.(\w+)\b", text))
    offenders = [f"{path}: {name} has the field {field}, which no source reads or writes" for path in PAIRS
                 for name, (fields, _, _) in declared(path)[1].items() for field in fields
                 if not field.startswith("__") and field not in used]
    assert not offenders, report(offenders)


def test_interpreted_nodes_and_tensors_start_with_every_field():
    """`clear_node` and `clear` set every field. Compiled, an unset field is None or 0; interpreted, it raises."""
    for module, owner, function in (("node", "Node", "clear_node"), ("tensor", "TensorBase", "clear")):
        tree = ast.parse((ROOT / "_core/graph" / f"{module}.py").read_text())
        body = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function)
        set_ = {t.attr for t in ast.walk(body) if isinstance(t, ast.Attribute) and isinstance(t.ctx, ast.Store)}
        assert set_ == {f for f in ALL_DECLARED[owner][0] if not f.startswith("__")}


def test_c_twins():
    """capi.py has an interpreted twin of every function that capi.pxd takes from C."""
    names = re.findall(r"^\s+(?:[\w ]+?) (\w+)(?: \"\w+\")?\([^)]*\)(?: except -1)?$", (ROOT / "_core/graph/capi.pxd").read_text(), re.M)
    listed = re.search(r"__all__ = \[(.*?)\]", (ROOT / "_core/graph/capi.py").read_text(), re.S)
    real = re.findall(r'"(\w+)"', listed[1] if listed else "")
    assert {"reference_count", "allocate", "thread_id", "check_signals"} <= set(names) <= set(real)

def test_the_module_cython_has_what_the_sources_use():
    """Where Cython is not installed, interpreted runs have no other."""
    used = {name for path in ROOT.rglob("*.py") for name in re.findall(r"\bcython\.(\w+)", path.read_text(encoding="utf-8"))}
    assert used - {"cimports"} - set(vars(shadow)) == set()
