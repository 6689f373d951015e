"""Handles of hooks, and hooks that need not be pickled. Mirrors ``torch/utils/hooks.py``."""

from minigrad._arguments import callable_argument
from minigrad._core.graph.handle import RemovableHandle
from minigrad.nn.modules._backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook"]


def unserializable_hook(f):
    """Mark a hook as one that may be lost when its tensor is pickled: no warning then.

    Mirrors ``torch.utils.hooks.unserializable_hook``.

    >>> from minigrad.utils.hooks import unserializable_hook
    >>> handle = mg.ones(1, requires_grad=True).register_hook(unserializable_hook(lambda grad: grad))
    """
    callable_argument(f, "f", "unserializable_hook")
    f.__torch_unserializable__ = True
    return f
