"""The rules: one class per op. See README.md.

Importing this package registers every op. It also gives the core the functions that the core cannot import: the rules
behind the operators (`use_rules`) and the few functions on tensors that the engine calls (`upcalls`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import os
from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace

from minigrad._core.record.apply import binary
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.surface.operators import use_rules
from minigrad.ops.base import inplace, overwriting
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.keywords import accept_names, accept_names_everywhere
from minigrad.ops.base.overwriting import fill
from minigrad.ops.base.registry import REGISTRY
from minigrad.ops.elementwise import arithmetic, bits, comparison, rounding, selection, special
from minigrad.ops.index import getitem
from minigrad.ops.index.take import index_reduce_, scatter_reduce_
from minigrad.ops.linalg import matrix
from minigrad.ops.nn.averaging import adaptive_avg_pool1d, avg_pool1d
from minigrad.ops.nn.convolution import *
from minigrad.ops.nn.convolution import __all__ as CONVOLUTIONS
from minigrad.ops.nn.pooling import max_pool1d, max_pool2d, max_pool3d
from minigrad.ops.nn.softmax import log_softmax, softmax
from minigrad.ops.nn.unfolding import channel_shuffle, pixel_shuffle, pixel_unshuffle
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
from minigrad.ops.linalg.contractions import *
from minigrad.ops.linalg.covariance import *
from minigrad.ops.linalg.determinants import *
from minigrad.ops.linalg.einsum import *
from minigrad.ops.linalg.factorizations import *
from minigrad.ops.linalg.inverses import *
from minigrad.ops.linalg.matrix import *
from minigrad.ops.linalg.matrix_functions import *
from minigrad.ops.linalg.norms import *
from minigrad.ops.linalg.pairwise import *
from minigrad.ops.linalg.products import *
from minigrad.ops.linalg.pseudoinverses import *
from minigrad.ops.linalg.singular_values import *

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

# We import every module of rules, so that its ops are in the registry. The names in the modules' `__all__` become ``mg.f``.
# Two exceptions: ops/nn gives only the names that PyTorch also has as ``torch.f``, and ops/base has no functions for users.
FAMILIES = ("elementwise", "reduce", "scan", "shape", "index", "sort", "linalg", "nn")
MODULES = {f"{family}.{found.name}": import_module(f"minigrad.ops.{family}.{found.name}")
           for family in FAMILIES for found in iter_modules([os.path.join(os.path.dirname(__file__), family)])}
__all__ = [name for place, module in MODULES.items() if not place.startswith("nn.") for name in getattr(module, "__all__", ())]
NETWORKS = ("adaptive_avg_pool1d", "avg_pool1d", "channel_shuffle", "max_pool1d", "max_pool2d", "max_pool3d", "pixel_shuffle",
            "pixel_unshuffle")
__all__ += [*CONVOLUTIONS, *NETWORKS, "fill", "log_softmax", "softmax"]



def first_parameter(function):
    """The name of the first named parameter. For 300 functions, `inspect.signature` would take 6 ms of each import of minigrad."""
    declared = getattr(function, "__signature__", None)
    return function.__code__.co_varnames[0] if declared is None else next(iter(declared.parameters))


# Functions that become no methods here: PyTorch has no such method, or `Tensor` defines it in its own file.
FUNCTIONS = {*CONVOLUTIONS, *NETWORKS, "bilinear", "bucketize", "combinations", "fill", "imag", "is_complex", "is_floating_point",
             "linear", "numel", "pdist", "real", "rsub", "std_mean", "vander", "var_mean",
             "view_as_complex", "view_as_real"}
# Functions that are also methods: their first argument is called `input` (or `tensor`).
METHODS = {name: globals()[name] for name in __all__
           if first_parameter(globals()[name]) in ("input", "tensor") and name not in FUNCTIONS}
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
