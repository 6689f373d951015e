"""Lazy modules: layers that take their number of inputs from the first input.

    LazyLinear(3)                       weight: <UninitializedParameter>
    the first call, with (5, 2)         a forward pre-hook calls initialize_parameters(input): weight is (3, 2)
                                        the hook removes itself, and the module becomes a Linear
    or load_state_dict before           a load pre-hook gives each parameter the shape that it has in the state dict

Mirrors ``torch/nn/modules/lazy.py``. Read next: ``_lazy_linear.py``, and ``nn/parameter.py`` for the parameters.
"""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false
# (the module beside the mixin has the rest)
from typing import TYPE_CHECKING

from minigrad.autograd.grad_mode import no_grad
from minigrad.nn.parameter import is_lazy

if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a subclass of `Module` lazy: it stands before the module in the list of bases.

    The subclass creates `UninitializedParameter` and `UninitializedBuffer` objects. It defines ``initialize_parameters(input)``,
    which gives them their shapes. If it has a class attribute ``cls_to_become``, the module gets this class at the first call.

    Mirrors ``torch.nn.modules.lazy.LazyModuleMixin``.

    >>> from minigrad.nn.modules.lazy import LazyModuleMixin
    >>> class Scale(LazyModuleMixin, nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.UninitializedParameter()
    ...     def initialize_parameters(self, input):
    ...         if self.has_uninitialized_params():
    ...             self.factor.materialize(input.shape[-1:])
    ...             nn.init.ones_(self.factor)
    ...     def forward(self, input):
    ...         return self.factor * input
    >>> Scale()(mg.tensor([2., 3.])).tolist()
    [2.0, 3.0]
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and initial values. Each subclass defines its own.

        Args:
            args, kwargs: those of the first call of the module.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module has no shape yet.

        >>> nn.LazyLinear(2).has_uninitialized_params()
        True
        """
        return any(is_lazy(value) for value in (*self._parameters.values(), *self._buffers.values()))

    def _lazy_load_hook(self, state_dict, prefix, *_):
        """Give each uninitialized parameter the shape of the tensor that it is about to load."""
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(value) and loaded is not None and not is_lazy(loaded):
                with no_grad():
                    value.materialize(loaded.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        """The forward pre-hook of the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized: its initialize_parameters must call "
                               "materialize on each uninitialized parameter and buffer")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
