"""Loading a state dict: all of it fits, or nothing is loaded.

Mirrors ``load_state_dict`` of ``torch/nn/modules/module.py``.
"""

from collections import namedtuple

from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import MinigradError
from minigrad.nn.parameter import Parameter
from minigrad.tensor import Tensor

IncompatibleKeys = namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))


class StateDictError(MinigradError, RuntimeError):
    """A state dict does not fit the module that loads it."""


def load(module, state_dict, strict, assign):
    """`Module.load_state_dict`"""
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    own = module.state_dict(keep_vars=True)
    missing = [key for key in own if key not in state_dict]
    unexpected = [key for key in state_dict if key not in own]
    problems = differences(own, state_dict)
    if strict and missing:
        problems.insert(0, "Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ". ")
    if strict and unexpected:
        problems.insert(0, "Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ". ")
    if problems:
        raise StateDictError("MG-E401", f"Error(s) in loading state_dict for "
                             f"{type(module).__name__}:\n\t" + "\n\t".join(problems),
                             fix="nothing has been loaded. strict=False skips missing and unexpected keys")
    for key, value in state_dict.items():
        if key in own:
            take_over(module, key, own[key], value, assign)
    return IncompatibleKeys(missing, unexpected)


def differences(own, state_dict):
    """What is wrong with the entries that the module has too."""
    problems = []
    for key, value in state_dict.items():
        if key in own and not isinstance(value, Tensor):
            problems.append(f"{key}: expected a minigrad.Tensor, but got {type(value).__name__}.")
        elif key in own and tuple(value.shape) != tuple(own[key].shape):
            problems.append(f"size mismatch for {key}: copying a param with shape {list(value.shape)} from checkpoint, the "
                            f"shape in current model is {list(own[key].shape)}.")
    return problems


def take_over(module, key, own, value, assign):
    """Take over one entry of a state dict."""
    if not assign:
        with no_grad():
            own.copy_(value)
        return
    path, _, name = key.rpartition(".")
    module = module.get_submodule(path)
    if name in module._parameters:
        module._parameters[name] = value if isinstance(value, Parameter) else Parameter(value, own.requires_grad)
    else:
        module._buffers[name] = value
