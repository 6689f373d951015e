"""The callables of the tests: every callable of every namespace of minigrad.

    Subject("minigrad.nn.functional", "relu", function, parameters, public=True)
    Subject("minigrad.Tensor", "exp_", method, parameters, public=True)         called unbound: the tensor is an argument like others

A name without an underscore in its path is public: then a wrong argument must end in an error of minigrad. A private one may
raise anything, but must neither crash nor hang.
"""

import functools
import importlib
import inspect
from dataclasses import dataclass, field
from pathlib import Path

import minigrad as mg

# Programs that open windows, files or browsers, run for minutes by design, or end the process because that is what they are for.
LEFT_OUT = {
    "minigrad.errors": "made by us alone",
    "minigrad.demo": "a program", "minigrad.doctor": "a program", "minigrad.kernels.cuda": "needs a GPU or its simulator",
    "minigrad.grading.checks": "its failures are pytest's, which are no Exception",
    **dict.fromkeys(("minigrad.grading.server", "minigrad.grading.one_check"), "a program"),
    **{f"minigrad.grading.{name}": "the commands build, grade and score, which check what they are given and may run for minutes"
       for name in ("build", "grade", "class_report", "score", "submission", "integrity", "sets", "samples", "behaviours")},
    "minigrad.kernels.numpy_ref": "plain NumPy, which nothing in C stands behind; its C twins are called",
    "minigrad.run": "a program", "minigrad.utils.tensorboard": "needs TensorBoard", "minigrad.hub": "runs the code of a folder: any",
}
# Namespaces with functions that compute numbers.
COMPARED = ("minigrad", "minigrad.Tensor", "minigrad.nn.functional", "minigrad.linalg", "minigrad.special")
PRIVATE = ("_core", "_custom_op", "kernels", "ops")


@dataclass
class Subject:
    """One callable. `owner` is the class of a method, or None."""

    place: str
    name: str
    function: object
    parameters: list = field(repr=False)
    public: bool
    owner: object = None

    @property
    def path(self):
        return f"{self.place}.{self.name}"

    @property
    def home(self):
        """The module that defines it."""
        return getattr(self.owner or self.function, "__module__", None) or ""


def modules():
    """All modules of minigrad that can be imported, the package itself first."""
    root = Path(mg.__file__).parents[1]
    names = {".".join(path.relative_to(root).with_suffix("").parts) for path in (root / "minigrad").rglob("*.py*")
             if path.suffix in (".py", ".pyx")}
    found = [mg]
    for name in sorted(name.removesuffix(".__init__") for name in names):
        if not any(name == left or name.startswith(left + ".") for left in LEFT_OUT) and "__main__" not in name:
            try:
                found.append(importlib.import_module(name))
            except ModuleNotFoundError:     # no C kernels: interpreted
                continue
    return sorted(found, key=lambda m: (is_private(m.__name__), m.__name__.count("."), m.__name__))


def twin_of(subject):
    """PyTorch's function of the same path."""
    import torch
    return functools.reduce(getattr, subject.path.split(".")[1:], torch)


def comparable(subject):
    """Whether PyTorch has the same function, and its numbers should be ours."""
    from tests.parity.odd_arguments import SKIPPED
    if not subject.public or subject.name.startswith("_") or subject.name in SKIPPED or subject.place not in COMPARED:
        return False
    try:
        return callable(twin_of(subject))
    except AttributeError:
        return False


def is_private(path):
    return any(part.startswith("_") or part in PRIVATE for part in path.split(".")[1:])


def of_ours(thing):
    """Whether minigrad defines it. (Compiled functions know their module too.)"""
    module = getattr(thing, "__module__", None) or getattr(getattr(thing, "__objclass__", None), "__module__", "") or ""
    return module.split(".")[0] == "minigrad"


def is_left_out(thing):
    """Whether a module that is left out defines it."""
    module = getattr(thing, "__module__", None) or ""
    return any(module == left or module.startswith(left + ".") for left in LEFT_OUT)


def parameters_of(function):
    """The parameters of a callable; two if its signature is unknown."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("input", "other")]


def subjects():
    """Every callable once, under the shortest of its names. Ordered, so that numbers of calls mean the same everywhere."""
    found, seen = [], set()

    def add(place, name, function, public, owner=None):
        if id(function) not in seen:
            seen.add(id(function))
            found.append(Subject(place, name, function, parameters_of(function), public, owner))

    for module in modules():
        place, public = module.__name__, not is_private(module.__name__)
        names = getattr(module, "__all__", None) or sorted(vars(module))
        for name in sorted(names):
            try:
                thing = getattr(module, name, None)
            except ModuleNotFoundError:     # it needs a package that is not here
                continue
            if not callable(thing) or not of_ours(thing) or inspect.ismodule(thing) or is_left_out(thing):
                continue
            shown = public and not name.startswith("_") and not (inspect.isclass(thing) and issubclass(thing, BaseException))
            add(place, name, thing, shown)
            if inspect.isclass(thing):
                for method, function in sorted(methods_of(thing).items()):
                    add(f"{place}.{name}", method, function, shown and not method.startswith("_"), thing)
    return found


# Functions that run as long as their argument says.
PATIENT = {"chain", "ladder", "random_graph", "Transformer", "TransformerEncoder", "TransformerDecoder", "spawn", "start_processes",
           "timeit", "blocked_autorange", "adaptive_autorange"}
# Methods that Python calls with arguments of the right number and kind, or that end what they are called on.
SPECIAL = {"__class__", "__class_getitem__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__del__", "__new__", "__reduce__",
           "__sizeof__", "__dir__", "__instancecheck__", "__subclasscheck__", "__init__"}


def methods_of(cls):
    """The functions, methods and slots that a class and its bases of ours define."""
    found = {}
    for base in cls.__mro__:
        if not of_ours(base):
            continue
        for name, thing in vars(base).items():
            thing = thing.fget if isinstance(thing, property) else getattr(cls, name)
            if name not in SPECIAL and callable(thing) and not inspect.isclass(thing):
                found.setdefault(name, thing)
    return found
