"""Tools around autograd: checkpoints, data loaders, hooks, the source of minigrad. Mirrors ``torch.utils``."""

# pyright: reportUnsupportedDunderAll=false
from minigrad._lazy import lazy as _lazy
from minigrad.utils import hooks

__all__ = ["benchmark", "checkpoint", "cpp_extension", "data", "dlpack", "hooks", "model_zoo", "source", "swap_tensors",
           "tensorboard"]

__getattr__, __dir__ = _lazy(__name__, __all__, {"_swap": "swap_tensors"})      # many programs need no checkpoints and data loaders
