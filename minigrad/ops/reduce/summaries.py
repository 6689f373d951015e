"""More reductions: sums without nan, both extrema. Also differences, and integrals by trapezoids.

Mirrors ``aten/src/ATen/native/{ReduceOps,Integration}.cpp``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import as_dtype, default_dtype
from minigrad.errors import DtypeError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import dimension, flag, integer, number, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Op, op
from minigrad.ops.elementwise.comparison import eq, ne
from minigrad.ops.elementwise.selection import where
from minigrad.ops.reduce.extrema import Aminmax, reduce_extremum
from minigrad.ops.reduce.reduction import SumDim, dimensions_or_all, expand_reduced
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.scan.scans import cumsum
from minigrad.ops.shape.cat_split import cat, narrow
from minigrad.ops.shape.clone_cast import cast, clone
from minigrad.ops.shape.views import as_shape, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DType, Number, Tensor

__all__ = ["aminmax", "cumulative_trapezoid", "diff", "nanmean", "nansum", "sum_to_size", "trapezoid", "trapz"]


@op("nansum")
class Nansum(Op):
    """z = Σ x over dims, without nan; converted to `dtype`, if it is given"""

    inputs = 1
    torch_names = {"x": "self", "dims": "dim"}

    def forward(k, x, dims, keepdim, dtype):
        return k.nansum(x if dtype is None else k.cast(x, dtype.numpy), dims, keepdim)

    def vjp_x(g, x, dims, keepdim):
        return where(eq(x, x), expand_reduced(cast(g, x.dtype), x.shape, dims, keepdim), 0.0)

    def jvp_x(t, x, dims, keepdim, dtype):
        t = where(eq(x, x), t, 0.0)
        return call(SumDim.op, (t if dtype is None else cast(t, dtype), dims, keepdim))


def nansum(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None,
           out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not nan, of all or along dimensions. Mirrors ``torch.nansum``.

    Args: as for `sum`.

    Raises:
        RuntimeError: the dtype is complex.
        IndexError: there is no such dimension.

    >>> mg.nansum(mg.tensor([1., float("nan"), 2.]))
    tensor(3.)
    """
    if out is not None:
        return into(out, nansum, input, dim, keepdim, dtype=dtype)
    tensor_argument("nansum", input)
    if input.dtype.is_complex:
        raise DtypeError("MG-E203", "nansum does not support complex inputs", found=input.dtype.name)
    to = None if dtype is None else as_dtype(dtype)
    if not input.dtype.is_floating_point:       # integers have no nan
        return total(input, dim, keepdim, dtype=dtype)
    if to is not None and not to.is_floating_point:
        return total(where(eq(input, input), input, 0.0), dim, keepdim, dtype=dtype)
    return call(Nansum.op, (input, dimensions_or_all(dim, input.ndim), flag(keepdim, "keepdim", "sum"), to))


def nanmean(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None,
            out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not nan, of all or along dimensions. Mirrors ``torch.nanmean``.

    Args: as for `mean`.

    It is nan where all elements are nan, or there are none.

    Raises:
        RuntimeError: `input` is not floating point.
        IndexError: there is no such dimension.

    >>> mg.nanmean(mg.tensor([1., float("nan"), 2.]))
    tensor(1.5000)
    """
    if out is not None:
        return into(out, nanmean, input, dim, keepdim, dtype=dtype)
    tensor_argument("nanmean", input)
    if not input.dtype.is_floating_point:
        raise DtypeError("MG-E203", "nanmean(): expected input to have floating point or complex dtype but got " + input.dtype.name,
                         fix="x.float()")
    if dtype is not None and not as_dtype(dtype).differentiable:
        raise DtypeError("MG-E203", "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
                         f"complex dtype. Got: {as_dtype(dtype).name}")
    return nansum(input, dim, keepdim, dtype=dtype) / total(eq(input.detach(), input.detach()), dim, keepdim)


aminmax_result = namedtuple("aminmax", ("min", "max"))


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element, of all or along a dimension: the pair (min, max). Mirrors ``torch.aminmax``.

    Args:
        input (Tensor): real numbers. Equal elements share a gradient evenly.
        dim (int, optional): the dimension that is reduced; all of them by default.
        keepdim (bool): keep the reduced dimensions, with size 1.

    Raises:
        RuntimeError: `input` is complex; or it has no elements, and `dim` is not given.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.aminmax(mg.tensor([3., 1., 2.]))
    aminmax(min=tensor(1.), max=tensor(3.))
    """
    if out is not None:
        return into(out, aminmax, input, dim=dim, keepdim=keepdim)
    dims = () if dim is None else integer(dim, "dim", "aminmax")
    return aminmax_result(*reduce_extremum("amin", Aminmax, input, dims, keepdim))


# ---- along a dimension --------------------------------------------------------------------------------------


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *,
         out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times. Mirrors ``torch.diff``.

    Args:
        input (Tensor): at least 1-d. For bools the result is whether neighbours differ.
        n (int): how often differences are taken, not negative.
        dim (int): the dimension, which becomes `n` shorter.
        prepend, append (Tensor, optional): joined to `input` along `dim` first, before it and after it.

    Raises:
        RuntimeError: `input` is 0-d, `n` is negative, or the shapes do not fit.
        IndexError: there is no such dimension.

    >>> mg.diff(mg.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if out is not None:
        return into(out, diff, input, n, dim, prepend, append)
    tensor_argument("diff", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "diff expects input to be at least one-dimensional")
    at = dimension(dim, input.ndim)
    times = integer(n, "n", "diff")
    if times < 0:
        raise ShapeError("MG-E206", f"order must be non-negative but got {times}")
    parts = [x for x in (prepend, input, append) if x is not None]
    for x in parts:
        if tensor_argument("diff", x, "prepend").ndim != input.ndim:
            raise ShapeError("MG-E204", "diff expects prepend or append to be the same dimension as input",
                             found=f"{x.ndim} and {input.ndim}")
    x = cat(parts, at) if len(parts) > 1 and times else input
    for _ in range(min(times, x.shape[at])):
        length = max(x.shape[at] - 1, 0)
        after, before = narrow(x, at, min(1, x.shape[at]), length), narrow(x, at, 0, length)
        x = ne(after, before) if x.dtype.name == "bool" else after - before
    return clone(x) if x is input else x


def strips(function, y, x, dx, dim):
    """(areas, dim): the areas of the trapezoids between neighbours along `dim`, and `dim` counted from the front."""
    tensor_argument(function, y, "y")
    at = dimension(dim, y.ndim)
    if y.dtype.name == "bool":
        raise DtypeError("MG-E203", f"{function}: received a bool input for `y`, but bool is not supported", fix="y.float()")
    if x is not None and dx is not None:
        raise TensorTypeError("MG-E206", f"{function}(): x and dx cannot both be given")
    if not y.dtype.differentiable:      # the sum of two uint8 may not fit in a uint8
        y = y.to(default_dtype())
    if y.ndim == 0:
        raise OutOfRangeError("MG-E301", f"{function}: Dimension specified as {dim} but tensor has no dimensions")
    length = max(y.shape[at] - 1, 0)
    both = narrow(y, at, min(1, y.shape[at]), length) + narrow(y, at, 0, length)
    if x is None or not y.shape[at]:
        return both * ((1 if dx is None else number(dx, "dx", function)) / 2), at
    if not isinstance(x, TensorBase):
        tensor_argument(function, x, "x", 2)
    if x.ndim == 1:
        if x.shape[0] != y.shape[at]:
            raise ShapeError("MG-E204", f"{function}: There must be one `x` value for each sample point", found=f"{x.shape[0]} and "
                             f"{y.shape[at]}")
        x = view(diff(x), [length if d == at else 1 for d in range(y.ndim)])
    else:
        x = diff(x, 1, at if x.ndim > y.ndim else at - y.ndim)
    return both * x / 2, at


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule. Mirrors ``torch.trapezoid``.

    Args:
        y (Tensor): the values; integers are converted to the default dtype.
        x (Tensor, optional): their positions; a vector, or of a shape that broadcasts with `y`.
        dx (number, optional): the distance between neighbours, if `x` is not given; 1 by default.
        dim (int): the dimension that is integrated over.

    Raises:
        RuntimeError: `y` is bool, or the shapes do not fit.
        TypeError: both `x` and `dx` are given.
        IndexError: there is no such dimension.

    >>> mg.trapezoid(mg.tensor([1., 5., 3.]), dx=2)
    tensor(14.)
    """
    areas, at = strips("trapezoid", y, x, dx, dim)
    return total(areas, at)

trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """The running integral along `dim` by the trapezoidal rule. Mirrors ``torch.cumulative_trapezoid``.

    Args: as for `trapezoid`.

    Raises:
        RuntimeError: `y` is bool, or the shapes do not fit.
        TypeError: both `x` and `dx` are given.
        IndexError: there is no such dimension.

    >>> mg.cumulative_trapezoid(mg.tensor([1., 5., 3.]))
    tensor([3., 7.])
    """
    areas, at = strips("cumulative_trapezoid", y, x, dx, dim)
    return cumsum(areas, at)


def sum_to_size(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """Sum `input` to the shape `size`: the adjoint of `expand`. Mirrors ``torch.Tensor.sum_to_size``.

    Args:
        size (int or tuple): the sizes one by one, or a tuple of them; it must broadcast to the shape of `input`.

    Raises:
        RuntimeError: `size` does not broadcast to the shape of `input`.

    >>> mg.sum_to_size(mg.ones(2, 3), 1, 3)
    tensor([[2., 2., 2.]])
    """
    shape, target = tuple(tensor_argument("sum_to_size", input).shape), as_shape(size, "sum_to_size")
    missing = len(shape) - len(target)
    if missing < 0 or any([n not in (1, m) for n, m in zip(target, shape[missing:])]):
        raise ShapeError("MG-E204", f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    if not target:
        return total(input)
    dims = [d for d in range(len(shape)) if d < missing or target[d - missing] == 1 != shape[d]]
    z = total(input, dims, True) if dims else input
    return view(z, target) if missing else z
