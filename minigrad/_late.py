"""What `minigrad` imports with its first use: modules, and names with their modules. See ``_lazy.py``.

    mg.optim        MODULES     the module minigrad/optim
    mg.save         NAMES       the name `save` of minigrad/serialization
    x.normal_       METHODS     the function `normal_` of minigrad/random
"""

__all__ = ["METHODS", "MODULES", "NAMES"]

MODULES = (
    "_C", "_dynamo", "accelerator", "amp", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "func",
    "functional", "futures", "hub", "jit", "library", "linalg", "mps", "multiprocessing", "nn", "onnx", "optim",
    "profiler", "random", "run", "serialization", "special", "testing", "torch_version", "utils", "version", "viz", "xpu",
)

# module -> its names, separated by spaces
NAMES = {
    "_debug": "debug",
    "amp": "autocast get_autocast_dtype is_autocast_enabled set_autocast_enabled",
    "amp.autocast_mode": "bfloat16",
    "backends._precision":
        "get_deterministic_debug_mode get_float32_matmul_precision is_deterministic_algorithms_warn_only_enabled "
        "set_deterministic_debug_mode set_float32_matmul_precision",
    "compiler": "compile",
    "cpu": "Event Stream",
    "nn.functional": "threshold",
    "random":
        "Generator bernoulli default_generator get_rng_state initial_seed manual_seed multinomial normal poisson rand rand_like "
        "randint randint_like randn randn_like randperm seed set_rng_state",
    "run": "as_torch",
    "serialization": "load save",
    "func": "vmap",
    "functional":
        "abs_ acos_ acosh_ addmv_ alpha_dropout alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ "
        "as_strided_ asarray asin_ asinh_ atan_ atanh_ bartlett_window batch_norm blackman_window ceil_ celu celu_ "
        "clamp_ clamp_max_ clamp_min_ clip_ compiled_with_cxx11_abi conj conj_physical_ cos_ cosh_ cosine_similarity "
        "deg2rad_ detach detach_ dropout dropout_ embedding erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout fill_ "
        "fix_ floor_ frac_ get_num_interop_threads group_norm hamming_window hann_window hardshrink "
        "i0_ index_put_ instance_norm is_conj is_neg is_same_size is_signed layer_norm log10_ log1p_ log2_ log_ logit_ "
        "lu lu_solve lu_unpack nan_to_num_ narrow_copy neg_ negative_ pairwise_distance prelu rad2deg_ range "
        "reciprocal_ relu_ resize_as_ rms_norm round_ rsqrt_ selu selu_ set_anomaly_enabled "
        "set_flush_denormal set_num_interop_threads sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ "
        "trunc_ typename unravel_index xlogy_ zero_",
}

# module -> methods of `Tensor`. (Those of ops are in ops/late.py.)
METHODS = {
    "cuda._pinned": "is_pinned pin_memory",
    "random._inplace": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    "random._sampling": "bernoulli multinomial",
}
