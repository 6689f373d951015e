"""Loading a state dict: either all of it fits, or nothing is loaded.

    1. pre-hooks of all modules may change a copy of the state dict, and a module may complete one of an older format
    2. every entry is compared with the module; problems are collected, and nothing is written
    3. the values are copied or assigned
    4. post-hooks of all modules, innermost first, may change the lists of missing and unexpected keys

PyTorch does all four steps for one module after the other, so after an error it has loaded a part. Here the error comes before
step 3. There is one exception: post-hooks may clear the lists, so with post-hooks we check missing and unexpected keys after
step 4.

A subclass may override `_load_from_state_dict`, which loads the entries of one module. We call it in step 3. It compares and copies
these entries itself, so an error that it reports comes after other entries have been loaded.

Mirrors ``load_state_dict`` of ``torch/nn/modules/module.py``.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from typing import TYPE_CHECKING

from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError
from minigrad.nn.modules._state import EXTRA, StateDictError, local_metadata, set_extra_state
from minigrad.nn.parameter import Parameter, is_lazy
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minigrad.nn.modules.module import Module


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """The result of `Module.load_state_dict`: two lists."""

    __slots__ = ()

    def __repr__(self):
        return "<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys else super().__repr__()

    __str__ = __repr__


def overrides_loading(module):
    """Whether the class of a module has a `_load_from_state_dict` of its own."""
    return getattr(type(module), "_load_from_state_dict") is not _load_from_state_dict      # noqa: B009 (unknown to type checkers)


def load_state_dict(module: Module, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
    """Copy parameters and buffers from a state dict into this module and all modules below.

    Args:
        state_dict (dict): from name to tensor, as `state_dict` returns it.
        strict (bool): raise if a key is missing or unexpected.
        assign (bool): make the tensors of the dict the module's own instead of copying their values.

    Returns:
        A named tuple of the lists ``missing_keys`` and ``unexpected_keys``.

    Raises:
        RuntimeError: a shape differs; or, with `strict`, a key is missing or unexpected. The error lists all problems. Nothing has
            been loaded, unless a module has a load post-hook.
        TypeError: `state_dict` is not a mapping.

    >>> a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> a.load_state_dict(b.state_dict())
    <All keys matched successfully>
    >>> a.weight.tolist() == b.weight.tolist()
    True
    """
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    keys, problems = _IncompatibleKeys([], []), []
    state, modules = OrderedDict(state_dict), list(modules_with_prefix(module))
    for prefix, each in modules:
        for hook in each._load_state_dict_pre_hooks.values():
            hook(each, state, prefix, local_metadata(each, state_dict, prefix), strict, *keys, problems)
        each._complete_state_dict(state, prefix, (getattr(state_dict, "_metadata", None) or {}).get(prefix[:-1], {}).get("version"))
    custom = [(prefix, each) for prefix, each in modules if overrides_loading(each)]
    ordinary = [pair for pair in modules if pair not in custom] if custom else modules
    own = {key: place for prefix, each in ordinary for key, place in own_entries(each, prefix)}
    keys.missing_keys.extend([key for key in own if key not in state])
    keys.unexpected_keys.extend([key for key in state if key not in own and not any(
        belongs(key, prefix, each) for prefix, each in custom)])
    problems += find_mismatches(own, state)
    hooks = [(each, hook) for _, each in reversed(modules) for hook in each._load_state_dict_post_hooks.values()]
    if problems or not (hooks or custom):
        raise_problems(module, problems, keys, strict)
    for prefix, each in custom:
        metadata = local_metadata(each, state_dict, prefix) | {"assign_to_params_buffers": assign}
        each._load_from_state_dict(state, prefix, metadata, True, *keys, problems)
    for key, place in own.items():
        if key in state:
            load_entry(*place, state[key], assign)
    for each, hook in hooks:
        if hook(each, keys) is not None:
            raise AutogradAssertionError("MG-E365", "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                                         "to return new values, if incompatible_keys need to be modified, it should be done "
                                         "inplace.")
    raise_problems(module, problems, keys, strict, loaded=True)
    return keys


def _load_from_state_dict(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    """Load the entries of this module alone, for a subclass that overrides this and calls it with ``super()``.

    Args:
        state_dict (dict): of the whole model.
        prefix (str): the keys of this module start with it.
        local_metadata (dict): the version of the entries, and ``assign_to_params_buffers``.
        strict (bool): add the missing and unexpected keys of this module to the lists.
        missing_keys, unexpected_keys, error_msgs (list of str): what does not fit; this function adds to them.
    """
    own = dict(own_entries(module, prefix))
    if strict:
        missing_keys.extend([key for key in own if key not in state_dict])
        unexpected_keys.extend([key for key in state_dict if belongs(key, prefix, module) and key not in own])
    for key, place in own.items():
        if key in state_dict:
            problems = find_mismatches(own, {key: state_dict[key]})
            error_msgs.extend(problems)
            if not problems:
                load_entry(*place, state_dict[key], local_metadata.get("assign_to_params_buffers", False))


def _complete_state_dict(module, state_dict, prefix, version):
    """Add the entries that this module did not have yet in the format `version`; None: nobody knows which it is."""


def belongs(key, prefix, module):
    """Whether a key names an entry of `module` itself, not of one of its children. The entry need not exist."""
    return key.startswith(prefix) and key[len(prefix):].split(".")[0] not in module._modules


def modules_with_prefix(module, prefix=""):
    """Pairs (prefix of its keys, module) of `module` and all modules below. A module with two places in the tree comes twice."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from modules_with_prefix(child, f"{prefix}{name}.")


def own_entries(module, prefix):
    """Pairs (key, (module, name, value)): the entries of a state dict that belong to this module alone."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        if value is not None and name not in module._non_persistent_buffers_set:
            yield prefix + name, (module, name, value)
    if type(module).set_extra_state is not set_extra_state:
        yield prefix + EXTRA, (module, EXTRA, None)


def raise_problems(module, problems, keys, strict, loaded=False):
    """Raise an error that lists all problems, if there are any. With `strict`, missing and unexpected keys are problems too.

    `loaded`: the entries with matching keys have been loaded before.
    """
    messages = list(problems)
    for names, kind in ((keys.unexpected_keys, "Unexpected"), (keys.missing_keys, "Missing")):
        if strict and names:
            messages.insert(0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in names) + ". ")
    if messages:
        effect = ("The entries with matching keys have been loaded, because a module has a load post-hook" if loaded else
                  "No value of the module has changed")
        raise StateDictError("MG-E401", f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(messages),
                             fix="compare the keys and shapes with module.state_dict(). strict=False ignores missing and "
                                 f"unexpected keys. {effect}")


def find_mismatches(own, state_dict):
    """Messages about entries that are not tensors or have a different shape than the module's."""
    problems = []
    for key, value in state_dict.items():
        if key not in own or own[key][1] == EXTRA:
            continue
        if not isinstance(value, Tensor):
            problems.append(f'While copying the parameter named "{key}", expected minigrad.Tensor or Tensor-like object '
                            f"from checkpoint but received {type(value)}")
        elif not is_lazy(own[key][2]) and tuple(value.shape) != tuple(own[key][2].shape):
            problems.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the "
                            f"shape in current model is {own[key][2].shape}.")
    return problems


def load_entry(module, name, own, value, assign):
    """Load `value` into the entry `name` of a module: copy it into the tensor `own`, or assign it."""
    if name == EXTRA:
        module.set_extra_state(value)
    elif not assign and not is_lazy(own):
        if own.is_meta and not value.is_meta:
            warnings.warn(f"for {name}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                          "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to "
                          "their corresponding key in the module instead of copying them in place?)", UserWarning, stacklevel=2)
        with no_grad():
            own.copy_(value)
    elif is_lazy(value):        # two without values: nothing to copy
        pass
    elif name in module._parameters:
        module._parameters[name] = value if isinstance(value, Parameter) else Parameter(value, own.requires_grad)
    else:
        module._buffers[name] = value
