"""The handle that registering a hook returns, and that removes it again.

Mirrors ``torch/utils/hooks.py``.
"""

import os
import threading
import weakref
from collections import OrderedDict

from minigrad.errors import AutogradTypeError

__all__ = ["RemovableHandle", "add_hook"]

_numbering = threading.RLock()          # reentrant, and made anew after a fork, as `claiming` in dependencies.py
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbering._at_fork_reinit)


class RemovableHandle:
    """A handle which provides the capability to remove a hook. Mirrors ``torch.utils.hooks.RemovableHandle``.

    Args:
        hooks_dict (OrderedDict): the hooks, indexed by handle id. Held weakly: a handle does not keep
            hooks alive.
        extra_dict (dict or list of dicts, optional): further dicts from which the same id is deleted.

    Example:
        >>> import minigrad as mg
        >>> x = mg.tensor(2., requires_grad=True)
        >>> with x.register_hook(lambda g: print("grad", g.item())):
        ...     (x * 3).backward()
        grad 3.0
        >>> (x * 3).backward()      # removed: prints nothing
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        with _numbering:                # two threads may hang hooks onto one leaf, and its table is by number
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple([weakref.ref(d) for d in extra])

    def remove(self):
        """Remove the hook. Does nothing if it has been removed already."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref])

    def __setstate__(self, state):
        hooks = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = state[1]
        with _numbering:
            RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple([weakref.ref(OrderedDict() if d is None else d) for d in extra])

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()


def add_hook(hooks, hook):
    """Add `hook` to the ordered dict `hooks` and return its handle. Raises `TypeError` if it cannot be called."""
    if not callable(hook):
        raise AutogradTypeError("MG-E111", f"a hook must be callable, but got {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
