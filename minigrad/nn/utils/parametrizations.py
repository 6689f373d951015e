"""Three parametrizations: a norm of its own for each row, a largest singular value of 1, orthogonal columns.

    weight_norm(module)         W = g v / |v|               original0 is g, original1 is v
    spectral_norm(module)       W = original / σ            σ from a power iteration, one step per call in training
    orthogonal(module)          Qᵀ Q = 1

Mirrors ``torch/nn/utils/parametrizations.py``. Read next: ``parametrize.py``.
"""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false, reportOptionalMemberAccess=false
# (the results of ops have no types inside the package)
from enum import Enum, auto
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import eye, zeros_like
from minigrad.dtypes import finfo
from minigrad.errors import OutOfRangeError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn.modules.conv import _ConvTransposeNd
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.parametrize import register_parametrization
from minigrad.ops import allclose, cat, matrix_exp, mv, stack, vdot
from minigrad.ops.base.arguments import dimension, integer, real
from minigrad.ops.linalg.factorizations import linalg_qr as qr
from minigrad.ops.linalg.inverses import solve
from minigrad.random import randn
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# ---- weight norm ------------------------------------------------------------------------------------------------


def norm_except_dim(v, dim):
    """The norms of the parts of `v` along `dim`, with dimensions of size 1 for the others. For `dim` -1, the norm of all."""
    if dim == -1:
        return v.norm()
    dim = dimension(dim, v.ndim)
    shape = [1] * v.ndim
    shape[dim] = v.shape[dim]
    return v.transpose(0, dim).reshape(v.shape[dim], -1).norm(2, 1).view(shape)


class _WeightNorm(Module):
    """W = g v / |v|, with a norm for each index of `dim`, or a single one if `dim` is None."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else integer(dim, "dim", "weight_norm")

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """g is the norm of the weight, and v is the weight itself."""
        return norm_except_dim(weight, self.dim), weight


class _OldNames:
    """Renames the entries that `nn.utils.weight_norm`, the older form, has written into a state dict."""

    def __init__(self, name):
        self.name = name

    def __call__(self, state_dict, prefix, *_):
        g, v = f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{self.name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{self.name}.original1"] = state_dict.pop(v)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as g v / |v|: the direction v and the norm g are parameters of their own.

    Args:
        module (Module): a layer.
        name (str): the name of its weight.
        dim (int, optional): there is a norm for each index of this dimension. None: a single norm.

    Returns:
        The module. Its parameters are ``parametrizations.weight.original0`` (g) and ``original1`` (v).

    Raises:
        ValueError: there is no such weight.
        IndexError: it has no dimension `dim`.

    Salimans and Kingma, "Weight normalization", 2016. Mirrors ``torch.nn.utils.parametrizations.weight_norm``.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters() if "weight" in name]
    [('parametrizations.weight.original0', (2, 1)), ('parametrizations.weight.original1', (2, 3))]
    """
    tensor_of(module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldNames(name))
    return module


# ---- spectral norm ----------------------------------------------------------------------------------------------


class _SpectralNorm(Module):
    """W / σ, where σ = uᵀ W v and u, v are buffers that a power iteration improves at each call in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        n_power_iterations = integer(n_power_iterations, "n_power_iterations", "spectral_norm")
        dim, eps = integer(dim, "dim", "spectral_norm"), real(eps, "eps", "spectral_norm")
        if not -weight.ndim <= dim < weight.ndim:
            raise OutOfRangeError("MG-E367", "Dimension out of range", expected=f"in the range [-{weight.ndim}, {weight.ndim - 1}]",
                                  found=f"dim={dim}")
        if n_power_iterations <= 0:
            raise TensorValueError("MG-E367", "Expected n_power_iterations to be positive, but got "
                                   f"n_power_iterations={n_power_iterations}")
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight):
        """The weight with `dim` first and all other dimensions in one."""
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix, steps):
        for _ in range(steps):
            self._u.copy_(F.normalize(mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(mv(matrix.T.conj(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # copies, because the next call overwrites the buffers before the backward
        return weight / vdot(self._u.clone(), mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: we assume that it has been normalized."""
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide a weight by its largest singular value.

    Args:
        module (Module): a layer.
        name (str): the name of its weight. Dimensions beyond the second are joined with it.
        n_power_iterations (int): the steps of the power iteration at each call in training.
        eps (float): for divisions by a norm.
        dim (int, optional): the dimension of the outputs: 0, or 1 for a transposed convolution.

    Returns:
        The module.

    Miyato et al., "Spectral normalization for generative adversarial networks", 2018.
    Mirrors ``torch.nn.utils.parametrizations.spectral_norm``.

    Raises:
        ValueError: there is no such weight, or `n_power_iterations` is not positive.
        IndexError: `dim` is out of range.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=50)
    >>> round(mg.linalg.matrix_norm(layer.weight, 2).item(), 3)
    1.0
    """
    weight = tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def tensor_of(module, name) -> Any:
    """Return the tensor of a module with a name; raise if there is none."""
    instance(module, Module, "module", "a parametrization")
    weight = getattr(module, instance(name, str, "name", "a parametrization"), None)
    if not isinstance(weight, Tensor):
        raise TensorValueError("MG-E367", f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---- orthogonal -------------------------------------------------------------------------------------------------


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """A matrix Q with Qᵀ Q = 1, from the entries below the diagonal of X. A wide matrix is the transpose of a tall one.

        matrix_exp      Q = exp(A)                          A = tril(X) - tril(X)ᵀ
        cayley          Q = (1 - A/2)⁻¹ (1 + A/2)
        householder     Q = H1 H2 ... with the reflections of the columns of tril(X, -1)

    With a `base`, the matrix is base · Q. So X = 0 gives the base, and the training starts from the given weight.
    """

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise TensorValueError("MG-E367", "The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        n, k = x.shape[-2:]
        if self.orthogonal_map is _OrthMaps.householder:
            low = x.tril(-1)
            q = householder_product(low, 2.0 / (1.0 + (low * low).sum(-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).detach().trunc().unsqueeze(-2)      # 1 or -1, and not trained
        else:
            low = x.tril()
            if n != k:
                low = cat([low, low.new_zeros(*low.shape[:-2], n, n - k)], -1)
            a = low - low.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = matrix_exp(a)
            else:
                one = eye(n, dtype=a.dtype, device=a.device)
                q = solve(one - 0.5 * a, one + 0.5 * a)
            q = q[..., :k] if n != k else q
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return an X that gives `Q`, made orthogonal if it is not. With a base, set the base.

        Raises:
            ValueError: the shape differs.
            NotImplementedError: there is no base, and the map is not ``"householder"``.
        """
        if Q.shape != self.shape:
            raise TensorValueError("MG-E367", f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                                   f"shape {Q.shape}.")
        wide = Q.shape[-2] < Q.shape[-1]
        q = Q.mT if wide else Q
        n, k = q.shape[-2:]
        if "base" not in self._buffers:
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                          "when use_trivialization=False.")
            x = householder_vectors(q)
            return x.mT if wide else x
        if n == k:
            self.base = q.clone() if is_orthogonal(q) else make_orthogonal(q)
        else:       # further columns, so that all of the exponential can act
            noise = randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = make_orthogonal(cat([q, noise], -1))
        x = zeros_like(Q)
        x.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return x


def householder_product(v, tau):
    """The first k columns of (1 - τ₁ v₁ v₁ᵀ) (1 - τ₂ v₂ v₂ᵀ) ..., where vᵢ has 1 at i, `v` below it, and 0 above."""
    n, k = v.shape[-2:]
    one = eye(n, k, dtype=v.dtype, device=v.device)
    v = v.tril(-1) + one
    q = one.expand(*v.shape[:-2], n, k)
    for i in reversed(range(k)):
        column = v[..., i:i + 1]
        q = q - tau[..., i:i + 1].unsqueeze(-1) * column @ (column.mT @ q)
    return q


def householder_vectors(q):
    """The matrix X whose reflections and signs give `q`, made orthogonal: the inverse of the householder map."""
    n, k = q.shape[-2:]
    rest, columns = q.clone(), []
    for i in range(k):
        above, x = rest[..., :i, i], rest[..., i:, i]       # above: the entries of R, which the map does not read
        norm = x.norm(2, -1, keepdim=True)
        if n - i > 1:
            head = x[..., :1]
            beta = -norm * (head.sign() + (head == 0).to(q.dtype))
            flat = (x[..., 1:] == 0).all(-1, keepdim=True)      # nothing to reflect, as LAPACK decides
            tail = (x[..., 1:] / (head - beta)).masked_fill(flat, 0.0)
            beta = head.where(flat, beta)
        else:
            tail, beta, flat = x[..., 1:], x[..., :1], (x[..., :1] == x[..., :1])
        v = cat([x.new_zeros(*x.shape[:-1], i), x.new_ones(*x.shape[:-1], 1), tail], -1).unsqueeze(-1)
        tau = (2.0 / (v * v).sum((-2, -1), keepdim=True)).masked_fill(flat.unsqueeze(-1), 0.0)
        rest = rest - tau * v @ (v.mT @ rest)
        sign = beta.sign().masked_fill(flat, 0.0) - beta.sign().masked_fill(~flat, 0.0)
        columns.append(cat([above, sign, tail], -1))
    return stack(columns, -1)


def is_orthogonal(q):
    """Whether Qᴴ Q is 1, as closely as the dtype can tell."""
    one = eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return allclose(q.mH @ q, one, atol=10.0 * q.shape[-2] * finfo(q.dtype).eps)


def make_orthogonal(a):
    """The factor Q of a = QR in which R has no negative number on its diagonal."""
    q, r = qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Keep the columns of a weight orthonormal, or its rows if it is wide.

    Args:
        module (Module): a layer.
        name (str): the name of its weight, a matrix or a batch of matrices.
        orthogonal_map (str, optional): ``"matrix_exp"`` (the default for square matrices), ``"cayley"`` or ``"householder"`` (the
            default for others).
        use_trivialization (bool): multiply by a base, so that the training starts from the weight, made orthogonal.

    Returns:
        The module.

    Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.
    Mirrors ``torch.nn.utils.parametrizations.orthogonal``.

    Raises:
        ValueError: there is no such weight, it has fewer than two dimensions, or the map is unknown.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 2))
    >>> mg.allclose(layer.weight @ layer.weight.T, mg.eye(2), atol=1e-5)
    True
    """
    weight = tensor_of(module, name)
    if weight.ndim < 2:
        raise TensorValueError("MG-E367", f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if not isinstance(orthogonal_map, str) or orthogonal_map not in _OrthMaps.__members__:
        raise TensorValueError("MG-E367", 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                               f"Got: {orthogonal_map}")
    chosen = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return register_parametrization(module, name, chosen, unsafe=True)
