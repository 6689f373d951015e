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
from minigrad._core.graph.upcalls import Late, Upcalls
from minigrad.ops import late
from minigrad.ops.base.inplace_pairs import IN_PLACE

ROOT = Path(mg.__file__).parent.parent
MODES = ["1", *["0"] * (pure.mode() == "compiled")]

# Not loaded by `import minigrad`, nor by the program below. A name stands for its submodules too.
LATE = (
    "minigrad._C", "minigrad._debug", "minigrad._custom_op", "minigrad.demo", "minigrad.distributed", "minigrad.fft", "minigrad.func", "minigrad.library",
    "minigrad.linalg", "minigrad.nn", "minigrad.optim", "minigrad.serialization", "minigrad.special", "minigrad.testing", "minigrad.types",
    "minigrad.utils", "minigrad.viz", "minigrad.random", "minigrad.cuda", "minigrad.autograd._gradcheck", "minigrad.autograd._graph_logging", "minigrad.autograd._jacobians",
    "minigrad.autograd.forward_ad", "minigrad.autograd.function", "minigrad.autograd.functional", "minigrad.autograd.variable",
    "minigrad._core.function", "minigrad._core.observe", "minigrad.kernels.cuda", "minigrad.kernels.meta",
    *[f"minigrad.ops.{family}.{module}" for family in ops.EVERY_FAMILY for module in ops.modules_of(family)
      if f"{family}.{module}" not in ops.MODULES],
    "ast", "asyncio", "copy", "cython.cimports.numpy", "dataclasses", "decimal", "fractions", "json", "logging", "multiprocessing",
    "numba", "numpy.random", "optree", "random", "secrets", "threading", "traceback", "unittest", "ml_dtypes", "minigrad._bfloat16",
    "minigrad.kernels.rounding", "minigrad.amp", "minigrad.storage",
    *[f"minigrad.kernels.cpu.{module}" for module in ("convolution", "pooling", "loss", "optim")],
    *[f"minigrad.kernels.numpy_ref.{module}" for module in (
        "convolution", "fourier", "gamma", "linalg", "nn", "ordering", "randoms", "rejection", "scans", "special")],
)
MOST_MODULES = 129      # of minigrad that `import minigrad` loads
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


@pytest.mark.parametrize("mode", MODES)
def test_few_modules_are_imported(mode):
    """Each takes 0.3 to 2% of the time of the import, so a new one must be needed by nearly every program: else import it late."""
    found = [name for name in loaded("import minigrad", mode) if name.startswith("minigrad")]
    assert len(found) <= MOST_MODULES, found


def test_the_list_is_right():
    """Every module of minigrad in LATE exists, so that no entry has lost its meaning."""
    for name in LATE:
        path = ROOT.joinpath(*name.split("."))
        assert not name.startswith("minigrad") or path.is_dir() or any(path.with_suffix(s).exists() for s in (".py", ".pyx")), name


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
    names = [f"{family}.{module}" for family in ops.EVERY_FAMILY for module in ops.modules_of(family)]
    return {name: import_module(f"minigrad.ops.{name}") for name in names if name not in ops.MODULES}


def test_few_modules_are_loaded_at_once():
    """A new module of ops is loaded by `import minigrad` unless it is in a table of ops/late.py: that is where it belongs."""
    assert set(ops.MODULES) == {
        "elementwise.arithmetic", "elementwise.comparison", "elementwise.functions", "elementwise.selection", "index.getitem",
        "index.indexing", "linalg.matrix", "reduce.reduction", "shape.cat_split", "shape.clone_cast", "shape.formats", "shape.views"}


def test_the_table_of_late_functions():
    """`ops.LATE` has the functions that its modules offer. If this fails, edit the table."""
    modules = late_modules()
    assert set(ops.LATE) <= set(modules)
    for name, module in modules.items():
        listed, offered = ops.LATE.get(name, "").split(), getattr(module, "__all__", [])
        if not name.startswith("nn."):
            assert sorted(listed) == sorted(offered), name
        else:       # of nn, only what PyTorch also has as torch.f
            assert set(listed) <= set(offered), name
        for function in listed:
            assert getattr(mg, function) is getattr(ops, function)
            assert inspect.unwrap(getattr(ops, function)) is inspect.unwrap(getattr(module, function))


def test_late_methods():
    """A late function is a method by the same rule as the others: its first argument is called input or tensor."""
    for name, module in late_modules().items():
        for function in ops.LATE.get(name, "").split() if not name.startswith("nn.") or name == "nn.softmax" else ():
            rule = ops.first_parameter(getattr(module, function)) in ("input", "tensor") and function not in ops.FUNCTIONS
            assert rule == (function in ops.METHODS) or function == "polygamma", function   # its method has another order
            if rule:
                assert hasattr(mg.Tensor, function)
                found = vars(mg.Tensor)[function]       # hasattr has looked it up
                assert inspect.unwrap(found) is inspect.unwrap(getattr(module, function))


def test_no_method_waits_for_an_import():
    """A tensor has all its methods from the beginning, those of late modules too."""
    added = run("import importlib, minigrad as mg; before = set(dir(mg.Tensor)); mg.ones(2).untyped_storage(); "
                "[importlib.import_module(f'minigrad.{name}') for name in (*mg._late.MODULES, *mg._late.METHODS)]; "
                "print(sorted(set(dir(mg.Tensor)) - before))")
    assert added == []


def test_the_table_of_late_methods_in_place():
    """`late.IN_PLACE` has the in-place methods that the late modules define, and other names of these."""
    modules = late_modules()
    made = {method.__name__: method for method in IN_PLACE.values()}
    for name, module in modules.items():
        defined = {key for key, value in vars(module).items() if key.endswith("_") and key == getattr(value, "__name__", "")}
        pairs = {key[:-1] for key in IN_PLACE if key[:-1] in ops.LATE.get(name, "").split()}
        listed = set(late.IN_PLACE.get(name, "").split())
        assert {key + "_" for key in pairs} | {*getattr(module, "METHODS", ())} <= listed, name
        assert {key for key in defined if key in ops.METHODS} <= listed, name
        for method in listed:
            found = inspect.unwrap(getattr(mg.Tensor, method))
            assert found.__name__ in made or found.__name__ in defined | {*getattr(module, "METHODS", ())}, method


def test_operators_that_come_later():
    """Also if their function has been a method before, and twice."""
    for use in ("x // 2", "7 // x", "x % 2", "7 % x", "i << 1", "i >> 1", "i & 1", "i | 1", "i ^ 1"):
        program = f"import minigrad as mg; x, i = mg.tensor(5.0), mg.tensor(5); print([({use}).item() for _ in range(2)])"
        assert run(program) == [eval(use, {"x": 5.0, "i": 5})] * 2, use
    for sign, y in (("//", 2), ("%", 2), ("&", 1), ("|", 2), ("^", 1)):
        program = f"import minigrad as mg; x = y = mg.tensor(5); x {sign}= {y}; first = x.item(); x {sign}= {y}; print([first, x.item(), x is y])"
        first = eval(f"5 {sign} {y}")
        assert run(program) == [first, eval(f"{first} {sign} {y}"), True], sign


def test_the_table_of_late_upcalls():
    """The core asks for these functions, and may be the first to need their modules."""
    assert sorted(" ".join(late.UPCALLS.values()).split()) == sorted(name for name, value in vars(Upcalls).items() if isinstance(value, Late))
    for names in late.UPCALLS.values():
        for name in names.split():
            assert run(f"import minigrad; from minigrad._core.graph.upcalls import upcalls; "
                       f"print([{name!r} in vars(upcalls), upcalls.{name} is not None])") == [False, True]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("use, expected", [
    ("x = mg.ones(3, requires_grad=True); y = x * 1; y[:2].mul_(3); y.sum().backward(); print(x.grad.tolist())", [3.0, 3.0, 1.0]),
    ("x = mg.ones(3, requires_grad=True); y = x * 1; v = y[1:]; y.mul_(2); print([v.grad_fn.name()])", ["AsStridedBackward0"]),
    ("x = mg.ones(2, 2, requires_grad=True); y = x * 1; y.t()[0] = 5; y.sum().backward(); print(x.grad.tolist())", [[0.0, 1.0], [0.0, 1.0]]),
    ("x = mg.ones(2, dtype=mg.complex64, requires_grad=True); y = x * 1; mg.view_as_real(y)[0].mul_(3); y.abs().sum().backward(); "
     "print(x.grad.real.tolist())", [3.0, 1.0]),
    ("x = mg.ones(2, requires_grad=True); g, = mg.autograd.grad((x ** 3).sum(), x, create_graph=True); g.sum().backward(); "
     "print(x.grad.tolist())", [6.0, 6.0]),
    ("x = mg.tensor([2., 0., 3.], requires_grad=True); x.prod().backward(); print(x.grad.tolist())", [0.0, 6.0, 0.0]),
    ("print(mg.zeros(1, 1).addmm_(mg.ones(1, 3), mg.ones(3, 1), alpha=2).item())", 6.0),
    ("mg.manual_seed(0); print(sorted(mg.multinomial(mg.ones(2), 8, replacement=True).unique().tolist()))", [0, 1]),
    ("x = mg.ones(2).is_pinned(); print([x, mg.device('cuda').type])", [False, "cuda"]),
    ("x = mg.empty_strided((2, 2), (1, 2)); print(x.stride())", (1, 2)),
])
def test_who_comes_first(use, expected, mode):
    """Uses of late modules by others than their functions, each in a process of its own."""
    assert run(f"import minigrad as mg; {use}", mode) == expected


def test_the_function_sort_and_the_folder_sort():
    """``minigrad.ops.sort`` is a folder, whose first module must not hide the function."""
    for first in ("mg.unique(mg.ones(2))", "import minigrad.ops.sort.unique", "0"):
        assert run(f"import minigrad as mg; {first}; print([mg.sort(mg.ones(2)).values.tolist(), mg.ones(2).sort().indices.tolist()])") \
            == [[1.0, 1.0], [0, 1]]


def test_the_collector_is_on_after_the_import():
    """The import pauses it, and leaves its settings and what others have frozen."""
    assert run("import gc, minigrad; print([gc.isenabled(), gc.get_freeze_count()])") == [True, 0]
    assert run("import gc; gc.disable(); import minigrad; print(gc.isenabled())") is False
    assert run("import gc; gc.freeze(); n = gc.get_freeze_count(); import minigrad; print([gc.isenabled(), 0 < gc.get_freeze_count() <= n])") \
        == [True, True]
    program = """import gc
sys.modules["numpy"] = None
try:
    import minigrad
except ImportError as error:
    del error
print([gc.isenabled(), "minigrad" in sys.modules])"""
    assert run(program) == [True, False]


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
