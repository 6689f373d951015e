"""Autocast: in a region, some ops convert their arguments to bfloat16 or float16. Mirrors ``torch/amp/autocast_mode.py``.

    with mg.autocast("cpu", dtype=mg.bfloat16):
        h = x @ w               float32, float32 ──> bfloat16       products of matrices, convolutions, attention
        h = h.relu()            bfloat16                            most ops take what they get
        loss = mse_loss(h, y)   bfloat16, float32 ──> float32       losses, and what needs the digits

The conversions are ops, recorded above autograd: the gradients of x and w are float32. `convert` makes them. The core calls it for
each op (`call` in ``_core/record/apply.py``), since a region sets ``State.autocast`` of its thread; outside of a region that is
None, and ops have nothing to check. A parameter is converted once in a region: several uses share one conversion.

A region covers the forward only: run the backward outside, as in PyTorch.

The lists of ops are those of ``aten/src/ATen/autocast_mode.cpp``.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from minigrad._arguments import callable_argument, instance
from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import current
from minigrad._warnings import warn_once
from minigrad.dtypes import as_device, as_dtype, device, float16, float32, float64
from minigrad.errors import DeviceError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import flag, truth
from minigrad.ops.shape.clone_cast import cast

__all__ = ["autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled",
           "set_autocast_enabled"]

# The names of ops (minigrad/ops) and of functions that are made of several.
LOWER = frozenset((
    "addbmm", "addmm", "addmm_scaled", "baddbmm", "bmm", "conv", "convolution", "linear", "matmul", "mm", "_prelu_kernel",
    "scaled_dot_product_attention", "vecdot"))
LOSSES = frozenset((
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "hinge_embedding_loss", "huber_loss",
    "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "nll_loss2d",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "weighted_binary_cross_entropy_with_logits"))
DECOMPOSITIONS = frozenset((
    "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "cond", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inv_ex",
    "inverse", "linalg_cholesky", "linalg_qr", "linalg_svd", "lstsq", "matrix_rank", "qr", "solve", "solve_ex", "svd", "svdvals"))
FLOAT32 = {
    "cpu": LOSSES | DECOMPOSITIONS | frozenset((
        "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy", "cdist", "grid_sample", "max_pool3d",
        "max_unpool2d", "max_unpool3d", "nanquantile", "polar", "prod", "prod_dim", "quantile", "reflection_pad1d",
        "reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "trace", "view_as_complex")),
    "cuda": LOSSES | frozenset((
        "acos", "asin", "cdist", "cosh", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1", "linalg_vector_norm", "log",
        "log10", "log1p", "log2", "log_softmax", "logsumexp", "native_group_norm", "native_layer_norm", "pow", "pow_scalar_base",
        "pow_tensor", "prod", "prod_dim", "reciprocal", "renorm", "rsqrt", "sinh", "softmax", "softplus", "sum", "sum_dim", "tan")),
}


def has_gpu():
    """Whether minigrad can compute on a GPU. This file may not import ``minigrad.cuda``, which imports it."""
    try:
        return as_device("cuda") is not None
    except DeviceError:
        return False


class Region:
    """What autocast converts to, in a thread. It never changes: `autocast` sets another one, and puts the old one back.

    Args:
        dtypes (dict): the kind of device -> the dtype for products; kinds without autocast are left out.
        cache (dict): id of a parameter -> (weak reference, version, whether gradients were enabled, the converted tensor).
        caches (bool): whether to use `cache`.
    """

    def __init__(self, dtypes, cache, caches=True):
        self.dtypes, self.cache, self.caches = dtypes, cache, caches

    def renewed(self):
        """The same region with an empty cache, for a recomputation: the graph of the first run may be freed."""
        return Region(self.dtypes, {}, self.caches)

    def convert(self, name, args):
        """Return the arguments of the op or function `name`, its tensors converted by the lists."""
        kind = self.kind_of(args)
        if kind is None:
            return args
        if name in LOWER:
            return self.cast_all(args, kind, self.dtypes[kind])
        return self.cast_all(args, kind, float32) if name in FLOAT32[kind] else args

    def call(self, function, args, kwargs):
        """Run a function that is made of several ops: convert its tensors by its name, and run it without autocast."""
        if kwargs:
            names = tuple(kwargs)
            args = self.convert(function.__name__, (*args, *kwargs.values()))
            kwargs, args = dict(zip(names, args[len(args) - len(names):])), args[:len(args) - len(names)]
        else:
            args = self.convert(function.__name__, args)
        state = current()
        state.set_autocast(None)
        try:
            return function(*args, **kwargs)
        finally:
            state.set_autocast(self)

    def kind_of(self, args):
        """Return the kind of device of the first tensor, if autocast is enabled for it; else None."""
        for x in args:
            if isinstance(x, TensorBase):
                return x.device.type if x.device.type in self.dtypes else None
            if type(x) is tuple and x and isinstance(x[0], TensorBase):
                return self.kind_of(x)
        return None

    def cast_all(self, args, kind, dtype):
        """Return `args` with the floating point tensors on this kind of device in `dtype`; float64 tensors stay."""
        state = current()
        state.set_autocast(None)        # a conversion is an op too
        try:
            return tuple([self.cast_one(x, dtype, state) if isinstance(x, TensorBase) and x.device.type == kind else x
                          for x in args])
        finally:
            state.set_autocast(self)

    def cast_one(self, x, dtype, state):
        """Return a tensor in `dtype`. A parameter is converted once for each region."""
        if not x.dtype.is_floating_point or x.dtype is float64 or x.dtype is dtype:
            return x
        if not (self.caches and dtype is not float32 and x.dtype is float32 and x.requires_grad and x.is_leaf and not x._is_view()):
            return cast(x, dtype)
        found = self.cache.get(id(x))
        key = (dtype, x._version, state.grad_enabled)
        if found is None or found[0]() is not x or found[1] != key:
            found = self.cache[id(x)] = (weakref.ref(x), key, cast(x, dtype))
        return found[2]


def kind_argument(device_type, function):
    """Return the kind of device of the argument `device_type`, such as "cuda"; raise `TypeError` unless it is a str."""
    return device(instance(device_type, str, "device_type", function)).type


def kind_of_region(device_type):
    """The same for the argument of a region: there PyTorch raises a `ValueError`."""
    if not isinstance(device_type, str):
        raise TensorValueError("MG-E201", f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device(device_type).type


class autocast:
    """Context manager or decorator: inside, products of matrices and convolutions convert their arguments to `dtype`.

    Losses convert theirs to float32, and other ops take what they get. Weights stay float32, and so do their gradients.

    Args:
        device_type (str): "cpu" or "cuda": tensors on this kind of device are converted.
        dtype (optional): ``mg.bfloat16`` or ``mg.float16``. The default is bfloat16 for "cpu", float16 for "cuda".
        enabled (bool): False switches autocast off, inside another region too.
        cache_enabled (bool, optional): convert a parameter only once in a region. True by default.

    Raises:
        RuntimeError: no device has this name.
        ValueError: `device_type` is not a str.
        ModuleNotFoundError: the dtype is bfloat16, and the package ml_dtypes is not installed.

    A CPU computes both dtypes more slowly than float32, because it has to convert them. Use autocast on a CPU to see what the fewer
    digits do to a training.

    Mirrors ``torch.autocast``.

    >>> x, w = mg.ones(2, 2), mg.ones(2, 2, requires_grad=True)
    >>> with mg.autocast("cpu", dtype=mg.bfloat16):
    ...     y = x @ w
    ...     loss = nn.functional.mse_loss(y, x)
    >>> loss.backward()
    >>> y.dtype, loss.dtype, w.grad.dtype
    (minigrad.bfloat16, minigrad.float32, minigrad.float32)
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = kind_of_region(device_type)
        self._enabled = truth(enabled, "enabled", "autocast")
        self._cache_enabled = cache_enabled is None or truth(cache_enabled, "cache_enabled", "autocast")
        self._before = []       # the regions to go back to: one instance may be entered several times
        if self._enabled and self.device == "cuda" and not has_gpu():
            warn_once("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            self._enabled = False
        self.fast_dtype = as_dtype(dtype) if dtype is not None else get_autocast_dtype(self.device) if self._enabled else float32
        if self._enabled and self.fast_dtype.name not in ("bfloat16", "float16"):
            warn_once(f"In {self.device.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                      "Autocast supports bfloat16 and float16", stacklevel=2)
            self._enabled = False

    def __enter__(self):
        state = current()
        before = state.autocast
        self._before.append(before)
        dtypes = dict(before.dtypes) if before is not None else {}
        dtypes.pop(self.device, None)
        if self._enabled:
            dtypes[self.device] = self.fast_dtype
        cache = before.cache if before is not None else {}
        state.set_autocast(Region(dtypes, cache, self._cache_enabled) if dtypes else None)
        return self

    def __exit__(self, *exc_info):
        current().set_autocast(self._before.pop())
        return False

    def __call__(self, func):
        callable_argument(func, "func", "autocast")

        @functools.wraps(func)
        def decorated(*args, **kwargs):
            with self:
                return func(*args, **kwargs)
        return decorated


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype of products in an autocast region; outside of one, the default: float16 for "cuda", else bfloat16.

    Mirrors ``torch.get_autocast_dtype``.

    >>> mg.get_autocast_dtype("cuda")
    minigrad.float16
    """
    kind, region = kind_argument(device_type, "get_autocast_dtype"), current().autocast
    if region is not None and kind in region.dtypes:
        return region.dtypes[kind]
    return float16 if kind == "cuda" else named_dtype("bfloat16")


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device. Mirrors ``torch.amp.is_autocast_available``.

    >>> mg.amp.is_autocast_available("cpu")
    True
    """
    return kind_argument(device_type, "is_autocast_available") in FLOAT32


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is enabled for a kind of device, by default "cuda". Mirrors ``torch.is_autocast_enabled``.

    >>> with mg.autocast("cpu"):
    ...     mg.is_autocast_enabled("cpu"), mg.is_autocast_enabled()
    (True, False)
    """
    kind = "cuda" if device_type is None else kind_argument(device_type, "is_autocast_enabled")
    region = current().autocast
    return region is not None and kind in region.dtypes


def set_autocast_enabled(*args: Any) -> None:
    """Switch autocast on or off for a kind of device, by default "cuda", until it is switched again.

    Use ``with mg.autocast(...)`` instead, which puts the state back. Mirrors ``torch.set_autocast_enabled``.

    Raises:
        TypeError: not one or two arguments, or `enabled` is not a bool.

    >>> mg.set_autocast_enabled("cpu", False)
    """
    if len(args) not in (1, 2):
        raise TensorTypeError("MG-E201", f"set_autocast_enabled() takes 1 or 2 arguments, but {len(args)} were given",
                              expected="(enabled) or (device_type, enabled)")
    kind = "cuda" if len(args) == 1 else kind_argument(args[0], "set_autocast_enabled")
    enabled = flag(args[-1], "enabled", "set_autocast_enabled")
    state = current()
    dtypes = {} if state.autocast is None else dict(state.autocast.dtypes)
    dtypes.pop(kind, None)
    if enabled:
        dtypes[kind] = get_autocast_dtype(kind)
    state.set_autocast(Region(dtypes, {} if state.autocast is None else state.autocast.cache) if dtypes else None)


def cast_arguments(value, kind, dtype):
    """Return `value`, an argument or a container of arguments, with the floating point tensors on `kind` in `dtype`."""
    if isinstance(value, TensorBase):
        eligible = value.dtype.is_floating_point and value.device.type == kind and value.dtype is not float64
        return cast(value, dtype) if eligible else value
    if isinstance(value, dict):
        return {cast_arguments(key, kind, dtype): cast_arguments(item, kind, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([cast_arguments(item, kind, dtype) for item in value])
    return value


def custom_fwd(fwd=None, *, device_type="cuda", cast_inputs=None):
    """Decorator for the forward of a `Function` that is used in autocast regions. Use `custom_bwd` for its backward.

    Args:
        device_type (str): the kind of device.
        cast_inputs (dtype, optional): in a region, convert the floating point tensors to this dtype, and run the forward with
            autocast disabled. By default the forward runs with the autocast that it is called in.

    Mirrors ``torch.amp.custom_fwd``.

    >>> @mg.amp.custom_fwd(device_type="cpu")
    ... def forward(ctx, x):
    ...     return x * 2
    """
    device_type = kind_of_region(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    callable_argument(fwd, "fwd", "custom_fwd")
    cast_inputs = None if cast_inputs is None else as_dtype(cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx, *args, **kwargs):
        enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type) if enabled else None
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *cast_arguments(args, device_type, cast_inputs), **cast_arguments(kwargs, device_type, cast_inputs))
    return decorated


def custom_bwd(bwd=None, *, device_type="cuda"):
    """Decorator for the backward of a `Function`: it runs with the autocast of the forward, which has `custom_fwd`.

    Mirrors ``torch.amp.custom_bwd``.

    >>> @mg.amp.custom_bwd(device_type="cpu")
    ... def backward(ctx, grad):
    ...     return grad * 2
    """
    device_type = kind_of_region(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    callable_argument(bwd, "bwd", "custom_bwd")

    @functools.wraps(bwd)
    def decorated(ctx, *args, **kwargs):
        with autocast(device_type, ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)
    return decorated
