"""The rules: one class per op. See README.md.

Importing this package registers the ops that nearly every program needs. The modules of the others are imported when a program
first uses one of their functions (``late.py``).

This package also gives the core the functions that the core cannot import: the rules behind the operators (`use_rules`) and the few
functions on tensors that the engine calls (`upcalls`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import os
from importlib import import_module
from types import SimpleNamespace

from minigrad._core.record.apply import binary
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.surface.operators import use_rules
from minigrad._lazy import LateMethod, lazy
from minigrad.ops import late
from minigrad.ops.base import inplace, overwriting, registry
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.keywords import accept_names_everywhere
from minigrad.ops.base.overwriting import fill
from minigrad.ops.elementwise import arithmetic, comparison, selection
from minigrad.ops.index import getitem
from minigrad.ops.linalg import matrix
from minigrad.ops.shape import clone_cast
from minigrad.ops.elementwise.arithmetic import *
from minigrad.ops.elementwise.comparison import *
from minigrad.ops.elementwise.functions import *
from minigrad.ops.elementwise.selection import *
from minigrad.ops.reduce.reduction import *
from minigrad.ops.shape.cat_split import *
from minigrad.ops.shape.clone_cast import *
from minigrad.ops.shape.views import *
from minigrad.ops.index.getitem import *
from minigrad.ops.index.indexing import *
from minigrad.ops.linalg.matrix import *

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Number, Tensor


def modules_of(family):
    """The names of the modules of a family."""
    files = os.listdir(os.path.join(os.path.dirname(__file__), family))
    return sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and file != "__init__.py")


# We import the modules of these families, so that their ops are in the registry. The names in the modules' `__all__` become
# ``mg.f``. ops/base has no functions for users. Of linalg and nn we import nothing but the matrix product, and no module in `LATE`.
FAMILIES = ("elementwise", "reduce", "scan", "shape", "index", "sort")
EVERY_FAMILY = (*FAMILIES, "linalg", "nn")
LATE = late.FUNCTIONS
MODULES = {f"{family}.{stem}": import_module(f"minigrad.ops.{family}.{stem}")
           for family in FAMILIES for stem in modules_of(family) if f"{family}.{stem}" not in LATE | late.IN_PLACE}
MODULES["linalg.matrix"] = matrix
__all__ = [name for module in MODULES.values() for name in getattr(module, "__all__", ())]
__all__ += ["fill"]

# The other modules are imported when a program first reads one of their names. `minigrad.linalg` and `minigrad.nn.functional`
# import the rest of their two families.
get_late, __dir__ = lazy(__name__, names=LATE)
import_module("minigrad.ops.sort")
del globals()["sort"]       # `ops.sort` is to be the function, not the folder, whichever module of the folder comes first
IN_PLACE_HOMES = {name: module for module, names in late.IN_PLACE.items() for name in names.split()}


def __getattr__(name) -> Any:
    """Import what has this name. `REGISTRY` is complete: the first one to ask for it imports all modules."""
    if name == "REGISTRY":
        for family in EVERY_FAMILY:
            for stem in modules_of(family):
                import_module(f"minigrad.ops.{family}.{stem}")
        return registry.REGISTRY
    found = find_in_place(name) if name in IN_PLACE_HOMES else get_late(name)
    globals()[name] = accept_names_everywhere({name: found}).get(name, found)
    return globals()[name]


def find_in_place(name):
    """Import the in-place method `name`: ``asin_``, or another name for it, ``arcsin_``."""
    module = import_module(f"minigrad.ops.{IN_PLACE_HOMES[name]}")
    methods = vars(module) | IN_PLACE | getattr(module, "METHODS", {})
    return methods[name] if name in methods else find_in_place(getattr(import_module("minigrad.ops"), name[:-1]).__name__ + "_")


def first_parameter(function):
    """The name of the first named parameter. For 300 functions, `inspect.signature` would take 6 ms of each import of minigrad."""
    declared = getattr(function, "__signature__", None)
    function = getattr(function, "__wrapped__", function)
    return function.__code__.co_varnames[0] if declared is None else next(iter(declared.parameters))


# Functions that become no methods here: PyTorch has no such method, or `Tensor` defines it in its own file.
FUNCTIONS = {"fill", "linear", "rsub"} | late.NO_METHODS
# Functions that are also methods: their first argument is called `input` (or `tensor`).
METHODS = {name: globals()[name] for name in __all__
           if first_parameter(globals()[name]) in ("input", "tensor") and name not in FUNCTIONS}
METHODS |= {name: LateMethod("minigrad.ops", name) for module, names in LATE.items() for name in names.split()
            if name not in FUNCTIONS and (not module.startswith("nn.") or module == "nn.softmax")}
METHODS |= {name: LateMethod("minigrad.ops", name) for name in IN_PLACE_HOMES}
METHODS |= inplace.METHODS | IN_PLACE
# Where a function has several names, its in-place method has them too: subtract_, arcsin_.
METHODS |= {name + "_": METHODS[globals()[name].__name__ + "_"] for name in __all__
            if globals()[name].__name__ + "_" in METHODS and name + "_" not in IN_PLACE_HOMES}
# The in-place operators: x += y
METHODS |= {f"__i{operator}__": METHODS[name] for operator, name in {
    "add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "pow": "pow_"}.items()}
METHODS |= {f"__{operator}__": LateMethod("minigrad.ops.elementwise.rounding", operator, f"__{operator}__")
            for operator in ("floordiv", "rfloordiv", "mod", "rmod")}
METHODS |= {f"__{operator}__": LateMethod("minigrad.ops.elementwise.bits", operator, f"__{operator}__")
            for operator in ("rlshift", "rrshift")}
METHODS |= {f"__{operator}__": LateMethod("minigrad.ops", function, f"__{operator}__") for operator, function in {
    "ifloordiv": "floor_divide_", "imod": "remainder_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift"}.items()}


def where_method(self, condition: Tensor, other: Tensor | Number) -> Tensor:
    """Return self where `condition` is true, else `other`. Mirrors ``torch.Tensor.where``.

    Args:
        condition (Tensor): bool. The shapes of self, `condition` and `other` broadcast.
        other (Tensor or number): the values where `condition` is false.

    See `minigrad.where`.

    >>> mg.tensor([1., 2.]).where(mg.tensor([True, False]), 0.)
    tensor([1., 0.])
    """
    return selection.where(condition, self, other)


# NumPy's names for arguments: mg.cumsum(x, axis=0), x.cumsum(axis=0). The functions in the modules below do without.
RENAMED = accept_names_everywhere({name: globals()[name] for name in __all__} | METHODS)
globals().update({name: RENAMED[name] for name in __all__ if name in RENAMED})
METHODS |= {name: RENAMED[name] for name in METHODS if name in RENAMED}

METHODS |= {"where": where_method, "polygamma": LateMethod("minigrad.ops.elementwise.special", "polygamma_method", "polygamma")}

upcalls.clone = clone_cast.clone
upcalls.copied = overwriting.copy_strided
upcalls.cast = clone_cast.cast
upcalls.real = selection.real_part
upcalls.load = lambda name: import_module(
    f"minigrad.ops.{next(module for module, names in late.UPCALLS.items() if name in names.split())}")

use_rules(
    arithmetic.Add.op, arithmetic.Sub.op, arithmetic.Mul.op, arithmetic.Div.op, arithmetic.Neg.op,
    SimpleNamespace(
        abs=selection.abs,
        compare=comparison.compare,
        getitem=getitem.getitem,
        invert=comparison.invert,
        logical=comparison.logical,
        matmul_operator=matrix.matmul_operator,
        pow_operator=arithmetic.pow_operator,
        rdiv=arithmetic.rdiv,
        rpow=arithmetic.rpow,
        setitem=getitem.setitem,
        rsub=lambda x, y: binary(arithmetic.Rsub.op, x, y),
    ))
