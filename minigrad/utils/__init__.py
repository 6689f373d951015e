"""Tools around autograd: checkpoints, data loaders, hooks, the source of minigrad. Mirrors ``torch.utils``."""

from minigrad.utils import hooks

__all__ = ["checkpoint", "cpp_extension", "data", "hooks", "model_zoo", "source", "tensorboard"]     # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name):
    """Import a module when a program reads its name: many programs need no checkpoints and data loaders."""
    if name in __all__:
        import importlib
        return importlib.import_module(f"minigrad.utils.{name}")
    raise AttributeError(f"module 'minigrad.utils' has no attribute {name!r}")
