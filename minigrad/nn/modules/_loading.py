"""Loading a state dict: all of it fits, or nothing is loaded.

    1. pre-hooks of all modules may change a copy of the state dict
    2. every entry is looked at; what is wrong is gathered, nothing has been written
    3. the values are taken over
    4. post-hooks of all modules, innermost first, may change the lists of missing and unexpected keys

PyTorch does all four for one module after the other, so that after an error a part has been loaded. Here the error comes before
step 3; but if there are post-hooks, which may yet find the keys in order, missing and unexpected keys are judged behind them.

Mirrors ``load_state_dict`` of ``torch/nn/modules/module.py``.
"""

from collections import OrderedDict, namedtuple

from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError, MinigradError
from minigrad.nn.parameter import Parameter
from minigrad.tensor import Tensor

EXTRA = "_extra_state"      # the key of what get_extra_state returned


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """What `Module.load_state_dict` returns: two lists."""

    __slots__ = ()

    def __repr__(self):
        return "<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys else super().__repr__()

    __str__ = __repr__


class StateDictError(MinigradError, RuntimeError):
    """A state dict does not fit the module that loads it."""


def load(module, state_dict, strict, assign):
    """`Module.load_state_dict`"""
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    keys, problems = _IncompatibleKeys([], []), []
    state, modules = OrderedDict(state_dict), list(places(module))
    for prefix, each in modules:
        for hook in each._load_state_dict_pre_hooks.values():
            hook(each, state, prefix, each._local_metadata(), strict, *keys, problems)
    own = {key: place for prefix, each in modules for key, place in entries(each, prefix)}
    keys.missing_keys.extend([key for key in own if key not in state])
    keys.unexpected_keys.extend([key for key in state if key not in own])
    problems += differences(own, state)
    hooks = [(each, hook) for _, each in reversed(modules) for hook in each._load_state_dict_post_hooks.values()]
    if problems or not hooks:
        judge(module, problems, keys, strict)
    for key, place in own.items():
        if key in state:
            take_over(*place, state[key], assign)
    for each, hook in hooks:
        if hook(each, keys) is not None:
            raise AutogradAssertionError("MG-E365", "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                                         "to return new values, if incompatible_keys need to be modified, it should be done "
                                         "inplace.")
    judge(module, problems, keys, strict)
    return keys


def places(module, prefix=""):
    """Pairs (prefix of the keys, module) of this module and all below it; one that is there twice is there twice."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from places(child, f"{prefix}{name}.")


def entries(module, prefix):
    """Pairs (key, (module, name, value)) of what a state dict has of this module alone."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        if value is not None and name not in module._non_persistent_buffers_set:
            yield prefix + name, (module, name, value)
    if module._has("set_extra_state"):
        yield prefix + EXTRA, (module, EXTRA, None)


def judge(module, problems, keys, strict):
    """Raise an error that lists all that is wrong, if anything is."""
    said = list(problems)
    for listed, kind in ((keys.unexpected_keys, "Unexpected"), (keys.missing_keys, "Missing")):
        if strict and listed:
            said.insert(0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in listed) + ". ")
    if said:
        raise StateDictError("MG-E401", f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(said),
                             fix="nothing has been loaded, unless a post-hook wanted to see it. strict=False skips missing and "
                             "unexpected keys")


def differences(own, state_dict):
    """What is wrong with the entries that the module has too."""
    problems = []
    for key, value in state_dict.items():
        if key not in own or own[key][1] == EXTRA:
            continue
        if not isinstance(value, Tensor):
            problems.append(f"{key}: expected a minigrad.Tensor, but got {type(value).__name__}.")
        elif tuple(value.shape) != tuple(own[key][2].shape):
            problems.append(f"size mismatch for {key}: copying a param with shape {list(value.shape)} from checkpoint, the "
                            f"shape in current model is {list(own[key][2].shape)}.")
    return problems


def take_over(module, name, own, value, assign):
    """Take over one entry of a state dict."""
    if name == EXTRA:
        module.set_extra_state(value)
    elif not assign:
        with no_grad():
            own.copy_(value)
    elif name in module._parameters:
        module._parameters[name] = value if isinstance(value, Parameter) else Parameter(value, own.requires_grad)
    else:
        module._buffers[name] = value
