"""Compiled code trusts nothing that Python code can change: the rules of minigrad/_core/README.md.

The command ``make hostile`` calls every function with bad arguments (tests/hostile). These tests check the rules themselves.
"""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad as mg
from minigrad._build import pure as _pure

ROOT = Path(mg.__file__).parent
CORE = sorted((ROOT / "_core").rglob("*.py"))
COMPILED = _pure.mode() == "compiled"


def extension_classes():
    """The compiled classes of minigrad; interpreted, the same ones."""
    found = {}
    for path in CORE:
        module = importlib.import_module(".".join(("minigrad", *path.relative_to(ROOT).with_suffix("").parts)))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and "cython.cclass" in [ast.unparse(d) for d in node.decorator_list]:
                found[node.name] = getattr(module, node.name), [ast.unparse(d) for d in node.decorator_list]
    return found


CLASSES = extension_classes()


@pytest.mark.parametrize("name", CLASSES)
def test_methods_check_their_self(name):
    """differences/K-05: a method that Cython binds itself would take any object for its `self`."""
    cls, decorators = CLASSES[name]
    assert "cython.binding(False)" in decorators
    if COMPILED:
        kinds = {method: type(f).__name__ for method, f in vars(cls).items() if callable(f) and not isinstance(f, type)}
        assert [m for m, kind in kinds.items() if kind == "cython_function_or_method"] == []


@pytest.mark.parametrize("call", [
    "Tensor.exp_(None)", "Tensor.exp_(3)", "list(map(Tensor.detach, [mg.ones(1), None]))", "Tensor.detach('x')", "Tensor.mul_(None, 2)",
    "Tensor.backward(None)", "Tensor.register_hook(None, print)", "Tensor.retain_grad(3)", "Tensor.t_(None)", "Tensor.zero_(None)",
    "Tensor.copy_(None, None)", "Tensor.log10_(None)", "Tensor.__imul__(None, mg.ones(2))", "Tensor.logical_xor_(None, mg.ones(2))",
    "Tensor.__getitem__(None, 0)", "Tensor.requires_grad_(None)", "Node.name(3)", "Node.register_hook(None, print)", "Node.register_prehook(3, print)",
    "type(mg.ones(1).expand(2)).__len__(None)", "Tensor.numel(None)", "Tensor.is_contiguous(None)", "Tensor.__len__(3)",
])
def test_unbound(call):
    """differences/K-05: TypeError, in both modes alike."""
    names = {"mg": mg, "Tensor": mg.Tensor, "Node": type(mg.ones(2, requires_grad=True).exp().grad_fn)}
    with pytest.raises(TypeError):
        eval(call, names)


def test_a_node_made_by_hand():
    """A program cannot make a node or a subclass of a node class: their fields would not be set."""
    cls = type(mg.ones(2, requires_grad=True).exp().grad_fn)
    with pytest.raises(TypeError, match="cannot create 'ExpBackward0' instances"):
        cls()
    with pytest.raises(TypeError, match="type 'ExpBackward0' is not an acceptable base type"):
        type("Sub", (cls,), {})
    node = cls.__mro__[1]()
    assert node.next_functions == ()
    for ask in (lambda: node.name(), lambda: node._saved_self, lambda: node._raw_saved_self, lambda: dir(node)):
        with pytest.raises(AttributeError):
            ask()


@pytest.mark.parametrize("cls", ["int", "3", "mg.ones(1)", "object", "type(mg.ones(2, requires_grad=True).exp().grad_fn)"])
@pytest.mark.parametrize("how", ["mg.ones(2).as_subclass({})", "mg.Tensor._make_subclass({}, mg.ones(2))", "mg.Tensor.__new__({})",
                                 "mg.nn.Parameter.__new__({}, mg.ones(2))", "mg.nn.Buffer.__new__({}, mg.ones(2))",
                                 "mg._core.graph.tensor.use_tensor_class({})", "mg._core.graph.tensor.use_parameter_class({})"])
def test_no_class_of_tensors(how, cls):
    """differences/K-04"""
    with pytest.raises(TypeError):
        eval(how.format(cls))


def test_a_class_of_results_that_is_none():
    """differences/K-04: the class that `_result_class` returns is checked like any class that a user gives."""
    class Mine(mg.Tensor):
        @classmethod
        def _result_class(cls, other):
            return int
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        mg.ones(2).as_subclass(Mine) + 1


@pytest.mark.parametrize("base", [mg.Tensor, mg.Tensor.__mro__[1], mg.Tensor.__mro__[2]], ids=lambda b: b.__name__)
def test_new_that_skips_ours(base):
    """differences/K-04: an empty tensor, as in torch."""
    class Mine(mg.Tensor):
        def __new__(cls, *args):
            return base.__new__(cls)
    try:
        x = Mine(3)
    except TypeError as error:      # a class between has a __new__, and Python demands that one
        assert "is not safe" in str(error)
        return
    assert isinstance(x, Mine) and x.shape == (0,) and x.dtype is mg.float32 and x.sum().item() == 0
    assert (x + 1).tolist() == [] and repr(x)


def test_dimensions():
    """differences/K-06: as many as NumPy has, and not one more."""
    x = mg.arange(2.0, requires_grad=True).reshape((1,) * 62 + (2, 1))
    index = mg.zeros((1,) * 64, dtype=mg.int64)
    for y in (x[0], x[..., 0], x.gather(62, index), x.sort(62).values, x.max(62).values, x.scatter_add(62, index, mg.ones((1,) * 64)),
              x.transpose(0, 62), x.sum(62), x.cumsum(62), x.index_select(62, mg.tensor([1])), x.flip(62), x.squeeze(0)):
        y.sum().backward(retain_graph=True)
    for more in (lambda: x.unsqueeze(0), lambda: x[None], lambda: mg.stack([x]), lambda: x.expand((1,) * 64 + (2,)), lambda: x.view((1,) * 65),
                 lambda: mg.ones((1,) * 65), lambda: x.reshape((1,) * 66), lambda: x.repeat((1,) * 65), lambda: mg.kron(x, x[None]),
                 lambda: x.as_strided((1,) * 65, (1,) * 65), lambda: x[index[None]], lambda: mg.zeros((1,) * 65),
                 lambda: x.unfold(62, 1, 1), lambda: mg.diag_embed(x), lambda: x.index_select(0, index)):
        with pytest.raises((RuntimeError, IndexError), match="MG-E"):
            more()


def test_unchecked_functions_are_private():
    """Only functions that C alone can call have `@cython.nonecheck(False)`: a cfunc, or a cdef function of a .pxd."""
    found = []
    for path in CORE:
        declared = path.with_suffix(".pxd").read_text("utf-8") if path.with_suffix(".pxd").exists() else ""
        if "(Node):" in declared:       # a method that overrides one of Node's is declared there
            declared += (ROOT / "_core" / "graph" / "node.pxd").read_text("utf-8")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
            if "cython.nonecheck(False)" in decorators:
                found.append(node.name)
                assert "cython.cfunc" in decorators or re.search(rf"^ *cdef .*\b{node.name}\(", declared, re.M), (path.name, node.name)
    assert 0 < len(found) <= 25     # README.md says how many


@pytest.mark.skipif(not COMPILED, reason="interpreted code has no directives")
def test_all_else_is_checked():
    """Every module is compiled with nonecheck: a function with typed parameters raises if it is called with None."""
    code = ("import minigrad as mg\nfrom minigrad._core.mutation import inplace, views\n"
            "from minigrad._core.record import apply, forward_ad, history\n"
            "for f, n in ((apply.call, 2), (apply.binary, 3), (apply.unary, 2), (views.locate_view, 1), (inplace.check_inplace, 1), "
            "(inplace.check_memory, 1), (inplace.apply_inplace, 3), (forward_ad.set_primal, 1), (history.noted_writes, 1)):\n"
            "    try:\n        f(*[None] * n)\n    except (AttributeError, TypeError):\n        continue\n    raise SystemExit(f.__name__)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
