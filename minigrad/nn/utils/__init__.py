"""Helpers for training: gradient clipping, parameters as a vector, padded sequences. Mirrors ``torch.nn.utils``.

``LATE`` has the names that few programs use. Their modules are imported with the first use of a name.
"""

import sys
import types

from minigrad._lazy import lazy as _lazy
from minigrad.nn.utils import rnn as rnn
from minigrad.nn.utils.clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from minigrad.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
           "parameters_to_vector", "vector_to_parameters"]

# Module -> its public names here.
LATE = {
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",), "parametrizations": (), "parametrize": (), "prune": (),
    "spectral_norm": ("remove_spectral_norm", "spectral_norm"), "stateless": (),
    "weight_norm": ("remove_weight_norm", "weight_norm"),
}
_HOMES = {name: module for module, names in LATE.items() for name in names}
__all__ += list(_HOMES)


__getattr__, __dir__ = _lazy(__name__, LATE, {module: " ".join(names) for module, names in LATE.items()})


class _Package(types.ModuleType):
    """This package. The names of two functions are those of their modules too, and here they mean the functions."""

    def __setattr__(self, name, value):
        if name not in _HOMES or not isinstance(value, types.ModuleType):       # an import would set the module
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
