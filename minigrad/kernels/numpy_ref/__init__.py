"""The kernels in plain NumPy: the reference, the interpreted path, and the fallback of the compiled kernels.

    layout.py       gradients and layout, creation, copies, views
    elementwise.py  functions of each element
    reduction.py    sums, extrema, softmax: along dimensions
    scans.py        running sums and products
    joining.py      cat, gather, scatter, indexing
    linear.py       matrix products
    linalg.py       decompositions of matrices
    fourier.py      Fourier transforms
    ordering.py     flip, sorting, searching
    convolution.py  convolution, pooling, resampling
    recurrent.py    layers of recurrent networks
    nn.py           losses, optimiser steps
    randoms.py      random numbers
    rejection.py    gamma and Poisson numbers, one after the other
    special.py      the error function, the gamma function and its derivatives
    gamma.py        incomplete gamma functions, zeta, Bessel functions
    precision.py    the dtype that a kernel adds up in

Each function is one line of NumPy where that is possible. ``kernels/contract.py`` says what it promises.

Compiled, a short program needs none of them. So a module is imported when a program first needs one of its kernels.
"""

from minigrad._lazy import lazy

# module -> its kernels, separated by spaces
FILES = {
    "convolution": "col2im conv conv_input conv_weight im2col max_pool max_pool_backward max_pool_select resample",
    "elementwise":
        "abs acos acosh add add_scaled addcdiv addcmul angle asin asinh atan atan2 atanh bce_with_logits bce_with_logits_slope "
        "ceil clamp complex conj copysign cos "
        "cosh div elu eq equal exp exp2 expm1 floor floor_divide fmax fmin fmod frac ge gt hardsigmoid hardsigmoid_backward "
        "hardswish hardswish_backward heaviside huber hypot invert isfinite isinf isnan le lerp log log10 log1p log2 "
        "log_sigmoid logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul nan_to_num ne neg pow prelu "
        "reciprocal relu relu_backward remainder round rsqrt rsub sgn sigmoid sigmoid_backward sign signbit sin sinc sinh "
        "softplus softshrink sqrt sub tan tanh tanh_backward threshold trunc trunc_divide where xlog1py xlogy zero_within",
    "fourier": "fft_c2c fft_c2r fft_r2c",
    "gamma": "frexp gammainc gammaincc i0 i0e i1 i1e nextafter zeta",
    "joining":
        "cat gather index index_add index_put index_put_ index_select into_slice masked_fill_ masked_scatter scatter "
        "scatter_add scatter_reduce stack take_grid",
    "layout":
        "accumulate add_ as_strided as_strided_add as_strided_scatter by_columns cast contiguous copy copy_ copy_with_layout "
        "diagonal empty expand fill_ from_host full geometry imag number obeys_layout owns permute real resize select slice "
        "storage t to_host transpose tril triu unsqueeze view view_as_complex view_as_real",
    "linalg":
        "cholesky cofactors det eig eigh eigvals eigvalsh inv lu lu_rows matrix_exp qr slogdet solve solve_triangular svd "
        "svdvals",
    "linear": "addmm distances distances_backward dot matmul",
    "nn": "adam_ class_outside nll_loss nll_loss_backward sgd_",
    "ordering": "argsort cumextremum flip median mode nonzero searchsorted topk",
    "normalization":
        "batch_norm batch_norm_backward group_norm group_norm_backward layer_norm layer_norm_backward normalize_channels rms_norm "
        "rms_norm_backward",
    "randoms": "bernoulli dropout dropout_backward integers normal permutation uniform",
    "rejection": "poisson standard_gamma",
    "attention_heads": "attention attention_backward",
    "recurrent": "rnn_layer rnn_layer_backward",
    "reduction":
        "amax amin argmax argmin attention_weights log_softmax log_softmax_backward logsumexp mean nansum prod softmax "
        "softmax_backward sum sum_to var",
    "scans": "cumprod cumsum logcumsumexp recurrence",
    "special":
        "digamma erf erfc erfinv gelu gelu_backward gelu_tanh gelu_tanh_backward glu glu_backward lgamma mish mish_backward "
        "polygamma silu silu_backward",
}
LATE = frozenset(" ".join(FILES.values()).split())

__getattr__, __dir__ = lazy(__name__, modules=(*FILES, "precision"), names=FILES)
