"""Functions of the root that few programs use. They are imported when you ask for them, as ``mg.sin_`` or ``mg.hann_window``.

    _inplace.py     sin_(x), relu_(x) ...: the in-place methods as functions
    _layers.py      dropout, layer_norm, embedding ...: the arguments in the order that torch._C has, not that of nn.functional
    _numbers.py     range, asarray, unravel_index, windows, bits ...
    _lu.py          lu, lu_solve, lu_unpack
    _settings.py    typename, threads, the default device ...

Mirrors ``torch/functional.py`` and the functions of ``torch._C._VariableFunctions``.
"""

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

__all__ = [*_inplace, *_layers, *_lu, *_numbers, *_settings]    # pyright: ignore[reportUnsupportedDunderAll]
