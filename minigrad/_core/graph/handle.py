"""The handle of a hook: registering a hook returns it, and it removes the hook.

Note [Two threads, one table of hooks]
    The first hook of a tensor makes its table of hooks. Interpreted, two threads might register the first hooks of one tensor
    at the same time. Each thread might make a table, and the hook in one of the two would be lost. Or a thread might remove a
    hook while another copies the table before it calls the hooks, and a dict refuses that. So interpreted threads
    take turns, with the lock `registering` (locks.py). Compiled, no other thread runs between two lines of these functions. So
    compiled code does not take the lock, which would be a tenth of the time to register a hook and run it.

Mirrors ``torch/utils/hooks.py``.
"""

from collections import OrderedDict

import cython
from cython.cimports.minigrad._core.graph.capi import weak_reference

from minigrad._core.graph.locks import registering
from minigrad.errors import AutogradTypeError

__all__ = ["Hooks", "RemovableHandle", "add_hook", "registering"]

_next_id = cython.declare(cython.longlong, 0)


@cython.cfunc
def new_id() -> object:
    """The number of a new handle. Two threads that register hooks on one leaf never get the same number."""
    global _next_id
    if cython.compiled:     # See Note [Two threads, one table of hooks]
        _next_id += 1
        return _next_id
    else:
        with registering:
            _next_id += 1
            return _next_id


@cython.cfunc
def skip_ids_to(number: cython.longlong) -> object:
    """Make new handles start after `number`, the id of a handle that was loaded from a pickle."""
    global _next_id
    if cython.compiled:
        _next_id = max(_next_id, number)
    else:
        with registering:
            _next_id = max(_next_id, number)
    return None


@cython.binding(False)
@cython.cclass
class Hooks(dict):
    """The hooks of a tensor or node: handle id -> function, in order of registration.

    It is a dict to which a weak reference is possible. (The OrderedDict of PyTorch is that too, but a hook in it takes twice the
    time.) `output` is the number of the tensor among the outputs of its node.
    """

    if not cython.compiled:
        output = 0

    def __reduce__(self):
        return OrderedDict, (list(self.items()),)


@cython.binding(False)
@cython.freelist(64)
@cython.cclass
class RemovableHandle:
    """A handle which provides the capability to remove a hook. Mirrors ``torch.utils.hooks.RemovableHandle``.

    Args:
        hooks_dict (OrderedDict): the hooks, indexed by handle id. The handle has a weak reference to it, so a handle does
            not keep hooks alive.
        extra_dict (dict or list of dicts, optional): further dicts, from which `remove` deletes the same id.

    Example:
        >>> import minigrad as mg
        >>> x = mg.tensor(2., requires_grad=True)
        >>> with x.register_hook(lambda g: print("grad", g.item())):
        ...     (x * 3).backward()
        grad 3.0
        >>> (x * 3).backward()      # removed: prints nothing
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weak_reference(hooks_dict)
        self.id = new_id()
        self.extra_dict_ref = () if extra_dict is None else tuple(
            [weak_reference(d) for d in (extra_dict if isinstance(extra_dict, list) else [extra_dict])])

    def remove(self):
        """Remove the hook. Does nothing if it has been removed already."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is None:
                continue
            if cython.compiled:     # See Note [Two threads, one table of hooks]
                hooks.pop(self.id, None)
            else:
                with registering:
                    gone = hooks.pop(self.id, None)
                del gone            # not while we hold the lock: it may be the last reference to the hook

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple([ref() for ref in self.extra_dict_ref])

    def __setstate__(self, state):
        hooks = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = weak_reference(hooks)
        self.id = state[1]
        skip_ids_to(self.id)
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple([weak_reference(OrderedDict() if d is None else d) for d in extra])

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.remove()


def add_hook(hooks, hook):
    """Add `hook` to the ordered dict `hooks` and return its handle. Raises `TypeError` if `hook` is not callable."""
    if not callable(hook):
        raise AutogradTypeError("MG-E111", f"a hook must be callable, but got {type(hook).__name__}")
    handle = cython.cast(RemovableHandle, RemovableHandle.__new__(RemovableHandle))     # compiled, this calls no Python
    handle.hooks_dict_ref = weak_reference(hooks)
    handle.id = new_id()
    handle.extra_dict_ref = ()
    if cython.compiled:     # See Note [Two threads, one table of hooks]
        hooks[handle.id] = hook
    else:
        with registering:
            hooks[handle.id] = hook
    return handle
