"""The older form of spectral norm: a forward pre-hook computes the weight. Mirrors ``torch/nn/utils/spectral_norm.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import ArgumentError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn.modules.conv import _ConvTransposeNd
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, is_lazy
from minigrad.nn.utils.weight_norm import find_hook, find_parameter
from minigrad.ops import dot, mv
from minigrad.ops.base.arguments import integer, real, tensor_argument

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The forward pre-hook of `spectral_norm`: it divides the weight by an estimate of its largest singular value.

    Args:
        name, n_power_iterations, dim, eps: as in `spectral_norm`.

    Raises:
        ValueError: `n_power_iterations` is not positive.
    """

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        n_power_iterations = integer(n_power_iterations, "n_power_iterations", "spectral_norm")
        if n_power_iterations <= 0:
            raise TensorValueError("MG-E367", "Expected n_power_iterations to be positive, but got "
                                   f"n_power_iterations={n_power_iterations}")
        self.name = instance(name, str, "name", "spectral_norm")
        self.n_power_iterations = n_power_iterations
        self.dim = integer(dim, "dim", "spectral_norm")
        self.eps = real(eps, "eps", "spectral_norm")

    def reshape_weight_to_matrix(self, weight: Tensor) -> Any:
        """Return the weight with `dim` first and all other dimensions in one.

        Args:
            weight (Tensor): of one dimension or more.
        """
        if tensor_argument("spectral_norm", weight, "weight").ndim == 0:
            raise TensorValueError("MG-E367", "spectral_norm(): a weight without dimensions has no matrix")
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """Return the weight divided by its norm. The buffers u and v improve first, with `do_power_iteration`.

        Args:
            module (Module): the layer with the weight and the buffers.
            do_power_iteration (bool): whether to take `n_power_iterations` steps.
        """
        instance(module, Module, "module", "compute_weight")
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(mv(matrix.T, u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()     # the next call overwrites the buffers before the backward
        return weight / dot(u, mv(matrix, v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Register the hook, the original weight and the buffers.

        Args:
            module (Module): the layer.
            name, n_power_iterations, dim, eps: as in `spectral_norm`.

        Raises:
            RuntimeError: the weight has a spectral norm.
            KeyError: there is no such weight.
            ValueError: the weight has no values yet.
        """
        if find_hook(module, SpectralNorm, name) is not None:
            raise ArgumentError("MG-E367", f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = find_parameter(module, name, "spectral_norm")
        if is_lazy(weight):
            raise TensorValueError("MG-E367", "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                                   "sure to run the dummy forward before applying spectral normalization")
        with no_grad():
            rows, columns = hook.reshape_weight_to_matrix(weight).shape
            u, v = (F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in (rows, columns))
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)      # not a parameter: the hook replaces it
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the normalized weight a parameter again.

        Args:
            module (Module): the layer.
        """
        with no_grad():
            weight = self.compute_weight(module, False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a weight by its largest singular value, before each forward. ``nn.utils.parametrizations`` has the newer form.

    Args:
        module (Module): a layer.
        name (str): the name of its weight.
        n_power_iterations (int): the steps of the power iteration before each forward in training.
        eps (float): for divisions by a norm.
        dim (int, optional): the dimension of the outputs: 0, or 1 for a transposed convolution.

    Returns:
        The module. Its parameter is ``weight_orig``, and ``weight_u`` and ``weight_v`` are buffers.

    Mirrors ``torch.nn.utils.spectral_norm``.

    Raises:
        RuntimeError: the weight has a spectral norm.
        ValueError: `n_power_iterations` is not positive.
        KeyError: there is no such weight.

    >>> layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Remove a spectral norm: the normalized weight becomes a parameter again.

    Args:
        module (Module): a layer.
        name (str): the name of its weight.

    Returns:
        The module.

    Mirrors ``torch.nn.utils.remove_spectral_norm``.

    Raises:
        ValueError: the weight has no spectral norm.

    >>> layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    >>> list(nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    number = find_hook(module, SpectralNorm, name)
    if number is None:
        raise TensorValueError("MG-E367", f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(number).remove(module)
    return module
