"""The representation of floating point numbers: nextafter and frexp; and histograms.

Mirrors ``aten/src/ATen/native/{UnaryOps,BinaryOps,Histogram}.cpp``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError
from minigrad.ops.base.arguments import flag, integer, real, tensor_argument, wrong_type
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import FLOAT64, Elementwise, Op, op
from minigrad.ops.elementwise.gamma_zeta import two_floats
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.indexing import scatter_add
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import reshape
from minigrad.ops.sort.searching import searchsorted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor


__all__ = ["frexp", "histogram", "nextafter"]

frexp_result = namedtuple("frexp", ("mantissa", "exponent"))
histogram_result = namedtuple("histogram", ("hist", "bin_edges"))


@op("nextafter")
class Nextafter(Elementwise):
    """z = the number next to x in the direction of y"""

    kernel = "nextafter"
    params = ("x", "y")

    def vjp_x(g, x, y):
        return where(x == y, 0.0, g)

    def vjp_y(g):           # y is only the direction: its gradient is 0, as in PyTorch
        return g.new_zeros(g.shape)


@op("frexp")
class Frexp(Op):
    """x = mantissa · 2^exponent"""

    inputs = 1
    outputs = ("mantissa", "exponent")

    def forward(k, x):
        return k.frexp(x)

    def vjp(g, needs, exponent):
        return (scale_down(g[0], exponent),)

    def jvp(ts, exponent):
        return (scale_down(ts[0], exponent), None)


def scale_down(g, exponent):
    """g / 2^exponent, in two steps: the power may overflow where the result does not."""
    half = exponent // 2
    return g * (-half).to(g.dtype).exp2() * (half - exponent).to(g.dtype).exp2()


@op("histogram", "NotImplemented")
class Histogram(Op):
    """(hist, bin_edges), computed from x without a history: this op puts them into the graph"""

    inputs = 1
    outputs = ("hist", "bin_edges")
    no_derivative = "aten::histogram"

    def forward(k, x, hist, edges):
        return k.copy(hist), k.copy(edges)


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def nextafter(input: Tensor, other: Tensor):
    """The next number of the dtype after `input` in the direction of `other`, elementwise. Mirrors ``torch.nextafter``.

    Args:
        input, other (Tensor): the shapes broadcast, and the dtypes promote to a floating point one.

    Raises:
        NotImplementedError: no dtype is floating point.

    >>> mg.tensor([1.]).nextafter(mg.tensor([2.])) - 1
    tensor([1.1921e-07])
    """
    return Nextafter.op, two_floats("nextafter", input, other)


def frexp(input: Tensor, *, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(mantissa, exponent): input = mantissa · 2^exponent, with 0.5 <= |mantissa| < 1. Mirrors ``torch.frexp``.

    The exponent is int32. Both are 0 for 0. For inf and nan the exponent is 0, and the mantissa is inf or nan.

    Raises:
        RuntimeError: `input` is not floating point.

    >>> mg.frexp(mg.tensor([6., 0.]))
    frexp(mantissa=tensor([0.7500, 0.0000]), exponent=tensor([3, 0], dtype=minigrad.int32))
    """
    if out is not None:
        return into(out, frexp, input)
    if not tensor_argument("frexp", input).dtype.is_floating_point:
        raise DtypeError("MG-E203", "torch.frexp() only supports floating-point dtypes", found=input.dtype.name)
    return frexp_result(*call(Frexp.op, (input,)))


def histogram(input: Tensor, bins: int | Tensor = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
              density: bool = False, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(hist, bin_edges): how many elements each bin contains, and the edges of the bins. Mirrors ``torch.histogram``.

    Args:
        input (Tensor): floating point, of any shape.
        bins (int or Tensor): the number of bins of equal width; or their edges, an increasing vector of the dtype of `input`.
            A bin contains its left edge; the last bin also contains its right edge.
        range (tuple of float, optional): the first and the last edge, if `bins` is an int; by default the smallest and
            the largest element.
        weight (Tensor, optional): how much each element counts; of the shape and dtype of `input`.
        density (bool): divide by the sum and by the widths, so that the area is 1.

    Elements outside the bins are not counted. A backward through the results raises `NotImplementedError`.

    Raises:
        RuntimeError: `bins` is not positive, the range is not finite or decreases, or `bins` or `weight` does not fit `input`.
        NotImplementedError: `input` is not floating point.

    >>> mg.histogram(mg.tensor([1., 2., 1.]), bins=2, range=(0., 3.))
    histogram(hist=tensor([2., 1.]), bin_edges=tensor([0.0000, 1.5000, 3.0000]))
    """
    if out is not None:
        return into(out, histogram, input, bins, range=range, weight=weight, density=density)
    if not tensor_argument("histogram", input).dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"histogramdd" not implemented for \'{input.dtype.name}\'')
    flag(density, "density", "histogram")
    x = reshape(input.detach(), (-1,))
    counted = x.new_ones(x.shape) if weight is None else weights_of(input, weight)
    edges = make_bin_edges(x, bins, range)
    n = edges.numel() - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    place = searchsorted(edges, x.contiguous(), right=True) - 1
    place = where(x == edges[-1], n - 1, place).clamp(0, n - 1)
    hist = scatter_add(edges.new_zeros((n,), dtype=FLOAT64), 0, place, where(inside, cast(counted, FLOAT64), 0.0))
    if density:
        hist = hist / hist.sum() / cast(edges[1:] - edges[:-1], FLOAT64)
    hist = cast(hist, input.dtype)
    source = input if weight is None or input.requires_grad else weight
    return histogram_result(*call(Histogram.op, (source, hist, edges)))


def weights_of(input, weight):
    """Check the weights of a histogram, and return them as a vector."""
    tensor_argument("histogram", weight, "weight", 4)
    if weight.shape != input.shape:
        raise ShapeError("MG-E204", "torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
                         "tensor excluding its innermost dimension", found=f"{list(weight.shape)} and {list(input.shape)}")
    if weight.dtype is not input.dtype:
        raise DtypeError("MG-E203", "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have "
                         f"the same dtype, but got input({input.dtype.name}), and weight({weight.dtype.name})")
    return reshape(weight.detach(), (-1,))


def make_bin_edges(x, bins, limits):
    """Check `bins` and `limits`, and return the edges of the bins of a histogram."""
    if isinstance(bins, TensorBase):
        if bins.ndim != 1:
            raise ShapeError("MG-E205", "torch.histogram(): bins tensor should have one dimension", found=f"{bins.ndim}")
        n = bins.numel() - 1
    else:
        n = integer(bins, "bins", "histogram", "int or Tensor")
    if n <= 0:
        raise ArgumentError("MG-E302", f"torch.histogram(): bins must be > 0, but got {n} for dimension 0")
    if isinstance(bins, TensorBase):
        if bins.dtype is not x.dtype:
            raise DtypeError("MG-E203", "torch.histogramdd: input tensor and bins tensors should have the same dtype",
                             found=f"{x.dtype.name} and {bins.dtype.name}")
        return bins.detach().clone()
    if limits is None:
        low, high = (x.min().item(), x.max().item()) if x.numel() else (0.0, 1.0)
    else:
        if not isinstance(limits, (tuple, list)) or len(limits) != 2:
            raise wrong_type("histogram", "range", "tuple of two floats", limits)
        low, high = [float(real(limit, "range", "histogram")) for limit in limits]
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise ArgumentError("MG-E302", f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise ArgumentError("MG-E302", f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
                            "dimension 0")
    if low == high:
        low, high = low - 0.5, high + 0.5
    steps = x.new_ones((n + 1,), dtype=FLOAT64).cumsum(0) - 1
    return cast(where(steps * 2 < n, low + steps * ((high - low) / n), high - (n - steps) * ((high - low) / n)), x.dtype)
