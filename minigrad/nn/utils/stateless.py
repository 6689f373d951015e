"""The older place of ``func.functional_call``. Mirrors ``torch/nn/utils/stateless.py``."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from minigrad.nn.modules.module import Module

__all__ = ["functional_call"]


def functional_call(module: Module, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None,
                    *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Deprecated: use ``minigrad.func.functional_call``, which has the same arguments.

    Args:
        module (Module): the module to call.
        parameters_and_buffers (dict): name -> tensor, instead of the tensors of the module.
        args (tuple or any): the arguments of the module: a tuple, or a single argument.
        kwargs (dict, optional): the keyword arguments of the module.
        tie_weights (bool): if the module has a tensor under two names, replace it under both.
        strict (bool): require that the names are exactly the names of the module.

    Mirrors ``torch.nn.utils.stateless.functional_call``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     nn.utils.stateless.functional_call(nn.Linear(1, 1), {"weight": mg.ones(1, 1), "bias": mg.ones(1)}, mg.ones(1))
    tensor([2.])
    """
    warnings.warn("`minigrad.nn.utils.stateless.functional_call` is deprecated and will be removed in a future version. Please use "
                  "`minigrad.func.functional_call` instead which is a drop-in replacement.", FutureWarning, stacklevel=2)
    func = importlib.import_module("minigrad.func")     # a layer above nn, which no file here imports
    return func.functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
