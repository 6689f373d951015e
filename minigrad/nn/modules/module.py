"""The base class of all layers and models.

A module is a tree of parameters, buffers and modules: how it is kept and walked over stands in ``_tree.py``, calling it and
hooks around that in ``_hooks.py``, saving and loading its state in ``_state.py``. Here is the rest: modes, conversions, looks.

Mirrors ``torch/nn/modules/module.py``.
"""

from minigrad._core.graph.metadata import Device, DType
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty_like
from minigrad.nn.modules._hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from minigrad.nn.modules._state import Stateful
from minigrad.tensor import Tensor

__all__ = ["Module", "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook"]


try:
    from minigrad.nn.modules._quick import quicken  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError:     # interpreted: there is no quicker way
    def quicken(cls):
        """Do nothing."""


class Module(Stateful):
    """Base class of layers and models. Mirrors ``torch.nn.Module``.

    A subclass assigns parameters and further modules in ``__init__``, after ``super().__init__()``, and computes in
    ``forward``; calling the module runs that, with the hooks around it.

    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return 2 * self.linear(x)
    >>> model = Twice()
    >>> [name for name, p in model.named_parameters()]
    ['linear.weight', 'linear.bias']
    """

    training = True

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        quicken(cls)

    def __init__(self):
        super().__init__()
        self.training = True

    # ---- modes and conversions ------------------------------------------------------------------------------

    def train(self, mode=True):
        """Set training mode (which `Dropout` heeds) on this module and all below. Returns this module.

        Raises:
            ValueError: `mode` is no bool.

        >>> nn.Dropout().eval().train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """``train(False)``

        >>> nn.Dropout().eval().training
        False
        """
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` of all parameters. Returns this module.

        >>> any(p.requires_grad for p in nn.Linear(2, 1).requires_grad_(False).parameters())
        False
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters, to None or to zeros.

        >>> m = nn.Linear(2, 1)
        >>> m(mg.ones(2)).sum().backward()
        >>> m.zero_grad()
        >>> m.bias.grad is None
        True
        """
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    param.grad.detach_()
                    param.grad.zero_()

    def _convert(self, fn, recurse=True):
        """Replace the numbers of every parameter, gradient and buffer by ``fn`` of them."""
        for module in self.modules() if recurse else [self]:
            for param in module._parameters.values():
                if param is not None:
                    with no_grad():
                        param.data = fn(param.data)
                        if param.grad is not None:
                            grad = fn(param.grad)
                            param.grad = None
                            param.grad = grad
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Convert floating point parameters and buffers to a dtype, or move all to a device. Returns this module.

        >>> nn.Linear(2, 1).to(mg.float64).weight.dtype
        minigrad.float64
        """
        for value in (*args, *kwargs.values()):
            if isinstance(value, DType) and not value.differentiable:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={value}")

        given = (*args, kwargs.get("device"))
        device = next((a.device if isinstance(a, Tensor) else a for a in given if isinstance(a, (str, Device, Tensor))), None)

        def convert(t):
            return t.to(*args, **kwargs) if t.is_floating_point() or t.is_complex() else t.to(device=device)
        return self._convert(convert)

    def type(self, dst_type):
        """Every parameter and buffer in a dtype.

        Raises:
            RuntimeError: there is a parameter that requires a gradient, and `dst_type` can have none.

        >>> nn.Linear(2, 1).type(mg.float64).weight.dtype
        minigrad.float64
        """
        return self._convert(lambda t: t.type(dst_type))

    def to_empty(self, *, device, recurse=True):
        """Give every parameter and buffer new memory, which holds no particular numbers.

        Args:
            device: where.
            recurse (bool): modules below too.

        >>> nn.Linear(2, 1).to_empty(device="cpu").weight.shape
        minigrad.Size([1, 2])
        """
        return self._convert(lambda t: empty_like(t, device=device), recurse)

    def float(self):
        """Floating point parameters and buffers as float32.

        >>> nn.Linear(2, 1, dtype=mg.float64).float().weight.dtype
        minigrad.float32
        """
        return self._convert(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Floating point parameters and buffers as float64.

        >>> nn.Linear(2, 1).double().weight.dtype
        minigrad.float64
        """
        return self._convert(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Floating point parameters and buffers as float16.

        >>> nn.Linear(2, 1).half().weight.dtype
        minigrad.float16
        """
        return self._convert(lambda t: t.half() if t.is_floating_point() else t)

    def cuda(self, device=None):
        """Everything in the memory of a GPU. Returns this module.

        Args:
            device (optional): which one; the current one by default.

        Raises:
            RuntimeError: there is no GPU that minigrad can use.

        >>> layer = nn.Linear(2, 1)
        >>> layer = layer.cuda() if mg.cuda.is_available() else layer
        """
        return self._convert(lambda t: t.cuda(device))

    def cpu(self):
        """Everything in the memory of the CPU. Returns this module.

        >>> nn.Linear(2, 1).cpu()
        Linear(in_features=2, out_features=1, bias=True)
        """
        return self._convert(lambda t: t.cpu())

    # ---- looks ------------------------------------------------------------------------------------------------

    def extra_repr(self):
        """What a subclass wants to show of itself between the brackets."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) < 2 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def _get_name(self):
        return type(self).__name__
