"""`replace_all_batch_norm_modules_`: for gradients of single examples. Mirrors ``torch/_functorch/batch_norm_replacement.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.func._arguments import check_module

if TYPE_CHECKING:
    from minigrad.nn import Module

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let each batch norm in a module use the statistics of its batch, and follow none. Return the module.

    `vmap` cannot write to running statistics, which all examples share. Mirrors ``torch.func.replace_all_batch_norm_modules_``.

    >>> mg.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
    Sequential(
      (0): BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)
    )
    """
    for module in check_module(root, "root", "replace_all_batch_norm_modules_").modules():
        if getattr(module, "track_running_stats", False) and type(module).__name__.find("BatchNorm") >= 0:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
