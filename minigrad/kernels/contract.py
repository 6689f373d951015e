"""What a device has to be able to do: the list of kernels, and the table that holds one device's.

A kernel is a function on arrays: it knows nothing of tensors, gradients or the graph. This file is the
whole contract between the ops and a device. Three implementations answer to it:

    numpy_ref/      NumPy, plain: the reference that the others are tested against, and the
                    interpreted path. Takes any strides and dtypes.
    cpu/            C loops for contiguous arrays of the common dtypes; hands everything else to numpy_ref
    cuda/           numba.cuda (a later issue)

Conventions
  * An array argument is written x, y, w, g; a kernel returns a new array and leaves its arguments alone,
    unless its name ends in an underscore (`add_`) or its line says otherwise.
  * Results are arrays also when 0-d, never NumPy scalars.
  * Elementwise kernels broadcast, take a Python number instead of an array, and give the dtype of their
    arrays, which all have the same one: promotion has happened before (`_core/record/apply.py`, slow).
  * Views (`view`, `permute`, `expand` ...) share the memory of their argument.
  * What adds up many numbers does so with more digits than it returns: float16 in float32 or better, float32 so that a sum
    of thousands is right to a few units in the last place (`numpy_ref/precision.py`).
  * Bad shapes raise `ValueError`; the ops have checked what they can and turn it into a message.

Ops reach hot kernels by number (`Kernels.table`), the rest by name. `accumulate` and `copy_` must
be the first two: the core calls them by their numbers (`_core/engine/graph_task.py`, `_core/mutation/inplace.py`).
"""

__all__ = ["CONTRACT", "NUMBER", "Kernels"]

# name -> (arguments, result)
CONTRACT = {
    # gradients and layout
    "accumulate": ("x, y", "True after x += y, if x owns its memory and has y's shape, dtype and strides; else False"),
    "copy_": ("x, y", "None; x[...] = y, broadcast and cast"),
    "add_": ("x, y", "None; x += y"),
    "owns": ("x", "whether x is no view of other memory, and has no gaps or overlaps"),
    "obeys_layout": ("g, x", "whether g has the strides that the gradient of x should have"),
    "copy_with_layout": ("g, x", "a copy of g with those strides"),
    # elementwise, two operands
    "add": ("x, y", "x + y"),
    "sub": ("x, y", "x - y"),
    "rsub": ("x, y", "y - x"),
    "mul": ("x, y", "x y"),
    "div": ("x, y", "x / y"),
    "pow": ("x, y", "x to the power y"),
    "maximum": ("x, y", "the larger; nan if one is"),
    "minimum": ("x, y", "the smaller; nan if one is"),
    "eq": ("x, y", "x = y, bool"),
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
    "atan2": ("x, y", "angle of the point (y, x)"),
    "hypot": ("x, y", "root of x x + y y"),
    "fmod": ("x, y", "remainder with the sign of x"),
    "remainder": ("x, y", "remainder with the sign of y"),
    "floor_divide": ("x, y", "x / y, rounded down; x an array"),
    "trunc_divide": ("x, y", "x / y, rounded towards zero; x an array"),
    "complex": ("x, y", "x + i y"),
    "copysign": ("x, y", "x with the sign of y"),
    "heaviside": ("x, y", "0, y or 1, as x is negative, 0 or positive"),
    "fmax": ("x, y", "the larger; nan if both are"),
    "fmin": ("x, y", "the smaller; nan if both are"),
    "logaddexp": ("x, y", "log(exp x + exp y), without overflow"),
    "logaddexp2": ("x, y", "the same to the base 2"),
    "xlogy": ("x, y", "x log y; 0 where x is, unless y is nan"),
    "xlog1py": ("x, y", "x log(1 + y); 0 where x is, unless y is nan"),
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
    "sgn": ("x", "x / |x|, 0 where x is; the sign of a real x"),
    "sinc": ("x", "sin(pi x) / (pi x), 1 where x is 0"),
    "erf": ("x", "error function"),
    "erfc": ("x", "1 - erf x"),
    "erfinv": ("x", "inverse of erf"),
    "lgamma": ("x", "log |gamma(x)|"),
    "digamma": ("x", "its derivative; nan at negative integers"),
    "angle": ("x", "the angle in the complex plane; 0 or pi of real x, nan of nan"),
    "isnan": ("x", "whether x is nan, bool"),
    "isinf": ("x", "whether x, or a part of it, is infinite, bool"),
    "isfinite": ("x", "whether x is neither, bool"),
    "signbit": ("x", "whether the sign is set, bool; x real"),
    # elementwise, other
    "polygamma": ("x, n", "derivative of order n of digamma"),
    "gammainc": ("x, y", "the regularized lower incomplete gamma function of shape x, up to y"),
    "gammaincc": ("x, y", "the upper one, from y on"),
    "zeta": ("x, y", "the sum of (y + k)^-x"),
    "i0": ("x", "the modified Bessel function of order 0"),
    "i1": ("x", "the modified Bessel function of order 1"),
    "nextafter": ("x, y", "the number next to x in the direction of y"),
    "frexp": ("x", "(mantissa, exponent as int32)"),
    "where": ("c, x, y", "x where c, else y"),
    "clamp": ("x, low, high", "x limited to [low, high]; each an array, a number or None"),
    "nan_to_num": ("x, nan, posinf, neginf", "x with numbers in place of nan, inf and -inf"),
    # creation and copies
    "empty": ("shape, dtype", "uninitialised"),
    "full": ("shape, value, dtype", "filled"),
    "copy": ("x", "a contiguous copy"),
    "cast": ("x, dtype", "x in another dtype; x itself if it has it"),
    "number": ("value, dtype", "a Python number that fits dtype: integers wrap around, as in C"),
    "to_host": ("x", "the numbers of x as a NumPy array; x itself, if it is one"),
    "from_host": ("x, wait", "a NumPy array as an array of this device; itself on the CPU. wait: until x may be written to"),
    "fill_": ("x, value", "None; x[...] = value"),
    # views
    "view": ("x, shape", "the view of that shape, or None if the strides do not allow one"),
    "permute": ("x, dims", "dimensions reordered"),
    "transpose": ("x, dim0, dim1", "two dimensions swapped"),
    "expand": ("x, shape", "dimensions of size 1 repeated without a copy"),
    "unsqueeze": ("x, dim", "a new dimension of size 1"),
    "select": ("x, dim, index", "one slice, without the dimension"),
    "slice": ("x, dim, start, stop, step", "some of them, step > 0"),
    "tril": ("x, diagonal", "a copy of the matrices x with 0 above a diagonal"),
    "triu": ("x, diagonal", "a copy with 0 below it"),
    "diagonal": ("x, offset, dim1, dim2", "the diagonal, its dimension last"),
    "geometry": ("x, base", "strides of base, shape, strides and offset of x in it, in elements of x; offset -1: x is elsewhere"),
    "storage": ("x", "all the memory that x lies in, as a row of its dtype; where it has gaps, from x's first element to its last"),
    "as_strided": ("x, base_strides, shape, strides, offset", "a view on x laid out by base_strides (in elements), or on a copy"),
    "as_strided_scatter": ("x, y, base_strides, shape, strides, offset", "x with y, an array or a number, in that part of it"),
    "as_strided_add": ("y, base_shape, base_strides, shape, strides, offset", "zeros with y added in that part"),
    "real": ("x", "the real part of a complex array"),
    "imag": ("x", "the imaginary part of a complex array"),
    "view_as_real": ("x", "a complex array as pairs of real numbers, along a new last dimension"),
    "view_as_complex": ("x", "the reverse; x has shape (..., 2), the pairs lying together"),
    "resize": ("x, shape", "the memory from x's first element on, in that shape; if that is too little, a larger copy, the rest 0"),
    "by_columns": ("x", "whether the matrix x lies column by column, and not row by row"),
    "contiguous": ("x", "whether x is row-major and without gaps"),
    # reductions over the tuple of dimensions `dims`
    "sum": ("x, dims, keepdim", "sum"),
    "prod": ("x, dims, keepdim", "product"),
    "amax": ("x, dims, keepdim", "largest; nan if there is one"),
    "amin": ("x, dims, keepdim", "smallest; nan if there is one"),
    "argmax": ("x, dim, keepdim", "position of the first largest (int64); dim None: in the flattened x"),
    "argmin": ("x, dim, keepdim", "position of the first smallest (int64)"),
    "var": ("x, dims, correction, keepdim", "variance: squares over n - correction"),
    "cumsum": ("x, dim, reverse", "running sum along dim, from the end if reverse"),
    "cumprod": ("x, dim", "running product along dim"),
    "recurrence": ("x, y, dim, reverse", "z[k] = x[k] z[k - 1] + y[k] (reverse: z[k + 1]), y[k] where x[k] is 0 or k the first"),
    "logsumexp": ("x, dims, keepdim", "log of the sum of the exponentials, without overflow"),
    # linear algebra
    "matmul": ("x, y", "matrix product of the last two dimensions, both at least 2-d, batches broadcast"),
    "addmm": ("b, x, y", "b + x y for matrices; b broadcasts"),
    "dot": ("x, y", "inner product of two vectors"),
    # decompositions of matrices; z is nan, and info (int32) not 0, where there is none
    "det": ("x", "determinant"),
    "slogdet": ("x", "(its sign, log of its absolute value)"),
    "cofactors": ("x", "the derivatives of the determinant, of singular x too"),
    "inv": ("x", "(inverse, info: the pivot that is 0)"),
    "solve": ("x, y", "(z with x z = y, info: the pivot that is 0); batches broadcast"),
    "solve_triangular": ("x, y, upper, unit", "z with x z = y, of one triangle of x; unit: the diagonal counts as 1"),
    "lu": ("x, pivot", "(L, U, rows): x[rows] = L U; without `pivot` rows is 0, 1, ..."),
    "lu_rows": ("x", "the rows of `lu` with pivots, as int64"),
    "cholesky": ("x, upper", "(z with x = z zᴴ, or zᴴ z, info: the minor that is not positive), of one triangle of x"),
    "matrix_exp": ("x", "exponential of a matrix; nan where x is not finite, unless it is a number"),
    "qr": ("x, mode", "(q, r) with x = q r; mode is reduced or complete; or r alone for r"),
    "svd": ("x, full", "(u, s, v) with x = u s v, s real, descending; full: u and v are square"),
    "svdvals": ("x", "s alone"),
    "eigh": ("x, lower", "(w, v) with x v = v w, w real, ascending, of one triangle of a Hermitian x"),
    "eigvalsh": ("x, lower", "w alone"),
    "eig": ("x", "(w, v) with x v = v w, complex, the columns of v of length 1"),
    "eigvals": ("x", "w alone"),
    # joining and indexing
    "cat": ("xs, dim", "one after the other along dim"),
    "into_slice": ("y, shape, dim, start, stop, step", "zeros with y in that slice"),
    "stack": ("xs, dim", "along a new dimension"),
    "gather": ("x, dim, index", "x[index] along dim, index having x's number of dimensions"),
    "scatter": ("x, dim, index, y", "a copy of x with y, an array or a number, stored at index along dim"),
    "masked_scatter": ("x, mask, y", "x, broadcast to the mask, with the first elements of y where it holds"),
    "scatter_add": ("x, dim, index, y", "a copy of x with y added at index along dim, repeats included"),
    "scatter_reduce": ("x, dim, index, y, reduce", "the same, but multiplied (prod), or the larger (amax) or smaller (amin)"),
    "index_select": ("x, dim, index", "the slices of x that the vector index names"),
    "index_add": ("x, dim, index, y", "a copy of x with the slices of y added, repeats included"),
    "index": ("x, indices", "advanced indexing; indices has an array or None per dimension"),
    "index_put": ("x, indices, y, accumulate", "a copy of x with y stored there, or added"),
    "index_put_": ("x, indices, y, accumulate", "None; the same in place"),
    # order
    "flip": ("x, dims", "a copy in the reverse order along dims"),
    "argsort": ("x, dim, descending", "the indices (int64) that sort x along dim; ties keep their order, nan is the largest"),
    "median": ("x, dim, skip_nan", "where along dim the median is, the lower of two, or the first nan; the dimension stays"),
    "mode": ("x, dim", "where along dim the most frequent element is last; the smallest of several; the dimension stays"),
    "cumextremum": ("x, dim, largest", "where the largest (smallest) element so far is, the last of several; nan is both"),
    "logcumsumexp": ("x, dim", "running log of the sum of the exponentials, without overflow"),
    "nonzero": ("x", "the indices of the elements that are not 0, as rows (int64)"),
    "searchsorted": ("x, y, right", "how many elements of the sorted x are smaller than y (or equal to it), int64; rows by rows"),
    # neural networks
    "glu": ("x, dim", "a sigmoid(b), a and b the halves of x along dim, dim >= 0"),
    "glu_backward": ("g, x, dim", "gradient of x: g sigmoid(b), then g a sigmoid(b) sigmoid(-b)"),
    "softmax": ("x, dim", "softmax"),
    "softmax_backward": ("g, z, dim", "z (g - sum(g z))"),
    "log_softmax": ("x, dim", "log of softmax"),
    "log_softmax_backward": ("g, z, dim", "g - exp(z) sum(g)"),
    "attention_weights": ("x, scale, causal", "softmax(scale x) over the last dimension; causal: row i is 0 after column i"),
    "layer_norm": ("x, w, b, n_dims, eps", "((x - mean) rstd w + b, mean, rstd) over the last dimensions; w, b: array or None"),
    "layer_norm_backward": ("g, x, w, mean, rstd, n_dims", "(dx, dw, db); w: array or None"),
    "rms_norm": ("x, w, n_dims, eps", "(x rstd w, rstd), rstd = 1 / sqrt(mean(x x) + eps), over the last dimensions; for x of "
                                      "float16 it is float32"),
    "rms_norm_backward": ("g, x, w, rstd, n_dims", "(dx, dw); w: array or None"),
    "class_outside": ("target, n, ignore_index", "the first target that is neither in [0, n) nor ignored, or None"),
    "nll_loss": ("x, target, weight, ignore_index, reduction", "(loss, total weight); x is (N, C) or (N, C, d1 ...)"),
    "nll_loss_backward": ("g, x_shape, target, weight, total, ignore_index, reduction", "gradient of x"),
    "conv": ("x, w, stride, padding, dilation, groups", "cross-correlation of (N, C, ...) with 1, 2 or 3 more dimensions"),
    "conv_input": ("g, w, x_shape, stride, padding, dilation, groups", "gradient of x"),
    "conv_weight": ("g, x, w_shape, stride, padding, dilation, groups", "gradient of w"),
    "im2col": ("x, size, stride, padding, dilation", "the patch under each window as a column, (..., C K, windows)"),
    "col2im": ("x, shape, size, stride, padding, dilation", "such columns added where they came from, in zeros of that shape"),
    "max_pool": ("x, places", "(largest of each window or the last nan, its int64 position in the plane); places: resampling.py, "
                              "one per dimension"),
    "max_pool_backward": ("g, index, x_shape, n", "g added at the positions in planes of n dimensions"),
    "max_pool_select": ("x, index, n", "x at the positions"),
    "resample": ("x, dim, starts, columns, weights", "sums along dim: z[i] = sum of weights[t] x[columns[t]], as in resampling.py"),
    # random numbers, from a numpy.random.Generator
    "uniform": ("generator, shape, low, high, dtype", "uniform in [low, high)"),
    "normal": ("generator, shape, mean, std, dtype", "normal"),
    "poisson": ("generator, x", "random counts whose mean is x"),
    "bernoulli": ("generator, shape, p, dtype", "1 with probability p, else 0"),
    "dropout": ("generator, x, p", "(x / (1 - p), times 0 with probability p; which were kept, bool), 0 < p < 1, x real"),
    "dropout_backward": ("g, kept, p", "g / (1 - p) where kept, else times 0"),
    # optimiser steps; the arrays are updated in place
    "sgd_": ("w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first", "None"),
    "adam_": ("w, g, m, v, v_max, step, lr, beta1, beta2, eps, weight_decay, decoupled, maximize", "None"),
}

# name -> its number in every table
NUMBER = {name: number for number, name in enumerate(CONTRACT)}


class Kernels:
    """The kernels of one device: by name as attributes, by number in `table`.

    Args:
        name: such as ``"cpu"``.
        sources: modules or other objects with kernels as attributes; the first that has one supplies it.

    Raises:
        TypeError: none of the sources has a kernel of the contract.
    """

    def __init__(self, name, *sources):
        self.name = name
        self.table = []
        self.origin = {}
        for kernel in CONTRACT:
            source = next((s for s in sources if hasattr(s, kernel)), None)
            if source is None:
                raise TypeError(f"no source of the {name} kernels has {kernel!r}, which contract.py asks for")
            setattr(self, kernel, getattr(source, kernel))
            self.table.append(getattr(source, kernel))
            self.origin[kernel] = source.__name__
        # Optional: a capsule with the address of a C function that takes over arrays which nobody else holds. See cpu/pool.pyx.
        self.recycle = next((s.RECYCLE for s in sources if hasattr(s, "RECYCLE")), None)

    def __repr__(self):
        return f"<Kernels {self.name}>"
