"""The contract between the ops and a device: which kernels a device has, and what their arrays look like.

A kernel is a function on arrays: it knows nothing of tensors, gradients or the graph. Four implementations have all kernels of
`CONTRACT`:

    numpy_ref/      plain NumPy, for any strides and dtypes: the interpreted path, and the reference that tests compare with
    cpu/            C loops for contiguous arrays of the common dtypes; everything else goes to numpy_ref
    cuda/           kernels for a GPU, compiled by numba.cuda
    meta/           for arrays without memory: the shapes and dtypes of results, and no numbers

Conventions
  * x, y, w and g are arrays. A kernel returns a new array and leaves its arguments unchanged, unless its name ends in an
    underscore (`add_`) or its line says otherwise.
  * A result is an array even if it is 0-d, never a NumPy scalar.
  * Elementwise kernels broadcast, and an operand may be a Python number instead of an array. All arrays of a call have the same
    dtype, and so has the result: type promotion comes before (`apply_mixed` in `_core/record/apply.py`).
  * Views (`view`, `permute`, `expand` ...) share the memory of their argument.
  * A kernel that adds up many numbers computes with more digits than it returns, so that a float32 sum of thousands is right to a
    few units in the last place (`numpy_ref/precision.py`). On the CPU, `rounding.py` converts float16 to float32 around a kernel.
  * Bad shapes raise `ValueError`. The ops check shapes first, and turn such an error into a message.

An op that is one kernel calls it by its number (`Kernels.table`). All other calls name the kernel.

Read next: ``numpy_ref/__init__.py``.
"""

from typing import NamedTuple

__all__ = ["ARRAY_FIELDS", "CONTRACT", "DEVICE_ARRAY_FIELDS", "KERNEL_ATTRIBUTES", "NUMBER", "SOURCE_ATTRIBUTES", "Kernels",
           "Signature"]


class Signature(NamedTuple):
    """How a kernel is called, and what it returns."""

    arguments: str
    result: str


# kernel -> its arguments, its result
CONTRACT = {name: Signature(*texts) for name, texts in {
    # gradients and layout
    "accumulate": ("x, y", "True after x += y, if x owns its memory and has y's shape, dtype and strides; else False"),
    "copy_": ("x, y", "None; x[...] = y, broadcast and cast"),
    "add_": ("x, y", "None; x += y"),
    "owns": ("x", "whether x owns its memory, and has no gaps or overlaps"),
    "obeys_layout": ("g, x", "whether g has the strides that the gradient of x should have"),
    "copy_with_layout": ("g, x", "a copy of g with the strides that the gradient of x should have"),
    # elementwise, two operands
    "add": ("x, y", "x + y"),
    "sub": ("x, y", "x - y"),
    "rsub": ("x, y", "y - x"),
    "mul": ("x, y", "x y"),
    "div": ("x, y", "x / y"),
    "pow": ("x, y", "x to the power y"),
    "maximum": ("x, y", "the larger; nan if either is nan"),
    "minimum": ("x, y", "the smaller; nan if either is nan"),
    "eq": ("x, y", "x = y, bool"),
    "equal": ("x, y", "whether the elements of two arrays of one shape are equal: a Python bool"),
    "ne": ("x, y", "x != y, bool"),
    "lt": ("x, y", "x < y, bool"),
    "le": ("x, y", "x <= y, bool"),
    "gt": ("x, y", "x > y, bool"),
    "ge": ("x, y", "x >= y, bool"),
    "logical_and": ("x, y", "bitwise for integers"),
    "logical_or": ("x, y", "bitwise for integers"),
    "logical_xor": ("x, y", "bitwise for integers"),
    "relu_backward": ("g, z", "0 where z <= 0, else g: also where z is nan"),
    "sigmoid_backward": ("g, z", "g z (1 - z)"),
    "tanh_backward": ("g, z", "g (1 - z z)"),
    "gelu_backward": ("g, x", "g times the derivative of gelu at x"),
    "gelu_tanh_backward": ("g, x", "g times the derivative of gelu_tanh at x"),
    "silu_backward": ("g, x", "g times the derivative of silu at x"),
    "mish_backward": ("g, x", "g times the derivative of mish at x"),
    "hardsigmoid_backward": ("g, x", "g / 6 where |x| < 3, else 0; nan counts as less"),
    "hardswish_backward": ("g, x", "0 where x <= -3, g (x / 3 + 1/2) where x < 3, else g"),
    "atan2": ("x, y", "angle of the point (y, x)"),
    "hypot": ("x, y", "root of x x + y y"),
    "prelu": ("x, y", "x where x > 0, else x y"),
    "fmod": ("x, y", "remainder with the sign of x"),
    "remainder": ("x, y", "remainder with the sign of y"),
    "floor_divide": ("x, y", "x / y, rounded down; x an array"),
    "trunc_divide": ("x, y", "x / y, rounded towards zero; x an array"),
    "complex": ("x, y", "x + i y"),
    "copysign": ("x, y", "x with the sign of y"),
    "heaviside": ("x, y", "0 where x < 0, y where x = 0, 1 where x > 0"),
    "fmax": ("x, y", "the larger, ignoring nan; nan if both are nan"),
    "fmin": ("x, y", "the smaller, ignoring nan; nan if both are nan"),
    "logaddexp": ("x, y", "log(exp x + exp y), without overflow"),
    "logaddexp2": ("x, y", "log2(2^x + 2^y), without overflow"),
    "xlogy": ("x, y", "x log y; 0 where x is 0, unless y is nan"),
    "xlog1py": ("x, y", "x log(1 + y); 0 where x is 0, unless y is nan"),
    # elementwise, one operand
    "neg": ("x", "-x"),
    "exp": ("x", "e to the power x"),
    "log": ("x", "natural logarithm"),
    "log1p": ("x", "log(1 + x)"),
    "sqrt": ("x", "square root"),
    "rsqrt": ("x", "1 / sqrt(x)"),
    "reciprocal": ("x", "1 / x"),
    "abs": ("x", "absolute value; real for complex x"),
    "sign": ("x", "-1, 0 or 1; 0 for nan"),
    "sin": ("x", "sine"),
    "cos": ("x", "cosine"),
    "tanh": ("x", "hyperbolic tangent"),
    "sigmoid": ("x", "1 / (1 + exp(-x))"),
    "gelu": ("x", "x (1 + erf(x / sqrt(2))) / 2"),
    "gelu_tanh": ("x", "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2"),
    "silu": ("x", "x / (1 + exp(-x))"),
    "mish": ("x", "x tanh(log(1 + exp x)), without overflow"),
    "relu": ("x", "max(x, 0); nan stays nan"),
    "hardsigmoid": ("x", "(x + 3) / 6, limited to [0, 1]; nan stays nan"),
    "hardswish": ("x", "x times hardsigmoid(x), 0 below -3"),
    "conj": ("x", "complex conjugate"),
    "invert": ("x", "not x; bitwise for integers"),
    "exp2": ("x", "2 to the power x"),
    "expm1": ("x", "exp(x) - 1"),
    "log2": ("x", "logarithm to the base 2"),
    "log10": ("x", "logarithm to the base 10"),
    "tan": ("x", "tangent"),
    "sinh": ("x", "hyperbolic sine"),
    "cosh": ("x", "hyperbolic cosine"),
    "asin": ("x", "inverse sine"),
    "acos": ("x", "inverse cosine"),
    "atan": ("x", "inverse tangent"),
    "asinh": ("x", "inverse hyperbolic sine"),
    "acosh": ("x", "inverse hyperbolic cosine"),
    "atanh": ("x", "inverse hyperbolic tangent"),
    "floor": ("x", "rounded down; an integer is itself"),
    "ceil": ("x", "rounded up; an integer is itself"),
    "trunc": ("x", "rounded towards zero; an integer is itself"),
    "round": ("x", "rounded to the nearest, halves to even; an integer is itself"),
    "frac": ("x", "x - trunc(x)"),
    "sgn": ("x", "x / |x|, 0 where x is 0; the sign of a real x"),
    "sinc": ("x", "sin(pi x) / (pi x), 1 where x is 0"),
    "erf": ("x", "error function"),
    "erfc": ("x", "1 - erf x"),
    "erfinv": ("x", "inverse of erf"),
    "lgamma": ("x", "log |gamma(x)|"),
    "digamma": ("x", "derivative of lgamma; nan at negative integers"),
    "angle": ("x", "the angle in the complex plane; 0 or pi for real x, nan for nan"),
    "isnan": ("x", "whether x is nan, bool"),
    "isinf": ("x", "whether x, or a part of it, is infinite, bool"),
    "isfinite": ("x", "whether x is neither nan nor infinite, bool"),
    "signbit": ("x", "whether the sign is set, bool; x real"),
    # elementwise, other
    "polygamma": ("x, n", "derivative of order n of digamma"),
    "gammainc": ("x, y", "the regularized lower incomplete gamma function of shape x, up to y"),
    "gammaincc": ("x, y", "the regularized upper incomplete gamma function: 1 - gammainc(x, y)"),
    "zeta": ("x, y", "Hurwitz's zeta function: the sum of (y + k)^-x over k = 0, 1, ..."),
    "i0": ("x", "the modified Bessel function of order 0"),
    "i1": ("x", "the modified Bessel function of order 1"),
    "i0e": ("x", "e^-|x| i0(x)"),
    "i1e": ("x", "e^-|x| i1(x)"),
    "nextafter": ("x, y", "the number next to x in the direction of y"),
    "frexp": ("x", "(mantissa, exponent as int32)"),
    "where": ("c, x, y", "x where c, else y"),
    "lerp": ("x, y, w", "x + w (y - x), for a number w; exactly y for w = 1"),
    "add_scaled": ("x, y, alpha", "x + alpha y, for a number `alpha`"),
    "addcmul": ("b, x, y, value", "b + value x y, for a number `value`"),
    "addcdiv": ("b, x, y, value", "b + value x / y"),
    "huber": ("x, y, limit, scale", "(d - s / 2) s / scale, with d = |x - y| and s the smaller of d and `limit`; two numbers"),
    "threshold": ("x, y, limit, value", "x, but the number `value` where y <= limit"),
    "zero_within": ("x, y, limit", "x, but 0 where |y| <= limit"),
    "softshrink": ("x, limit", "x less x limited to [-limit, limit]"),
    "softplus": ("x, beta, threshold", "log(1 + e^(beta x)) / beta; x where beta x > threshold"),
    "log_sigmoid": ("x, u", "min(x, 0) - log(1 + u), 0 <= u <= 1"),
    "bce_with_logits": ("x, y", "y log(1 + e^-x) + (1 - y) log(1 + e^x)"),
    "bce_with_logits_slope": ("x, y", "1 / (1 + e^-x) - y"),
    "elu": ("x, y, low, scale", "low (e^y - 1) where x <= 0, else scale x"),
    "clamp": ("x, low, high", "x limited to [low, high]; each an array, a number or None"),
    "nan_to_num": ("x, nan, posinf, neginf", "x with nan, inf and -inf replaced by these numbers"),
    # creation and copies
    "empty": ("shape, dtype", "uninitialised"),
    "full": ("shape, value, dtype", "filled"),
    "copy": ("x", "a contiguous copy"),
    "cast": ("x, dtype", "x converted to dtype; x itself if it has that dtype"),
    "number": ("value, dtype", "value as a Python number that fits dtype: integers wrap around, as in C"),
    "to_host": ("x", "x as a NumPy array; x itself if it is one"),
    "from_host": ("x, wait", "the NumPy array x as an array of this device; x itself on the CPU. wait: return once x may be "
                             "written to"),
    "fill_": ("x, value", "None; x[...] = value"),
    # views
    "view": ("x, shape", "the view of that shape, or None if the strides do not allow one"),
    "permute": ("x, dims", "dimensions reordered"),
    "transpose": ("x, dim0, dim1", "two dimensions swapped"),
    "t": ("x", "the matrix x transposed; with fewer dimensions, a view of x as it is"),
    "expand": ("x, shape", "dimensions of size 1 repeated without a copy"),
    "unsqueeze": ("x, dim", "a new dimension of size 1"),
    "select": ("x, dim, index", "x[index] along dim, without that dimension"),
    "slice": ("x, dim, start, stop, step", "x[start:stop:step] along dim, step > 0"),
    "tril": ("x, diagonal", "a copy of the matrices x with 0 above a diagonal"),
    "triu": ("x, diagonal", "a copy with 0 below it"),
    "diagonal": ("x, offset, dim1, dim2", "the diagonal, its dimension last"),
    "geometry": ("x, base", "(strides of base, shape of x, its strides, its offset in base), in elements of x; offset -1: not "
                            "inside base"),
    "storage": ("x", "the whole memory that x is in, as a vector of x's dtype; if it has gaps, from x's first element to its last"),
    "as_strided": ("x, base_strides, shape, strides, offset", "a view of x, if x has base_strides (in elements); else of a copy "
                                                              "with these strides"),
    "as_strided_scatter": ("x, y, base_strides, shape, strides, offset", "a copy of x with y, an array or a number, written to "
                                                                         "that part"),
    "as_strided_add": ("y, base_shape, base_strides, shape, strides, offset", "zeros of base_shape with y added to that part"),
    "real": ("x", "the real part of a complex array"),
    "imag": ("x", "the imaginary part of a complex array"),
    "view_as_real": ("x", "a complex array as pairs of real numbers, along a new last dimension"),
    "view_as_complex": ("x", "the reverse; x has shape (..., 2), and its last dimension is contiguous"),
    "resize": ("x, shape", "x's memory from its first element on, in that shape; if it is too small, a larger copy, the rest 0"),
    "by_columns": ("x", "whether x is column-major and not row-major"),
    "contiguous": ("x", "whether x is row-major and without gaps"),
    # reductions over the tuple of dimensions `dims`
    "sum": ("x, dims, keepdim", "sum"),
    "nansum": ("x, dims, keepdim", "sum of the elements that are not nan"),
    "sum_to": ("x, shape", "x summed to `shape`, which broadcasts to the shape of x: the adjoint of broadcasting"),
    "mean": ("x, dims, keepdim", "sum over n, the number of elements that it adds up; nan if n is 0"),
    "prod": ("x, dims, keepdim", "product"),
    "amax": ("x, dims, keepdim", "largest element; nan if one is nan"),
    "amin": ("x, dims, keepdim", "smallest element; nan if one is nan"),
    "argmax": ("x, dim, keepdim", "position of the first largest (int64); dim None: in the flattened x"),
    "argmin": ("x, dim, keepdim", "position of the first smallest (int64)"),
    "var": ("x, dims, correction, keepdim", "variance: the sum of squared deviations over n - correction"),
    "cumsum": ("x, dim, reverse", "running sum along dim, from the end if reverse"),
    "cumprod": ("x, dim", "running product along dim"),
    "recurrence": ("x, y, dim, reverse", "z[k] = x[k] z[k - 1] + y[k] (reverse: z[k + 1]); z[k] = y[k] for the first k, and where "
                                         "x[k] is 0"),
    "logsumexp": ("x, dims, keepdim", "log of the sum of the exponentials, without overflow"),
    # linear algebra
    "matmul": ("x, y", "matrix product of the last two dimensions, both at least 2-d, batches broadcast"),
    "addmm": ("b, x, y", "b + x y for matrices; b broadcasts"),
    "dot": ("x, y", "inner product of two vectors"),
    "distances": ("x, y", "Euclidean distances between the rows of matrices of floats, or of batches of them that broadcast"),
    "distances_backward": ("g, z, x, y", "the sum of g[i, j] (x[i] - y[j]) / z[i, j] over j, for z = distances(x, y); 0 / 0 is 0"),
    # decompositions of matrices; where a matrix has none, z is nan and info (int32) is not 0
    "det": ("x", "determinant"),
    "slogdet": ("x", "(its sign, log of its absolute value)"),
    "cofactors": ("x", "the derivative of the determinant, also for singular x"),
    "inv": ("x", "(inverse, info: which pivot is 0)"),
    "solve": ("x, y", "(z with x z = y, info: which pivot is 0); batches broadcast"),
    "solve_triangular": ("x, y, upper, unit", "z with x z = y; reads one triangle of x; unit: the diagonal counts as 1"),
    "lu": ("x, pivot", "(L, U, rows): x[rows] = L U; without `pivot` rows is 0, 1, ..."),
    "lu_rows": ("x", "`rows` of lu with pivots, as int64"),
    "cholesky": ("x, upper", "(z with x = z zᴴ, or zᴴ z if upper; info: which minor is not positive); reads one triangle of x"),
    "matrix_exp": ("x", "exponential of a matrix; nan for a matrix that is not finite, unless it is 1 x 1"),
    "qr": ("x, mode", "(q, r) with x = q r, for mode reduced or complete; r alone for mode r"),
    "svd": ("x, full", "(u, s, v) with x = u s v, s real, descending; full: u and v are square"),
    "svdvals": ("x", "s alone"),
    "eigh": ("x, lower", "(w, v) with x v = v w, w real, ascending; reads one triangle of a Hermitian x"),
    "eigvalsh": ("x, lower", "w alone"),
    "eig": ("x", "(w, v) with x v = v w, complex, the columns of v of length 1"),
    "eigvals": ("x", "w alone"),
    # Fourier transforms along `dims`; norm: 0 sums, 1 sums over the root of their number, 2 means
    "fft_c2c": ("x, dims, norm, forward", "z[k] = the sum of x[j] e^(-2 pi i j k / n); else of x[j] e^(2 pi i j k / n)"),
    "fft_r2c": ("x, dims, norm, onesided", "the forward transform of a real x; onesided: n // 2 + 1 elements of the last of dims"),
    "fft_c2r": ("x, dims, norm, last", "the real inverse transform of such a half, with `last` elements along the last dimension"),
    # joining and indexing
    "cat": ("xs, dim", "the arrays xs one after the other along dim"),
    "into_slice": ("y, shape, dim, start, stop, step", "zeros of that shape with y in the slice start:stop:step of dim"),
    "stack": ("xs, dim", "the arrays xs along a new dimension"),
    "gather": ("x, dim, index", "x[index] along dim; index has as many dimensions as x"),
    "scatter": ("x, dim, index, y", "a copy of x with y, an array or a number, stored at index along dim"),
    "masked_fill_": ("x, mask, y", "None; y, a 0-d array, stored where the mask, which broadcasts to x, is True"),
    "masked_scatter": ("x, mask, y", "x, broadcast to the mask, with the first elements of y where the mask is True"),
    "scatter_add": ("x, dim, index, y", "a copy of x with y added at index along dim, repeats included"),
    "scatter_reduce": ("x, dim, index, y, reduce", "the same with the product (prod), the larger (amax) or the smaller (amin) "
                                                   "instead of the sum"),
    "index_select": ("x, dim, index", "the slices of x at the positions in the vector index"),
    "take_grid": ("x, places", "z[i, j, ...] = x[places[0][i], places[1][j], ...]; places has a vector of positions (int64) or "
                               "None, for all, per dimension"),
    "index_add": ("x, dim, index, y", "a copy of x with the slices of y added, repeats included"),
    "index": ("x, indices", "advanced indexing; indices has an array or None per dimension"),
    "index_put": ("x, indices, y, accumulate", "a copy of x with y stored at the indices, or added"),
    "index_put_": ("x, indices, y, accumulate", "None; the same in place"),
    # order
    "flip": ("x, dims", "a copy in the reverse order along dims"),
    "argsort": ("x, dim, descending", "the indices (int64) that sort x along dim; ties keep their order, nan is the largest"),
    "topk": ("x, number, dim, largest", "the first indices of argsort along dim, descending if largest; x has dimensions"),
    "median": ("x, dim, skip_nan", "the position along dim of the median, the lower of two, or of the first nan; keeps the "
                                   "dimension"),
    "mode": ("x, dim", "the last position along dim of the most frequent element, the smallest of several; keeps the dimension"),
    "cumextremum": ("x, dim, largest", "the position of the largest (or smallest) element so far, the last of several; nan counts "
                                       "as both"),
    "logcumsumexp": ("x, dim", "running log of the sum of the exponentials, without overflow"),
    "nonzero": ("x", "the indices of the elements that are not 0, as rows (int64)"),
    "searchsorted": ("x, y, right", "how many elements of the sorted x are smaller than y (right: or equal to it), int64; row by "
                                    "row"),
    # neural networks
    "glu": ("x, dim", "a sigmoid(b), a and b the halves of x along dim, dim >= 0"),
    "glu_backward": ("g, x, dim", "gradient of x: g sigmoid(b), then g a sigmoid(b) sigmoid(-b)"),
    "softmax": ("x, dim", "softmax"),
    "softmax_backward": ("g, z, dim", "z (g - sum(g z))"),
    "log_softmax": ("x, dim", "log of softmax"),
    "log_softmax_backward": ("g, z, dim", "g - exp(z) sum(g)"),
    "attention_weights": ("x, scale, causal", "softmax(scale x) over the last dimension; causal: row i is 0 after column i"),
    "attention": ("q, s, v, scale, causal",
                  "(w v, w), w = softmax(scale q sᵀ) over the last dimension, causal as in attention_weights; q (..., L, E), s "
                  "(..., S, E) and v (..., S, V) have the same first dimensions. The heads of the "
                  "first result, (N, H, L, V), lie side by side in memory, as (N, L, H, V), if those of q do"),
    "attention_backward": ("g, q, s, v, w, scale, causal, needs",
                           "(dq, ds, dv), given the gradient of the first result, and w; of the shape (0,) where `needs`, a tuple "
                           "of bools, is False. Their heads, of (N, H, L, E), lie side by side in memory, as (N, L, H, E)"),
    "layer_norm": ("x, w, b, n_dims, eps", "((x - mean) rstd w + b, mean, rstd) over the last dimensions; w, b: array or None"),
    "layer_norm_backward": ("g, x, w, mean, rstd, n_dims", "(dx, dw, db); w: array or None"),
    "rms_norm": ("x, w, n_dims, eps", "(x rstd w, rstd), rstd = 1 / sqrt(mean(x x) + eps), over the last dimensions; for x of "
                                      "float16 it is float32"),
    "rms_norm_backward": ("g, x, w, rstd, n_dims", "(dx, dw); w: array or None"),
    "batch_norm": ("x, w, b, eps", "((x - mean) rstd w + b, mean, rstd, variance) of each channel, dim 1; w, b: array or None"),
    "batch_norm_backward": ("g, x, w, mean, rstd", "(dx, dw, db); w: array or None"),
    "normalize_channels": ("x, mean, scale, shift", "(x - mean) scale + shift, with a number of each per channel, dim 1; shift: "
                                                    "array or None"),
    "group_norm": ("x, w, b, groups, eps", "((x - mean) rstd w + b, mean, rstd) of each group of channels, dim 1, of each image; "
                                           "mean and rstd are (N, groups); w, b: array or None"),
    "group_norm_backward": ("g, x, w, mean, rstd", "(dx, dw, db); w: array or None"),
    "class_outside": ("target, n, ignore_index", "the first target that is neither in [0, n) nor ignored, or None"),
    "nll_loss": ("x, target, weight, ignore_index, reduction", "(loss, total weight); x is (N, C) or (N, C, d1 ...)"),
    "nll_loss_backward": ("g, x_shape, target, weight, total, ignore_index, reduction", "gradient of x"),
    "conv": ("x, w, stride, padding, dilation, groups", "cross-correlation of (N, C, ...) with 1, 2 or 3 more dimensions"),
    "conv_input": ("g, w, x_shape, stride, padding, dilation, groups", "gradient of x"),
    "conv_weight": ("g, x, w_shape, stride, padding, dilation, groups", "gradient of w"),
    "im2col": ("x, size, stride, padding, dilation", "the patch under each window as a column, (..., C K, windows)"),
    "col2im": ("x, shape, size, stride, padding, dilation", "zeros of that shape with such columns added where they came from"),
    "max_pool": ("x, places", "(largest of each window or the last nan, its int64 position in the plane); places: resampling.py, "
                              "one table per dimension"),
    "max_pool_backward": ("g, index, x_shape, n", "g added at the positions in planes of n dimensions"),
    "max_pool_select": ("x, index, n", "x at the positions"),
    "resample": ("x, dim, starts, columns, weights", "sums along dim: z[i] = sum of weights[t] x[columns[t]], as in resampling.py"),
    "rnn_layer": ("x, w, u, b, c, h, m, mode, reverse",
                  "(all states, the last one, the last memory, the gates, the memories): a layer of x (T, N, I) with the weights w "
                  "of x and u of the state, their biases b and c or None for both, the state h and, of an LSTM, the memory m, "
                  "(N, H) each; mode: RNN_TANH, RNN_RELU, LSTM or GRU; reverse: from the last input. Gates (T, N, gates H) and "
                  "memories (T, N, H) are for the backward; for a GRU the memories are u h + c of the new state. What a mode lacks "
                  "has the shape (0,)"),
    "rnn_layer_backward": ("gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs",
                           "(dx, dw, du, db, dc, dh, dm), of the shape (0,) where `needs`, a tuple of bools, is False, and for "
                           "what the mode lacks; the gradients of the five results of rnn_layer are arrays or None"),
    # random numbers, from a RandomStream (random/_stream.py)
    "uniform": ("generator, shape, low, high, dtype", "uniform in [low, high)"),
    "normal": ("generator, shape, mean, std, dtype", "normal"),
    "integers": ("generator, shape, low, high", "integers in [low, high), int64"),
    "permutation": ("generator, n", "the integers from 0 to n - 1 in random order, int64"),
    "poisson": ("generator, x", "random counts whose mean is x"),
    "standard_gamma": ("generator, shapes", "(s, log b) of float64, where b s has the gamma distribution with these shape "
                                            "parameters of float32 or float64"),
    "bernoulli": ("generator, shape, p, dtype", "1 with probability p, else 0"),
    "dropout": ("generator, x, p", "(x / (1 - p), or x times 0 with probability p; which elements were kept, bool), 0 < p < 1, x "
                                   "real"),
    "dropout_backward": ("g, kept, p", "g / (1 - p) where kept, else g times 0"),
    # optimiser steps; the arrays are updated in place
    "sgd_": ("w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first", "None"),
    "adam_": ("w, g, m, v, v_max, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize", "None"),
}.items()}

# The attributes that a kernel function may carry, and what each promises. A kernel without the attribute promises nothing.
KERNEL_ATTRIBUTES = {
    "in_place": "a function that takes one more argument, `out`, after those of the kernel's line: an array of the operands' dtype "
                "and of the shape that they broadcast to. It writes the result to `out`, which may be an operand or overlap one; "
                "its return value is not used. For in-place ops (`_core/mutation/inplace.py`), and for gradients that are lent "
                "(`_core/record/op_node.py`)",
}

# The attributes of a source of kernels (a module or another object), besides the kernels themselves.
SOURCE_ATTRIBUTES = {
    "__name__": "the name that `Kernels.origin` shows",
    "LATE": "optional: the names of the kernels that the source imports when they are first read. `Kernels` reads each with "
            "its first use, so that the import of minigrad does not wait for them",
    "RECYCLE": "optional: a capsule with the address of a C function that takes over an array which only the caller refers to "
               "(cpu/pool.pyx)",
}

# The fields of every array that the core, the ops and the methods of Tensor read. They mean what they mean in NumPy.
ARRAY_FIELDS = {
    "shape": "tuple of int",
    "ndim": "number of dimensions",
    "size": "number of elements",
    "dtype": "NumPy dtype",
    "itemsize": "bytes of one element",
    "strides": "tuple of int: bytes from one element to the next along each dimension",
    "flags": "an object with `writeable`: whether an in-place op may write to the array",
    "item": "method: the only element as a Python number",
    "tolist": "method: the elements as nested lists of Python numbers",
    "any": "method: whether any element is not 0; its result has a truth value",
    "all": "method: whether no element is 0; its result has a truth value",
}

# The other fields that they read, which the arrays of every device but the CPU have.
DEVICE_ARRAY_FIELDS = {
    "device": "the `Device` whose memory the array is in",
    "address": "int: the address of its first element in that memory (`Tensor.data_ptr`)",
    "start": "int: the offset of its first element from the beginning of its storage, in elements (`Tensor.storage_offset`)",
    "layout": "a `np.ndarray` of its shape, strides and dtype at its `address`. Nothing reads the elements; "
              "`np.may_share_memory` compares the layouts of two arrays",
}

# kernel -> its number in every table
NUMBER = {name: number for number, name in enumerate(CONTRACT)}


class Kernels:
    """The kernels of one device: by name as attributes, by number in `table`; their functions `in_place`, or None, by number.

    A kernel that its source calls late is read from the source with its first use: see SOURCE_ATTRIBUTES. Until then a
    `LateKernel` stands for it. (With a ``__getattr__`` here, Python would look up each kernel in four times as many instructions.)

    Args:
        name (str): of the device, such as ``"cpu"``.
        sources: modules or other objects with kernels as attributes. The first source that has a kernel supplies it.

    Raises:
        TypeError: no source has one of the kernels of the contract.
    """

    def __init__(self, name, *sources):
        self.name = name
        self.table = []
        self.in_place = []
        self.origin = {}
        first = {kernel: source for source in reversed(sources) for kernel in NUMBER.keys() & dir(source)}
        late = {source.__name__: getattr(source, "LATE", ()) for source in sources}
        for kernel in CONTRACT:
            if kernel not in first:
                raise TypeError(f"no source of the {name} kernels has {kernel!r}, which contract.py asks for")
            source = first[kernel]
            found = LateKernel(self, kernel, source) if kernel in late[source.__name__] else getattr(source, kernel)
            setattr(self, kernel, found)
            self.table.append(found)
            self.in_place.append(getattr(found, "in_place", None))
            self.origin[kernel] = source.__name__
        # See SOURCE_ATTRIBUTES; None if no source has it.
        self.recycle = next((s.RECYCLE for s in sources if hasattr(s, "RECYCLE")), None)

    def __repr__(self):
        return f"<Kernels {self.name}>"


class LateKernel:
    """Stands for a late kernel. The first call reads the kernel from its source and puts it into the place of this object."""

    def __init__(self, kernels, name, source):
        self.kernels, self.__name__, self.source = kernels, name, source

    def load(self):
        """Read the kernel from its source, unless somebody has read or replaced it meanwhile, and return it."""
        if getattr(self.kernels, self.__name__) is self:
            kernel = getattr(self.source, self.__name__)
            setattr(self.kernels, self.__name__, kernel)
            self.kernels.table[NUMBER[self.__name__]] = kernel
        return getattr(self.kernels, self.__name__)

    def __call__(self, *args, **kwargs):
        return self.load()(*args, **kwargs)
