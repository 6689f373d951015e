"""The rules: one class per op. See README.md.

Importing this package registers the ops of most families. A short program does without linear algebra and neural networks: their
modules are imported when a program first uses one of their functions (`LATE`).

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
from minigrad.ops.base import inplace, overwriting, registry
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.keywords import accept_names, accept_names_everywhere
from minigrad.ops.base.overwriting import fill
from minigrad.ops.elementwise import arithmetic, bits, comparison, rounding, selection, special
from minigrad.ops.index import getitem
from minigrad.ops.index.take import index_reduce_, scatter_reduce_
from minigrad.ops.linalg import matrix, products
from minigrad.ops.nn.softmax import log_softmax, softmax
from minigrad.ops.shape import clone_cast
from minigrad.ops.elementwise.arithmetic import *
from minigrad.ops.elementwise.bits import *
from minigrad.ops.elementwise.clamp import *
from minigrad.ops.elementwise.comparison import *
from minigrad.ops.elementwise.complex_numbers import *
from minigrad.ops.elementwise.functions import *
from minigrad.ops.elementwise.gamma_zeta import *
from minigrad.ops.elementwise.pointwise import *
from minigrad.ops.elementwise.predicates import *
from minigrad.ops.elementwise.representation import *
from minigrad.ops.elementwise.rounding import *
from minigrad.ops.elementwise.selection import *
from minigrad.ops.elementwise.special import *
from minigrad.ops.elementwise.trigonometry import *
from minigrad.ops.elementwise.xlogy import *
from minigrad.ops.reduce.extrema import *
from minigrad.ops.reduce.reduction import *
from minigrad.ops.reduce.summaries import *
from minigrad.ops.scan.running import *
from minigrad.ops.scan.scans import *
from minigrad.ops.shape.cat_split import *
from minigrad.ops.shape.clone_cast import *
from minigrad.ops.shape.diagonals import *
from minigrad.ops.shape.repeating import *
from minigrad.ops.shape.reshaping import *
from minigrad.ops.shape.splitting import *
from minigrad.ops.shape.stacking import *
from minigrad.ops.shape.strided import *
from minigrad.ops.shape.views import *
from minigrad.ops.index.getitem import *
from minigrad.ops.index.indexing import *
from minigrad.ops.index.masking import *
from minigrad.ops.index.scattering import *
from minigrad.ops.index.take import *
from minigrad.ops.index.view_scatter import *
from minigrad.ops.sort.searching import *
from minigrad.ops.sort.sorting import *
from minigrad.ops.linalg.matrix import *
from minigrad.ops.linalg.products import *

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor


def modules_of(family):
    """The names of the modules of a family."""
    files = os.listdir(os.path.join(os.path.dirname(__file__), family))
    return sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and file != "__init__.py")


# We import the modules of these families, so that their ops are in the registry. The names in the modules' `__all__` become
# ``mg.f``. ops/base has no functions for users.
FAMILIES = ("elementwise", "reduce", "scan", "shape", "index", "sort")
MODULES = {f"{family}.{stem}": import_module(f"minigrad.ops.{family}.{stem}")
           for family in FAMILIES for stem in modules_of(family)}
MODULES |= {f"linalg.{module.__name__.rpartition('.')[2]}": module for module in (matrix, products)}
__all__ = [name for module in MODULES.values() for name in getattr(module, "__all__", ())]
__all__ += ["fill", "log_softmax", "softmax"]

# The other modules of linalg and nn that have functions for `minigrad`: they are imported when a program first reads such a name.
# `minigrad.linalg` and `minigrad.nn.functional` import the rest of these two families.
LATE = {
    "linalg.contractions": "chain_matmul cross ger inner kron matrix_power outer tensordot vander vdot",
    "linalg.covariance": "corrcoef cov",
    "linalg.determinants": "det logdet slogdet",
    "linalg.einsum": "einsum",
    "linalg.factorizations": "cholesky cholesky_inverse cholesky_solve qr",
    "linalg.inverses": "inverse",
    "linalg.matrix_functions": "matrix_exp",
    "linalg.norms": "cdist dist norm renorm",
    "linalg.pairwise": "bilinear pdist",
    "linalg.pseudoinverses": "pinverse",
    "linalg.singular_values": "svd",
    "nn.averaging": "adaptive_avg_pool1d avg_pool1d",
    "nn.convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "nn.pooling": "max_pool1d max_pool2d max_pool3d",
    "nn.unfolding": "channel_shuffle pixel_shuffle pixel_unshuffle",
}
get_late, __dir__ = lazy(__name__, names={**LATE, "linalg.norms": f"{LATE['linalg.norms']} renorm_"})    # renorm_ is only a method


def __getattr__(name):
    """Import what has this name. `REGISTRY` is complete: the first one to ask for it imports all modules."""
    if name == "REGISTRY":
        for family in ("linalg", "nn"):
            for stem in modules_of(family):
                import_module(f"minigrad.ops.{family}.{stem}")
        return registry.REGISTRY
    found = get_late(name)
    globals()[name] = accept_names_everywhere({name: found}).get(name, found)
    return globals()[name]


def first_parameter(function):
    """The name of the first named parameter. For 300 functions, `inspect.signature` would take 6 ms of each import of minigrad."""
    declared = getattr(function, "__signature__", None)
    return function.__code__.co_varnames[0] if declared is None else next(iter(declared.parameters))


# Functions that become no methods here: PyTorch has no such method, or `Tensor` defines it in its own file.
FUNCTIONS = {"bilinear", "bucketize", "cdist", "chain_matmul", "combinations", "einsum", "fill", "imag", "is_complex",
             "is_floating_point", "linear", "numel", "pdist", "real", "rsub", "std_mean", "tensordot", "vander", "var_mean",
             "view_as_complex", "view_as_real"}
# Functions that are also methods: their first argument is called `input` (or `tensor`).
METHODS = {name: globals()[name] for name in __all__
           if first_parameter(globals()[name]) in ("input", "tensor") and name not in FUNCTIONS}
METHODS |= {name: LateMethod("minigrad.ops", name) for module, names in LATE.items() if module.startswith("linalg.")
            for name in names.split() if name not in FUNCTIONS}
METHODS["renorm_"] = LateMethod("minigrad.ops", "renorm_")
METHODS |= inplace.METHODS | IN_PLACE
# Where a function has several names, its in-place method has them too: subtract_, arcsin_.
METHODS |= {name + "_": METHODS[globals()[name].__name__ + "_"] for name in __all__ if globals()[name].__name__ + "_" in METHODS}
# The in-place operators: x += y
METHODS |= {f"__i{operator}__": METHODS[name] for operator, name in {
    "add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "pow": "pow_", "floordiv": "floor_divide_", "mod": "remainder_",
    "and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_"}.items()}
METHODS |= {"__floordiv__": rounding.floordiv, "__rfloordiv__": rounding.rfloordiv, "__mod__": rounding.mod,
            "__rmod__": rounding.rmod, "__lshift__": bits.bitwise_left_shift, "__rshift__": bits.bitwise_right_shift}


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

METHODS |= {"where": where_method, "polygamma": special.polygamma_method, "scatter_reduce_": accept_names(scatter_reduce_),
            "index_reduce_": accept_names(index_reduce_)}

upcalls.clone = clone_cast.clone
upcalls.copied = overwriting.copy_strided
upcalls.cast = clone_cast.cast
upcalls.real = selection.real_part

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
