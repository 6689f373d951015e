"""The shape of each result, one rule for each kernel that computes numbers.

    rule        arrays and arguments -> the shapes of the results:      "matmul": lambda x, y: (..., x rows, y columns)
    dtype       the reference computes the same on arrays with one element for each dimension; its result has the dtype
                (a rule may also give the dtype itself, where such arrays would not fit)

A kernel without a rule raises a NotImplementedError with its name: for example `nonzero`, since the shape depends on the numbers.

Read next: ``../contract.py``, for what the arguments are.
"""

import math

import numpy as np

from minigrad.kernels import numpy_ref
from minigrad.kernels.contract import CONTRACT
from minigrad.kernels.meta.array import MetaArray, alike, new_array, no_data
from minigrad.kernels.refusals import check_step
from minigrad.kernels.resampling import window_count

__all__ = ["Shapes"]

INT32, INT64, BOOL = np.dtype("int32"), np.dtype("int64"), np.dtype("bool")

# Kernels of each element: the result has the shape that the operands broadcast to.
ELEMENTWISE = """
    add sub rsub mul div pow maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor relu_backward sigmoid_backward
    tanh_backward gelu_backward gelu_tanh_backward silu_backward mish_backward hardsigmoid_backward hardswish_backward atan2
    hypot prelu fmod remainder floor_divide trunc_divide complex copysign heaviside fmax fmin logaddexp logaddexp2 xlogy xlog1py
    neg exp log log1p sqrt rsqrt reciprocal abs sign sin cos tanh sigmoid gelu gelu_tanh silu mish relu hardsigmoid hardswish
    conj invert exp2 expm1 log2 log10 tan sinh cosh asin acos atan asinh acosh atanh floor ceil trunc round sgn sinc erf erfc
    erfinv lgamma digamma angle isnan isinf isfinite signbit polygamma gammainc gammaincc zeta i0 i1 nextafter frexp where lerp
    add_scaled addcmul addcdiv huber threshold zero_within softshrink clamp nan_to_num dropout_backward frac i0e i1e softplus
    elu log_sigmoid bce_with_logits bce_with_logits_slope
"""

# Kernels whose result has the shape of the first array.
SAME = """
    tril triu cumsum cumprod logcumsumexp softmax softmax_backward log_softmax log_softmax_backward attention_weights cofactors
    matrix_exp flip scatter scatter_add scatter_reduce index_add
"""
SAME_INT64 = ("argsort", "cumextremum")

# Kernels that reduce a tuple of dimensions.
REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "logsumexp", "nansum")


def reduced(shape, dims, keepdim):
    """`shape` without `dims`, a tuple of dimensions; with keepdim they have size 1."""
    return tuple([1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims])


def with_size(shape, dim, size):
    """`shape` with another size of dimension `dim`."""
    return (*shape[:dim], size, *shape[dim + 1:]) if shape else shape


def batch(*arrays):
    """The shape of a batch of matrices: all dimensions but the last two, broadcast."""
    return np.broadcast_shapes(*[x.shape[:-2] for x in arrays])


def to_real(x):
    """The dtype of the real part of an array."""
    return np.empty(0, x.dtype).real.dtype


def to_complex(x):
    """The complex dtype with parts of the dtype of an array."""
    return np.result_type(x.dtype, np.complex64)


# ---- elementwise: the dtype comes from the reference -----------------------------------------------------------


def sample(x):
    """An array of one element instead of a MetaArray; another argument stays as it is."""
    return np.ones((1,) * x.ndim, x.dtype) if isinstance(x, MetaArray) else x


def elementwise(name):
    """The kernel of this name for arrays without memory."""
    reference = getattr(numpy_ref, name)

    def kernel(*args):
        arrays = [x for x in args if isinstance(x, MetaArray)]
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        found = reference(*[sample(x) for x in args])
        like = next((x for x in arrays if x.shape == shape), None)

        def made(dtype):
            return new_array(shape, dtype, arrays[0].device) if like is None else alike(like, dtype)
        return tuple([made(z.dtype) for z in found]) if isinstance(found, tuple) else made(found.dtype)
    return kernel


# ---- the rules ---------------------------------------------------------------------------------------------------
# name -> a function of the kernel's arguments that returns (shape, dtype), or a list of such pairs for several results.


def like_first(x, *args):
    return x.shape, x.dtype


def reduction(x, dims, keepdim):
    return reduced(x.shape, dims, keepdim), x.dtype


def sizes_of_windows(x, size, stride, padding, dilation):
    """How many windows fit along each of the last dimensions of an array."""
    count = [window_count(*each) for each in zip(x.shape[-len(size):], size, stride, padding, dilation)]
    if min(count, default=0) < 0:
        raise ValueError(f"windows of size {tuple(size)} do not fit the shape {x.shape}")
    return count


def matmul(x, y):
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: the shapes {x.shape} and {y.shape} do not fit")
    return (*batch(x, y), x.shape[-2], y.shape[-1]), x.dtype


def addmm(b, x, y):
    shape, dtype = matmul(x, y)
    if np.broadcast_shapes(b.shape, shape) != shape:
        raise ValueError(f"operands could not be broadcast together with shapes {b.shape} {shape}")
    return shape, dtype


def distances(x, y):
    return (*np.broadcast_shapes(batch(x), batch(y)), x.shape[-2], y.shape[-2]), x.dtype


def arg_extremum(x, dim, keepdim):
    return reduced(x.shape, range(x.ndim) if dim is None else (dim,), keepdim), INT64


def lu(x, pivot):
    *lead, m, n = x.shape
    return [((*lead, m, min(m, n)), x.dtype), ((*lead, min(m, n), n), x.dtype), ((*lead, m), INT64)]


def qr(x, mode):
    *lead, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    if mode == "r":
        return (*lead, k, n), x.dtype
    return [((*lead, m, k), x.dtype), ((*lead, k, n), x.dtype)]


def svd(x, full):
    *lead, m, n = x.shape
    k = min(m, n)
    return [((*lead, m, m if full else k), x.dtype), ((*lead, k), to_real(x)), ((*lead, n if full else k, n), x.dtype)]


def solve(x, y):
    return [((*batch(x, y), *y.shape[-2:]), y.dtype), (batch(x, y), INT32)]


def cat(xs, dim):
    shape = list(xs[0].shape)
    for x in xs[1:]:
        if x.ndim != len(shape) or any([a != b for d, (a, b) in enumerate(zip(shape, x.shape)) if d != dim]):
            raise ValueError(f"cat: the shapes {tuple(shape)} and {x.shape} do not fit along dimension {dim}")
        shape[dim] += x.shape[dim]
    return tuple(shape), xs[0].dtype


def stack(xs, dim):
    if any([x.shape != xs[0].shape for x in xs]):
        raise ValueError("stack: all arrays must have the same shape")
    return (*xs[0].shape[:dim], len(xs), *xs[0].shape[dim:]), xs[0].dtype


def index(x, indices):
    """The indices' shape replaces their dimensions, or comes first if these are not neighbours."""
    shape = np.broadcast_shapes(*[i.shape for i in indices if i is not None])
    dims = [d for d, i in enumerate(indices) if i is not None]
    rest = [n for d, n in enumerate(x.shape) if d not in dims]
    at = dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0
    return (*rest[:at], *shape, *rest[at:]), x.dtype


def statistics(x, n_dims):
    """The shape of the mean over the last dimensions, which remain with size 1."""
    return (*x.shape[:x.ndim - n_dims], *[1] * n_dims)


def layer_norm(x, w, b, n_dims, eps):
    return [(x.shape, x.dtype), (statistics(x, n_dims), x.dtype), (statistics(x, n_dims), x.dtype)]


def rms_norm(x, w, n_dims, eps):
    return [(x.shape, x.dtype), (statistics(x, n_dims), np.dtype("float32") if x.dtype == np.float16 else x.dtype)]


def rnn_layer(x, w, u, b, c, h, m, mode, reverse):
    steps, gated = (*x.shape[:2], u.shape[1]), mode in ("LSTM", "GRU")
    return [(shape, x.dtype) for shape in (steps, steps[1:], steps[1:] if mode == "LSTM" else (0,),
                                           (*steps[:2], w.shape[0]) if gated else (0,), steps if gated else (0,))]


def rnn_layer_backward(gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs):
    shapes = (x.shape, w.shape, u.shape, w.shape[:1], w.shape[:1], h.shape, h.shape if mode == "LSTM" else (0,))
    return [(shape if need else (0,), x.dtype) for shape, need in zip(shapes, needs)]


def nll_loss(x, target, weight, ignore_index, reduction):
    return [(target.shape if reduction == "none" else (), x.dtype), ((), x.dtype)]


def conv(x, w, stride, padding, dilation, groups):
    return (x.shape[0], w.shape[0], *sizes_of_windows(x, w.shape[2:], stride, padding, dilation)), x.dtype


def im2col(x, size, stride, padding, dilation):
    count = sizes_of_windows(x, size, stride, padding, dilation)
    lead, channels = x.shape[:-len(size) - 1], x.shape[-len(size) - 1]
    return (*lead, channels * math.prod(size), math.prod(count)), x.dtype


def max_pool(x, places):
    shape = (*x.shape[:-len(places)], *[len(table) for table in places])
    return [(shape, x.dtype), (shape, INT64)]


def in_last_dimensions(x, n):
    return x.shape[x.ndim - n:]


RULES = {
    **dict.fromkeys(SAME.split(), like_first),
    **dict.fromkeys(SAME_INT64, lambda x, *args: (x.shape, INT64)),
    **dict.fromkeys(REDUCTIONS, reduction),
    "sum_to": lambda x, shape: (shape, x.dtype),
    "argmax": arg_extremum, "argmin": arg_extremum,
    "var": lambda x, dims, correction, keepdim: (reduced(x.shape, dims, keepdim), to_real(x)),
    "recurrence": lambda x, y, dim, reverse: (y.shape, y.dtype),
    "matmul": matmul, "addmm": addmm, "dot": lambda x, y: ((), x.dtype), "distances": distances,
    "distances_backward": lambda g, z, x, y: ((*batch(g), *x.shape[-2:]), x.dtype),
    # decompositions
    "det": lambda x: (batch(x), x.dtype),
    "slogdet": lambda x: [(batch(x), x.dtype), (batch(x), to_real(x))],
    "inv": lambda x: [(x.shape, x.dtype), (batch(x), INT32)],
    "cholesky": lambda x, upper: [(x.shape, x.dtype), (batch(x), INT32)],
    "solve": solve, "solve_triangular": lambda x, y, upper, unit: solve(x, y)[0],
    "lu": lu, "lu_rows": lambda x: lu(x, True)[2], "qr": qr,
    "svd": svd, "svdvals": lambda x: svd(x, False)[1],
    "eigh": lambda x, lower: [(x.shape[:-1], to_real(x)), (x.shape, x.dtype)],
    "eigvalsh": lambda x, lower: (x.shape[:-1], to_real(x)),
    "eig": lambda x: [(x.shape[:-1], to_complex(x)), (x.shape, to_complex(x))],
    "eigvals": lambda x: (x.shape[:-1], to_complex(x)),
    # Fourier transforms
    "fft_c2c": like_first,
    "fft_r2c": lambda x, dims, norm, onesided: (
        with_size(x.shape, dims[-1], x.shape[dims[-1]] // 2 + 1) if onesided else x.shape, to_complex(x)),
    "fft_c2r": lambda x, dims, norm, last: (with_size(x.shape, dims[-1], last), to_real(x)),
    # joining and indexing
    "cat": cat, "stack": stack,
    "into_slice": lambda y, shape, *args: (shape, y.dtype),
    "gather": lambda x, dim, index: (index.shape, x.dtype),
    "masked_scatter": lambda x, mask, y: (np.broadcast_shapes(x.shape, mask.shape), x.dtype),
    "index_select": lambda x, dim, index: (with_size(x.shape, dim, index.size), x.dtype),
    "take_grid": lambda x, places: (tuple([n if at is None else at.size for n, at in zip(x.shape, places)]), x.dtype),
    "index": index,
    "index_put": like_first,
    # order
    "topk": lambda x, number, dim, largest: (with_size(x.shape, dim, number), INT64),
    "median": lambda x, dim, skip_nan: (with_size(x.shape, dim, 1), INT64),
    "mode": lambda x, dim: (with_size(x.shape, dim, 1), INT64),
    "searchsorted": lambda x, y, right: (y.shape, INT64),
    # neural networks
    "glu": lambda x, dim: (with_size(x.shape, dim, x.shape[dim] // 2), x.dtype),
    "glu_backward": lambda g, x, dim: (x.shape, g.dtype),
    "layer_norm": layer_norm, "rms_norm": rms_norm,
    "batch_norm": lambda x, w, b, eps: [(x.shape, x.dtype), *[((x.shape[1],), x.dtype)] * 3],
    "batch_norm_backward": lambda g, x, w, mean, rstd: [(x.shape, x.dtype), *[((x.shape[1],), x.dtype)] * 2],
    "normalize_channels": like_first,
    "group_norm": lambda x, w, b, groups, eps: [(x.shape, x.dtype), *[((x.shape[0], groups), x.dtype)] * 2],
    "group_norm_backward": lambda g, x, w, mean, rstd: [(x.shape, x.dtype), *[((x.shape[1],), x.dtype)] * 2],
    "layer_norm_backward": lambda g, x, w, mean, rstd, n_dims: [
        (x.shape, x.dtype), (in_last_dimensions(x, n_dims), x.dtype), (in_last_dimensions(x, n_dims), x.dtype)],
    "rms_norm_backward": lambda g, x, w, rstd, n_dims: [(x.shape, x.dtype), (in_last_dimensions(x, n_dims), x.dtype)],
    "attention": lambda q, s, v, scale, causal: [((*q.shape[:-1], v.shape[-1]), q.dtype), ((*q.shape[:-1], s.shape[-2]), q.dtype)],
    "attention_backward": lambda g, q, s, v, w, scale, causal, needs: [
        (x.shape if need else (0,), q.dtype) for x, need in zip((q, s, v), needs)],
    "rnn_layer": rnn_layer, "rnn_layer_backward": rnn_layer_backward,
    "nll_loss": nll_loss, "nll_loss_backward": lambda g, x_shape, *args: (x_shape, g.dtype),
    "conv": conv,
    "conv_input": lambda g, w, x_shape, *args: (x_shape, g.dtype),
    "conv_weight": lambda g, x, w_shape, *args: (w_shape, g.dtype),
    "im2col": im2col, "col2im": lambda x, shape, *args: (shape, x.dtype),
    "max_pool": max_pool, "max_pool_backward": lambda g, index, x_shape, n: (x_shape, g.dtype),
    "max_pool_select": lambda x, index, n: (index.shape, x.dtype),
    "resample": lambda x, dim, starts, columns, weights: (with_size(x.shape, dim, len(starts) - 1), x.dtype),
    # random numbers
    "poisson": lambda generator, x: (x.shape, x.dtype),
    "standard_gamma": lambda generator, shapes: [(shapes.shape, np.dtype("float64"))] * 2,
    "dropout": lambda generator, x, p: [(x.shape, x.dtype), (x.shape, BOOL)],
}


def by_rule(rule):
    """The kernel that makes arrays of the shapes and dtypes that a rule returns."""
    def kernel(*args):
        found = rule(*args)
        first = args[0][0] if isinstance(args[0], (list, tuple)) else next(x for x in args if isinstance(x, MetaArray))
        if isinstance(found, list):
            return tuple([new_array(shape, dtype, first.device) for shape, dtype in found])
        shape, dtype = found
        return new_array(shape, dtype, first.device)
    return kernel


def make_raising(name):
    """The kernel for which there is no rule."""
    def kernel(*args):
        raise no_data(f"{name}: attempted to run this operator with meta tensors, but there is no rule for the shape of its result")
    return kernel


class Shapes:
    """The kernels of the device "meta" that compute numbers elsewhere. Each has the name of the contract."""

    __name__ = "minigrad.kernels.meta.shapes"

    @staticmethod
    def equal(x, y):
        return x.all()      # raises

    @staticmethod
    def class_outside(target, n, ignore_index):
        return None

    @staticmethod
    def index_put_(x, indices, y, accumulate):
        pass

    @staticmethod
    def masked_fill_(x, mask, y):
        pass

    @staticmethod
    def sgd_(w, g, momentum_buffer, *options):
        check_step(w, gradient=g, momentum_buffer=momentum_buffer)

    @staticmethod
    def adam_(w, g, m, v, v_max, *options):
        check_step(w, gradient=g, exp_avg=m, exp_avg_sq=v, max_exp_avg_sq=v_max)


def fill_in():
    """Give `Shapes` a function for every name of the contract that it lacks."""
    of_elements = set(ELEMENTWISE.split())
    for name in CONTRACT:
        if name not in vars(Shapes):
            kernel = (elementwise(name) if name in of_elements else by_rule(RULES[name]) if name in RULES else make_raising(name))
            kernel.__name__ = kernel.__qualname__ = name
            setattr(Shapes, name, staticmethod(kernel))


fill_in()
