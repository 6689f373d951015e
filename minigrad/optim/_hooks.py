"""Hooks of an optimizer: functions that it calls around a step, and when its state is saved or loaded.

Mirrors ``torch/optim/optimizer.py``.

An optimizer without hooks pays nothing: the first hook of a step makes `call_step` its `step`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING

from minigrad._core.graph.handle import RemovableHandle, add_hook

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minigrad.optim.optimizer import Optimizer

__all__ = ["register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_state_dict_post_hook",
           "register_state_dict_pre_hook", "register_step_post_hook", "register_step_pre_hook", "run_hooks"]


def hooks_of(optimizer, kind):
    """The hooks of one kind, by number."""
    return vars(optimizer).setdefault(f"_optimizer_{kind}_hooks", OrderedDict())


def run_hooks(optimizer, kind, *args):
    """Call the hooks of one kind with `args`; return the last argument, which a hook may replace by what it returns."""
    for hook in list(vars(optimizer).get(f"_optimizer_{kind}_hooks", {}).values()):
        result = hook(optimizer, *args)
        args = args if result is None or not args else (*args[:-1], result)
    return args[-1] if args else None


def call_step(optimizer, *args, **kwargs):
    """A step with the hooks before and after it. They see the optimizer as the first of `args`, as in PyTorch."""
    args = optimizer, *args
    for hook in list(hooks_of(optimizer, "step_pre").values()):
        result = hook(optimizer, args, kwargs)
        if result is not None:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            args, kwargs = result
    found = type(optimizer).step(*args, **kwargs)
    for hook in list(hooks_of(optimizer, "step_post").values()):
        hook(optimizer, args, kwargs)
    return found


def add(optimizer, kind, hook, prepend):
    """Register a hook; return its handle."""
    hooks = hooks_of(optimizer, kind)
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    if kind.startswith("step") and "step" not in vars(optimizer):
        optimizer.step = functools.partial(call_step, optimizer)
    return handle


def register_step_pre_hook(self: Optimizer, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new (args, kwargs).

    Mirrors ``torch.optim.Optimizer.register_step_pre_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("step"))
    >>> optimizer.step()
    step
    """
    return add(self, "step_pre", hook, False)


def register_step_post_hook(self: Optimizer, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step. Mirrors ``torch.optim.Optimizer.register_step_post_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("done"))
    >>> optimizer.step()
    done
    """
    return add(self, "step_post", hook, False)


def register_state_dict_pre_hook(self: Optimizer, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(optimizer)`` before `state_dict`. Mirrors ``torch.optim.Optimizer.register_state_dict_pre_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
    >>> saved = optimizer.state_dict()
    saving
    """
    return add(self, "state_dict_pre", hook, prepend)


def register_state_dict_post_hook(self: Optimizer, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another dict.

    Mirrors ``torch.optim.Optimizer.register_state_dict_post_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state_dict: {**state_dict, "epoch": 3})
    >>> optimizer.state_dict()["epoch"]
    3
    """
    return add(self, "state_dict_post", hook, prepend)


def register_load_state_dict_pre_hook(self: Optimizer, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(optimizer, state_dict)`` before `load_state_dict`; it may return another dict to load.

    Mirrors ``torch.optim.Optimizer.register_load_state_dict_pre_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state_dict: print(sorted(state_dict)))
    >>> optimizer.load_state_dict(optimizer.state_dict())
    ['param_groups', 'state']
    """
    return add(self, "load_state_dict_pre", hook, prepend)


def register_load_state_dict_post_hook(self: Optimizer, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Call ``hook(optimizer)`` after `load_state_dict`. Mirrors ``torch.optim.Optimizer.register_load_state_dict_post_hook``.

    >>> optimizer = mg.optim.SGD([mg.zeros(1)])
    >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
    >>> optimizer.load_state_dict(optimizer.state_dict())
    loaded
    """
    return add(self, "load_state_dict_post", hook, prepend)
