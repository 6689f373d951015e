"""What helps around autograd. Mirrors ``torch.utils``."""

from minigrad.utils import hooks

__all__ = ["checkpoint", "data", "hooks", "source"]       # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name):
    """The parts that many programs do without, checkpoints and data loaders, are imported when somebody asks for them."""
    if name in ("checkpoint", "data", "source"):
        import importlib
        return importlib.import_module(f"minigrad.utils.{name}")
    raise AttributeError(f"module 'minigrad.utils' has no attribute {name!r}")
