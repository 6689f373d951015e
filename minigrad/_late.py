"""What `minigrad` imports with its first use: modules, and names with their modules. See ``_lazy.py``.

    mg.optim        MODULES     the module minigrad/optim
    mg.save         NAMES       the name `save` of minigrad/serialization
    x.normal_       METHODS     the function `normal_` of minigrad/random
"""

__all__ = ["METHODS", "MODULES", "NAMES"]

MODULES = (
    "_C", "_dynamo", "accelerator", "amp", "ao", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "fft",
    "func", "functional", "functorch", "futures", "grading", "hub", "jit", "library", "linalg", "mps", "multiprocessing", "nn",
    "onnx", "optim", "profiler", "quantization", "random", "run", "serialization", "sparse", "special", "storage",
    "testing", "torch_version", "utils", "version", "viz", "xpu",
)

# module -> its names, separated by spaces
NAMES = {
    "_explain": "explain",
    "_bfloat16": "BFloat16Tensor bfloat16",
    "_debug": "debug",
    "_foreach":
        "_foreach_copy_ _foreach_norm _foreach_zero_ _foreach_abs _foreach_abs_ _foreach_add _foreach_add_ "
        "_foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_ _foreach_clamp_max _foreach_clamp_max_ "
        "_foreach_clamp_min _foreach_clamp_min_ _foreach_div _foreach_div_ _foreach_exp _foreach_exp_ _foreach_lerp "
        "_foreach_lerp_ _foreach_log _foreach_log_ _foreach_mul _foreach_mul_ _foreach_neg _foreach_neg_ _foreach_pow "
        "_foreach_pow_ _foreach_reciprocal _foreach_reciprocal_ _foreach_sign _foreach_sign_ _foreach_sqrt _foreach_sqrt_ "
        "_foreach_sub _foreach_sub_",
    "amp": "GradScaler autocast get_autocast_dtype is_autocast_enabled set_autocast_enabled",
    "backends._precision":
        "get_deterministic_debug_mode get_float32_matmul_precision is_deterministic_algorithms_warn_only_enabled "
        "set_deterministic_debug_mode set_float32_matmul_precision",
    "_tensor.tensor_str": "set_printoptions",
    "compiler": "compile",
    "cpu": "Event Stream",
    "creation._grids": "broadcast_shapes eye tril_indices triu_indices",
    "creation._ranges": "arange linspace logspace",
    "nn.functional": "threshold",
    "random":
        "Generator bernoulli default_generator get_rng_state initial_seed manual_seed multinomial normal poisson rand rand_like "
        "randint randint_like randn randn_like randperm seed set_rng_state",
    "run": "as_torch",
    "serialization": "load save",
    "storage": "TypedStorage UntypedStorage is_storage",
    "sparse": "dsmm sparse_coo_tensor sparse_csr_tensor spmm",
    "func": "vmap",
    "functional":
        "_assert abs_ acos_ acosh_ addmv_ alpha_dropout alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ "
        "as_strided_ asarray asin_ asinh_ atan_ atanh_ bartlett_window batch_norm blackman_window ceil_ celu celu_ clamp_ "
        "clamp_max_ clamp_min_ clip_ compiled_with_cxx11_abi conj conj_physical_ cos_ cosh_ cosine_similarity deg2rad_ "
        "detach detach_ dropout dropout_ embedding erf_ erfc_ exp2_ exp_ expm1_ fake_quantize_per_channel_affine "
        "fake_quantize_per_tensor_affine feature_alpha_dropout fill_ fix_ floor_ frac_ get_num_interop_threads gradient "
        "group_norm hamming_window hann_window hardshrink i0_ index_put_ instance_norm is_conj is_neg is_same_size "
        "is_signed layer_norm log10_ log1p_ log2_ log_ logit_ lu lu_solve lu_unpack nan_to_num_ narrow_copy neg_ "
        "negative_ pairwise_distance pca_lowrank per_channel_affine per_channel_symmetric per_tensor_affine "
        "per_tensor_symmetric prelu qint32 qint8 quint8 rad2deg_ range reciprocal_ relu_ resize_as_ rms_norm round_ "
        "rsqrt_ selu selu_ set_anomaly_enabled set_flush_denormal set_num_interop_threads sigmoid_ sin_ sinc_ sinh_ sqrt_ "
        "square_ svd_lowrank tan_ tanh_ threshold_ triangular_solve trunc_ typename unravel_index xlogy_ zero_",
}

# module -> methods of `Tensor`. (Those of ops are in ops/late.py.)
METHODS = {
    "cuda._pinned": "is_pinned pin_memory",
    "storage": "storage untyped_storage",
    "random._inplace": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    "random._sampling": "bernoulli multinomial",
}
