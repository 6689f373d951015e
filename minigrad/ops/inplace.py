"""In-place ops: ``x.add_(y)``, ``x.copy_(y)``, ``x[i] = y``.

Most are the rule of an out-of-place op whose result replaces the numbers of its first operand
(``_core/inplace.py``); the few ops that exist only in place have their rules here.

Mirrors ``tools/autograd/derivatives.yaml``, ``torch/csrc/autograd/python_variable_indexing.cpp``.
"""

import cython

from minigrad._core.given import given
from minigrad._core.inplace import write
from minigrad._core.promotion import operands_dtype
from minigrad._core.tensor import TensorBase
from minigrad.errors import ShapeError, TensorTypeError
from minigrad.ops import arithmetic, copies, functions, indexing, selection, views
from minigrad.ops.arithmetic import scaled
from minigrad.ops.base import NUMBERS, Linear, Op, View, op, tensor_argument
from minigrad.ops.selection import Clamp, ClampTensor, clamp_limits, promoted

if not cython.compiled:
    from minigrad._core.apply import call

__all__ = ["METHODS", "setitem"]


# ---- ops that exist only in place, or for the sake of those ---------------------------------------------------


@op("copy_", "CopyBackwards")
class Copy(Op):
    """z = y, in the shape and dtype of x"""

    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y):
        return k.expand(y, x.shape)

    def vjp_x(g):
        return g.new_zeros(g.shape)

    def vjp_y(g):
        return g


@op("zero_", "Zero0")
class Zero(Op):
    """z = 0"""

    inputs = 1

    def forward(k, x):
        return k.full(x.shape, 0, x.dtype)

    def vjp_x(g):
        return g.new_zeros(g.shape)


@op("fill_", "Fill2")
class Fill(Op):
    """z = a number"""

    inputs = 1

    def forward(k, x, value):
        return k.full(x.shape, value, x.dtype)

    def vjp_x(g):
        return g.new_zeros(g.shape)


@op("fill_tensor_", "Fill3")
class FillTensor(Op):
    """z = y, a 0-d tensor, everywhere"""

    torch_names = {"x": "self", "y": "value"}

    def forward(k, x, y):
        return k.expand(y, x.shape)

    def vjp_x(g):
        return g.new_zeros(g.shape)

    def vjp_y(g):
        return g.sum()


class Drawn(Op):
    """Base of the ops that replace numbers by random ones, drawn by a function of the kernels and the shape"""

    inputs = 1

    def forward(k, x, draw):
        return draw(k, x.shape, x.dtype)

    def vjp_x(g):
        return g.new_zeros(g.shape)


@op("uniform_", "Uniform0")
class Uniform(Drawn):
    """z = uniform random numbers"""


@op("normal_", "Normal0")
class Normal(Drawn):
    """z = normal random numbers"""


@op("bernoulli_", "Bernoulli0")
class Bernoulli(Drawn):
    """z = 0 or 1 at random"""


@op("as_strided")
class AsStrided(View):
    """z = a part of x, by the strides it would have in x's memory"""

    inputs = 1

    def forward(k, x, base_strides, shape, strides, offset):
        return k.as_strided(x, base_strides, shape, strides, offset)

    def vjp_x(g, x_shape, base_strides, shape, strides, offset):
        return call(AsStridedAdd.op, (g, x_shape, base_strides, shape, strides, offset))


@op("as_strided_add")
class AsStridedAdd(Linear):
    """z = zeros with x added in a part of it: the adjoint of as_strided"""

    inputs = 1

    def forward(k, x, base_shape, base_strides, shape, strides, offset):
        return k.as_strided_add(x, base_shape, base_strides, shape, strides, offset)

    def vjp_x(g, base_strides, shape, strides, offset):
        return part(g, base_strides, shape, strides, offset)


@op("as_strided_copy")
class AsStridedCopy(Linear):
    """`as_strided` of a gradient, which is nobody's view"""

    inputs = 1

    def forward(k, x, base_strides, shape, strides, offset):
        return k.copy(k.as_strided(x, base_strides, shape, strides, offset))

    def vjp_x(g, x_shape, base_strides, shape, strides, offset):
        return call(AsStridedAdd.op, (g, x_shape, base_strides, shape, strides, offset))


@op("as_strided_scatter")
class AsStridedScatter(Op):
    """z = x with y in a part of it"""

    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y, base_strides, shape, strides, offset):
        return k.as_strided_scatter(x, y, base_strides, shape, strides, offset)

    def vjp_x(g, base_strides, shape, strides, offset):
        return call(AsStridedScatter.op, (g, g.new_zeros(shape), base_strides, shape, strides, offset))

    def vjp_y(g, base_strides, shape, strides, offset):
        return part(g, base_strides, shape, strides, offset)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return indexing.linear_together(cls, args, tangents)


def part(x, base_strides, shape, strides, offset):
    """The part of `x` that a view of its shape would be."""
    return call(AsStridedCopy.op, (x, base_strides, shape, strides, offset))


given.as_strided = part
given.as_strided_scatter = lambda x, y, *geometry: call(AsStridedScatter.op, (x, y, *geometry))
given.as_strided_op = AsStrided.op
given.zeros_like = selection.zeros_like


# ---- methods ----------------------------------------------------------------------------------------------


def operand(name, other):
    """Raise unless `other` is a tensor or a number."""
    if not isinstance(other, TensorBase) and not isinstance(other, NUMBERS):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return other


def binary_method(rule, name):
    """``x.add_(y)`` and its like."""
    def method(self, other):
        return write(rule.op, self, (operand(name, other),))
    return method


def unary_method(rule):
    """``x.exp_()`` and its like."""
    def method(self):
        if rule is selection.Abs and self.dtype.is_complex:
            raise ShapeError("MG-E203", "In-place abs is not supported for complex tensors.", fix="x.abs() gives a real tensor")
        return write(rule.op, self, ())
    return method


def add_(self, other, *, alpha=1):
    """self += alpha other

    >>> mg.tensor([1., 2.]).add_(1)
    tensor([2., 3.])
    """
    other = operand("add_", other)
    return write(arithmetic.Add.op, self, (other if type(alpha) is int and alpha == 1 else scaled("add", self, other, alpha),))


def sub_(self, other, *, alpha=1):
    """self -= alpha other

    >>> mg.tensor([1., 2.]).sub_(1)
    tensor([0., 1.])
    """
    other = operand("sub_", other)
    return write(arithmetic.Sub.op, self, (other if type(alpha) is int and alpha == 1 else scaled("sub", self, other, alpha),))


def pow_(self, exponent):
    """self **= exponent

    >>> mg.tensor([1., 2.]).pow_(2)
    tensor([1., 4.])
    """
    rule = arithmetic.Pow if isinstance(exponent, TensorBase) else arithmetic.PowScalar
    if not self.dtype.differentiable and isinstance(exponent, (TensorBase, int)):
        if operands_dtype((self, exponent)).category <= self.dtype.category:
            return copy_(self, arithmetic.pow(self, exponent))
    return write(rule.op, self, (operand("pow_", exponent),))


def clamp_(self, min=None, max=None):
    """Limit self to [min, max].

    >>> mg.tensor([-1., 2.]).clamp_(0, 1)
    tensor([0., 1.])
    """
    if operands_dtype((self, *clamp_limits("clamp_", min, max))).is_complex:
        raise ShapeError("MG-E203", "clamp is not supported for complex types")
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        return write(ClampTensor.op, self, tuple([None if limit is None else promoted("clamp_", self, self, limit)[1]
                                                  for limit in (min, max)]))
    return write(Clamp.op, self, (min, max))


def copy_(self, src, non_blocking=False):
    """Copy the numbers of `src`, which broadcasts and is converted, into self. Mirrors ``torch.Tensor.copy_``.

    Raises:
        RuntimeError: `src` does not broadcast to self, or self may not be written to.

    >>> mg.zeros(2).copy_(mg.tensor([1., 2.]))
    tensor([1., 2.])
    """
    if isinstance(src, NUMBERS):
        src = self.new_tensor(src, dtype=None)
    tensor_argument("copy_", src, "other", 1)
    if not broadcasts_to(src._meta.shape, self._meta.shape):
        views.expand(src, *self._meta.shape)        # says what is wrong
    return write(Copy.op, self, (src,))


def broadcasts_to(small, large):
    """Whether a tensor of shape `small` broadcasts to `large`."""
    return len(small) <= len(large) and all(a in (1, b) for a, b in zip(small[::-1], large[::-1]))


def zero_(self):
    """Set every element to 0. Mirrors ``torch.Tensor.zero_``.

    >>> mg.ones(2).zero_()
    tensor([0., 0.])
    """
    return write(Zero.op, self, ())


def fill_(self, value):
    """Set every element to `value`, a number or a 0-d tensor. Mirrors ``torch.Tensor.fill_``.

    Raises:
        RuntimeError: `value` is a tensor with dimensions.

    >>> mg.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    if not isinstance(value, TensorBase):
        check_number(self, value)
        return write(Fill.op, self, (operand("fill_", value),))
    if value.ndim > 0:
        raise ShapeError("MG-E204", f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return write(FillTensor.op, self, (value,))


def check_number(x, value):
    """Raise for a complex number where `x` holds real ones."""
    if isinstance(value, complex) and not x.dtype.is_complex and x.dtype.name != "bool":
        raise ShapeError("MG-E203", f"value cannot be converted to type {x.dtype.name} without overflow", found=str(value))


def setitem(x, index, value):
    """``x[index] = value``, of which PyTorch takes tensors and numbers alone, we lists and arrays too."""
    if isinstance(value, NUMBERS):
        check_number(x, value)
    elif not isinstance(value, TensorBase):
        try:
            value = x.new_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"can't assign a {type(value).__name__} to a {x.dtype.name} tensor") from None
    view, indices = indexing.basic(x, index, reading=False)
    if indices is None:
        assign(view, value)
    else:
        put(view, indices, value)


def assign(view, value):
    """Write `value`, a number or a tensor that broadcasts, to all of `view`."""
    if not isinstance(value, TensorBase):
        value = view.new_tensor(value)
    if value.ndim == 0 and view.ndim > 0:
        fill_(view, value)
    elif value.shape == view.shape:
        copy_(view, value)
    else:
        value = views.view(value, leading_ones_off(value))
        copy_(view, value if value.shape == view.shape else views.expand(value, *view.shape))


def leading_ones_off(value):
    """The shape of `value` without dimensions of size 1 in front."""
    shape = tuple(value._meta.shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def dtypes_differ(target, value):
    """The error for numbers of another dtype, which an advanced index does not convert."""
    return ShapeError("MG-E203", f"Index put requires the source and destination dtypes match, got {target.dtype.name} for the "
                      f"destination and {value.dtype.name} for the source.", fix="value.to(x.dtype)")


def put(view, indices, value):
    """Write `value` to the elements that advanced `indices` name."""
    if not isinstance(value, TensorBase):
        value = view.new_tensor(value)
    if value.dtype is not view.dtype:
        if value.numel() != 1:
            raise dtypes_differ(view, value)
        value = copies.cast(value, view.dtype)
    shape = leading_ones_off(value)
    if shape != tuple(value._meta.shape):
        value = views.view(value, shape)
    target = indexing.result_shape(view, indices)
    if not broadcasts_to(value._meta.shape, target):
        raise ShapeError("MG-E204", f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing "
                         f"result of shape {list(target)}")
    write(indexing.IndexPut.op, view, (value, indices, False))


def put_(self, indices, values, accumulate=False):
    """``self[indices] = values``, or ``+=`` with repeats. Mirrors ``torch.Tensor.index_put_``.

    Args:
        indices (tuple of Tensor): one per dimension, or fewer.
        values (Tensor): broadcasts to the shape that they index.
        accumulate (bool): add instead.

    Raises:
        IndexError: an index is out of range.
        RuntimeError: the shapes or dtypes do not fit, or self may not be written to.

    >>> mg.zeros(3).index_put_((mg.tensor([0, 0]),), mg.tensor([1., 2.]), accumulate=True)
    tensor([3., 0., 0.])
    """
    view, found = indexing.basic(self, tuple([slice(None) if i is None else i for i in indices]), reading=False)
    if found is None:
        raise TensorTypeError("MG-E304", "index_put_(): indices must be tensors")
    if values.dtype is not self.dtype:
        raise dtypes_differ(self, values)
    target = indexing.result_shape(view, found)
    if not broadcasts_to(values._meta.shape, target):
        raise ShapeError("MG-E204", f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
                         f"result of shape {list(target)}")
    return write(indexing.IndexPut.op, self, (values, found, accumulate))


def square_(self):
    """self **= 2

    >>> mg.tensor([1., -3.]).square_()
    tensor([1., 9.])
    """
    return pow_(self, 2)


def scatter_add_(self, dim, index, src):
    """Add `src` at the places `index` names along `dim`; repeats add up. Mirrors ``torch.Tensor.scatter_add_``.

    Raises:
        RuntimeError: the shapes do not fit, or self may not be written to.
        IndexError: an index or `dim` is out of range.

    >>> mg.zeros(3).scatter_add_(0, mg.tensor([0, 2, 0]), mg.tensor([1., 2., 3.]))
    tensor([4., 0., 2.])
    """
    others = indexing.scatter_add_operands("scatter_add_", self, dim, index, src)
    write(indexing.ScatterAdd.op, self if self.ndim else views.view(self, (1,)), others)
    return self


def index_add_(self, dim, index, source, *, alpha=1):
    """Add alpha times the slices of `source` at `index` along `dim`. Mirrors ``torch.Tensor.index_add_``.

    Raises:
        RuntimeError: the shapes do not fit, or self may not be written to.
        IndexError: an index or `dim` is out of range.

    >>> mg.zeros(3).index_add_(0, mg.tensor([0, 0]), mg.tensor([1., 2.]))
    tensor([3., 0., 0.])
    """
    return write(indexing.IndexAdd.op, self, indexing.index_add_operands("index_add_", self, dim, index, source, alpha))


METHODS = {
    "square_": square_, "scatter_add_": scatter_add_, "index_add_": index_add_,
    "add_": add_, "sub_": sub_, "pow_": pow_, "clamp_": clamp_, "copy_": copy_, "zero_": zero_, "fill_": fill_,
    "index_put_": put_,
    "mul_": binary_method(arithmetic.Mul, "mul_"), "div_": binary_method(arithmetic.Div, "div_"),
    **{name + "_": unary_method(rule) for name, rule in [
        ("neg", arithmetic.Neg), ("exp", functions.Exp), ("log", functions.Log), ("log1p", functions.Log1p),
        ("sqrt", functions.Sqrt), ("rsqrt", functions.Rsqrt), ("reciprocal", functions.Reciprocal),
        ("abs", selection.Abs), ("sign", selection.Sign), ("sin", functions.Sin), ("cos", functions.Cos),
        ("tanh", functions.Tanh), ("sigmoid", functions.Sigmoid), ("relu", functions.Relu)]},
}
for _method in [n for n in METHODS if METHODS[n].__name__ == "method"]:
    METHODS[_method].__name__ = METHODS[_method].__qualname__ = _method
    _other = "2" if _method in ("mul_", "div_") else ""
    METHODS[_method].__doc__ = (
        f"Overwrite this tensor with what `minigrad.{_method[:-1]}` makes of it. Mirrors ``torch.Tensor.{_method}``.\n\n"
        "    >>> x = mg.tensor([0.5, 2.0])\n"
        f"    >>> x.clone().{_method}({_other}).tolist() == x.{_method[:-1]}({_other}).tolist()\n    True\n    ")
METHODS |= {"subtract_": sub_, "multiply_": METHODS["mul_"], "divide_": METHODS["div_"], "true_divide_": METHODS["div_"],
            "clip_": clamp_, "absolute_": METHODS["abs_"], "negative_": METHODS["neg_"]}
METHODS |= {"__iadd__": METHODS["add_"], "__isub__": METHODS["sub_"], "__imul__": METHODS["mul_"],
            "__itruediv__": METHODS["div_"], "__ipow__": METHODS["pow_"]}
