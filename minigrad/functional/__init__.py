"""Functions of the root that few programs use. They are imported when you ask for them, as ``mg.sin_`` or ``mg.hann_window``.

    _estimates.py   gradient, svd_lowrank, pca_lowrank
    _inplace.py     sin_(x), relu_(x) ...: the in-place methods as functions
    _layers.py      dropout, layer_norm, embedding ...: the arguments in the order that torch._C has, not that of nn.functional
    _numbers.py     range, asarray, unravel_index, windows, bits ...
    _lu.py          lu, lu_solve, lu_unpack
    _settings.py    typename, threads, the default device ...

Mirrors ``torch/functional.py`` and the functions of ``torch._C._VariableFunctions``.
"""

import sys as _sys

from minigrad.functional._estimates import *
from minigrad.functional._estimates import __all__ as _estimates
from minigrad.functional._fake_quantize import *
from minigrad.functional._fake_quantize import __all__ as _fake_quantize
from minigrad.functional._inplace import *
from minigrad.functional._inplace import __all__ as _inplace
from minigrad.functional._layers import *
from minigrad.functional._layers import __all__ as _layers
from minigrad.functional._lu import *
from minigrad.functional._lu import __all__ as _lu
from minigrad.functional._numbers import *
from minigrad.functional._numbers import __all__ as _numbers
from minigrad.functional._settings import *
from minigrad.functional._settings import __all__ as _settings
from minigrad.functional._settings import _assert

__all__ = [*_estimates, *_fake_quantize, *_inplace, *_layers, *_lu, *_numbers, *_settings]    # pyright: ignore[reportUnsupportedDunderAll]

# What PyTorch's module of this name has, too: programs write ``from torch.functional import Tensor, einsum``.
_of_the_root = {"Tensor", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
                "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "meshgrid", "norm", "pca_lowrank", "split", "stft",
                "svd_lowrank", "tensordot", "unique", "unique_consecutive"}


def __getattr__(name):
    """The functions that `minigrad` has from other modules."""
    minigrad = _sys.modules["minigrad"]
    if name == "F":
        return minigrad.nn.functional
    if name in _of_the_root and hasattr(minigrad, name):
        return getattr(minigrad, name)
    raise AttributeError(f"module 'minigrad.functional' has no attribute {name!r}")
