"""The functions and methods whose modules `import minigrad` leaves out: they are imported with the first use of one of the names.

Half of the time of the import was theirs, and a program uses a few of them. If a function should be loaded immediately, take its
module out of these tables. ``tests/test_import.py`` compares the tables with the modules.
"""

__all__ = ["FUNCTIONS", "IN_PLACE", "NO_METHODS", "UPCALLS"]

# module -> its functions, separated by spaces: mg.acos. Those that are not in NO_METHODS nor of nn are also methods: Tensor.acos.
FUNCTIONS = {
    "elementwise.bits": "bitwise_left_shift bitwise_right_shift gcd lcm ldexp",
    "elementwise.clamp": "clamp_max clamp_min nan_to_num",
    "elementwise.complex_numbers":
        "angle complex conj_physical imag polar real resolve_conj resolve_neg view_as_complex view_as_real",
    "elementwise.gamma_zeta": "i0 igamma igammac",
    "elementwise.pointwise": "copysign deg2rad float_power fmax fmin heaviside logaddexp logaddexp2 positive rad2deg sgn sinc",
    "elementwise.predicates":
        "allclose equal is_complex is_floating_point is_nonzero is_tensor isclose isfinite isinf isnan isneginf isposinf isreal "
        "numel signbit",
    "elementwise.representation": "frexp histogram nextafter",
    "elementwise.rounding": "ceil fix floor floor_divide fmod frac remainder round trunc",
    "elementwise.sampling": "",
    "elementwise.scaled": "",
    "elementwise.special": "digamma erf erfc erfinv lgamma logit mvlgamma polygamma",
    "elementwise.trigonometry":
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cosh exp2 expm1 hypot log10 "
        "log2 sinh tan",
    "elementwise.xlogy": "xlogy",
    "index.masking": "masked_fill masked_scatter masked_select tril triu",
    "index.scattering": "index_copy index_fill scatter",
    "index.take": "index_reduce put scatter_reduce take take_along_dim",
    "index.view_scatter": "diagonal_scatter select_scatter slice_scatter",
    "linalg.contractions": "chain_matmul cross ger inner kron matrix_power outer tensordot vander vdot",
    "linalg.covariance": "corrcoef cov",
    "linalg.determinants": "det logdet slogdet",
    "linalg.einsum": "einsum",
    "linalg.factorizations": "cholesky cholesky_inverse cholesky_solve qr",
    "linalg.inverses": "inverse",
    "linalg.matrix_functions": "matrix_exp",
    "linalg.norms": "cdist dist norm renorm",
    "linalg.pairwise": "bilinear pdist",
    "linalg.products": "addbmm addcdiv addcmul addmm addmv addr baddbmm lerp",
    "linalg.pseudoinverses": "pinverse",
    "linalg.singular_values": "svd",
    "nn.averaging": "adaptive_avg_pool1d avg_pool1d",
    "nn.convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "nn.pooling": "max_pool1d max_pool2d max_pool3d",
    "nn.softmax": "log_softmax softmax",
    "nn.unfolding": "channel_shuffle pixel_shuffle pixel_unshuffle",
    "reduce.extrema": "amax amin argmax argmin max min",
    "reduce.summaries": "aminmax cumulative_trapezoid diff nanmean nansum sum_to_size trapezoid trapz",
    "reduce.variance": "std std_mean var var_mean",
    "scan.running": "cummax cummin logcumsumexp",
    "scan.scans": "cumprod cumsum",
    "shape.diagonals": "block_diag diag diag_embed diagflat trace",
    "shape.repeating": "flip fliplr flipud repeat repeat_interleave roll rot90 tile",
    "shape.reshaping": "adjoint broadcast_to flatten moveaxis movedim ravel swapaxes swapdims unflatten",
    "shape.splitting": "split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes",
    "shape.stacking":
        "atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod column_stack combinations dsplit dstack hsplit hstack "
        "meshgrid row_stack tensor_split vsplit vstack",
    "shape.strided": "as_strided diagonal unfold",
    "sort.counting": "bincount count_nonzero histc",
    "sort.searching": "argwhere bucketize isin nonzero searchsorted",
    "sort.sorting": "argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk",
    "sort.unique": "unique unique_consecutive",
}

# module -> its in-place methods: Tensor.acos_
IN_PLACE = {
    "elementwise.bits": "bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_ ldexp_",
    "elementwise.clamp": "clamp_max_ clamp_min_ nan_to_num_",
    "elementwise.comparison_inplace":
        "bitwise_and_ bitwise_not_ bitwise_or_ bitwise_xor_ eq_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ logical_and_ "
        "logical_not_ logical_or_ logical_xor_ lt_ ne_ not_equal_",
    "elementwise.complex_numbers": "conj_physical_",
    "elementwise.gamma_zeta": "i0_ igamma_ igammac_",
    "elementwise.pointwise": "copysign_ deg2rad_ float_power_ heaviside_ rad2deg_ sgn_ sinc_",
    "elementwise.representation": "nextafter_",
    "elementwise.rounding": "ceil_ fix_ floor_ floor_divide_ fmod_ frac_ remainder_ round_ trunc_",
    "elementwise.special": "digamma_ erf_ erfc_ erfinv_ lgamma_ logit_ mvlgamma_ polygamma_",
    "elementwise.trigonometry":
        "acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctan2_ arctanh_ asin_ asinh_ atan_ atan2_ atanh_ cosh_ exp2_ "
        "expm1_ hypot_ log10_ log2_ sinh_ tan_",
    "elementwise.xlogy": "xlogy_",
    "index.masking": "masked_fill_ masked_scatter_ tril_ triu_",
    "index.scattering": "index_copy_ index_fill_ scatter_",
    "index.take": "index_reduce_ put_ scatter_reduce_",
    "linalg.norms": "renorm_",
    "linalg.products": "addbmm_ addcdiv_ addcmul_ addmv_ addr_ baddbmm_ lerp_",
    "scan.scans": "cumprod_ cumsum_",
    "shape.diagonals": "fill_diagonal_",
    "shape.inplace_views": "as_strided_ resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_",
}

# module -> the functions that it gives the core: see _core/graph/upcalls.py
UPCALLS = {
    "elementwise.complex_numbers": "as_complex as_real as_strided_parts_op view_parts",
    "shape.strided": "as_strided as_strided_op as_strided_scatter view_strided zeros_like",
}

# Functions of these modules that are no methods: their first argument is not called input, or PyTorch has no such method, or
# `Tensor` defines it in its own file.
NO_METHODS = {
    "atleast_1d", "atleast_2d", "atleast_3d", "bilinear", "block_diag", "broadcast_tensors", "bucketize", "cartesian_prod",
    "cdist", "chain_matmul", "column_stack", "combinations", "complex", "cumulative_trapezoid", "dstack", "einsum", "hstack",
    "imag", "is_complex", "is_floating_point", "is_tensor", "isin", "meshgrid", "numel", "pdist", "polar", "real", "row_stack",
    "searchsorted", "std_mean", "tensordot", "trapezoid", "trapz", "vander", "var_mean", "view_as_complex", "view_as_real",
    "vstack",
}
