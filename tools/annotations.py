"""The types of the public API, by the names of parameters: those are PyTorch's and mean the same everywhere.

`tools/stubs.py` writes the ``.pyi`` files from this table and from the signatures of the running code. The
sources themselves carry no annotations: compiled by Cython a builtin annotation would convert its argument in
silence, and most methods of `Tensor` are made from ops when minigrad is imported.

A key is the name of a parameter, or, where that has another type in one place, ``function.parameter`` or
``Class.method.parameter``.
"""

HEADER = '''\
# Written by tools/stubs.py. Do not edit: the types are in tools/annotations.py.
from builtins import bool as _bool, complex as _complex, dict as _dict, float as _float, int as _int, slice as _slice, str as _str
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType, ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, overload
import numpy as np
'''

# Names that the annotations use, and the module whose stub defines them.
HOMES = {
    "Tensor": "minigrad.tensor", "Size": "minigrad.tensor", "_Number": "minigrad.tensor", "_Index": "minigrad.tensor",
    "ValuesAndIndices": "minigrad.tensor", "QR": "minigrad.tensor", "SVD": "minigrad.tensor",
    "SignAndLogarithm": "minigrad.tensor",
    "memory_format": "minigrad.ops.shape.formats", "layout": "minigrad.ops.shape.formats", "UntypedStorage": "minigrad.storage",
    "TypedStorage": "minigrad.storage",
    "Device": "minigrad.dtypes", "dtype": "minigrad.dtypes", "_Dtype": "minigrad.dtypes", "_Device": "minigrad.dtypes",
    "Node": "minigrad.autograd.graph", "GradientEdge": "minigrad.autograd.graph", "RemovableHandle": "minigrad.autograd.graph",
    "CustomOpDef": "minigrad.library._custom_ops",
    "Generator": "minigrad.random", "Parameter": "minigrad.nn.parameter", "Optimizer": "minigrad.optim.optimizer",
    "LRScheduler": "minigrad.optim._scheduler", "Module": "minigrad.nn.modules.module",
}

# Definitions that stand at the head of a stub, after its imports.
PREAMBLES = {
    "minigrad.tensor": '''\
_Number: TypeAlias = _bool | _int | _float | _complex
_Item: TypeAlias = _int | _slice | EllipsisType | None | Tensor | Sequence[Any] | np.ndarray
_Index: TypeAlias = _Item | tuple[_Item, ...]

class ValuesAndIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class QR(NamedTuple):
    Q: Tensor
    R: Tensor

class SVD(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class SignAndLogarithm(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
''',
    "minigrad.dtypes": '''\
_Dtype: TypeAlias = dtype
_Device: TypeAlias = Device | _str
''',
    "minigrad.library": '''\
Number: TypeAlias = _int | _float | _bool
''',
    "minigrad.library._custom_ops": '''\
REGISTRY: _dict[_str, CustomOpDef]
''',
}

TENSORS = "Sequence[Tensor]"
SIZE = "_int | Sequence[_int]"
PAIR = "_int | Sequence[_int]"
DIMS = "_int | Sequence[_int] | None"
OUTPUTS = "Tensor | GradientEdge | Sequence[Tensor | GradientEdge]"
GRADS = "Tensor | None | Sequence[Tensor | None]"

PARAMETERS = {
    # tensors
    "tangent": "Tensor", "level": "_int | None",
    "input": "Tensor", "self": "Tensor", "tensor": "Tensor", "mat1": "Tensor", "mat2": "Tensor", "vec": "Tensor", "index": "Tensor",
    "source": "Tensor", "src": "Tensor | _Number", "condition": "Tensor", "other": "Tensor | _Number",
    "exponent": "Tensor | _Number",
    "complex.real": "Tensor", "complex.imag": "Tensor", "polar.abs": "Tensor", "polar.angle": "Tensor",
    "mat": "Tensor", "tensor1": "Tensor", "tensor2": "Tensor", "vec1": "Tensor", "vec2": "Tensor", "batch1": "Tensor",
    "batch2": "Tensor", "mask": "Tensor", "the_template": "Tensor", "y": "Tensor | _Number", "nan": "_float | None",
    "posinf": "_float | None", "neginf": "_float | None", "decimals": "_int", "diagonal": "_int", "axis0": "_int", "axis1": "_int",
    "storage_offset": "_int | None", "lerp.weight": "Tensor | _Number", "lerp_.weight": "Tensor | _Number",
    "as_strided.size": "Sequence[_int]", "as_strided_.size": "Sequence[_int]", "as_strided.stride": "Sequence[_int]",
    "as_strided_.stride": "Sequence[_int]", "set_.source": "Tensor | None",
    "addcmul.value": "_Number", "addcdiv.value": "_Number", "addcmul_.value": "_Number", "addcdiv_.value": "_Number",
    "out": "Tensor | None", "reshape.shape": "Sequence[_int] | None", "order": SIZE, "permute.dims": "Sequence[_int] | None",
    "view.size": "Sequence[_int] | None", "expand.size": "Sequence[_int] | None", "scatter_.src": "Tensor | _Number",
    "tensors": TENSORS, "target": "Tensor", "weight": "Tensor", "bias": "Tensor | None",
    "min": "Tensor | _Number | None", "max": "Tensor | _Number | None", "value": "Tensor | _Number", "values": "Tensor",
    "indices": "Sequence[Tensor | None]",
    "matmul.other": "Tensor", "mm.other": "Tensor", "scatter_add.src": "Tensor", "scatter_add_.src": "Tensor",
    "copy_.src": "Tensor",
    "view_as.other": "Tensor", "reshape_as.other": "Tensor", "expand_as.other": "Tensor", "type_as.other": "Tensor",
    "Tensor.__getitem__.index": "_Index", "Tensor.__setitem__.index": "_Index", "Tensor.__matmul__.other": "Tensor",
    "Tensor.__rmatmul__.other": "Tensor", "Tensor.__eq__.other": "object", "Tensor.__ne__.other": "object",
    "Device.__eq__.other": "object", "Tensor.__contains__.element": "Tensor | _Number",
    "where.input": "Tensor | _Number", "xlogy.input": "Tensor | _Number", "xlog1py.input": "Tensor | _Number",
    **{f"{name}.other": "Tensor" for name in ("equal", "isclose", "allclose", "fmax", "fmin", "logaddexp", "logaddexp2")},
    "float_power.input": "Tensor | _Number", "mvlgamma.p": "_int", "multigammaln.p": "_int",
    # sizes and dimensions
    "size": SIZE, "shape": SIZE, "sizes": SIZE, "n": "_int", "m": "_int | None", "steps": "_int", "length": "_int",
    "chunks": "_int", "split_sizes": "Sequence[_int]", "split_size": "_int", "in1_features": "_int", "in2_features": "_int",
    "density": "_bool", "histogram.range": "Sequence[_float] | None", "histogram.bins": "_int | Tensor",
    "histogram.weight": "Tensor | None", "igamma.other": "Tensor", "igammac.other": "Tensor", "nextafter.other": "Tensor",
    "index_reduce.reduce": "_str", "index_reduce_.reduce": "_str",
    "empty_strided.stride": "Sequence[_int]",
    "new_empty_strided.stride": "Sequence[_int]", "bernoulli.p": "_float | None", "Tensor.new.data": "Any",
    "split_size_or_sections": "_int | Sequence[_int]", "unflattened_size": "Sequence[_int]", "start_dim": "_int", "end_dim": "_int",
    "dim": "_int", "dim0": "_int", "dim1": "_int", "dim2": "_int", "dims": SIZE, "keepdim": "_bool", "destination": SIZE,
    "movedim.source": SIZE,
    "full.size": SIZE, "normal.size": "_int | Sequence[_int] | None", "randint.size": "_int | Sequence[_int] | None",
    "select.index": "_int", "narrow.start": "_int", "offset": "_int", "count": "_int",
    "sum.dim": DIMS, "mean.dim": DIMS, "var.dim": DIMS, "std.dim": DIMS, "amax.dim": DIMS, "amin.dim": DIMS, "logsumexp.dim": DIMS,
    "prod.dim": "_int | None", "argmax.dim": "_int | None", "argmin.dim": "_int | None", "squeeze.dim": DIMS,
    "Tensor.size.dim": "_int | None", "Tensor.stride.dim": "_int | None", "nn.functional.dim": "_int | None",
    "Softmax.__init__.dim": "_int | None", "LogSoftmax.__init__.dim": "_int | None",
    # order and number
    "flip.dims": "Sequence[_int] | None", "shifts": SIZE, "roll.dims": SIZE, "rot90.k": "_int", "rot90.dims": "Sequence[_int]",
    "repeats": "Tensor | _int | None", "repeat.repeats": SIZE, "output_size": "_int | None", "r": "_int",
    "with_replacement": "_bool", "indexing": "_str | None", "indices_or_sections": "_int | Sequence[_int]",
    "tensor_split.indices_or_sections": "_int | Sequence[_int] | Tensor", "dimension": "_int", "unfold.size": "_int",
    "unfold.step": "_int",
    "descending": "_bool", "stable": "_bool", "k": "_int", "largest": "_bool", "sorted": "_bool", "q": "Tensor | _float",
    "interpolation": "_str", "median.dim": "_int | None", "nanmedian.dim": "_int | None", "quantile.dim": "_int | None",
    "nanquantile.dim": "_int | None", "unique.dim": "_int | None", "unique_consecutive.dim": "_int | None",
    "count_nonzero.dim": DIMS, "as_tuple": "_bool", "return_inverse": "_bool", "return_counts": "_bool", "weights": "Tensor | None",
    "minlength": "_int", "bins": "_int", "histc.min": "_Number", "histc.max": "_Number", "sorted_sequence": "Tensor",
    "searchsorted.input": "Tensor | _Number", "bucketize.input": "Tensor | _Number", "out_int32": "_bool", "right": "_bool",
    "side": "_str | None", "sorter": "Tensor | None", "boundaries": "Tensor", "elements": "Tensor | _Number",
    "test_elements": "Tensor | _Number", "assume_unique": "_bool", "invert": "_bool", "num_classes": "_int",
    "take_along_dim.indices": "Tensor", "take_along_dim.dim": "_int | None", "scatter_reduce.reduce": "_str",
    "scatter_reduce_.reduce": "_str", "include_self": "_bool",
    "nansum.dim": DIMS, "nanmean.dim": DIMS, "var_mean.dim": DIMS, "std_mean.dim": DIMS, "aminmax.dim": "_int | None",
    "diff.prepend": "Tensor | None", "append": "Tensor | None", "trapezoid.y": "Tensor", "cumulative_trapezoid.y": "Tensor",
    "trapezoid.x": "Tensor | None", "cumulative_trapezoid.x": "Tensor | None", "dx": "_Number | None",
    "vdot.other": "Tensor", "inner.other": "Tensor", "kron.other": "Tensor", "cross.other": "Tensor",
    "dist.other": "Tensor", "cross.dim": "_int | None", "tensordot.a": "Tensor", "tensordot.b": "Tensor",
    "tensordot.dims": "_int | Sequence[_int] | Sequence[Sequence[_int]]", "chain_matmul.matrices": "Tensor",
    "equation": "_str | Tensor",
    "operands": "Any", "norm.p": "_float | _str | None", "norm.dim": DIMS, "maxnorm": "_float", "x1": "Tensor", "x2": "Tensor",
    "compute_mode": "_str | None", "ord": "_float | _str | None", "x": "Tensor", "A": "Tensor", "vector_norm.dim": DIMS,
    "linalg_norm.dim": DIMS, "matrix_norm.dim": "Sequence[_int]",
    "meshgrid.tensors": "Tensor | Sequence[Tensor]", "broadcast_tensors.tensors": "Tensor | Sequence[Tensor]",
    "cartesian_prod.tensors": "Tensor", "block_diag.tensors": "Tensor",
    "atleast_1d.tensors": "Tensor | Sequence[Tensor]", "atleast_2d.tensors": "Tensor | Sequence[Tensor]",
    "atleast_3d.tensors": "Tensor | Sequence[Tensor]",
    # decompositions
    "upper": "_bool", "some": "_bool", "compute_uv": "_bool", "rcond": "_float",
    # numbers
    "fill_value": "_Number", "s": "_Number", "alpha": "_Number", "beta": "_Number", "start": "_Number", "end": "_Number | None",
    "step": "_Number", "low": "_int", "high": "_int | Sequence[_int] | None", "from_": "_float", "to": "_float", "gain": "_float",
    "a": "_float",
    "b": "_float", "val": "_float", "param": "_float | None", "mean": "_float", "std": "_float", "p": "_float", "seed": "_int",
    "cauchy_.median": "_float", "sigma": "_float", "wrap": "_bool", "aweights": "Tensor | None", "fweights": "Tensor | None",
    "num_samples": "_int", "replacement": "_bool", "broadcast_shapes.shapes": "_int | Sequence[_int]", "logspace.base": "_float",
    "row": "_int", "col": "_int", "N": "_int | None", "increasing": "_bool", "hard": "_bool", "logits": "Tensor", "tau": "_float",
    "linspace.end": "_Number", "normal.mean": "Tensor | _float", "normal.std": "Tensor | _float", "bernoulli_.p": "_float | Tensor",
    "correction": "_int | _float | None", "unbiased": "_bool | None", "rounding_mode": "Literal['trunc', 'floor'] | None",
    # dtypes, devices, data
    "dtype": "_Dtype | None", "device": "_Device | None", "requires_grad": "_bool", "generator": "Generator | None",
    "memory_format": "memory_format | None", "type1": "_Dtype", "type2": "_Dtype", "d": "_Dtype", "data": "Any",
    "ndarray": "np.ndarray",
    "ext_tensor": "Any", "buffer": "Any", "obj": "Any", "f": "_str | PathLike[_str]", "frombuffer.dtype": "_Dtype",
    "device.type": "_Device", "device.index": "_int | None", "finfo.type": "_Dtype | None", "iinfo.type": "_Dtype",
    "Tensor.new_tensor.dtype": "_Dtype | None", "copy": "_bool", "non_blocking": "_bool", "accumulate": "_bool", "force": "_bool",
    "Generator.__init__.device": "_Device", "new_state": "Any", "enabled": "_bool", "inplace": "_bool", "training": "_bool",
    "Tensor.to.args": "_Dtype | _Device | Tensor | _bool | None", "Tensor.__array__.dtype": "Any",
    "Tensor.__array__.copy": "_bool | None",
    "Tensor.__new__.data": "Any", "Tensor.__new__.device": "_Device | None", "Tensor.as_subclass.cls": "type[Any]",
    "memo": "Any", "exc_info": "Any", "sum_to.x": "Tensor", "tensor_contents": "Any", "protocol": "Any", "format_spec": "_str",
    "spec": "_str", "old": "_float", "kwargs": "Any", "args": "Any",
    # autograd
    "pack_hook": "Callable[[Tensor], Any]", "unpack_hook": "Callable[[Any], Tensor]", "error_message": "_str",
    "AllowMutationOnSavedContext.before_write.counter": "Any", "AllowMutationOnSavedContext.unpack.handle": "Any",
    "mutation_allowed.hooks": "type[Any]",
    "pin_memory": "_bool", "device_type": "_str", "increment_version.tensor": "Tensor | Iterable[Tensor]",
    "register_multi_grad_hook.mode": "Literal['all', 'any']", "logged.nodes": "Iterable[Any]",
    "gradient": "Tensor | None", "retain_graph": "_bool | None", "create_graph": "_bool", "hook": "Callable[..., Any]",
    "inputs": OUTPUTS, "outputs": OUTPUTS, "grad_outputs": GRADS, "grad_tensors": GRADS, "grad_variables": GRADS,
    "only_inputs": "_bool",
    "allow_unused": "_bool | None", "is_grads_batched": "_bool", "materialize_grads": "_bool", "autograd.backward.tensors": OUTPUTS,
    "backward.inputs": f"{OUTPUTS} | None", "fn": "Callable[..., Any]", "mode": "_bool", "orig_func": "Callable[..., Any] | None",
    "function": "Callable[..., Any]", "hooks_dict": "Any", "extra_dict": "Any", "item": "Any", "number": "_int",
    "enable": "_bool", "callback": "Callable[[], Any]", "check_nan": "_bool", "array": "Any", "context": "Any",
    "return_scalar": "_bool",
    "ctx": "Any", "setup_context.output": "Any", "setup_context.inputs": "tuple[Any, ...]", "info": "Any", "in_dims": "Any",
    "jvp.grad_inputs": "Tensor | None", "pairs": "Any", "Function.backward.grad_outputs": "Any", "bases": "tuple[type, ...]",
    "attributes": "_dict[_str, Any]",
    "save_for_backward.tensors": "Tensor | None", "save_for_forward.tensors": "Tensor | None", "mark_dirty.args": "Tensor",
    "mark_non_differentiable.args": "Tensor", "set_materialize_grads.value": "_bool", "volatile": "_bool",
    "__call__.grads": "Tensor | None", "__call__.keywords": "Any", "BackwardCFunction.apply.grads": "Tensor | None",
    "func": "Callable[..., Any]", "atol": "_float", "rtol": "_float", "raise_exception": "_bool", "nondet_tol": "_float",
    "check_undefined_grad": "_bool", "check_grad_dtypes": "_bool", "check_batched_grad": "_bool",
    "check_batched_forward_grad": "_bool", "check_forward_ad": "_bool", "check_backward_ad": "_bool", "fast_mode": "_bool",
    "masked": "_bool | None", "gen_non_contig_grad_outputs": "_bool", "check_fwd_over_rev": "_bool", "check_rev_over_rev": "_bool",
    "actual": "Any", "assert_close.expected": "Any", "allow_subclasses": "_bool", "assert_close.rtol": "_float | None",
    "assert_close.atol": "_float | None", "equal_nan": "_bool", "check_device": "_bool", "check_dtype": "_bool",
    "check_layout": "_bool", "check_stride": "_bool", "msg": "_str | Callable[[_str], _str] | None", "check_op.inputs": "Any",
    "reference": "Callable[..., Any] | None", "check_op.check_forward_ad": "_bool | None", "check_second_order": "_bool | None",
    "settings": "Any",
    "gradcheck.inputs": "Any", "gradgradcheck.inputs": "Any", "gradgradcheck.grad_outputs": "Any", "cause": "_str | None",
    "autograd.functional.func": "Callable[..., Any]", "autograd.functional.inputs": "Tensor | tuple[Tensor, ...]",
    "autograd.functional.v": "Tensor | tuple[Tensor, ...] | None", "vectorize": "_bool",
    "strategy": "Literal['reverse-mode', 'forward-mode']", "outer_jacobian_strategy": "Literal['reverse-mode', 'forward-mode']",
    # nonlinearities
    "negative_slope": "_float", "elu.alpha": "_float", "approximate": "Literal['none', 'tanh']", "softplus.beta": "_float",
    "min_val": "_float", "max_val": "_float", "min_value": "_float | None", "max_value": "_float | None", "lambd": "_float",
    "nn.functional.threshold": "_float", "num_parameters": "_int", "init": "_float", "Softmin.__init__.dim": "_int | None",
    "threshold.threshold": "_float", "threshold.value": "_float", "softplus.threshold": "_float",
    "Softplus.__init__.threshold": "_float", "Threshold.__init__.threshold": "_float", "Threshold.__init__.value": "_float",
    # losses, normalisation, padding, tables, lists
    "input1": "Tensor", "input2": "Tensor", "anchor": "Tensor", "positive": "Tensor",
    "negative": "Tensor", "pos_weight": "Tensor | None", "margin": "_float", "delta": "_float", "swap": "_bool", "full": "_bool",
    "gaussian_nll_loss.full": "_bool", "gaussian_nll_loss.var": "Tensor | _float", "var": "Tensor | _float",
    "log_input": "_bool", "PoissonNLLLoss.forward.log_input": "Tensor", "log_target": "_bool", "num_features": "_int",
    "affine": "_bool", "track_running_stats": "_bool", "elementwise_affine": "_bool", "normalized_shape": SIZE,
    "num_groups": "_int", "num_channels": "_int", "running_mean": "Tensor | None", "running_var": "Tensor | None",
    "use_input_stats": "_bool", "num_embeddings": "_int", "embedding_dim": "_int", "padding_idx": "_int | None",
    "max_norm": "_float | None", "norm_type": "_float", "scale_grad_by_freq": "_bool", "sparse": "_bool",
    "_weight": "Tensor | None", "_freeze": "_bool", "freeze": "_bool", "embeddings": "Tensor", "pad.pad": "Sequence[_int]",
    "idx": "Any", "key": "Any", "default": "Any", "parameters": "Any",
    "scaled_dot_product_attention.query": "Tensor", "scaled_dot_product_attention.key": "Tensor",
    "scaled_dot_product_attention.value": "Tensor", "attn_mask": "Tensor | None", "dropout_p": "_float", "is_causal": "_bool",
    "scaled_dot_product_attention.scale": "_float | None", "enable_gqa": "_bool",
    **{f"{layer}.__init__.bias": "_bool" for layer in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d",
                                                       "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "GroupNorm")},
    "pad.mode": "_str",
    # schedules, clipping
    "optimizer": "Optimizer", "last_epoch": "_int", "lr_lambda": "Callable[[_int], _float] | list[Callable[[_int], _float]]",
    "step_size": "_int", "gamma": "_float", "milestones": "Sequence[_int]", "factor": "_float", "total_iters": "_int",
    "start_factor": "_float", "end_factor": "_float", "power": "_float", "T_max": "_int", "eta_min": "_float", "T_0": "_int",
    "T_mult": "_int", "max_lr": "_float | list[_float]", "total_steps": "_int | None", "epochs": "_int | None",
    "steps_per_epoch": "_int | None", "pct_start": "_float", "anneal_strategy": "Literal['cos', 'linear']",
    "cycle_momentum": "_bool", "base_momentum": "_float | list[_float]", "max_momentum": "_float | list[_float]",
    "div_factor": "_float", "final_div_factor": "_float", "three_phase": "_bool", "epoch": "_float | None",
    "schedulers": "Sequence[LRScheduler]", "ChainedScheduler.__init__.optimizer": "Optimizer | None", "patience": "_int",
    "ReduceLROnPlateau.__init__.threshold": "_float", "threshold_mode": "Literal['rel', 'abs']",
    "cooldown": "_int", "min_lr": "_float | list[_float]",
    "ReduceLROnPlateau.__init__.mode": "Literal['min', 'max']", "metrics": "_float | Tensor",
    "SequentialLR.__init__.schedulers": "list[LRScheduler]", "SequentialLR.__init__.milestones": "list[_int]",
    "lr_decay": "_float", "initial_accumulator_value": "_float", "centered": "_bool",
    # func
    "func.func": "Callable[..., Any]", "argnums": "_int | tuple[_int, ...]", "has_aux": "_bool", "chunk_size": "_int | None",
    "randomness": "Literal['error', 'different', 'same']", "primals": "Any", "jvp.primals": "tuple[Any, ...]",
    "jvp.tangents": "tuple[Any, ...]", "functional_call.module": "Module", "tie_weights": "_bool",
    "parameter_and_buffer_dicts": "Mapping[_str, Any] | Sequence[Mapping[_str, Any]]",
    "functional_call.kwargs": "Mapping[_str, Any] | None",
    # nn
    "in_features": "_int", "out_features": "_int", "in_channels": "_int", "out_channels": "_int", "kernel_size": PAIR,
    "stride": PAIR,
    "padding": PAIR, "dilation": PAIR, "groups": "_int", "padding_mode": "_str", "ceil_mode": "_bool", "count_include_pad": "_bool",
    "output_padding": PAIR, "upscale_factor": "_int", "downscale_factor": "_int", "align_corners": "_bool | None",
    "recompute_scale_factor": "_bool | None", "scale_factor": "_float | Sequence[_float] | None", "antialias": "_bool",
    **{f"{place}.size": "_int | Sequence[_int] | None" for place in (
        "interpolate", "upsample", "upsample_nearest", "upsample_bilinear", "Upsample.__init__", "UpsamplingNearest2d.__init__",
        "UpsamplingBilinear2d.__init__")},
    "interpolate.mode": "_str", "upsample.mode": "_str", "Upsample.__init__.mode": "_str",
    **{f"{place}.output_size": "_int | Sequence[_int | None]" for n in (1, 2, 3) for kind in ("avg", "max") for place in (
        f"adaptive_{kind}_pool{n}d", f"Adaptive{kind.title()}Pool{n}d.__init__")},
    "fold.output_size": PAIR, "Fold.__init__.output_size": PAIR,
    **{f"{place}.output_size": "Sequence[_int] | None" for n in (1, 2, 3) for place in (
        f"max_unpool{n}d", f"MaxUnpool{n}d.forward", f"ConvTranspose{n}d.forward")},
    **{f"{place}.indices": "Tensor" for n in (1, 2, 3) for place in (f"max_unpool{n}d", f"MaxUnpool{n}d.forward")},
    **{f"{kind}{n}d.__init__.bias": "_bool" for n in (1, 2, 3) for kind in ("Conv", "ConvTranspose")},
    **{f"{place}.padding": "_int | Sequence[_int] | _str" for n in (1, 2, 3) for place in (f"conv{n}d", f"Conv{n}d.__init__")},
    **{f"{place}.stride": "_int | Sequence[_int] | None" for n in (1, 2, 3) for kind in ("max", "avg", "lp") for place in (
        f"{kind}_pool{n}d", f"{'LP' if kind == 'lp' else kind.title()}Pool{n}d.__init__", f"max_unpool{n}d",
        f"MaxUnpool{n}d.__init__")},
    "divisor_override": "_int | None", "return_indices": "_bool", "reduction": "_str", "ignore_index": "_int",
    "label_smoothing": "_float", "size_average": "_bool | None", "reduce": "_bool | None", "nonlinearity": "_str",
    "_stacklevel": "_int", "persistent": "_bool", "module": "Module | None", "name": "_str", "prefix": "_str",
    "recurse": "_bool", "remove_duplicate": "_bool", "keep_vars": "_bool", "strict": "_bool", "assign": "_bool",
    "state_dict": "Mapping[_str, Any]", "set_to_none": "_bool", "Module.train.mode": "_bool", "nn.init.mode": "_str",
    "Linear.__init__.bias": "_bool", "Bilinear.__init__.bias": "_bool", "local_response_norm.k": "_Number",
    "LocalResponseNorm.__init__.k": "_Number", "cross_entropy.weight": "Tensor | None",
    "nll_loss.weight": "Tensor | None", "NLLLoss.__init__.weight": "Tensor | None",
    "CrossEntropyLoss.__init__.weight": "Tensor | None",
    "Parameter.__new__.data": "Tensor | None", "Buffer.__new__.data": "Tensor | None", "Unflatten.__init__.dim": "_int",
    "Sequential.__init__.args": "Module | Mapping[_str, Module]", "Sequential.__setitem__.module": "Module",
    "Sequential.append.module": "Module",
    "Module.register_parameter.param": "Parameter | None", "Module.register_buffer.tensor": "Tensor | None",
    "Module.state_dict.destination": "_dict[_str, Any] | None", "Module.get_submodule.target": "_str",
    "Module.get_parameter.target": "_str", "Module.apply.fn": "Callable[[Module], None]",
    "Module.named_modules.memo": "set[Any] | None",
    "Sequential.__getitem__.index": "_int | _slice", "Sequential.__setitem__.index": "_int",
    "Sequential.__delitem__.index": "_int | _slice",
    "Module.__setattr__.value": "Any", "Module.forward.input": "Any", "Identity.forward.input": "Tensor",
    "prepend": "_bool", "with_kwargs": "_bool", "always_call": "_bool", "times": "_int", "modules": "Iterable[Module]",
    "Sequential.pop.key": "_int | _slice", "Sequential.insert.index": "_int", "Sequential.insert.module": "Module",
    # attention, transformers, recurrent layers
    **{f"{place}.{name}": "Tensor" for place in ("multi_head_attention_forward", "MultiheadAttention.forward")
       for name in ("query", "key", "value")},
    **dict.fromkeys((
        "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight",
        "static_k", "static_v", "key_padding_mask", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask",
        "tgt_key_padding_mask", "memory_key_padding_mask", "TransformerEncoder.forward.mask"), "Tensor | None"),
    **{f"{layer}.__init__.bias": "_bool" for layer in (
        "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer", "RNN", "LSTM", "GRU", "RNNBase",
        "RNNCell", "LSTMCell", "GRUCell", "RNNCellBase")},
    **dict.fromkeys((
        "add_zero_attn", "add_bias_kv", "need_weights", "average_attn_weights", "use_separate_proj_weight", "batch_first",
        "norm_first", "bidirectional", "enable_nested_tensor", "mask_check", "TransformerDecoderLayer.forward.tgt_is_causal",
        "memory_is_causal"), "_bool"),
    **dict.fromkeys((
        "embed_dim_to_check", "embed_dim", "num_heads", "d_model", "nhead", "dim_feedforward", "num_layers", "num_encoder_layers",
        "num_decoder_layers", "sz", "input_size", "hidden_size", "proj_size", "num_chunks"), "_int"),
    "kdim": "_int | None", "vdim": "_int | None", "out_proj_weight": "Tensor", "tgt": "Tensor", "memory": "Tensor",
    **{f"{layer}.forward.src": "Tensor" for layer in ("Transformer", "TransformerEncoder", "TransformerEncoderLayer")},
    "dropout": "_float", "layer_norm_eps": "_float", "activation": "_str | Callable[[Tensor], Tensor]",
    "custom_encoder": "Module | None", "custom_decoder": "Module | None", "encoder_layer": "Module", "decoder_layer": "Module",
    "TransformerEncoder.__init__.norm": "Module | None", "TransformerDecoder.__init__.norm": "Module | None",
    "src_is_causal": "_bool | None", "tgt_is_causal": "_bool | None", "RNNBase.__init__.mode": "_str",
    "RNNBase.forward.hx": "Tensor | tuple[Tensor, Tensor] | None", "RNNCell.forward.hx": "Tensor | None",
    "GRUCell.forward.hx": "Tensor | None", "LSTMCell.forward.hx": "tuple[Tensor, Tensor] | None",
    "sparsity": "_float", "Module.set_extra_state.state": "Any", "Module.type.dst_type": "_Dtype",
    "Module.set_submodule.target": "_str", "Module.set_submodule.module": "Module", "Module.get_buffer.target": "_str",
    "rho": "_float", "momentum_decay": "_float", "etas": "tuple[_float, _float]", "step_sizes": "tuple[_float, _float]",
    "t0": "_float",
    "max_iter": "_int", "max_eval": "_int | None", "tolerance_grad": "_float", "tolerance_change": "_float", "history_size": "_int",
    "line_search_fn": "Literal['strong_wolfe'] | None", "LBFGS.step.closure": "Callable[[], Any]",
    "decay": "_float", "swa_lr": "_float | list[_float]", "anneal_epochs": "_int", "use_buffers": "_bool",
    "avg_fn": "Callable[[Tensor, Tensor, Tensor], Tensor] | None", "loader": "Iterable[Any]",
    "multi_avg_fn": "Callable[[list[Tensor], list[Tensor], Tensor], None] | None",
    "AveragedModel.__init__.model": "Module", "AveragedModel.update_parameters.model": "Module", "update_bn.model": "Module",
    # optim
    "params": "Iterable[Tensor] | Iterable[_dict[_str, Any]] | Iterable[tuple[_str, Tensor]]", "lr": "_float", "momentum": "_float",
    "dampening": "_float", "weight_decay": "_float", "nesterov": "_bool", "maximize": "_bool", "foreach": "_bool | None",
    "differentiable": "_bool", "fused": "_bool | None", "capturable": "_bool", "betas": "tuple[_float, _float]", "eps": "_float",
    "amsgrad": "_bool", "decoupled_weight_decay": "_bool", "defaults": "_dict[_str, Any]", "closure": "Callable[[], Any] | None",
    "param_group": "_dict[_str, Any]", "Optimizer.state": "_dict[Any, Any]", "group": "_dict[_str, Any]", "grad": "Tensor",
    "update.param": "Tensor", "update.state": "_dict[_str, Any]", "set_state.new_state": "Any",
    # utils
    "use_reentrant": "_bool | None", "context_fn": "Callable[[], tuple[Any, Any]]",
    "determinism_check": "Literal['default', 'none']", "check_backward_validity.inputs": "Iterable[Any]",
    "detach_variable.inputs": "tuple[Any, ...]", "policy_fn_or_list": "Callable[..., Any] | Sequence[_str]",
    "allow_cache_entry_mutation": "_bool",
    "debug": "_bool", "early_stop": "_bool", "preserve_rng_state": "_bool", "checkpoint_sequential.input": "Any",
    "functions": "Iterable[Callable[..., Any]]", "segments": "_int", "set_checkpoint_debug_enabled.enabled": "_bool | None",
    "unserializable_hook.f": "Callable[..., Any]",
    # library
    "register_autograd.backward": "Callable[..., Any]", "register_autograd.setup_context": "Callable[..., None] | None",
    "device_types": "_str | Sequence[_str] | None", "namespace": "_str", "mutates_args": "_str | Iterable[_str]",
    "CustomOpDef.__init__.fn": "Callable[..., Any]", "CustomOpDef.__init__.name": "_str", "CustomOpDef.__init__.schema": "Any",
    "CustomOpDef.__init__.tags": "Any", "set_kernel_enabled.device_type": "_str", "set_kernel_enabled.enabled": "_bool",
    "library.op": "CustomOpDef | _str", "library.lib": "object", "library.func": "Callable[..., Any] | None",
    "library.get_op.name": "_str", "library._stacklevel": "_int", "library.allow_override": "_bool",
    "prototype_function": "Callable[..., Any]", "op_name": "_str | None", "infer_schema.tags": "Any",
    "opcheck.op": "CustomOpDef", "opcheck.args": "Sequence[Any]", "opcheck.kwargs": "Mapping[_str, Any] | None",
    "opcheck.test_utils": "_str | Sequence[_str]", "opcheck.raise_exception": "_bool", "opcheck.atol": "_float | None",
    "opcheck.rtol": "_float | None",
    # the rest
    "code": "_str | None", "precision": "_int | None", "threshold": "_int | None", "edgeitems": "_int | None",
    "linewidth": "_int | None",
    "profile": "_str | None", "warn_only": "_bool",
    "sci_mode": "_bool | None", "t": "Tensor | GradientEdge", "index.number": "_int",
    "what": "_str", "node": "_str | None", "MinigradError.__init__.tensor": "_str | None", "expected": "_str | None",
    "found": "_str | None",
    "fix": "_str | None", "where": "_str | None", "MinigradError.__init__.code": "_str", "version": "Any",
}

# What functions return; without an entry: Tensor for ops and creation, None elsewhere.
RETURNS = {
    "enter_dual_level": "_int", "dual_level.__enter__": "_int", "make_dual": "Tensor", "unpack_dual": "UnpackedDualTensor",
    "is_multithreading_enabled": "_bool", "is_anomaly_enabled": "_bool", "is_anomaly_check_nan_enabled": "_bool",
    "Tensor.__array_wrap__": "Any", "Sequential.pop": "Module", "Sequential.extend": "Self", "Sequential.insert": "Self",
    "Sequential.__mul__": "Self", "Sequential.__rmul__": "Self", "Sequential.__imul__": "Self", "Sequential.__add__": "Self",
    "Sequential.__iadd__": "Self",
    "as_dtype": "dtype", "as_device": "Device",
    "var_mean": "tuple[Tensor, Tensor]", "std_mean": "tuple[Tensor, Tensor]", "aminmax": "tuple[Tensor, Tensor]",
    "cummax": "ValuesAndIndices", "cummin": "ValuesAndIndices",
    "sort": "ValuesAndIndices", "topk": "ValuesAndIndices", "kthvalue": "ValuesAndIndices", "mode": "ValuesAndIndices",
    "unique": "Any", "unique_consecutive": "Any", "qr": "QR", "svd": "SVD", "slogdet": "SignAndLogarithm",
    "tensor_split": "tuple[Tensor, ...]", "hsplit": "tuple[Tensor, ...]", "vsplit": "tuple[Tensor, ...]",
    "dsplit": "tuple[Tensor, ...]", "meshgrid": "tuple[Tensor, ...]", "broadcast_tensors": "tuple[Tensor, ...]",
    "atleast_1d": "Any", "atleast_2d": "Any", "atleast_3d": "Any",
    "split": "tuple[Tensor, ...]", "chunk": "tuple[Tensor, ...]", "unbind": "tuple[Tensor, ...]",
    **dict.fromkeys(("equal", "allclose", "is_nonzero", "is_tensor", "is_complex", "is_floating_point"), "_bool"), "numel": "_int",
    "explain": "_str", "show_config": "_str", "get_num_threads": "_int", "device": "Device", "get_default_dtype": "dtype",
    "promote_types": "dtype", "finfo": "np.finfo[Any]", "iinfo": "np.iinfo[Any]", "is_grad_enabled": "_bool",
    "is_inference_mode_enabled": "_bool", "are_deterministic_algorithms_enabled": "_bool", "is_warn_always_enabled": "_bool",
    "load": "Any", "manual_seed": "Generator", "seed": "_int", "initial_seed": "_int", "get_rng_state": "Any", "fork_rng": "Any",
    "autograd.grad": "tuple[Tensor, ...]", "get_gradient_edge": "GradientEdge",
    "check_op": "OpReport", "OpReport.__str__": "_str", "OpReport.__bool__": "_bool",
    "gradcheck": "_bool", "gradgradcheck": "_bool",
    "register_multi_grad_hook": "RemovableHandle", "logged": "Callable[[], None]", "calculate_gain": "_float",
    "catalogue": "_dict[_str, tuple[_str, _str]]",
    "autograd.functional.jacobian": "Any", "autograd.functional.hessian": "Any",
} | {f"autograd.functional.{name}": "tuple[Any, Any]" for name in ("vjp", "jvp", "vhp", "hvp")} | {
    "func.linearize": "tuple[Any, Callable[..., Any]]", "func.vjp": "Any", "func.jvp": "Any", "functional_call": "Any",
} | {f"func.{name}": "Callable[..., Any]" for name in (
    "grad", "grad_and_value", "value_and_grad", "jacrev", "jacfwd", "hessian")} | {
    "Tensor.size": "Any", "Tensor.dim": "_int", "Tensor.numel": "_int", "Tensor.nelement": "_int", "Tensor.stride": "Any",
    "Tensor.storage_offset": "_int", "Tensor.is_contiguous": "_bool", "Tensor.data_ptr": "_int", "Tensor.element_size": "_int",
    "Tensor.is_floating_point": "_bool", "Tensor.is_complex": "_bool", "Tensor.backward": "None", "Tensor.type": "Any",
    "Tensor.item": "Any", "Tensor.tolist": "Any", "Tensor.numpy": "np.ndarray", "Tensor.is_inference": "_bool",
    "is_inference": "_bool", "get_device": "_int", "frexp": "tuple[Tensor, Tensor]", "histogram": "tuple[Tensor, Tensor]",
    "is_storage": "_bool", "is_set_to": "_bool", "Tensor.storage": "TypedStorage",
    "Tensor.untyped_storage": "UntypedStorage", **dict.fromkeys(("split_with_sizes", "unsafe_chunk", "unsafe_split",
                                                                 "unsafe_split_with_sizes"), "tuple[Tensor, ...]"),
    "Tensor.bump": "None",
    "Tensor.register_hook": "RemovableHandle", "Tensor.register_post_accumulate_grad_hook": "RemovableHandle",
    "Tensor.retain_grad": "None",
    "Tensor.__len__": "_int", "Tensor.__iter__": "Iterator[Tensor]", "Tensor.__contains__": "_bool", "Tensor.__bool__": "_bool",
    "Tensor.__float__": "_float", "Tensor.__int__": "_int", "Tensor.__complex__": "_complex", "Tensor.__index__": "_int",
    "Tensor.__repr__": "_str", "Tensor.__format__": "_str", "Tensor.__array__": "np.ndarray", "Tensor.__dlpack__": "Any",
    "Tensor.__dlpack_device__": "tuple[_int, _int]", "Tensor.__deepcopy__": "Self", "Tensor.__reduce_ex__": "Any",
    "Tensor.__hash__": "_int",
    "Tensor.__setitem__": "None", "Tensor.__new__": "Self", "Tensor.requires_grad_": "Self", "Tensor.detach_": "Self",
    "Tensor.as_subclass": "Any",
    "Size.numel": "_int",
    "dtype.to_real": "dtype", "dtype.to_complex": "dtype",
    "Generator.manual_seed": "Self", "Generator.initial_seed": "_int", "Generator.seed": "_int", "Generator.get_state": "Any",
    "Generator.set_state": "Self", "RemovableHandle.__enter__": "Self",
    "CustomOpDef.register_kernel": "Callable[..., Any]", "CustomOpDef.register_fake": "Callable[..., Any]",
    "set_kernel_enabled": "Any", "CustomOpDef.set_kernel_enabled": "Any", "register_kernel": "Callable[..., Any]",
    "register_fake": "Callable[..., Any]", "get_op": "CustomOpDef",
    "infer_schema": "_str", "opcheck": "_dict[_str, Any]",
    "checkpoint": "Any", "checkpoint_sequential": "Any", "noop_context_fn": "tuple[Any, Any]",
    "detach_variable": "tuple[Any, ...]", "create_selective_checkpoint_contexts": "tuple[Any, Any]",
    "set_checkpoint_early_stop": "Any", "set_checkpoint_debug_enabled": "Any", "unserializable_hook": "Callable[..., Any]",
    "Function.apply": "Any", "Function.forward": "Any", "Function.backward": "Any",
    "Function.vjp": "Any", "Function.jvp": "Any", "Function.setup_context": "Any", "Function.vmap": "Any",
    "once_differentiable": "Callable[..., Any]", "Node.name": "_str",
    "Node.register_hook": "RemovableHandle",
    "Node.register_prehook": "RemovableHandle",
    "Parameter.__new__": "Self", "Buffer.__new__": "Self",
    "MultiheadAttention.forward": "tuple[Tensor, Tensor | None]", "multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
    "Transformer.generate_square_subsequent_mask": "Tensor", "RNNBase.forward": "tuple[Tensor, Any]",
    "LSTMCell.forward": "tuple[Tensor, Tensor]",
    "Module.forward": "Any", "Module.__getattr__": "Any", "Module.__dir__": "list[_str]",
    "Module.named_modules": "Iterator[tuple[_str, Module]]", "Module.modules": "Iterator[Module]",
    "Module.named_children": "Iterator[tuple[_str, Module]]", "Module.children": "Iterator[Module]",
    "Module.named_parameters": "Iterator[tuple[_str, Parameter]]", "Module.parameters": "Iterator[Parameter]",
    "Module.named_buffers": "Iterator[tuple[_str, Tensor]]", "Module.buffers": "Iterator[Tensor]", "Module.get_submodule": "Module",
    "Module.get_parameter": "Parameter", "Module.apply": "Self", "Module.train": "Self", "Module.eval": "Self", "Module.to": "Self",
    "Module.requires_grad_": "Self", "Module.float": "Self", "Module.double": "Self", "Module.half": "Self", "Module.cpu": "Self",
    "Module.register_forward_pre_hook": "RemovableHandle", "Module.register_forward_hook": "RemovableHandle",
    "Module.register_full_backward_pre_hook": "RemovableHandle", "Module.register_full_backward_hook": "RemovableHandle",
    **dict.fromkeys(("Module.register_state_dict_pre_hook", "Module.register_state_dict_post_hook",
                     "Module.register_load_state_dict_pre_hook", "Module.register_load_state_dict_post_hook",
                     "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
                     "register_module_full_backward_pre_hook"), "RemovableHandle"),
    "Module.get_buffer": "Tensor", "Module.type": "Self", "Module.to_empty": "Self", "Module.get_extra_state": "Any",
    "Module.state_dict": "_dict[_str, Any]", "Module.load_state_dict": "Any", "extra_repr": "_str", "__repr__": "_str",
    "Sequential.__getitem__": "Any", "Sequential.__len__": "_int", "Sequential.__iter__": "Iterator[Module]",
    "Sequential.append": "Self",
    "Optimizer.step": "Any", "LBFGS.step": "Any", "AveragedModel.forward": "Any",
    **dict.fromkeys(("get_ema_avg_fn", "get_swa_avg_fn"), "Callable[[Tensor, Tensor, Tensor | _int], Tensor]"),
    **dict.fromkeys(("get_ema_multi_avg_fn", "get_swa_multi_avg_fn"),
                    "Callable[[list[Tensor], list[Tensor], Tensor | _int], None]"),
    "SWALR.get_lr": "list[_float]", "Optimizer.state_dict": "_dict[_str, Any]",
    "__enter__": "None", "__exit__": "None", "__call__": "Any", "clone": "Tensor", "no_grad.clone": "Self",
    "enable_grad.clone": "Self",
    "set_grad_enabled.clone": "Self", "set_forward_grad_enabled.clone": "Self",
    "inference_mode.clone": "Self", "set_grad_enabled.__call__": "Any",
    "Device.__str__": "_str", "Device.__eq__": "_bool", "__hash__": "_int", "__reduce__": "Any",
    "MinigradError.__reduce__": "Any",
}

# Properties and attributes. A property that can be set or deleted is written as an attribute.
ATTRIBUTES = {
    "Tensor": {"shape": "Size", "dtype": "_Dtype", "device": "Device", "ndim": "_int", "requires_grad": "_bool", "is_leaf": "_bool",
               "grad_fn": "Node | None", "output_nr": "_int", "grad": "Tensor | None", "grad_dtype": "_Dtype | None",
               "data": "Tensor", "retains_grad": "_bool",
               "itemsize": "_int", "nbytes": "_int", "T": "Tensor", "mT": "Tensor", "H": "Tensor", "mH": "Tensor",
               "real": "Tensor", "imag": "Tensor", "layout": "layout", "volatile": "_bool",
               "is_cpu": "_bool",
               "is_cuda": "_bool", "__cuda_array_interface__": "_dict[_str, Any]",
               "_array": "Any", "_meta": "Any", "_version": "_int", "_base": "Tensor | None",
               "__array_priority__": "ClassVar[_int]"},
    "UnpackedDualTensor": {"primal": "Tensor", "tangent": "Tensor | None"},
    "dtype": {"name": "_str", "numpy": "np.dtype[Any]", "category": "_int", "itemsize": "_int", "is_floating_point": "_bool",
              "is_complex": "_bool", "is_signed": "_bool"},
    "Device": {"type": "_str", "index": "_int | None", "backend": "Any"},
    "CustomOpDef": {"default": "_str"},
    "Node": {"requires_grad": "_bool", "next_functions": "tuple[tuple[Node | None, _int], ...]", "metadata": "_dict[Any, Any]"},
    "BackwardCFunction": {"saved_tensors": "tuple[Tensor | None, ...]", "saved_variables": "tuple[Tensor | None, ...]",
                          "needs_input_grad": "tuple[_bool, ...]", "materialize_grads": "_bool"},
    "Function": {"boxed_grads_call": "_bool", "clear_saved_tensors_on_access": "_bool", "generate_vmap_rule": "_bool"},
    "GradientEdge": {"node": "Node", "output_nr": "_int", "ownership_token": "Node | None"},
    "RemovableHandle": {"id": "_int"},
    "Generator": {"numpy": "Any", "device": "Device"},
    "Buffer": {"persistent": "_bool"},
    "Module": {"training": "_bool"},
    "Linear": {"in_features": "_int", "out_features": "_int", "weight": "Parameter", "bias": "Parameter | None"},
    "Conv2d": {"in_channels": "_int", "out_channels": "_int", "kernel_size": "tuple[_int, ...]", "stride": "tuple[_int, ...]",
               "padding": "Any", "dilation": "tuple[_int, ...]", "groups": "_int", "weight": "Parameter",
               "bias": "Parameter | None"},
    "RNNBase": {"all_weights": "list[list[Parameter]]"},
    "Dropout": {"p": "_float", "inplace": "_bool"},
    "Optimizer": {"defaults": "_dict[_str, Any]", "state": "_dict[Tensor, _dict[_str, Any]]",
                  "param_groups": "list[_dict[_str, Any]]"},
    "OpReport": {"name": "_str", "rows": "list[tuple[_str, _str, _str]]", "errors": "_dict[_str, Exception]", "ok": "_bool"},
    "MinigradError": {"code": "_str", "what": "_str"},
}

# Functions whose result depends on the arguments: overloads in place of the signature.
OVERLOADS = {
    name: ["({self}) -> Tensor",
           "({self}, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices",
           "({self}, dim: Tensor) -> Tensor"] for name in ("max", "min")
} | {
    name: ["({self}) -> Tensor", "({self}, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices"]
    for name in ("median", "nanmedian")
} | {
    "nonzero": ["({self}, *, out: Tensor | None = None) -> Tensor",
                "({self}, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
                "({self}, *, as_tuple: _bool) -> Tensor | tuple[Tensor, ...]"],
} | {
    "custom_op": [f"(name: _str, fn: {given}, /, *, mutates_args: _str | Iterable[_str], device_types: _str | Sequence[_str] "
                  f"| None = None, schema: _str | None = None, tags: Any = None) -> {result}" for given, result in (
                      ("None = None", "Callable[[Callable[..., Any]], CustomOpDef]"), ("Callable[..., Any]", "CustomOpDef"))],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: _int) -> _int"],
    "Tensor.stride": ["(self, dim: None = None) -> tuple[_int, ...]", "(self, dim: _int) -> _int"],
    "Tensor.type": ["(self, dtype: None = None) -> _str", "(self, dtype: _Dtype | _str | type[Any]) -> Tensor"],
    "Sequential.__getitem__": ["(self, index: _int) -> Module", "(self, index: _slice) -> Self"],
}
