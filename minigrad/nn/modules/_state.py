"""The state dict of a module, and the hooks around saving and loading it. ``_loading.py`` has the loading itself.

    state_dict pre-hook         hook(module, prefix, keep_vars)                     before the module's entries are collected
    state_dict post-hook        hook(module, state_dict, prefix, local_metadata)    after them and those of all modules below
    load pre-hook               hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    load post-hook              hook(module, incompatible_keys)

Few modules have such hooks. So a module gets its own table with its first hook; until then it uses the empty one of the class.

Mirrors ``torch/nn/modules/module.py``. Read next: ``_loading.py``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad._core.graph.handle import add_hook
from minigrad.errors import MinigradError
from minigrad.nn.parameter import is_lazy
from minigrad.ops.base.arguments import truth

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minigrad.autograd.graph import RemovableHandle
    from minigrad.nn.modules.module import Module

EXTRA = "_extra_state"      # the key for the result of get_extra_state


class StateDictError(MinigradError, RuntimeError):
    """A state dict does not fit the module that loads it, or a hook has changed it in a wrong way."""


def state_dict(module: Module, *, destination: dict[str, Any] | None = None, prefix: str = "",
               keep_vars: bool = False) -> dict[str, Any]:
    """Return a dict from name to tensor with all parameters and persistent buffers.

    Args:
        destination (dict, optional): the dict to fill; a new ``OrderedDict`` by default.
        prefix (str): every key starts with it.
        keep_vars (bool): put the tensors themselves into the dict. By default they are detached; they share memory with the
            module's tensors.

    >>> list(nn.Linear(2, 1).state_dict())
    ['weight', 'bias']
    """
    instance(prefix, str, "prefix", "state_dict")
    keep_vars = truth(keep_vars, "keep_vars", "state_dict")
    if destination is None:
        destination = OrderedDict()
        setattr(destination, "_metadata", OrderedDict())        # noqa: B010 (type checkers do not know this attribute)
    instance(destination, MutableMapping, "destination", "state_dict", "dict")
    metadata = local_metadata(module)
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata       # pyright: ignore[reportAttributeAccessIssue]
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        result = hook(module, destination, prefix, metadata)
        if result is not None and isinstance(hook, OlderHook):
            destination = result
        elif result is not None:
            raise StateDictError("MG-E365", "state_dict post-hook must return None",
                                 fix="change the dict that the hook receives, and return nothing")
    return destination      # pyright: ignore[reportReturnType]


def _save_to_state_dict(module, destination, prefix, keep_vars):
    """Put the entries of this module alone into `destination`. A subclass may override this."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        if value is not None and name not in module._non_persistent_buffers_set:
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
    if type(module).get_extra_state is not get_extra_state:
        destination[prefix + EXTRA] = module.get_extra_state()


def local_metadata(module, loaded=None, prefix=""):
    """What a state dict says of this module besides its tensors: the version of its format.

    Args:
        loaded (dict, optional): a state dict to load, which may say it itself under the `prefix` of the module.
    """
    said = getattr(loaded, "_metadata", None) or {}
    return dict(said.get(prefix[:-1], {"version": module._version}))


def get_extra_state(module: Module) -> Any:
    """Return what else belongs in the state dict, under the key ``_extra_state``. A subclass defines this and `set_extra_state`.

    >>> class Counter(nn.Module):
    ...     count = 0
    ...     def get_extra_state(self):
    ...         return {"count": self.count}
    ...     def set_extra_state(self, state):
    ...         self.count = state["count"]
    >>> a, b = Counter(), Counter()
    >>> a.count = 3
    >>> b.load_state_dict(a.state_dict()), b.count
    (<All keys matched successfully>, 3)
    """
    raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")


def set_extra_state(module: Module, state: Any) -> None:
    """Restore what `get_extra_state` returned. A subclass defines both.

    >>> nn.ReLU().set_extra_state(3)
    Traceback (most recent call last):
    RuntimeError: Reached a code path in Module.set_extra_state() that should never be called.
    """
    raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")


def register_state_dict_pre_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects the entries of this module.

    Returns:
        A handle whose ``remove()`` removes the hook.

    >>> layer = nn.Linear(1, 1)
    >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving", repr(prefix)))
    >>> _ = nn.Sequential(layer).state_dict()
    saving '0.'
    """
    return add_state_hook(module, "_state_dict_pre_hooks", hook)


def register_state_dict_post_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict` has collected the entries of this module.

    Args:
        hook (callable): may change the dict, and returns None.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        RuntimeError: in `state_dict`: the hook has returned something.

    >>> layer = nn.Linear(1, 1)
    >>> def without_bias(module, state_dict, prefix, local_metadata):
    ...     del state_dict[prefix + "bias"]
    >>> handle = layer.register_state_dict_post_hook(without_bias)
    >>> list(layer.state_dict())
    ['weight']
    """
    return add_state_hook(module, "_state_dict_hooks", hook)


def register_load_state_dict_pre_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call a hook before `load_state_dict` reads the state dict.

    Args:
        hook (callable): called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
            error_msgs)``. `module` is this module. `state_dict` is a copy, which the hook may change.

    Returns:
        A handle whose ``remove()`` removes the hook.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> def rename(module, state_dict, prefix, *_):
    ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
    >>> handle = layer.register_load_state_dict_pre_hook(rename)
    >>> layer.load_state_dict({"w": mg.ones(1, 1)})
    <All keys matched successfully>
    """
    return add_state_hook(module, "_load_state_dict_pre_hooks", hook)


def register_load_state_dict_post_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, incompatible_keys)`` after `load_state_dict` has loaded this module and all modules below.

    Args:
        hook (callable): may change the lists ``missing_keys`` and ``unexpected_keys``, and returns None. `strict` checks the lists
            after the hook.

    Returns:
        A handle whose ``remove()`` removes the hook.

    Raises:
        AssertionError: in `load_state_dict`: the hook has returned something.

    >>> layer = nn.Linear(1, 1)
    >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    >>> layer.load_state_dict({"weight": mg.ones(1, 1)})
    <All keys matched successfully>
    """
    return add_state_hook(module, "_load_state_dict_post_hooks", hook)


def add_state_hook(module, table, hook):
    """Put a hook into the module's table of that name, and return its handle."""
    return add_hook(module.__dict__.setdefault(table, OrderedDict()), hook)


def _register_state_dict_hook(module, hook):
    """The older form of `register_state_dict_post_hook`: the hook may return a dict, which replaces the state dict."""
    return add_state_hook(module, "_state_dict_hooks", OlderHook(hook))


class OlderHook:
    """A hook of `_register_state_dict_hook`, which may return a dict. Other hooks of the state dict may not."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, *args):
        return self.hook(*args)


def _register_load_state_dict_pre_hook(module, hook, with_module=False):
    """The older form of `register_load_state_dict_pre_hook`: the hook does not receive the module unless `with_module` is set."""
    return add_state_hook(module, "_load_state_dict_pre_hooks", hook if with_module else WithoutModule(hook))


class WithoutModule:
    """A hook that is called without its first argument, the module. A class, so that a module with such a hook can be pickled."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, *args):
        return self.hook(*args)
