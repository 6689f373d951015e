"""Handles of hooks, and a mark for hooks that are not pickled. Mirrors ``torch/utils/hooks.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad._core.graph.handle import RemovableHandle
from minigrad.nn.modules._backward_hook import BackwardHook

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook: pickling its tensor drops the hook without a warning.

    Args:
        f (Callable): the hook.

    Returns:
        Callable: `f` itself.

    Raises:
        TypeError: `f` is not callable.

    Mirrors ``torch.utils.hooks.unserializable_hook``.

    >>> from minigrad.utils.hooks import unserializable_hook
    >>> handle = mg.ones(1, requires_grad=True).register_hook(unserializable_hook(lambda grad: grad))
    """
    callable_argument(f, "f", "unserializable_hook")
    f.__torch_unserializable__ = True  # pyright: ignore[reportFunctionMemberAccess]
    return f
