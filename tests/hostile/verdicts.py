"""The judgement of an outcome: the kind of fault, if any.

    crash, hang     in any callable
    bare            an error of Python or NumPy, where a public function should raise an error of minigrad
    values          other numbers than PyTorch's
"""

import enum
import inspect
import re

import numpy as np

from tests.hostile.subjects import PATIENT
from tests.ops.test_bad_input import same

# Messages of Python and Cython for a call that does not fit a signature, before our code runs: accepted.
BINDING = re.compile(
    r"missing \d+ required|missing a required|takes (?:exactly|at (?:most|least)|from|no|\d+)|takes \d+ positional|got an unexpected keyword|got multiple values|required positional|"
    r"takes no (?:keyword )?arguments|unexpected keyword argument|must be called with an? |requires? an? '?[\w.]+'? object|doesn't apply to an? |"
    r"needs an argument|keywords must be strings|too many positional|descriptor '|cannot create '|expected \d+ argument|abstract|"
    r"cannot create weak reference to|Argument '\w+' has incorrect type")
# The same for an operator: accepted of the methods behind operators, and of those that are compiled.
OPERATOR = re.compile("not supported between|unsupported operand")
ALLOWED = {"HostileError", "KeyboardInterrupt", "OSError"}       # the last: of a path where no file is or can be
# Class -> its methods that are never called by hand.
HOOKS = {"Optimizer": ("update",), "Mode": ("enter",), "Function": ("forward", "backward")}


def judged(call, outcome):
    """(kind, text) of the fault, or None. `call` is a Call or an Attack."""
    what = outcome[0]
    if what == "crash" or (what == "hang" and getattr(getattr(call, "subject", None), "name", None) not in PATIENT):
        return what, str(outcome[1] or "")
    if what != "error":
        return None
    _, classes, text, ours, place, *belongs = outcome
    subject = getattr(call, "subject", None)
    if subject is None or not subject.public or ours or ALLOWED & set(classes):
        return None         # an attack may end in any error
    if classes[0] == "TypeError" and (BINDING.search(text) or (OPERATOR.search(text) and not place)):
        return None
    getter = subject.owner is not None and isinstance(inspect.getattr_static(subject.owner, subject.name, None), property)
    if belongs == [False] and (getter or not subject.place.endswith("Tensor")) and classes[0] in (
            "AttributeError", "KeyError", "TypeError", "ValueError"):
        return None         # as of any method of Python's that is called on what is no object of its class
    if "RecursionError" in classes and any(label in str(call) for label in ("in itself", "nested")):
        return None         # Python's own words for a structure without an end
    if called_by_us(subject):
        return None         # by the engine, a step or a `with`, with what these have: users define such methods and call none
    if isinstance(subject.function, type) and issubclass(subject.function, (type, enum.Enum, str)) and not place:
        return None         # refused by Python, as it makes a class or a str or looks up a member, before a line of ours runs
    if classes[0] != "SystemError" and subject.name.startswith("__"):
        return None         # a protocol of Python's may ask for a bare error: of an attribute that is not there, of the end of an iterator
    return "bare", f"{classes[0]}: {text} [{place}]"


def called_by_us(subject):
    """Whether a method is a hook that a base class of ours calls."""
    return any(subject.name in names and cls.__module__.startswith("minigrad.") for cls in getattr(subject.owner, "__mro__", ())
               for names in (HOOKS.get(cls.__name__, ()),))


def differing(call, ours, theirs):
    """The same, of two results that should be equal."""
    if same(ours, theirs) or excused(call, ours, theirs):
        return None
    return "values", f"{ours!r:.140}, torch: {theirs!r:.140}"


def excused(call, ours, theirs):
    """The reason why two results may differ, or None."""
    from tests.parity.odd_arguments import DIFFERENT
    if (call.subject.place == "minigrad.linalg" or call.subject.name in OF_MATRICES) and not (finite(ours) and finite(theirs)):
        return "which of the results of an infinite matrix are nan depends on LAPACK"
    if "half" in str(call) and all(np.allclose(a, b, 4e-3, 1e-7, equal_nan=True) for a, b in zip(arrays(ours), arrays(theirs))):
        return "PyTorch rounds some of the steps to float16"
    if call.subject.name == "gumbel_softmax":
        return "random numbers"
    if "overlapping" in str(call):
        return "what is written first to elements that share memory"
    return DIFFERENT.get(("values", call.subject.name.removesuffix("_")))


OF_MATRICES = {"inverse", "slogdet", "logdet", "det", "matrix_power", "cholesky", "qr", "svd", "pinverse"}


def finite(result):
    return all(np.isfinite(x).all() for x in arrays(result))


def arrays(result):
    """The arrays in a result."""
    return [x for x in (result if isinstance(result, list) else [result]) if isinstance(x, np.ndarray)]
