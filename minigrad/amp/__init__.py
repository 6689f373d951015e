"""Mixed precision: `autocast`, and `GradScaler`, which keeps small gradients from becoming 0. Mirrors ``torch.amp``.

    scaler = mg.amp.GradScaler("cpu")
    with mg.autocast("cpu", mg.float16):        # the products of matrices in float16, the loss in float32
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""

from minigrad.amp.autocast_mode import (autocast, custom_bwd, custom_fwd, get_autocast_dtype, is_autocast_available,
                                        is_autocast_enabled, set_autocast_enabled)
from minigrad.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available",
           "is_autocast_enabled", "set_autocast_enabled"]
