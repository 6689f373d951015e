"""Every public function and method with one valid call: the start of the tests that go over all signatures.

    subjects()              "sum", "Tensor.sum", "nn.functional.pad", "linalg.svd" ...: all public functions
    good_call("sum")        Call(path="sum", arguments={"input": ...})
    .run(mg)                runs it on a library, minigrad or torch
    .but("dim", make)       the same call with another argument in one position

The name of a parameter determines its value (`VALUES`); `EXCEPTIONS` has other values for single functions. If a parameter of a new
function has no value here, a test fails and says so.
"""

import inspect
import warnings
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

import minigrad as mg

PLACES = {"": mg, "Tensor": mg.Tensor, "nn.functional": mg.nn.functional, "linalg": mg.linalg, "special": mg.special, "fft": mg.fft,
          "nn.init": mg.nn.init, "nn.utils": mg.nn.utils}


def square(m):
    return m.tensor([[0.5, 0.25, 0.75], [0.125, 0.625, 0.375], [0.875, 0.5, 0.25]])


def positions(m):
    return m.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0]])


def ones(*shape):
    return lambda m: m.ones(*shape)


def value(x):
    return lambda m: x


# name of a parameter -> m -> its value
VALUES = {
    **dict.fromkeys(["input", "self", "tensor", "tensor1", "tensor2", "mat", "mat1", "mat2", "x1", "x2", "src", "source", "end", "weight", "exponent", "values", "x", "y", "q", "A", "B", "obj", "elements", "test_elements", "target", "input1", "input2", "anchor", "positive", "negative", "other", "condition_", "logits", "query", "key", "var", "sorted_sequence", "real", "imag", "abs", "angle", "the_template", "vectors"], square),
    **dict.fromkeys(["vec", "vec1", "vec2", "boundaries", "bias"], lambda m: m.tensor([0.25, 0.5, 0.75])),
    **dict.fromkeys(["batch1", "batch2"], lambda m: square(m).expand(3, 3, 3).clone()),
    **dict.fromkeys(["index", "indices"], positions),
    **dict.fromkeys(["mask", "condition"], lambda m: m.tensor([[True, False, True], [False, True, False], [True, True, False]])),
    **dict.fromkeys(["dim", "dim0", "dim1", "axis0", "axis1", "start_dim", "offset", "diagonal", "storage_offset", "destination"], value(0)),
    **dict.fromkeys(["dim2", "end_dim"], value(1)),
    **dict.fromkeys(["k", "n", "m", "chunks", "r", "length", "kernel_size", "num_samples", "bins", "steps", "minlength", "order", "row", "col", "N", "groups", "step", "num_groups", "dimension", "p", "repeats", "correction", "decimals"], value(1)),
    **dict.fromkeys(["alpha", "beta", "value", "min", "max", "dx", "fill_value", "eps", "rtol", "atol", "nan", "posinf", "neginf", "maxnorm", "negative_slope", "lambd", "threshold", "margin", "delta", "start", "to", "low", "high", "mean", "std", "median", "sigma", "a", "b", "val", "gain", "rcond", "tau", "momentum", "scale", "label_smoothing", "dropout_p", "base", "s", "lower", "upper_"], value(0.5)),
    "split_sizes": value((2, 1)), "split_size": value(2), "dims": value((0, 1)), "shifts": value(1), "size": value((3, 3)), "sizes": value((3, 3)), "shape": value((3, 3)),
    "stride": value((3, 1)), "normalized_shape": value((3,)), "split_size_or_sections": value(2), "indices_or_sections": value(3),
    "tensors": lambda m: [square(m), square(m)], "matrices": square, "rounding_mode": value("floor"), "pad": value((1, 1)),
    "dtype": lambda m: m.float64, "maxnorm": value(0.5), "generator": value(None), "data": value([1.0, 2.0]),
    "max_val": value(0.5), "min_val": value(-0.5), "upscale_factor": value(1), "downscale_factor": value(1), "reduce": value("sum"),
}


def images(m):
    return m.arange(16.0).reshape(1, 1, 4, 4) / 16


def lines(m):
    return m.arange(8.0).reshape(1, 2, 4) / 8


def volumes(m):
    return m.arange(64.0).reshape(1, 1, 4, 4, 4) / 64


def definite(m):
    return m.tensor([[2.0, 0.5, 0.25], [0.5, 3.0, 0.5], [0.25, 0.5, 4.0]])


def integers(m):
    return m.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])


PER_DIMENSION = {1: lines, 2: images, 3: volumes}
ANY = "*"       # arguments by position that have no name

# path -> other values for its parameters; they are given even if the parameter has a default
EXCEPTIONS = {
    "addmv": {"input": VALUES["vec"]}, "addr": {}, "addbmm": {}, "baddbmm": {"input": VALUES["batch1"]},
    "bmm": {"input": VALUES["batch1"], "mat2": VALUES["batch1"]}, "dot": {"input": VALUES["vec"], "tensor": VALUES["vec"]},
    "vdot": {"input": VALUES["vec"], "other": VALUES["vec"]}, "mv": {}, "inner": {}, "outer": {"input": VALUES["vec"]},
    "ger": {"input": VALUES["vec"]}, "cross": {"dim": value(1)},
    "as_strided": {"size": value((3, 3))}, "as_strided_": {"size": value((3, 3))},
    "as_strided_scatter": {"src": square, "size": value((3, 3))},
    **{f"bitwise_{n}": {"input": integers, "other": integers} for n in ("and", "or", "xor")}, "bitwise_not": {"input": integers},
    "bernoulli": {}, "bincount": {"input": lambda m: m.tensor([0, 1, 1]), "weights": VALUES["vec"]},
    "ctc_loss": {"log_probs": lambda m: m.full((4, 1, 3), -1.0), "targets": lambda m: m.tensor([[1, 2]]),
                 "input_lengths": lambda m: m.tensor([4]), "target_lengths": lambda m: m.tensor([2])},
    "set_autocast_enabled": {ANY: [value(False)]}, "cartesian_prod": {ANY: [VALUES["vec"], VALUES["vec"]]}, "block_diag": {ANY: [square, square]},
    "broadcast_tensors": {ANY: [square, VALUES["vec"]]}, "broadcast_shapes": {ANY: [value((3, 1)), value((3,))]},
    "broadcast_to": {"size": value((3, 3))}, "meshgrid": {ANY: [VALUES["vec"], VALUES["vec"]]}, "chain_matmul": {ANY: [square, square]},
    **{f"atleast_{n}d": {ANY: [square]} for n in (1, 2, 3)}, "einsum": {"equation": value("ij,jk->ik"), ANY: [square, square]},
    "can_cast": {"from_": lambda m: m.float32, "to": lambda m: m.float64}, "promote_types": {"type1": lambda m: m.float32, "type2": lambda m: m.int64},
    "result_type": {"tensor1": square, "tensor2": square},
    "cholesky": {"input": definite}, "cholesky_inverse": {"input": definite}, "cholesky_solve": {"input2": definite},
    "linalg.cholesky": {"A": definite}, "linalg.cholesky_ex": {"A": definite}, "complex": {},
    "combinations": {"input": VALUES["vec"], "r": value(2)}, "conj_physical": {}, "copysign": {}, "corrcoef": {}, "cov": {},
    "diagonal_scatter": {"src": VALUES["vec"]}, "select_scatter": {"src": VALUES["vec"], "index": value(0)},
    "slice_scatter": {}, "dsplit": {"input": VALUES["batch1"]}, "empty": {"size": value((3, 3))}, "eye": {"n": value(3)},
    "expand": {ANY: [value(3), value(3)]}, "expand_as": {}, "explain": {}, "finfo": {"type": lambda m: m.float32},
    "iinfo": {"type": lambda m: m.int32}, "flip": {"dims": value((0,))}, "float_power": {"exponent": value(2)}, "threshold": {"threshold": value(0.5), "value": value(0.25)}, "bilinear": {"weight": lambda m: m.ones(2, 3, 3)}, "histogram": {}, "linalg.lu": {}, "Tensor.float_power_": {"input": lambda m: square(m).double(), "exponent": value(2)},
    "from_dlpack": {"ext_tensor": lambda m: np.ones(3)}, "from_numpy": {"ndarray": lambda m: np.ones(3)},
    "frombuffer": {"buffer": lambda m: bytearray(16), "dtype": lambda m: m.float32}, "full": {"size": value((3, 3))},
    "gcd": {"input": integers, "other": integers}, "lcm": {"input": integers, "other": integers},
    "index_add": {"index": lambda m: m.tensor([0, 2, 1])}, "index_copy": {"index": lambda m: m.tensor([0, 2, 1])},
    "index_fill": {"index": lambda m: m.tensor([0, 2, 1])}, "index_select": {"index": lambda m: m.tensor([0, 2, 1])},
    "index_put": {"indices": lambda m: (m.tensor([0, 2]),), "values": VALUES["vec"]},
    "index_reduce": {"index": lambda m: m.tensor([0, 2, 1]), "reduce": value("amax")},
    "is_nonzero": {"input": lambda m: m.tensor(1.0)}, "item": {"input": lambda m: m.tensor(1.0)}, "kthvalue": {},
    "lerp": {"weight": value(0.5)}, "linspace": {"end": value(2.0), "start": value(0.0), "steps": value(3)},
    "logspace": {"end": value(2.0), "start": value(0.0), "steps": value(3)}, "arange": {"start": value(0), "end": value(3)},
    "manual_seed": {"seed": value(0)}, "set_num_threads": {"n": value(2)}, "movedim": {"source": value(0), "destination": value(1)},
    "moveaxis": {"source": value(0), "destination": value(1)}, "masked_scatter": {},
    "multinomial": {"num_samples": value(1)}, "mvlgamma": {"input": lambda m: square(m) + 2}, "special.multigammaln": {"input": lambda m: square(m) + 2},
    "normal": {"mean": value(0.0), "std": value(1.0), "size": value((3,))}, "norm": {}, "one_hot": {},
    "nn.functional.one_hot": {"tensor": positions}, "permute": {ANY: [value(1), value(0)]}, "polygamma": {"n": value(1)},
    "special.polygamma": {"n": value(1)}, "pixel_shuffle": {"input": images}, "pixel_unshuffle": {"input": images},
    "quantile": {"q": value(0.5)}, "nanquantile": {"q": value(0.5)}, "put": {"source": square}, "put_": {"source": square},
    "randint": {"low": value(0), "high": value(5), "size": value((3,))}, "randint_like": {"low": value(0), "high": value(5)},
    "random_": {}, "randperm": {"n": value(3)}, "repeat": {ANY: [value(2), value(1)]}, "repeat_interleave": {"repeats": value(2)},
    "reshape": {ANY: [value(3), value(3)]}, "view": {ANY: [value(3), value(3)]}, "roll": {"dims": value(0)}, "rot90": {},
    "save": {"obj": square, "f": value("/dev/null")}, "scalar_tensor": {"s": value(2.0)}, "scatter": {"src": square}, "scatter_reduce": {},
    "searchsorted": {"sorted_sequence": VALUES["vec"], "input": VALUES["vec"]}, "select": {"index": value(0)}, "set_": {},
    "set_default_dtype": {"d": lambda m: m.float32}, "narrow": {"start": value(0), "length": value(2)}, "narrow_copy": {"start": value(0), "length": value(2)},
    "solve": {}, "sum_to": {"x": square, "shape": value((3,))}, "sum_to_size": {ANY: [value(1), value(3)]}, "svd": {},
    "take": {}, "take_along_dim": {"dim": value(0)}, "tensor_split": {}, "tensordot": {"dims": value(1), "a": square, "b": square},
    "tile": {"dims": value((2, 1))}, "trapezoid": {}, "tril_indices": {"row": value(3), "col": value(3)},
    "triu_indices": {"row": value(3), "col": value(3)}, "type": {}, "to": {ANY: [lambda m: m.float64]}, "unbind": {},
    "unflatten": {"dim": value(0), "sizes": value((1, 3))}, "Tensor.unfold": {"dimension": value(0), "size": value(2), "step": value(1)},
    "unfold": {"dimension": value(0), "size": value(2), "step": value(1)}, "vander": {"x": VALUES["vec"]}, "view_as_complex": {"input": ones(3, 2)},
    "view_as_real": {"input": lambda m: m.tensor([1 + 2j, 3j])}, "imag": {"input": lambda m: m.tensor([1 + 2j, 3j])},
    "where": {"input": square, "other": square}, "zeros": {"size": value((3, 3))}, "ones": {"size": value((3, 3))},
    "rand": {"size": value((3, 3))}, "randn": {"size": value((3, 3))}, "linear": {"weight": square},
    "addcmul": {}, "addcdiv": {}, "clamp": {"min": value(0.25)}, "clip": {"min": value(0.25)}, "squeeze": {}, "stack": {}, "renorm": {"p": value(2)},
    "new_empty": {ANY: [value(3)]}, "new_zeros": {ANY: [value(3)]}, "new_ones": {ANY: [value(3)]}, "new_full": {"size": value((3,))},
    "resize_": {ANY: [value(3), value(3)]}, "nn.functional.unfold": {"input": images, "kernel_size": value(2)},
    "nn.functional.fold": {"input": ones(1, 4, 9), "output_size": value((4, 4)), "kernel_size": value(2)},
    "as_subclass": {"cls": lambda m: m.Tensor}, "bump": {"name": value("test")}, "pow": {"exponent": value(2)},
    "register_hook": {"hook": lambda m: None}, "register_post_accumulate_grad_hook": {"hook": lambda m: None},
    "set_rng_state": {"new_state": lambda m: m.get_rng_state()}, "copy_": {"src": square}, "geometric_": {"p": value(0.5)},
    "bernoulli_": {"p": value(0.5)}, "special.logit": {}, "nn.functional.dropout": {}, "is_set_to": {}, "uniform_": {"from_": value(0.0), "to": value(1.0)},
    "log_normal_": {}, "swapaxes": {"axis1": value(1)}, "swapdims": {"dim1": value(1)}, "transpose": {"dim1": value(1)},
    "transpose_": {"dim1": value(1)}, "diagonal": {"offset": value(0), "dim1": value(0), "dim2": value(1)}, "linalg.diagonal": {},
    "diag_embed": {"dim1": value(0), "dim2": value(1)}, "use_deterministic_algorithms": {"mode": value(False)}, "set_warn_always": {"b": value(False)},
    "linalg.matrix_power": {"n": value(2)}, "matrix_power": {"n": value(2)}, "linalg.multi_dot": {"tensors": lambda m: [square(m), square(m)]},
    "linalg.tensorinv": {"A": lambda m: m.eye(4).reshape(2, 2, 4), "ind": value(2)}, "linalg.tensorsolve": {"A": definite, "B": VALUES["vec"]},
    "linalg.solve_triangular": {"A": definite, "upper": value(True)}, "linalg.eigh": {"A": definite}, "linalg.eigvalsh": {"A": definite},
    "linalg.cross": {}, "linalg.vecdot": {"x": square, "y": square}, "linalg.matmul": {}, "logdet": {"input": definite}, "slogdet": {}, "det": {},
    "isin": {}, "stride": {"dim": value(0)}, "size": {"dim": value(0)}, "histc": {"min": value(0.0), "max": value(1.0), "bins": value(3)},
    "unique": {}, "log_softmax": {"dim": value(0)}, "softmax": {"dim": value(0)}, "glu": {},
    "cumulative_trapezoid": {}, "conv_tbc": {},
    # nn.functional
    **{f"{place}{kind}{n}d": {"input": PER_DIMENSION[n], "weight": lambda m, n=n, t=kind: m.ones(*((2, 1) if n == 1 else (1, 1)), *[2] * n) if t == "conv_transpose" else m.ones(1, 2 if n == 1 else 1, *[2] * n)}
       for n in (1, 2, 3) for kind in ("conv", "conv_transpose") for place in ("", "nn.functional.")},
    **{f"{place}{kind}_pool{n}d": {"input": PER_DIMENSION[n], "kernel_size": value(2), "stride": value(2)}
       for n in (1, 2, 3) for kind in ("max", "avg") for place in ("", "nn.functional.")},
    **{f"nn.functional.lp_pool{n}d": {"input": PER_DIMENSION[n], "norm_type": value(2), "kernel_size": value(2), "stride": value(2)} for n in (1, 2, 3)},
    **{f"{place}adaptive_{kind}_pool{n}d": {"input": PER_DIMENSION[n], "output_size": value(2)}
       for n in (1, 2, 3) for kind in ("max", "avg") for place in ("", "nn.functional.")},
    **{f"nn.functional.max_unpool{n}d": {"input": lambda m, n=n: PER_DIMENSION[n](m)[(0, 0, *[slice(0, 2)] * n)][None, None],
                                         "indices": lambda m, n=n: m.arange(2 ** n).reshape(1, 1, *[2] * n), "kernel_size": value(2), "stride": value(2)}
       for n in (1, 2, 3)},
    "nn.functional.batch_norm": {"running_mean": VALUES["vec"], "running_var": VALUES["vec"]}, "nn.functional.instance_norm": {"input": lines},
    "nn.functional.group_norm": {"num_groups": value(1)}, "nn.functional.layer_norm": {},
    "nn.functional.cross_entropy": {"target": lambda m: m.tensor([0, 2, 1])}, "nn.functional.nll_loss": {"target": lambda m: m.tensor([0, 2, 1])},
    "nn.functional.multi_margin_loss": {"target": lambda m: m.tensor([0, 2, 1])},
    "nn.functional.cosine_embedding_loss": {"target": lambda m: m.tensor([1, -1, 1])},
    "nn.functional.margin_ranking_loss": {}, "nn.functional.embedding": {"input": positions, "max_norm": value(9.0)},
    "nn.functional.gaussian_nll_loss": {}, "nn.functional.glu": {"input": ones(4, 2)}, "nn.functional.interpolate": {"input": images, "scale_factor": value(2)},
    **{f"nn.functional.upsample{n}": {"input": images, "scale_factor": value(2)} for n in ("", "_nearest", "_bilinear")},
    "nn.functional.pixel_shuffle": {"input": images}, "nn.functional.pixel_unshuffle": {"input": images}, "nn.functional.prelu": {"weight": ones(1)},
    "prelu": {"weight": ones(1)}, "nn.functional.rms_norm": {}, "nn.functional.threshold": {"threshold": value(0.5), "value": value(0.25)},
    "nn.functional.scaled_dot_product_attention": {"value": square}, "channel_shuffle": {"input": images},
    **{f"nn.functional.{name}": {"input": lines if name[-2] == "1" else volumes if name[-2] == "3" else images, "training": value(False)} for name in (
        "dropout1d", "dropout2d", "dropout3d")}, "nn.functional.feature_alpha_dropout": {"input": images},
    "nn.functional.linear": {"weight": square}, "nn.functional.bilinear": {"weight": lambda m: m.ones(2, 3, 3)},
    "nn.functional.pairwise_distance": {}, "nn.functional.softmax": {"dim": value(0)}, "nn.functional.log_softmax": {"dim": value(0)},
    "nn.functional.softmin": {"dim": value(0)}, "nn.functional.hardtanh": {}, "nn.functional.local_response_norm": {"input": images, "size": value(2)},
    "nn.functional.multi_head_attention_forward": {
        **dict.fromkeys(("query", "key", "value"), ones(2, 1, 4)), "embed_dim_to_check": value(4), "num_heads": value(2),
        "in_proj_weight": ones(12, 4), "in_proj_bias": ones(12), "bias_k": value(None), "bias_v": value(None), "add_zero_attn": value(False),
        "dropout_p": value(0.0), "out_proj_weight": ones(4, 4), "out_proj_bias": ones(4)},
    "bitwise_left_shift": {"input": integers, "other": integers}, "bitwise_right_shift": {"input": integers, "other": integers},
    "ldexp": {"other": integers}, "apply_": {"callable": value(abs)}, "map_": {"callable": value(max)}, "map2_": {"callable": value(max)},
    "nn.functional.affine_grid": {"theta": ones(1, 2, 3), "size": value((1, 1, 4, 4)), "align_corners": value(False)},
    "nn.functional.grid_sample": {"input": images, "grid": ones(1, 2, 2, 2), "align_corners": value(False)},
    "nn.functional.ctc_loss": {"log_probs": lambda m: m.ones(4, 1, 3).log_softmax(2), "targets": lambda m: m.tensor([[1, 2]]),
                               "input_lengths": lambda m: m.tensor([4]), "target_lengths": lambda m: m.tensor([2])},
    "nn.functional.embedding_bag": {"input": positions}, "nn.functional.multilabel_margin_loss": {"target": positions},
    **{f"nn.functional.max_pool{n}d_with_indices": {"input": PER_DIMENSION[n], "kernel_size": value(2)} for n in (1, 2, 3)},
    # minigrad.functional
    **{name: {"p": value(0.5), "train": value(False)}
       for name in ("alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout")},
    **{f"{name}_window": {"window_length": value(5)} for name in ("bartlett", "blackman", "hamming", "hann")},
    "batch_norm": {**dict.fromkeys(["weight", "bias", "running_mean", "running_var"], VALUES["vec"]), "training": value(False),
                   "momentum": value(0.1), "eps": value(1e-5), "cudnn_enabled": value(False)},
    "instance_norm": {"input": lines, **dict.fromkeys(["weight", "bias", "running_mean", "running_var"], ones(2)),
                      "use_input_stats": value(True), "momentum": value(0.1), "eps": value(1e-5), "cudnn_enabled": value(False)},
    "lu_solve": {"b": square, "LU_data": definite, "LU_pivots": lambda m: m.tensor([1, 2, 3], dtype=m.int32)},
    # mg.sparse, and other names that few programs use
    "dsmm": {"sparse": square, "dense": square}, "spmm": {"sparse": square, "dense": square}, "gradient": {"spacing": value(2.0)},
    "sparse_coo_tensor": {"indices": lambda m: m.tensor([[0, 1], [1, 0]]), "values": lambda m: m.ones(2), "size": value((2, 2))},
    "sparse_csr_tensor": {"crow_indices": lambda m: m.tensor([0, 1, 2]), "col_indices": lambda m: m.tensor([1, 0]), "values": lambda m: m.ones(2),
                          "size": value((2, 2))},
    "sparse_mask": {"mask": square}, "pca_lowrank": {"A": square, "q": value(2)}, "svd_lowrank": {"A": square, "q": value(2)},
    "triangular_solve": {"b": square, "A": definite},
    "fake_quantize_per_tensor_affine": {"scale": value(0.1), "zero_point": value(0), "quant_min": value(-8), "quant_max": value(7)},
    "fake_quantize_per_channel_affine": {"scale": ones(3), "zero_point": lambda m: m.zeros(3, dtype=m.int32), "axis": value(0),
                                         "quant_min": value(-8), "quant_max": value(7)},
    "linalg.lu_solve": {"LU": definite, "pivots": lambda m: m.tensor([1, 2, 3], dtype=m.int32), "B": square},
    "linalg.vander": {"x": VALUES["vec"]},
    "lu_unpack": {"LU_data": definite, "LU_pivots": lambda m: m.tensor([1, 2, 3], dtype=m.int32)},
    "range": {"start": value(0.0), "end": value(3.0)}, "embedding": {"indices": positions},
    # nn.init, nn.utils
    "nn.init.calculate_gain": {"nonlinearity": value("leaky_relu"), "param": value(0.5)}, "nn.init.dirac_": {"tensor": ones(2, 2, 2)},
    "nn.init.sparse_": {"sparsity": value(0.5)}, "nn.init.trunc_normal_": {"a": value(-1.0), "b": value(1.0)},
    **{f"nn.utils.{name}": {"parameters": lambda m: [m.nn.Parameter(square(m))], "max_norm": value(1.0), "clip_value": value(1.0), "total_norm": lambda m: m.tensor(1.0),
                            "vec": ones(9), "tensors": lambda m: [square(m)]} for name in (
        "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "vector_to_parameters")},
}

# Public names that compute nothing, or have no argument that could be wrong.
SKIPPED = {"load", "save", "explain", "show_config", "set_printoptions", "backward", "Tensor.backward", "cuda", "Tensor.cuda", "Tensor.pin_memory", "seed", "device",
           "Tensor.bump", "Tensor.as_subclass", "Tensor.register_hook", "Tensor.register_post_accumulate_grad_hook", "Tensor.retain_grad", "Tensor.detach_",
           "contiguous_format", "nn.functional.implicit_dim", "set_num_threads", "set_default_dtype", "use_deterministic_algorithms", "set_warn_always", "set_default_tensor_type", "set_anomaly_enabled", "set_default_device",
           "set_flush_denormal", "set_deterministic_debug_mode", "set_float32_matmul_precision", "get_autocast_dtype", "vmap",
           "Tensor.apply_", "Tensor.map_", "Tensor.map2_",     # the errors of these three are the caller's own
           "set_autocast_enabled"}
# They take modules: tests/parity/test_parametrizations.py.
SKIPPED |= {f"nn.utils.{name}" for name in ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
                                            "remove_spectral_norm", "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm")}


@dataclass
class Call:
    """One call of the function `path`: argument name -> the function that makes it (`ANY`: arguments without a name)."""

    path: str
    arguments: dict
    positional: tuple = ()

    def function(self, m):
        return attrgetter(self.path)(m)

    def run(self, m):
        """The result of the call, without warnings."""
        args, kwargs = self.made(m)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self.function(m)(*args, **kwargs)

    def made(self, m):
        """(arguments by position, arguments by name)"""
        args = [self.arguments[name](m) for name in self.positional]
        args += [make(m) for make in self.arguments.get(ANY, ())]
        kwargs = {k: make(m) for k, make in self.arguments.items() if k not in self.positional and k != ANY}
        return args, kwargs

    def but(self, name, make):
        """This call with the result of `make` as the argument `name`; a number is the position of an argument without a name."""
        if isinstance(name, int):
            unnamed = list(self.arguments[ANY])
            unnamed[name] = make
            return replace(self, arguments={**self.arguments, ANY: unnamed})
        return replace(self, arguments={**self.arguments, name: make})

    def __str__(self):
        return f"{self.path}({', '.join(self.arguments)})"


# Functions of modules, which have tests of their own.
SKIPPED |= {f"nn.utils.{name}" for name in (
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "remove_spectral_norm",
    "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm")}


def subjects():
    """The paths of all public functions and methods."""
    found = []
    for place, namespace in PLACES.items():
        for name in sorted(dir(namespace) if place in ("", "Tensor", "nn.functional") else namespace.__all__):
            thing = getattr(namespace, name)
            path = f"{place}.{name}" if place else name
            if name.startswith("_") or not callable(thing) or inspect.isclass(thing) or path in SKIPPED:
                continue
            if place == "nn.functional" and getattr(mg, name, None) is thing:
                continue
            found.append(path)
    return found


def parameters_of(path):
    """The parameters of the function `path`; `self` has the name "input"."""
    parameters = list(inspect.signature(attrgetter(path)(mg)).parameters.values())
    if path.startswith("Tensor.") and parameters and parameters[0].name == "self":
        parameters[0] = parameters[0].replace(name="self")
    return parameters


def exception_of(path):
    name = path.rpartition(".")[2]
    for key in (path, name, path.removesuffix("_"), name.removesuffix("_")):
        if key in EXCEPTIONS:
            return EXCEPTIONS[key]
    return {}


def good_call(path):
    """A call that works. Raises `KeyError` for a parameter that has no value."""
    special = dict(exception_of(path))
    arguments = {}
    positional, by_position = [], True
    parameters = parameters_of(path)
    names = [p.name for p in parameters]
    if parameters and parameters[0].name == "self" and "self" not in special:
        special["self"] = special.pop("input", special.pop("x", square)) if "input" not in names else square
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.name in special:
            arguments[p.name] = special[p.name]
        elif p.default is p.empty:
            arguments[p.name] = VALUES[p.name]
        else:
            by_position = False
            continue
        if p.kind is not p.KEYWORD_ONLY and by_position:
            positional.append(p.name)
    if ANY in special:
        variable = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if variable:
            arguments[ANY] = special[ANY]
    elif any(p.kind is p.VAR_POSITIONAL for p in parameters) and "size" in special:
        arguments[ANY] = [special["size"]]
        arguments.pop("size", None)
    return Call(path, arguments, tuple(positional))


def main():
    bad = 0
    for path in subjects():
        try:
            good_call(path).run(mg)
        except Exception as error:
            bad += 1
            print(path, parameters_of(path), type(error).__name__, str(error).split("\n")[0][:150])
    print(len(subjects()), bad)


if __name__ == "__main__":
    main()
