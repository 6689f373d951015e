"""Kernels as C loops, for contiguous arrays of float32 and float64.

    common.pxd        what the files share: checking an array, making one
    threads.pyx       the number of threads for large arrays
    pieces.h          how threads share a loop
    loops.h           loops over elements, made of expressions
    pool.pyx          a cache of freed arrays; row-major copies, by the loops of tile_copy.h
    elementwise.pyx   functions of each element, by the tables of loops in elementwise.h; functions are in
                      transcendental.h and special.h
    broadcast.pyx     the same for operands that broadcast; the walk over their dimensions is in broadcast.h
    ufuncs.pyx        functions of each element, by the loops of NumPy
    comparison.pyx    comparisons, and choices by a mask; the loops are in comparison.h
    halves.pyx        glu, by the loops of halves.h
    rounding.pyx      the conversions of ../rounding.py before and after a kernel
    layout.pyx        layouts of gradients, creation, copies; the loops of casts are in casts.h
    views.pyx         views, and parts of a base by their strides
    reduction.pyx     sums, softmax, layer normalisation; the loops are in rows.h
    joining.pyx       cat
    indexing.pyx      gather, scatter and advanced indexing: one walk with any strides
    grid.pyx          the elements at the places of a grid, in runs
    masking.pyx       storing a number, or the elements of an array, where a mask is True
    extrema.pyx       largest and smallest elements, and their positions
    scans.pyx         running sums and products
    ordering.pyx      sorting, flips
    linear.pyx        matrix products: small ones by the loops of products.h, others by BLAS; distances (pairs.h)
    convolution.pyx   convolution, by the loops of convolution.h and tiles.h or as matrix products
    pooling.pyx       maxima over windows, by the loops of pooling.h and maxima.h; resampling
    normalization.pyx batch normalisation; the loops are in channels.h
    attention_heads.pyx   attention; the loops over its rows are in attention.h
    loss.pyx          the loss of a classifier
    recurrent.pyx     layers of recurrent networks; the loops of a step are in recurrent.h
    optim.pyx         the steps of optimisers; the loops are in steps.h
    randoms.pyx       random numbers
    rejection.pyx     gamma and Poisson numbers, one after the other

Each kernel checks whether its arguments are *easy*: contiguous, of one of the two dtypes, with shapes that match or broadcast
simply. If not, it calls its twin, the function of the same name in ``numpy_ref``.
`SOURCES` lists the compiled modules that nearly every program needs, and this package, which imports the others with the first
use of one of their kernels. It is empty where there was no compiler.

Read next: ``common.pxd``.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

from minigrad._lazy import lazy

# module -> its kernels, separated by spaces
FILES = {
    "comparison": "eq equal ge gt le lt ne where",
    "halves": "glu glu_backward",
    "convolution": "col2im conv conv_input conv_weight im2col",
    "pooling": "max_pool max_pool_backward resample",
    "normalization": "batch_norm batch_norm_backward group_norm group_norm_backward normalize_channels",
    "loss": "class_outside nll_loss nll_loss_backward",
    "optim": "adam_ sgd_",
    "randoms": "bernoulli dropout dropout_backward integers normal permutation uniform",
    "rejection": "poisson standard_gamma",
    "attention_heads": "attention attention_backward",
    "recurrent": "rnn_layer rnn_layer_backward",
    "linalg": "cholesky cofactors det eigh eigvalsh inv qr solve solve_triangular svd svdvals",
    "extrema": "amax amin argmax argmin cumextremum",
    "scans": "cumprod cumsum",
    "ordering": "argsort flip median nonzero topk",
    "grid": "take_grid",
    "indexing": "gather index index_add index_put index_put_ index_select scatter scatter_add scatter_reduce",
    "masking": "masked_fill_ masked_scatter",
}


def is_here(module):
    """Whether there is a binary of `module`."""
    try:
        return find_spec(f"{__name__}.{module}") is not None
    except ImportError:     # interpreted: see _build/pure.py
        return False


SOURCES = []
for _name in ("pool", "unary", "elementwise", "ufuncs", "layout", "views", "reduction", "joining", "linear"):
    try:
        SOURCES.append(import_module(f"{__name__}.{_name}"))
    except ImportError:
        pass

FILES = {module: names for module, names in FILES.items() if is_here(module)}
LATE = frozenset(" ".join(FILES.values()).split())
__getattr__, __dir__ = lazy(__name__, names=FILES)
if FILES:
    SOURCES.append(sys.modules[__name__])
