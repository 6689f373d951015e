"""`import minigrad` loads what a short program needs, and the rest when a program first reads its name.

No test here measures a time: ``benchmarks/imports.py`` does. They list modules, in a process of their own, interpreted and compiled.
"""

import ast
import inspect
import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import minigrad as mg
from minigrad import ops
from minigrad._build import pure

ROOT = Path(mg.__file__).parent.parent
MODES = ["1", *["0"] * (pure.mode() == "compiled")]

# Not loaded by `import minigrad`, nor by the program below. A name stands for its submodules too.
LATE = (
    "minigrad._C", "minigrad._debug", "minigrad._custom_op", "minigrad.demo", "minigrad.distributed", "minigrad.fft", "minigrad.func", "minigrad.library",
    "minigrad.linalg", "minigrad.nn", "minigrad.optim", "minigrad.serialization", "minigrad.special", "minigrad.testing", "minigrad.types",
    "minigrad.utils", "minigrad.viz", "minigrad.autograd._gradcheck", "minigrad.autograd._graph_logging", "minigrad.autograd._jacobians",
    "minigrad.autograd.forward_ad", "minigrad.autograd.function", "minigrad.autograd.functional", "minigrad.autograd.variable",
    "minigrad._core.function", "minigrad._core.observe", "minigrad.kernels.cuda", "minigrad.kernels.meta",
    *[f"minigrad.ops.{family}.{module}" for family in ("linalg", "nn") for module in ops.modules_of(family)
      if module not in ("matrix", "products", "softmax")],
    "ast", "asyncio", "cython.cimports.numpy", "dataclasses", "decimal", "fractions", "json", "logging", "multiprocessing", "numba",
    "numpy.random", "optree", "random", "secrets", "unittest",
)
BACKWARD = "x = minigrad.tensor([1., 2.], requires_grad=True); y = x * x; y.sum().backward(); print(x.grad, file=sys.stderr)"


def run(program, mode="1"):
    """Run a program in a new process with `mode` as MINIGRAD_PURE. Return what it prints, a Python literal."""
    done = subprocess.run([sys.executable, "-c", f"import sys; {program}"], check=False, capture_output=True, text=True, cwd=ROOT,
                          timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT), "MINIGRAD_PURE": mode})
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def loaded(program, mode="1"):
    """The modules that a program loads, without those of NumPy and of the interpreter's start."""
    return run(f"import numpy; before = set(sys.modules); {program}; print(sorted(set(sys.modules) - before))", mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", ["import minigrad", f"import minigrad; {BACKWARD}"], ids=["import", "backward"])
def test_import_leaves_out(program, mode):
    found = loaded(program, mode)
    assert "minigrad.tensor" in found
    assert [name for name in found if any(name == late or name.startswith(late + ".") for late in LATE)] == []


def test_the_list_is_right():
    """Every module of minigrad in LATE exists, so that no entry has lost its meaning."""
    for name in LATE:
        path = ROOT.joinpath(*name.split("."))
        assert not name.startswith("minigrad") or path.is_dir() or path.with_suffix(".py").exists(), name


# ---- names that come later behave like the others -----------------------------------------------------------------


@pytest.mark.parametrize("program", [
    "import minigrad as mg; mg.nn.Linear", "from minigrad import nn; nn.Linear", "import minigrad.nn as nn; nn.Linear",
    "import minigrad; getattr(minigrad, 'nn').Linear", "from minigrad.nn import Linear", "import minigrad.nn, minigrad; minigrad.nn.Linear",
    "from minigrad import *; nn.Linear; optim.SGD; save; load; debug; threshold; autograd.Function",
    "import minigrad as mg; mg.autograd.Function; mg.autograd.function.Function; mg.autograd.functional.vjp; mg.autograd.Variable",
    "import minigrad.autograd.gradcheck, minigrad.autograd; minigrad.autograd.gradcheck.__call__"])
def test_each_form_of_import(program):
    assert run(f"{program}; print(1)") == 1


def test_a_name_is_looked_up_once():
    """After the first time, the name is an ordinary attribute of the package."""
    program = "import minigrad as mg; early = 'load' in vars(mg); mg.load; mg.nn; print([early, 'load' in vars(mg), 'nn' in vars(mg)])"
    assert run(program) == [False, True, True]


def test_dir_has_all_names():
    names = run("import minigrad as mg; print([dir(mg), dir(mg.autograd), [m for m in sys.modules if m == 'minigrad.nn']])")
    assert {"nn", "optim", "viz", "load", "debug", "tensor", "threshold"} <= set(names[0])
    assert {"Function", "Variable", "functional", "forward_ad", "backward"} <= set(names[1])
    assert names[2] == []


def test_all_has_what_dir_has():
    """``from minigrad import *`` brings every public name."""
    assert set(mg.__all__) <= set(dir(mg))
    assert all(hasattr(mg, name) for name in mg.__all__)
    assert {"nn", "tensor", "svd", "float32"} <= set(mg.__all__)


def test_a_name_that_does_not_exist():
    for module in (mg, mg.autograd):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nonsense'"):
            module.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nonsense' from 'minigrad'"):
        from minigrad import nonsense  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]


def test_a_pickle_finds_what_is_not_loaded_yet():
    text = pickle.dumps([mg.nn.Parameter(mg.ones(2)), mg.float32, mg.Size([2]), mg.svd, mg.autograd.Function]).hex()
    assert run(f"import pickle; made = pickle.loads(bytes.fromhex({text!r})); print([made[0].tolist(), repr(made[1])])") \
        == [[1.0, 1.0], "minigrad.float32"]


def test_a_backward_is_logged_if_logging_comes_later():
    """The engine does not import logging; a program that does gets its records, whenever it imports it."""
    program = """import io, minigrad as mg
x = mg.ones(2, requires_grad=True)
(x * x).sum().backward()
early = 'logging' in sys.modules
import logging
stream = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=stream)
(x * x).sum().backward()
print([early, stream.getvalue().count('running <')])"""
    assert run(program) == [False, 3]


# ---- ops that come later -------------------------------------------------------------------------------------------


def late_modules():
    """The modules of ops that `import minigrad` leaves out: name below minigrad.ops -> module."""
    names = [f"{family}.{module}" for family in ("linalg", "nn") for module in ops.modules_of(family)]
    return {name: import_module(f"minigrad.ops.{name}") for name in names if name not in ops.MODULES and name != "nn.softmax"}


def test_the_table_of_late_functions():
    """`ops.LATE` has the functions that its modules offer. If this fails, edit the table."""
    modules = late_modules()
    assert set(ops.LATE) <= set(modules)
    for name, module in modules.items():
        listed, offered = ops.LATE.get(name, "").split(), getattr(module, "__all__", [])
        if name.startswith("linalg."):
            assert sorted(listed) == sorted(offered), name
        else:       # of nn, only what PyTorch also has as torch.f
            assert set(listed) <= set(offered), name
        for function in listed:
            assert getattr(mg, function) is getattr(ops, function)
            assert inspect.unwrap(getattr(ops, function)) is inspect.unwrap(getattr(module, function))


def test_late_methods():
    """A late function is a method by the same rule as the others: its first argument is called input or tensor."""
    for name, module in late_modules().items():
        for function in ops.LATE.get(name, "").split() if name.startswith("linalg.") else ():
            rule = ops.first_parameter(getattr(module, function)) in ("input", "tensor") and function not in ops.FUNCTIONS
            assert rule == hasattr(mg.Tensor, function), function
            if rule:
                found = vars(mg.Tensor)[function]       # hasattr has looked it up
                assert inspect.unwrap(found) is inspect.unwrap(getattr(module, function))


def test_a_late_method_in_each_place():
    """Through a tensor, through the class, by super(), in a subclass, and by dir; each in a process that has not loaded it."""
    for use in ("mg.eye(2).det()", "mg.Tensor.det(mg.eye(2))", "Mine([[1., 0.], [0., 1.]]).det()", "getattr(mg.eye(2), 'det')()",
                "[mg.eye(2).det() for name in dir(mg.Tensor) if name == 'det'][0]", "mg.det(mg.eye(2))", "mg.linalg.det(mg.eye(2))"):
        program = f"""import minigrad as mg
class Mine(mg.Tensor):
    def det(self): return super().det()
early = 'minigrad.ops.linalg.determinants' in sys.modules
print([early, {use}.item()])"""
        assert run(program) == [False, 1.0], use


def test_the_registry_is_complete_for_the_first_who_asks():
    program = "from minigrad.ops.base.registry import REGISTRY; import minigrad; early = len(REGISTRY); from minigrad.ops import REGISTRY; " \
              "print([early, len(REGISTRY), 'linalg_det' in REGISTRY or 'det' in REGISTRY])"
    early, complete, found = run(program)
    assert early < complete == len(ops.REGISTRY) and found
