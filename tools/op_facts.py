"""Facts about every op, from the registry and from a run of the test cases.

    from the registry       the formula, the inputs that have a vjp, the source of the jvp, the kernels that the forward names
    from the cases          at which depth a case reaches the op, the in-place methods that run it, the dtypes that it runs with

A case is run forward, backward and backward again under a `TorchDispatchMode`. The depth at which an op is seen says which of its
derivatives the tests check:

    depth 0     in the forward of a case        gradcheck checks its vjp, gradgradcheck the derivative of the vjp
    depth 1     in the backward of a case       gradgradcheck checks its vjp
    depth 2     in the second backward          its numbers are checked, its vjp is not

So ``op_table.py`` needs no fact written by hand; ``tests/test_op_table.py`` checks the facts.
"""

import ast
import contextlib
import functools
import importlib
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import kernels
from minigrad.kernels.contract import CONTRACT, Kernels
from minigrad.ops import REGISTRY
from minigrad.ops.base.rule import Elementwise, Linear, Op
from minigrad.utils._python_dispatch import TorchDispatchMode

for _name in dir(mg.Tensor):
    getattr(mg.Tensor, _name)       # imports the methods that `import minigrad` leaves out

__all__ = ["DTYPES", "UNCHECKED", "Fact", "facts", "in_c", "kernels_named", "on_cuda", "our_ops"]

ROOT = Path(mg.__file__).parent
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
# Ops whose kernel is an argument: the kernels that draw their numbers.
DRAWN = {"uniform_": ("uniform",), "normal_": ("normal",), "bernoulli_": ("bernoulli",),
         "exponential_": ("uniform", "clamp", "neg", "log1p", "div"),
         "geometric_": ("uniform", "clamp", "log", "div", "ceil", "cast"),
         "log_normal_": ("normal", "exp"), "cauchy_": ("uniform", "tan", "mul", "add"),
         "random_": ("from_host", "cast"), "random_to_": ("integers", "cast"), "random_range_": ("integers", "cast")}
# The vjp of an op that is seen only at this depth or deeper is checked by no test.
UNCHECKED = 2


@dataclass
class Fact:
    """The facts about one op. `cases` has the names of the cases that reach it, for each depth."""

    name: str
    formula: str
    vjp: tuple              # the inputs that have a vjp
    jvp: str                # "derived", "written", or "none"
    nonlinear: bool         # whether the vjp needs an operand or a result
    kernels: frozenset      # the kernels of the contract that the forward and the write may call
    cases: tuple = field(default_factory=lambda: (set(), set(), set()))
    twice: set = field(default_factory=set)         # the cases that check its second derivative
    in_place: set = field(default_factory=set)      # the methods of Tensor that write it
    dtypes: set = field(default_factory=set)        # the dtypes of its operands when it ran
    called: set = field(default_factory=set)        # the kernels that were called when it ran

    @property
    def depth(self):
        """The smallest depth at which the op is seen; `UNCHECKED` + 1 if it is never seen."""
        return next((depth for depth, cases in enumerate(self.cases) if cases), UNCHECKED + 1)

    @property
    def double(self):
        """The text for the column "double backward": whether a test has checked the derivative of the vjp."""
        if not self.vjp:
            return "none"
        if self.depth == 0:
            return ("yes" if self.nonlinear else "linear") if self.twice else "unchecked"
        return "in formulas" if self.depth < UNCHECKED else "unchecked"


def our_ops():
    """The ops of the package: name -> primitive. (The registry may also have ops that users have added.)"""
    return {name: op for name, op in REGISTRY.items() if op.rule.__module__.startswith("minigrad.")}


def facts(cases):
    """The `Fact` of every op, by name, after a run of `cases` (see tests/ops/cases.py)."""
    found = {name: Fact(name, formula(op.rule), derivatives(op), tangents(op), nonlinear(op), kernels_named(op))
             for name, op in our_ops().items()}
    survey = Survey(found)
    with survey.installed(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in cases:
            survey.run(case)
    return found


# ---- from the registry ------------------------------------------------------------------------------------


def formula(rule):
    """The formula: the first paragraph of the docstring, without the name in PyTorch."""
    text = (rule.__doc__ or "").split("\n\n")[0]
    return re.sub(r"\s*Mirrors ``.*?``\.?", "", " ".join(text.split())).rstrip(".")


def derivatives(op):
    """The names of the inputs that have a vjp."""
    if not op.differentiable or op.rule.no_derivative:
        return ()
    if op.joint is not None:
        return op.params[:1 if op.variadic else op.inputs]
    return tuple([name for name, rule in zip(op.params, op.formulas) if rule is not None])


def tangents(op):
    """Whether the jvp is "derived" from the vjp, "written" by hand, or "none"."""
    rule = op.rule
    if not derivatives(op):
        return "none"
    own = [c for c in rule.__mro__ if c not in (Op, Elementwise, object) and "jvp_of" in vars(c)]
    if own or hasattr(rule, "jvp"):
        return "written"
    by_hand = [n for n in op.params[:op.inputs] if hasattr(rule, "jvp_" + n)]
    if issubclass(rule, Linear) or (issubclass(rule, Elementwise) and not by_hand):
        return "derived"
    return "written" if by_hand else "none"


def nonlinear(op):
    """Whether a vjp needs an operand or a result, so that it has a derivative with respect to it."""
    if not op.differentiable:
        return False
    names = set(op.joint[1]) if op.joint else {n for rule in op.formulas if rule for n in rule[1]}
    return bool(names & {*op.params[:op.inputs], *op.outputs, *(op.params[:1] if op.variadic else ())})


@functools.cache
def source(module):
    """The functions and classes of a module as syntax, by name; and its imports from minigrad: name -> (module, name)."""
    file = ROOT.parent / (module.replace(".", "/") + ".py")
    if not file.exists():
        file = file.with_suffix("") / "__init__.py"
    found, imports = {}, {}
    for item in ast.parse(file.read_text("utf-8")).body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            found[item.name] = item
        elif isinstance(item, ast.ImportFrom) and (item.module or "").startswith("minigrad"):
            imports |= {alias.asname or alias.name: (item.module, alias.name) for alias in item.names}
    return found, imports


def kernels_named(op):
    """The kernels that an op's forward or write names, in any branch, or that a function names to which it passes `k`."""
    if op.rule.kernel:
        return frozenset([op.rule.kernel])
    written = frozenset()
    for owner in op.rule.__mro__:
        definition = source(owner.__module__)[0].get(owner.__name__) if owner.__module__.startswith("minigrad") else None
        for item in definition.body if definition else ():
            if isinstance(item, ast.FunctionDef) and item.name == "write":
                written = frozenset(named_in(owner.__module__, item, op.rule, set()))
        for item in definition.body if definition else ():
            if isinstance(item, ast.FunctionDef) and item.name == "forward":
                return written | named_in(owner.__module__, item, op.rule, set()) | frozenset(DRAWN.get(op.name, ()))
            if isinstance(item, ast.Assign) and getattr(item.targets[0], "id", None) == "forward":
                return frozenset(named_behind(owner.__module__, item.value, op.rule, set()))
    for other in REGISTRY.values():     # a rule that a function made from another rule
        if other is not op and other.forward is op.forward and other.rule.__name__ in source(other.rule.__module__)[0]:
            return kernels_named(other)
    raise LookupError(f"{op.name}: no forward in the source of {op.rule.__module__}")


def named_in(module, function, rule, seen):
    """`kernels_named` for one function."""
    if (module, function.name) in seen:
        return set()
    seen.add((module, function.name))
    found = set()
    for item in ast.walk(function):
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "k" and item.attr in CONTRACT:
            found.add(item.attr)
        if not isinstance(item, ast.Call):
            continue
        if isinstance(item.func, ast.Name) and item.func.id == "getattr":       # getattr(k, "a" if ... else "b")
            found |= {c.value for c in ast.walk(item) if isinstance(c, ast.Constant) and c.value in CONTRACT}
        if isinstance(item.func, ast.Name) and item.func.id == "write_by_kernel":      # its second argument: ADD = NUMBER["add"]
            number = item.args[1]
            assert isinstance(number, ast.Name)
            found.add(list(CONTRACT)[getattr(importlib.import_module(module), number.id)])
        if any(isinstance(a, ast.Name) and a.id == "k" for a in item.args):
            found |= named_behind(module, item.func, rule, seen)
    return found


def named_behind(module, called, rule, seen):
    """`kernels_named` for the target of a call: a function of the module, an imported one, or the forward of another rule."""
    if isinstance(called, ast.Name):
        functions, imports = source(module)
        if called.id in imports:
            module, name = imports[called.id]
            functions = source(module)[0]
        else:
            name = called.id
        if isinstance(functions.get(name), ast.FunctionDef):
            return named_in(module, functions[name], rule, seen)
    elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.attr == "forward":
        other = getattr(importlib.import_module(rule.__module__), called.value.id, None)
        if other is not None and hasattr(other, "op"):
            return set(kernels_named(other.op))
    return set()


@functools.cache
def in_c():
    """The kernels of the contract that have a C loop for the CPU. They are read from the sources, so this works interpreted too."""
    found = set()
    for file in (ROOT / "kernels" / "cpu").glob("*.pyx"):
        text = file.read_text("utf-8")
        found |= set(re.findall(r"^(?:def|cpdef(?: \w+)?) (\w+)\(", text, re.MULTILINE))
        # kernels around a loop: one of NumPy, or one of transcendental.h
        for names in re.findall(r"^([\w, ]+) = \[?(?:loop_of_|transcendental\()", text, re.MULTILINE):
            found |= set(names.split(", "))
    return frozenset(found & set(CONTRACT))


@functools.cache
def on_cuda():
    """The kernels of the contract that exist for a GPU. They are read from the sources, since importing these needs numba.

    They are functions, methods, names in ``__all__``, entries of a table of expressions, or variables.
    tests/cuda/test_ops.py compares the result with the imported kernels.
    """
    found = set()
    for file in (ROOT / "kernels" / "cuda").rglob("*.py"):
        for item in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(item, ast.FunctionDef):
                found.add(item.name)
            elif isinstance(item, ast.Dict | ast.List):
                names = item.keys if isinstance(item, ast.Dict) else item.elts
                found |= {name.value for name in names if isinstance(name, ast.Constant)}
            elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Tuple):
                found |= {name.id for name in item.targets[0].elts if isinstance(name, ast.Name)}
    return frozenset(found & set(CONTRACT))


# ---- from the cases ---------------------------------------------------------------------------------------


class Survey(TorchDispatchMode):
    """Notes each op that runs, the kernels that it calls, and the in-place method that called it."""

    def __init__(self, found):
        self.found = found
        self.case: Any = None
        self.op = self.method = None
        self.depth = 0
        self.views = [op for name, op in our_ops().items() if name.endswith("_") and op.view]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.primitive.name
        before, self.op = self.op, name
        try:
            out = func(*args)
        finally:
            self.op = before
        if name in self.found:
            self.note(name, func.primitive, args)
        if func.in_place and self.method:
            self.found[name].in_place.add(self.method)
        return out

    def note(self, name, primitive, args):
        fact = self.found[name]
        fact.cases[self.depth].add(self.case.name)
        if self.case.derivative and self.case.double and self.depth == 0:
            fact.twice.add(self.case.name)
        operands = args[0] if primitive.variadic else args[:max(primitive.inputs, 1)]
        dtypes = {x.dtype.name for x in operands if isinstance(x, mg.Tensor)}
        if len(dtypes) == 1:
            fact.dtypes |= dtypes

    def run(self, case):
        """Run a case in every dtype, with derivatives in the floating and complex dtypes. Other dtypes than its own may fail."""
        self.case = case
        for dtype in DTYPES:
            self.depth = 0
            differentiated = case.derivative and (dtype == case.dtype or dtype.startswith(("float", "complex")))
            try:
                xs = [mg.tensor(convert(a, dtype), requires_grad=differentiated) for a in case.arrays()]
                with self:
                    out = case.run(mg, *xs)
                    if differentiated and isinstance(out, mg.Tensor):
                        self.derivatives(out, xs)
            except Exception:
                if dtype == case.dtype:
                    raise

    def derivatives(self, out, xs):
        """Compute the first and second gradients. Some ops run only in a backward that nobody differentiates."""
        roots = [out]
        for self.depth in (1, 2):
            roots = [r for r in roots if r.requires_grad]
            if not roots:
                return
            total = [(r * r.conj()).real.sum() for r in roots]
            grads = mg.autograd.grad(total, xs, create_graph=True, allow_unused=True)
            roots = [g for g in grads if g is not None]
        self.depth = UNCHECKED
        mg.autograd.grad((out * out.conj()).real.sum(), xs, allow_unused=True)

    @contextlib.contextmanager
    def installed(self):
        """Within the context: watch the in-place methods of Tensor and the kernels."""
        methods = {name: method for name, method in vars(mg.Tensor).items() if name.endswith("_") and not name.startswith("_")}
        counting = SimpleNamespace(**{name: self.count(name) for name in CONTRACT}, __name__="survey")
        backend = mg.device("cpu").backend
        before = backend.use(Kernels("survey", counting))
        try:
            for name, method in methods.items():
                setattr(mg.Tensor, name, self.watch(name, method))
            yield
        finally:
            backend.use(before)
            for name, method in methods.items():
                setattr(mg.Tensor, name, method)

    def watch(self, name, method):
        """`method`, an in-place one, that notes its name. No mode sees a view taken in place: there the grad_fn names the op."""
        def called(x, *args, **kwargs):
            before, self.method = self.method, self.method or name
            try:
                out = method(x, *args, **kwargs)
            finally:
                self.method = before
            node = x.grad_fn.name() if x.grad_fn is not None else None
            for op in self.views:
                if op.node_name == node:
                    self.found[op.name].in_place.add(name)
                    self.note(op.name, op, (x,))
            return out
        return called

    def count(self, name):
        """The kernel `name`, which also notes its call."""
        kernel = getattr(kernels.CPU, name)

        def called(*args, **kwargs):
            if self.op is not None:
                self.found[self.op].called.add(name)
            return kernel(*args, **kwargs)
        return called


def convert(array, dtype):
    """The numbers of a case in another dtype. Times 3 for integers, so that not all become zero."""
    if dtype == "bool":
        return array.real > 0
    if "int" in dtype:
        return (np.abs(array.real) * 3).astype(dtype)
    return array.real.astype(dtype) if dtype.startswith("float") else array.astype(dtype)
