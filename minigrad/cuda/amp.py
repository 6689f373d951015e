"""Autocast and gradient scaling for a GPU, under their old names. Mirrors ``torch/cuda/amp``."""

import functools

from minigrad import amp as _amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """`minigrad.autocast` for the device "cuda". Mirrors ``torch.cuda.amp.autocast``."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_amp.GradScaler):
    """`minigrad.amp.GradScaler` for the device "cuda"; disabled without a GPU. Mirrors ``torch.cuda.amp.GradScaler``."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(_amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="cuda")
