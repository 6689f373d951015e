"""The rules: one class per op. See README.md.

Importing this package registers every op and supplies the core with what it was promised: the rules behind
the operators (`use_rules`) and the few functions of tensors that the engine needs (`given`).
"""

from inspect import signature
from types import SimpleNamespace

from minigrad._core.apply import binary
from minigrad._core.given import given
from minigrad._core.operators import use_rules
from minigrad.ops import (
    activation,
    arithmetic,
    attention,
    averaging,
    brackets,
    comparison,
    complex_numbers,
    composed,
    contractions,
    convolution,
    copies,
    determinants,
    diagonals,
    einsum as einsums,
    elimination,
    embedding,
    extrema,
    factorizations,
    functions,
    gamma_zeta,
    indexing,
    inplace,
    interpolation,
    inverses,
    joining,
    least_squares,
    limits,
    losses,
    masking,
    matrix,
    matrix_functions,
    normalization,
    norms,
    overwriting,
    pairwise,
    pointwise,
    pooling,
    predicates,
    products,
    pseudoinverses,
    reduction,
    repeating,
    representation,
    reshaping,
    rounding,
    running,
    scans,
    scattering,
    searching,
    selection,
    singular_values,
    softmax as softmaxes,
    sorting,
    special,
    splitting,
    stacking,
    strided,
    summaries,
    taking,
    trigonometry,
    unfolding,
    views,
    xlogy as xlogys,
)
from minigrad.ops.base import REGISTRY
from minigrad.ops.pairs import IN_PLACE
from minigrad.ops.averaging import adaptive_avg_pool1d, avg_pool1d
from minigrad.ops.convolution import *
from minigrad.ops.pooling import max_pool1d, max_pool2d, max_pool3d
from minigrad.ops.unfolding import channel_shuffle, pixel_shuffle, pixel_unshuffle
from minigrad.ops.arithmetic import *
from minigrad.ops.brackets import *
from minigrad.ops.comparison import *
from minigrad.ops.complex_numbers import *
from minigrad.ops.composed import *
from minigrad.ops.contractions import *
from minigrad.ops.copies import *
from minigrad.ops.determinants import *
from minigrad.ops.diagonals import *
from minigrad.ops.einsum import *
from minigrad.ops.extrema import *
from minigrad.ops.factorizations import *
from minigrad.ops.functions import *
from minigrad.ops.gamma_zeta import *
from minigrad.ops.indexing import *
from minigrad.ops.inverses import *
from minigrad.ops.joining import *
from minigrad.ops.limits import *
from minigrad.ops.masking import *
from minigrad.ops.matrix import *
from minigrad.ops.matrix_functions import *
from minigrad.ops.norms import *
from minigrad.ops.pairwise import *
from minigrad.ops.pointwise import *
from minigrad.ops.predicates import *
from minigrad.ops.products import *
from minigrad.ops.pseudoinverses import *
from minigrad.ops.reduction import *
from minigrad.ops.repeating import *
from minigrad.ops.representation import *
from minigrad.ops.reshaping import *
from minigrad.ops.rounding import *
from minigrad.ops.running import *
from minigrad.ops.scans import *
from minigrad.ops.scattering import *
from minigrad.ops.searching import *
from minigrad.ops.selection import *
from minigrad.ops.singular_values import *
from minigrad.ops.sorting import *
from minigrad.ops.special import *
from minigrad.ops.splitting import *
from minigrad.ops.stacking import *
from minigrad.ops.strided import *
from minigrad.ops.summaries import *
from minigrad.ops.taking import *
from minigrad.ops.trigonometry import *
from minigrad.ops.views import *
from minigrad.ops.xlogy import *
from minigrad.ops.softmax import log_softmax, softmax
from minigrad.ops.overwriting import fill

# Functions that are spelled ``mg.f(x, ...)``.
__all__ = [name for module in (
    arithmetic, brackets, comparison, complex_numbers, composed, contractions, copies, determinants, diagonals, einsums,
    extrema, factorizations, functions, gamma_zeta, indexing, inverses, joining, least_squares, limits, masking, matrix,
    matrix_functions, norms, pairwise, pointwise, predicates, products, pseudoinverses, reduction, repeating,
    representation, reshaping, rounding, running, scans, scattering, searching, selection, singular_values, sorting,
    special, splitting, stacking, strided, summaries, taking, trigonometry, views, xlogys) for name in module.__all__]
__all__ += [*convolution.__all__, "fill", "log_softmax", "softmax"]

# What PyTorch has as a function only, or `Tensor` has in its own file.
FUNCTIONS = {*convolution.__all__, "bilinear", "bucketize", "combinations", "fill", "imag", "is_complex", "is_floating_point",
             "linear", "numel", "pdist", "real", "rsub", "std_mean", "vander", "var_mean",
             "view_as_complex", "view_as_real"}
# Of those for neural networks, what PyTorch has as ``torch.f`` too.
NETWORKS = ("adaptive_avg_pool1d", "avg_pool1d", "channel_shuffle", "max_pool1d", "max_pool2d", "max_pool3d", "pixel_shuffle",
            "pixel_unshuffle")
__all__ += NETWORKS
FUNCTIONS |= {*NETWORKS}
# Those among them that are methods too: the ones whose first argument is called `input` (or `tensor`).
METHODS = {name: globals()[name] for name in __all__
           if next(iter(signature(globals()[name]).parameters)) in ("input", "tensor") and name not in FUNCTIONS}
METHODS |= inplace.METHODS | IN_PLACE
# The other names of a function are other names of its method in place: subtract_, arcsin_.
METHODS |= {name + "_": METHODS[globals()[name].__name__ + "_"] for name in __all__ if globals()[name].__name__ + "_" in METHODS}
# x += y and its like
METHODS |= {f"__i{operator}__": METHODS[name] for operator, name in {
    "add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "pow": "pow_", "floordiv": "floor_divide_", "mod": "remainder_",
    "and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_"}.items()}
METHODS |= {"__floordiv__": rounding.floordiv, "__rfloordiv__": rounding.rfloordiv, "__mod__": rounding.mod,
            "__rmod__": rounding.rmod}


def where_method(self, condition, other):
    """This tensor where `condition`, else `other`. See `minigrad.where`; mirrors ``torch.Tensor.where``.

    >>> mg.tensor([1., 2.]).where(mg.tensor([True, False]), 0.)
    tensor([1., 0.])
    """
    return selection.where(condition, self, other)


METHODS |= {"where": where_method, "polygamma": special.polygamma_method, "scatter_reduce_": taking.scatter_reduce_,
            "index_reduce_": taking.index_reduce_}

given.clone = copies.clone
given.copied = overwriting.copied
given.cast = copies.cast
given.real = selection.real_part

use_rules(
    arithmetic.Add.op, arithmetic.Sub.op, arithmetic.Mul.op, arithmetic.Div.op, arithmetic.Neg.op,
    SimpleNamespace(
        abs=selection.abs,
        compare=comparison.compare,
        getitem=brackets.getitem,
        invert=comparison.invert,
        logical=comparison.logical,
        matmul_operator=matrix.matmul_operator,
        pow_operator=arithmetic.pow_operator,
        rdiv=arithmetic.rdiv,
        rpow=arithmetic.rpow,
        setitem=brackets.setitem,
        rsub=lambda x, y: binary(arithmetic.Rsub.op, x, y),
    ))
