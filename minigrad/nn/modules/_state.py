"""Saving and loading the state of a module, and the hooks around that. How loading goes stands in ``_loading.py``.

    state_dict pre-hook         hook(module, prefix, keep_vars)                         before the state of a module is gathered
    state_dict post-hook        hook(module, state_dict, prefix, local_metadata)        after it, and that of all modules below
    load pre-hook               hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    load post-hook              hook(module, incompatible_keys)

Few modules have such hooks, so a table is made when the first one is registered; till then the class has one that is empty.

Mirrors ``torch/nn/modules/module.py``.
"""

from collections import OrderedDict
from types import MappingProxyType

from minigrad._core.graph.handle import add_hook
from minigrad.nn.modules._hooks import Hooked
from minigrad.nn.modules._loading import EXTRA, StateDictError, load

__all__ = ["Stateful"]


class Stateful(Hooked):
    """What can be saved and loaded."""

    _state_dict_pre_hooks = _state_dict_hooks = MappingProxyType({})                    # handle id -> hook
    _load_state_dict_pre_hooks = _load_state_dict_post_hooks = MappingProxyType({})
    _version = 1

    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """A dict from name to tensor with all parameters and persistent buffers.

        The tensors share the memory of the module's, detached unless `keep_vars`.

        >>> list(nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if destination is None:
            destination = OrderedDict()
            setattr(destination, "_metadata", OrderedDict())        # noqa: B010 (no attribute that a type checker knows)
        metadata = self._local_metadata()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata       # pyright: ignore[reportAttributeAccessIssue]
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if self._has("get_extra_state"):
            destination[prefix + EXTRA] = self.get_extra_state()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            if hook(self, destination, prefix, metadata) is not None:
                raise StateDictError("MG-E365", "state_dict post-hook must return None", fix="change the dict that it gets")
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy parameters and buffers from a state dict.

        Args:
            state_dict (dict): from name to tensor, as `state_dict` gives it.
            strict (bool): raise if a key is missing or unexpected.
            assign (bool): take the tensors themselves instead of copying their numbers.

        Returns:
            A named tuple of the lists ``missing_keys`` and ``unexpected_keys``.

        Raises:
            RuntimeError: a shape differs; with `strict`, a key is missing or unexpected. It lists all of these,
                and nothing has been loaded.
            TypeError: `state_dict` is no mapping.

        >>> a, b = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        >>> a.weight.tolist() == b.weight.tolist()
        True
        """
        return load(self, state_dict, strict, assign)

    def get_extra_state(self):
        """What else belongs into the state dict, under the key ``_extra_state``. A subclass has this and `set_extra_state`.

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

    def set_extra_state(self, state):
        """Take over what `get_extra_state` returned. A subclass has both.

        >>> nn.ReLU().set_extra_state(3)
        Traceback (most recent call last):
        RuntimeError: Reached a code path in Module.set_extra_state() that should never be called.
        """
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _has(self, method):
        """Whether a subclass defines get_extra_state or set_extra_state."""
        return getattr(type(self), method) is not getattr(Stateful, method)

    def _local_metadata(self):
        return {"version": self._version}

    def register_state_dict_pre_hook(self, hook):
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` gathers the state of this module.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving", repr(prefix)))
        >>> _ = nn.Sequential(layer).state_dict()
        saving '0.'
        """
        return self._add_state_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)`` when `state_dict` has gathered the state of this module.

        Args:
            hook (callable): may change the dict, and returns None.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        Raises:
            RuntimeError: in `state_dict`: the hook has returned something.

        >>> layer = nn.Linear(1, 1)
        >>> def without_bias(module, state_dict, prefix, local_metadata):
        ...     del state_dict[prefix + "bias"]
        >>> handle = layer.register_state_dict_post_hook(without_bias)
        >>> list(layer.state_dict())
        ['weight']
        """
        return self._add_state_hook("_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call a hook before `load_state_dict` looks at the state dict.

        Args:
            hook (callable): called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs)``; the first is this module, and `state_dict` a copy, which it may change.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        >>> layer = nn.Linear(1, 1, bias=False)
        >>> def rename(module, state_dict, prefix, *_):
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        >>> handle = layer.register_load_state_dict_pre_hook(rename)
        >>> layer.load_state_dict({"w": mg.ones(1, 1)})
        <All keys matched successfully>
        """
        return self._add_state_hook("_load_state_dict_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook):
        """Call ``hook(module, incompatible_keys)`` when `load_state_dict` has loaded this module and all below.

        Args:
            hook (callable): may change the lists ``missing_keys`` and ``unexpected_keys``, at which `strict` looks after that, and
                returns None.

        Returns:
            A handle whose ``remove()`` takes the hook away.

        Raises:
            AssertionError: in `load_state_dict`: the hook has returned something.

        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> layer.load_state_dict({"weight": mg.ones(1, 1)})
        <All keys matched successfully>
        """
        return self._add_state_hook("_load_state_dict_post_hooks", hook)

    def _add_state_hook(self, table, hook):
        return add_hook(self.__dict__.setdefault(table, OrderedDict()), hook)
