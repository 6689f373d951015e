"""What helps around autograd. Mirrors ``torch.utils``."""

from minigrad.utils import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
