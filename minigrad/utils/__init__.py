"""What helps around autograd. Mirrors ``torch.utils``."""

from minigrad.utils import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
