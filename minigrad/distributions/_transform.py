"""What all transforms share, and how they combine: the inverse, a chain, and a transform of events with more dimensions.

    y = t(x)        x = t.inv(y)        t.log_abs_det_jacobian(x, y) = log |dy/dx|

If x has the density p, then y has the density p(x) / |dy/dx|. So a transform needs three rules: `_call`, `_inverse`, and the
logarithm of its Jacobian determinant, one number for each event.

Mirrors the first part of ``torch/distributions/transforms.py``. Read next: ``transformed_distribution.py``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad._arguments import instance
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_instances, check_tensors
from minigrad.distributions.utils import sum_rightmost
from minigrad.errors import AutogradNotImplementedError, TensorValueError
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform"]


class Transform:
    """An invertible function with a tractable Jacobian determinant: the base class.

    Mirrors ``torch.distributions.transforms.Transform``.

    Args:
        cache_size (int): 1 to remember the latest x and y, so that ``t.inv(t(x))`` is x itself; 0 to remember nothing.

    Attributes:
        domain, codomain (Constraint): where x and y lie.
        bijective (bool): whether the inverse is exact, and `log_abs_det_jacobian` exists.

    Raises:
        ValueError: `cache_size` is neither 0 nor 1.

    >>> t = mg.distributions.ExpTransform()
    >>> x = mg.tensor([0., 2.])
    >>> t(x), t.inv(mg.tensor(1.)), t.log_abs_det_jacobian(x, t(x))
    (tensor([1.0000, 7.3891]), tensor(0.), tensor([0., 2.]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _inv: Any = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise TensorValueError("MG-E373", f"cache_size must be 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._cached_x_y = None, None

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions form an event."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise TensorValueError("MG-E373", "Please use either .domain.event_dim or .codomain.event_dim: they differ")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse transform; ``t.inv.inv is t``."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    if TYPE_CHECKING:
        sign: Any
    else:
        @property
        def sign(self):
            """1 if an elementwise transform increases, -1 if it decreases."""
            raise self._missing("sign")

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return this transform with another cache size.

        Args:
            cache_size (int): 0 or 1.
        """
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        new._inv = None
        return new

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Any:
        """Return y = t(x)."""
        old_x, old_y = self._cached_x_y
        if self._cache_size and x is old_x:
            return old_y
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        """Return x with t(x) = y."""
        old_x, old_y = self._cached_x_y
        if self._cache_size and y is old_y:
            return old_x
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = x, y
        return x

    def _call(self, x) -> Any:
        raise self._missing("_call")

    def _inverse(self, y) -> Any:
        raise self._missing("_inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Return log |det dy/dx|, one number for each event.

        Args:
            x (Tensor): the input.
            y (Tensor): the output for it, which is not computed again.

        Raises:
            NotImplementedError: the transform is not bijective.
        """
        raise self._missing("log_abs_det_jacobian")

    def _missing(self, what):
        return AutogradNotImplementedError("MG-E372", f"{type(self).__name__} does not define {what}")

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the output for an input of this shape."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the input for an output of this shape."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform, which `Transform.inv` returns."""

    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __getstate__(self):
        return self.__dict__

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Several transforms, one after the other. Mirrors ``torch.distributions.transforms.ComposeTransform``.

    The logarithms of the Jacobian determinants add up.

    Args:
        parts (list of Transform): the first one is applied first.
        cache_size (int): of the parts; 0 or 1.

    >>> d = mg.distributions
    >>> t = d.ComposeTransform([d.AffineTransform(0., 2.), d.ExpTransform()])
    >>> t(mg.tensor(1.))        # e²
    tensor(7.3891)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        check_instances(parts, Transform, "parts", "ComposeTransform")
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The domain of the first part, with as many event dimensions as the whole chain needs."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(dims + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return widen(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims = max(dims + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return widen(self.parts[-1].codomain, dims)

    @property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x, y=y)
        if not self.parts:
            return mg.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values, values[1:], strict=False):
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join([repr(part) for part in self.parts]) + "\n)"


def widen(constraint, dims):
    """The constraint with `dims` event dimensions."""
    return constraints.independent(constraint, dims - constraint.event_dim) if dims > constraint.event_dim else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose events have more dimensions: the logarithms of the determinant are summed over them.

    Mirrors ``torch.distributions.transforms.IndependentTransform``.

    Args:
        base_transform (Transform): the transform.
        reinterpreted_batch_ndims (int): how many more dimensions on the right belong to an event.

    >>> t = mg.distributions.IndependentTransform(mg.distributions.ExpTransform(), 1)
    >>> x = mg.tensor([1., 2.])
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        instance(base_transform, Transform, "base_transform", "IndependentTransform")
        self.reinterpreted_batch_ndims = integer(reinterpreted_batch_ndims, "reinterpreted_batch_ndims", "IndependentTransform")
        self.base_transform = base_transform.with_cache(cache_size)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        check_tensors("IndependentTransform", x=x)
        check_shape(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        check_tensors("IndependentTransform", y=y)
        check_shape(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


def check_shape(shape, dims):
    """Return a shape as a `Size`; raise unless it has at least `dims` dimensions."""
    shape = mg.Size(shape)
    if len(shape) < dims:
        raise TensorValueError("MG-E373", "Too few dimensions on input", expected=f"{dims} or more", found=str(len(shape)))
    return shape


class ReshapeTransform(Transform):
    """Events in another shape; the Jacobian determinant is 1. Mirrors ``torch.distributions.transforms.ReshapeTransform``.

    Args:
        in_shape (Size): the shape of an event of x.
        out_shape (Size): the shape of an event of y, with as many elements.

    Raises:
        ValueError: the numbers of elements differ.

    >>> mg.distributions.ReshapeTransform((4,), (2, 2))(mg.ones(3, 4)).shape
    minigrad.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = mg.Size(in_shape), mg.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise TensorValueError("MG-E373", "in_shape, out_shape have different numbers of elements",
                                   found=f"{tuple(self.in_shape)} and {tuple(self.out_shape)}")

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(tuple(x.shape)[:x.ndim - len(self.in_shape)] + tuple(self.out_shape))

    def _inverse(self, y):
        return y.reshape(tuple(y.shape)[:y.ndim - len(self.out_shape)] + tuple(self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        return x.new_zeros(tuple(x.shape[:x.ndim - len(self.in_shape)]))

    def forward_shape(self, shape):
        return self._change(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._change(shape, self.out_shape, self.in_shape)

    def _change(self, shape, old, new):
        """`shape` with `new` instead of `old` at its end."""
        shape = check_shape(shape, len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise TensorValueError("MG-E373", f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[cut:])}")
        return mg.Size(tuple(shape[:cut]) + tuple(new))
