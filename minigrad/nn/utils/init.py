"""Make a module without initial values. Mirrors ``torch/nn/utils/init.py``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import in_words

if TYPE_CHECKING:
    from typing import Any

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """Return a module whose parameters and buffers have new, uninitialized memory.

    Args:
        module_cls (class): a subclass of `Module` whose constructor has the argument ``device``.
        args, kwargs: the arguments of the constructor.

    Mirrors ``torch.nn.utils.skip_init``. PyTorch saves the time of drawing initial values. Here the values are drawn, and then
    replaced by uninitialized memory.

    Raises:
        RuntimeError: `module_cls` is not a subclass of `Module`, or its constructor has no argument ``device``.

    >>> nn.utils.skip_init(nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"skip_init(): argument 'module_cls' must be a subclass of Module, not {in_words(module_cls)}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device") or "cpu")
