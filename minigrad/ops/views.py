"""Views: the same memory under another shape; and copies, joins and splits.

A view shares its storage and version counter with its base, so that a write to either is seen by both and
by every node that saved one of them. Their gradients are views too, or put the gradient of a part back into
zeros of the whole (`SelectBackward`, `SliceBackward`).

Mirrors ``aten/src/ATen/native/TensorShape.cpp`` and derivatives.yaml.
"""


import cython

from minigrad._core.promotion import operands_dtype
from minigrad._core.tensor import TensorBase
from minigrad._core.variable import as_class
from minigrad.errors import ArgumentError, OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base import Linear, Op, View, dimension, dimensions, integer, op, tensor_argument

if not cython.compiled:
    from minigrad._core.apply import call

__all__ = ["broadcast_to", "cat", "chunk", "clone", "concat", "contiguous",
           "expand", "flatten", "movedim", "narrow", "permute", "ravel", "reshape", "select", "split", "squeeze", "stack",
           "t", "transpose", "unbind", "unflatten", "unsqueeze", "view"]


@op("view", "View0")
class ViewOp(View):
    """z = x in another shape"""

    def forward(k, x, shape):
        z = k.view(x, shape)
        if z is None:
            raise ShapeError(
                "MG-E207", "view size is not compatible with input tensor's size and stride (at least one dimension "
                "spans across two contiguous subspaces). Use .reshape(...) instead.",
                found=f"shape {list(x.shape)}, asked for {list(shape)}", fix="x.reshape(...) copies where it must")
        return z

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("_unsafe_view", "UnsafeView0")
class UnsafeView(Linear):
    """`view` of a tensor that nobody else can see: not registered as a view"""

    def forward(k, x, shape):
        return k.view(x, shape)

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("alias")
class Alias(View):
    """z = x, as a view"""

    def forward(k, x):
        return k.view(x, x.shape) if k.contiguous(x) else k.permute(x, tuple(range(x.ndim)))

    def vjp_x(g):
        return g


@op("transpose")
class Transpose(View):
    """z = x with two dimensions swapped"""

    def forward(k, x, dim0, dim1):
        return k.permute(x, swapped(x.ndim, dim0, dim1))

    def vjp_x(g, dim0, dim1):
        return transpose(g, dim0, dim1)


@op("t")
class T(View):
    """z = the matrix x transposed"""

    def forward(k, x):
        return k.permute(x, (1, 0)) if x.ndim == 2 else k.permute(x, tuple(range(x.ndim)))

    def vjp_x(g):
        return t(g)


@op("permute")
class Permute(View):
    """z = x with its dimensions reordered"""

    def forward(k, x, dims):
        return k.permute(x, dims)

    def vjp_x(g, dims):
        return call(Permute.op, (g, adjoint_order(dims)))


@op("expand")
class Expand(View):
    """z = x with dimensions of size 1 repeated"""

    def forward(k, x, size):
        return k.expand(x, size)

    def vjp_x(g):           # the engine sums it down to the shape of x, as for any broadcasting
        return g


@op("unsqueeze")
class Unsqueeze(View):
    """z = x with a new dimension of size 1"""

    def forward(k, x, dim):
        return k.unsqueeze(x, dim)

    def vjp_x(g, dim):
        return squeeze(g, dim)


def squeeze_forward(k, x, dims):
    """`x` without the dimensions `dims`, which have size 1."""
    for dim in reversed(dims):
        x = k.select(x, dim, 0)
    return x


@op("squeeze", "Squeeze0")
class Squeeze(View):
    """z = x without its dimensions of size 1"""

    forward = squeeze_forward

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("squeeze_dim", "Squeeze1")
class SqueezeDim(View):
    """z = x without one dimension, if it has size 1"""

    forward = squeeze_forward

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("squeeze_dim_of_result", "Squeeze4")
class SqueezeDimOfResult(View):
    """`SqueezeDim` of a tensor that nobody else can see: PyTorch does it in place, under another name"""

    forward = squeeze_forward
    view = False

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("squeeze_dims", "Squeeze2")
class SqueezeDims(View):
    """z = x without those of several dimensions that have size 1"""

    forward = squeeze_forward

    def vjp_x(g, x_shape):
        return reshape(g, x_shape)


@op("select")
class Select(View):
    """z = x[..., index, ...]"""

    def forward(k, x, dim, index):
        return k.select(x, dim, index)

    def vjp_x(g, x_shape, dim, index):
        return call(SelectBackward.op, (g, x_shape, dim, index))


@op("select_backward")
class SelectBackward(Linear):
    """z = zeros, but x at one index"""

    inputs = 1

    def forward(k, x, shape, dim, index):
        z = k.full(shape, 0, x.dtype)
        k.copy_(k.select(z, dim, index), x)
        return z

    def vjp_x(g, dim, index):
        return call(Select.op, (g, dim, index))


@op("slice")
class Slice(View):
    """z = x[..., start:stop:step, ...]"""

    torch_names = {"x": "self", "stop": "end"}

    def forward(k, x, dim, start, stop, step):
        return k.slice(x, dim, start, stop, step)

    def vjp_x(g, x_shape, dim, start, stop, step):
        return call(SliceBackward.op, (g, x_shape, dim, start, stop, step))


@op("slice_backward")
class SliceBackward(Linear):
    """z = zeros, but x in a slice"""

    inputs = 1

    def forward(k, x, shape, dim, start, stop, step):
        z = k.full(shape, 0, x.dtype)
        k.copy_(k.slice(z, dim, start, stop, step), x)
        return z

    def vjp_x(g, dim, start, stop, step):
        return call(Slice.op, (g, dim, start, stop, step))


class Splitting(View):
    """Base of the views with several results."""

    inputs = 1


@op("split", "Split0")
class Split(Splitting):
    """z = x in pieces of one size along dim"""

    def forward(k, x, size, dim):
        length = x.shape[dim]
        return tuple([k.slice(x, dim, at, min(at + size, length), 1) for at in range(0, length, size)]
                     or [k.slice(x, dim, 0, 0, 1)])

    def vjp(g, needs, x_shape, size, dim):
        length = x_shape[dim]
        return (joined(g, x_shape, [min(size, length - at) for at in range(0, length, size)] or [0], dim),)


@op("split_with_sizes", "SplitWithSizes0")
class SplitWithSizes(Splitting):
    """z = x in pieces of given sizes along dim"""

    torch_names = {"x": "self", "sizes": "split_sizes"}

    def forward(k, x, sizes, dim):
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return tuple([k.slice(x, dim, at, at + size, 1) for at, size in zip(starts, sizes)])

    def vjp(g, needs, x_shape, sizes, dim):
        return (joined(g, x_shape, sizes, dim),)


def joined(grads, shape, sizes, dim):
    """The gradient of the whole, from those of its pieces, of which some are undefined."""
    like = next(g for g in grads if g is not None)
    return cat([like.new_zeros((*shape[:dim], size, *shape[dim + 1:])) if g is None else g
                for g, size in zip(grads, sizes)], dim)


@op("unbind")
class Unbind(Splitting):
    """z = the slices of x along dim"""

    def forward(k, x, dim):
        return tuple([k.select(x, dim, i) for i in range(x.shape[dim])])

    def vjp(g, needs, x_shape, dim):
        shape = (*x_shape[:dim], *x_shape[dim + 1:])
        like = next(h for h in g if h is not None)
        return (stack([like.new_zeros(shape) if h is None else h for h in g], dim),)


# ---- copies -----------------------------------------------------------------------------------------------


@op("clone")
class Clone(Linear):
    """z = x, in memory of its own"""

    inputs = 1

    def forward(k, x, dense):
        return k.copy_with_layout(x, x) if dense else k.copy(x)

    def vjp_x(g):
        return g


@op("to", "ToCopy0")
class Cast(Linear):
    """z = x in another dtype"""

    inputs = 1

    def forward(k, x, dtype, source):
        return k.cast(x, dtype.numpy)

    def vjp_x(g, source):   # the engine casts it back
        return g.real if g.dtype.is_complex and not source.is_complex else g


@op("cat")
class Cat(Op):
    """z = the tensors one after the other along dim"""

    variadic = True

    def forward(k, xs, dim):
        return k.cat(xs, dim)

    def vjp(g, needs, xs_shape, dim):
        at = 0
        grads = []
        for shape, needed in zip(xs_shape, needs):
            grads.append(call(Slice.op, (g, dim, at, at + shape[dim], 1)) if needed else None)
            at += shape[dim]
        return grads

    def jvp(ts, xs, dim):
        return call(Cat.op, (tuple([x.new_zeros(x.shape) if tangent is None else tangent
                                    for x, tangent in zip(xs, ts)]), dim))


@op("stack")
class Stack(Op):
    """z = the tensors along a new dimension"""

    variadic = True

    def forward(k, xs, dim):
        return k.stack(xs, dim)

    def vjp(g, needs, dim):
        return [call(Select.op, (g, dim, i)) if needed else None for i, needed in enumerate(needs)]

    def jvp(ts, xs, dim):
        return call(Stack.op, (tuple([x.new_zeros(x.shape) if tangent is None else tangent
                                      for x, tangent in zip(xs, ts)]), dim))


# ---- arguments ----------------------------------------------------------------------------------------


def as_shape(sizes, function="view"):
    """Sizes given as ``(2, 3)``, ``((2, 3),)`` or a `Size`, as a tuple of ints."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    for size in sizes:
        if type(size) is not int:
            return tuple([integer(s, "size", function) for s in sizes])
    return tuple(sizes)


def inferred(shape, numel):
    """`shape` with its -1 replaced by what makes it hold `numel` elements."""
    known = 1
    for size in shape:
        if size != -1:
            known *= size
    if shape.count(-1) > 1:
        raise ShapeError("MG-E206", "only one dimension can be inferred", found=f"shape {list(shape)}")
    if min(shape, default=0) < -1:
        raise ShapeError("MG-E206", f"invalid shape dimension {min(shape)}")
    if -1 in shape:
        if known == 0 and numel == 0:
            raise ShapeError("MG-E206", f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                             "unspecified dimension size -1 can be any value and is ambiguous")
        if known == 0 or numel % known:
            raise ShapeError("MG-E206", f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple([numel // known if size == -1 else size for size in shape])
    if known != numel:
        raise ShapeError("MG-E206", f"shape '{list(shape)}' is invalid for input of size {numel}",
                         fix=f"the sizes must multiply to {numel}")
    return shape


def swapped(ndim, dim0, dim1):
    """The order of dimensions in which two have changed places."""
    order = list(range(ndim))
    order[dim0], order[dim1] = dim1, dim0
    return tuple(order)


def adjoint_order(dims):
    """The permutation that undoes `dims`."""
    order = [0] * len(dims)
    for i, d in enumerate(dims):
        order[d] = i
    return tuple(order)


# ---- public functions -------------------------------------------------------------------------------------


def view(input, *shape):
    """The same memory in another shape.

    Args:
        shape (ints, or one tuple): their product is the number of elements; one may be -1 and is inferred.

    Raises:
        RuntimeError: the number of elements differs, or the strides allow no such view (use `reshape`).

    Mirrors ``torch.Tensor.view``.

    >>> mg.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    tensor_argument("view", input)
    return call(ViewOp.op, (input, inferred(as_shape(shape), input._meta.numel)))


def reshape(input, *shape):
    """`input` in another shape: a view where the strides allow one, else a copy.

    Args:
        shape (ints, or one tuple): their product is the number of elements; one may be -1 and is inferred.

    Raises:
        RuntimeError: the number of elements differs.

    Mirrors ``torch.reshape``.

    >>> mg.arange(6).reshape(3, 2)
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """
    tensor_argument("reshape", input)
    sizes = inferred(as_shape(shape, "reshape"), input._meta.numel)
    if input._meta.backend.kernels.view(input._array, sizes) is None:
        return call(UnsafeView.op, (call(Clone.op, (input, False)), sizes))
    return call(ViewOp.op, (input, sizes))


def transpose(input, dim0, dim1):
    """`input` with two dimensions swapped, a view. Mirrors ``torch.transpose``.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.arange(6).view(2, 3).transpose(0, 1).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("transpose", input)
    a, b = dimension(dim0, input.ndim), dimension(dim1, input.ndim)
    if input.ndim == 0:
        return call(Alias.op, (input,))
    return call(Transpose.op, (input, a, b))


def t(input):
    """The transpose of a matrix, a view; a vector or 0-d tensor as it is. Mirrors ``torch.t``.

    Raises:
        RuntimeError: more than two dimensions.

    >>> mg.tensor([[1., 2.]]).t()
    tensor([[1.],
            [2.]])
    """
    tensor_argument("t", input)
    if cython.cast(TensorBase, input)._meta.ndim > 2:
        raise ShapeError("MG-E206", f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return call(T.op, (input,))


def permute(input, *dims):
    """`input` with its dimensions in another order, a view. Mirrors ``torch.permute``.

    Args:
        dims (ints, or one tuple): for each dimension of the result, that of the input.

    Raises:
        RuntimeError: not every dimension is named exactly once.
        IndexError: there is no such dimension.

    >>> mg.zeros(2, 3, 5).permute(2, 0, 1).shape
    minigrad.Size([5, 2, 3])
    """
    tensor_argument("permute", input)
    order = as_shape(dims, "permute")
    if len(order) != input.ndim:
        raise ShapeError("MG-E205", "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                         f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
                         f"len(dims) = {len(order)}")
    seen = []
    for d in order:
        seen.append(dimension(d, input.ndim))
        if seen.count(seen[-1]) > 1:
            break
    order = tuple(seen)
    if len(set(order)) != len(order):
        raise ShapeError("MG-E205", "permute(): duplicate dims are not allowed.", found=f"dims {list(order)}")
    return call(Permute.op, (input, order))


def movedim(input, source, destination):
    """`input` with dimensions moved to other places, a view. Mirrors ``torch.movedim``.

    >>> mg.zeros(2, 3, 5).movedim(0, 2).shape
    minigrad.Size([3, 5, 2])
    """
    tensor_argument("movedim", input)
    sources = [dimension(d, input.ndim) for d in ((source,) if isinstance(source, int) else source)]
    targets = [dimension(d, input.ndim) for d in ((destination,) if isinstance(destination, int) else destination)]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError("MG-E205", "movedim: source and destination must name as many different dimensions",
                         found=f"{source} and {destination}")
    rest = iter([d for d in range(input.ndim) if d not in sources])
    place = dict(zip(targets, sources))
    return call(Permute.op, (input, tuple([place[d] if d in place else next(rest) for d in range(input.ndim)])))


def expand(input, *sizes):
    """`input` with dimensions of size 1 repeated, a view that takes no memory.

    Args:
        sizes (ints, or one tuple): the new shape; -1 keeps a size. New dimensions appear at the front.

    Writing to the result writes several of its elements at once. Mirrors ``torch.Tensor.expand``.

    Raises:
        RuntimeError: a dimension that is repeated has a size other than 1.

    >>> mg.tensor([[1.], [2.]]).expand(2, 3)
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """
    tensor_argument("expand", input)
    shape = as_shape(sizes, "expand")
    old = input._meta.shape
    lead = len(shape) - len(old)
    if lead < 0:
        raise ShapeError("MG-E206", f"expand(input, sizes={list(shape)}): the number of sizes provided ({len(shape)}) must be "
                         f"greater or equal to the number of dimensions in the tensor ({len(old)})")
    full = []
    for i, size in enumerate(shape):
        if size == -1:
            if i < lead:
                raise ShapeError("MG-E206", f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                 f"dimension {i}")
            size = old[i - lead]
        if size < 0:
            raise ShapeError("MG-E206", f"expand: invalid size {size}")
        if i >= lead and old[i - lead] not in (1, size):
            raise ShapeError(
                "MG-E204", f"The expanded size of the tensor ({size}) must match the existing size ({old[i - lead]}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(old)}")
        full.append(size)
    return call(Expand.op, (input, tuple(full)))


def broadcast_to(input, shape):
    """`expand` under NumPy's name. Mirrors ``torch.broadcast_to``.

    >>> mg.broadcast_to(mg.tensor([1., 2.]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """
    return expand(input, shape)


def unsqueeze(input, dim):
    """`input` with a new dimension of size 1 at `dim`, a view. Mirrors ``torch.unsqueeze``.

    Raises:
        IndexError: `dim` is outside [-ndim - 1, ndim].

    >>> mg.tensor([1., 2.]).unsqueeze(1).shape
    minigrad.Size([2, 1])
    """
    tensor_argument("unsqueeze", input)
    return call(Unsqueeze.op, (input, dimension(dim, input.ndim + 1)))


def squeeze(input, dim=None):
    """`input` without dimensions of size 1, a view. Mirrors ``torch.squeeze``.

    Args:
        dim (int or tuple, optional): only these; those of another size stay.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.zeros(1, 3, 1).squeeze().shape
    minigrad.Size([3])
    """
    tensor_argument("squeeze", input)
    shape = input._meta.shape
    dims = tuple([d for d in dimensions(dim, input.ndim) if shape[d] == 1])
    rule = Squeeze if dim is None else SqueezeDims if isinstance(dim, (tuple, list)) else SqueezeDim
    return call(rule.op, (input, dims))


def flatten(input, start_dim=0, end_dim=-1):
    """`input` with the dimensions from `start_dim` to `end_dim` made one. Mirrors ``torch.flatten``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: `start_dim` comes after `end_dim`.

    >>> mg.zeros(2, 3, 5).flatten(1).shape
    minigrad.Size([2, 15])
    """
    tensor_argument("flatten", input)
    first, last = dimension(start_dim, input.ndim), dimension(end_dim, input.ndim)
    if first > last:
        raise ShapeError("MG-E205", "flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input._meta.shape
    if input.ndim == 0:
        return reshape(input, 1)
    if first == last:
        return input
    merged = 1
    for size in shape[first:last + 1]:
        merged *= size
    return reshape(input, *shape[:first], merged, *shape[last + 1:])


def unflatten(input, dim, sizes):
    """`input` with one dimension made several. Mirrors ``torch.unflatten``.

    >>> mg.zeros(2, 6).unflatten(1, (2, -1)).shape
    minigrad.Size([2, 2, 3])
    """
    tensor_argument("unflatten", input)
    at = dimension(dim, input.ndim)
    shape = input._meta.shape
    return view(input, *shape[:at], *inferred(tuple(sizes), shape[at]), *shape[at + 1:])


def ravel(input):
    """`input` with one dimension, contiguous. Mirrors ``torch.ravel``.

    >>> mg.zeros(2, 3).ravel().shape
    minigrad.Size([6])
    """
    return reshape(tensor_argument("ravel", input), -1)


def select(input, dim, index):
    """The slice of `input` at `index` along `dim`, without that dimension; a view. Mirrors ``torch.select``.

    Raises:
        IndexError: there is no such dimension or index.

    >>> mg.arange(6).view(2, 3).select(1, 0)
    tensor([0, 3])
    """
    tensor_argument("select", input)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "select() cannot be applied to a 0-dim tensor.")
    at = dimension(dim, input.ndim)
    size = input._meta.shape[at]
    index = integer(index, "index", "select")
    if not -size <= index < size:
        raise OutOfRangeError("MG-E301", f"select(): index {index} out of range for tensor of size "
                              f"{list(input._meta.shape)} at dimension {at}")
    return call(Select.op, (input, at, index % size))


def slice_dim(input, dim, start, stop, step):
    """``input[..., start:stop:step, ...]`` along `dim`, the bounds being those of a Python slice."""
    start, stop, step = slice(start, stop, step).indices(input._meta.shape[dim])
    return call(Slice.op, (input, dim, start, max(start, stop), step))


def narrow(input, dim, start, length):
    """The `length` slices of `input` from `start` on along `dim`; a view. Mirrors ``torch.narrow``.

    Raises:
        IndexError: there is no such dimension, or `start` is outside it.
        RuntimeError: `start + length` is outside it, or `length` is negative.

    >>> mg.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    tensor_argument("narrow", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "narrow() cannot be applied to a 0-dim tensor.")
    at = dimension(dim, input.ndim)
    size = input._meta.shape[at]
    start, length = integer(start, "start", "narrow"), integer(length, "length", "narrow")
    if length < 0:
        raise ShapeError("MG-E206", "narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise OutOfRangeError("MG-E301", f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise ShapeError("MG-E206", f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return call(Slice.op, (input, at, start, start + length, 1))


def split(tensor, split_size_or_sections, dim=0):
    """The pieces of a tensor along `dim`, as views.

    Args:
        split_size_or_sections (int or list of ints): the size of every piece (the last may be smaller), or
            the sizes of all of them.

    Raises:
        RuntimeError: a negative size, or sizes that do not add up.
        IndexError: there is no such dimension.

    Mirrors ``torch.split``.

    >>> [piece.tolist() for piece in mg.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    tensor_argument("split", tensor, "tensor")
    if tensor.ndim == 0:
        raise ShapeError("MG-E205", "split expects at least a 1-dimensional tensor")
    at = dimension(dim, tensor.ndim)
    length = tensor._meta.shape[at]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = as_shape((split_size_or_sections,), "split")
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise ShapeError("MG-E206", f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                             f"dimension {at}), but got split_sizes={list(sizes)}")
        return call(SplitWithSizes.op, (tensor, sizes, at))
    size = integer(split_size_or_sections, "split_size", "split")
    if size < 0:
        raise ShapeError("MG-E206", f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and length:
        raise ShapeError("MG-E206", f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    return call(Split.op, (tensor, max(size, 1), at))


def chunk(input, chunks, dim=0):
    """`input` in at most `chunks` pieces of equal size along `dim` (the last may be smaller), as views.

    Mirrors ``torch.chunk``.

    Raises:
        RuntimeError: `chunks` is not positive.
        IndexError: there is no such dimension.

    >>> [piece.tolist() for piece in mg.arange(5).chunk(2)]
    [[0, 1, 2], [3, 4]]
    """
    tensor_argument("chunk", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "chunk expects at least a 1-dimensional tensor")
    if integer(chunks, "chunks", "chunk") <= 0:
        raise ShapeError("MG-E206", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = dimension(dim, input.ndim)
    length = input._meta.shape[at]
    if length == 0:
        return split(input, [0] * chunks, at)
    return split(input, -(-length // chunks), at)


def unbind(input, dim=0):
    """The slices of `input` along `dim`, as views. Mirrors ``torch.unbind``.

    Raises:
        IndexError: there is no such dimension.

    >>> [row.tolist() for row in mg.arange(4).view(2, 2).unbind()]
    [[0, 1], [2, 3]]
    """
    tensor_argument("unbind", input)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", "Dimension specified as 0 but tensor has no dimensions")
    at = dimension(dim, input.ndim)
    return call(Unbind.op, (input, at)) if input._meta.shape[at] else ()


def alias(input):
    """`input` as a view of itself."""
    return call(Alias.op, (input,))


def alias_as(input, cls):
    """`input` as a view of itself, of class `cls`."""
    return as_class(alias(input), cls)


def clone(input, *, memory_format=None):
    """A copy of `input` in memory of its own, through which gradients flow. Mirrors ``torch.clone``.

    Args:
        memory_format (optional): ``mg.contiguous_format`` for a row-major copy; by default the strides of a
            tensor without gaps are kept.

    >>> x = mg.tensor([1., 2.])
    >>> y = x.clone(); y.data_ptr() == x.data_ptr()
    False
    """
    tensor_argument("clone", input)
    return call(Clone.op, (input, memory_format in (None, "preserve_format")))


def contiguous(input):
    """`input` itself if it is row-major without gaps, else such a copy. Mirrors ``torch.Tensor.contiguous``.

    >>> x = mg.zeros(2, 3).t()
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
    """
    tensor_argument("contiguous", input)
    return input if input._meta.backend.kernels.contiguous(input._array) else call(Clone.op, (input, False))


def cast(input, dtype):
    """`input` in `dtype`: itself if it has it already."""
    return input if input.dtype is dtype else call(Cast.op, (input, dtype, input.dtype))


def same_kind(function, tensors):
    """The tensors as a tuple, cast to one dtype. Raises for what is no sequence of tensors."""
    if isinstance(tensors, TensorBase) or not hasattr(tensors, "__iter__"):
        raise TensorTypeError("MG-E201", f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                              f"{type(tensors).__name__}")
    found = tuple(tensors)
    for i, x in enumerate(found):
        if not isinstance(x, TensorBase):
            raise TensorTypeError("MG-E201", f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    if not found:
        raise ArgumentError("MG-E302", f"{function} expects a non-empty TensorList")
    if len({x.dtype for x in found}) > 1:
        dtype = operands_dtype(found)
        found = tuple([cast(x, dtype) for x in found])
    return found


def cat(tensors, dim=0):
    """The tensors one after the other along an existing dimension.

    Args:
        tensors (sequence of Tensor): of the same shape except along `dim`; a 1-d tensor of size 0 is skipped.

    Raises:
        ValueError: there are no tensors.
        RuntimeError: the shapes do not fit.
        IndexError: there is no such dimension.

    Mirrors ``torch.cat``.

    >>> mg.cat([mg.tensor([1., 2.]), mg.tensor([3.])])
    tensor([1., 2., 3.])
    """
    if hasattr(tensors, "__len__") and not isinstance(tensors, TensorBase) and len(tensors) == 0:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    found = same_kind("cat", tensors)
    for i, x in enumerate(found):
        if x.ndim == 0:
            raise ShapeError("MG-E205", f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = tuple([x for x in found if x._meta.shape != (0,)]) or found[:1]
    first = kept[0]._meta.shape
    at = dimension(dim, len(first))
    for i, x in enumerate(kept):
        shape = x._meta.shape
        if len(shape) != len(first):
            raise ShapeError("MG-E204", f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d in range(len(first)):
            if d != at and shape[d] != first[d]:
                raise ShapeError("MG-E204", f"Sizes of tensors must match except in dimension {at}. Expected size {first[d]} but "
                                 f"got size {shape[d]} for tensor number {i} in the list.")
    return call(Cat.op, (kept, at))


concat = cat


def stack(tensors, dim=0):
    """The tensors, all of one shape, along a new dimension. Mirrors ``torch.stack``.

    Raises:
        RuntimeError: there are no tensors, or their shapes differ.
        IndexError: `dim` is outside [-ndim - 1, ndim].

    >>> mg.stack([mg.tensor([1., 2.]), mg.tensor([3., 4.])], dim=1)
    tensor([[1., 3.],
            [2., 4.]])
    """
    found = same_kind("stack", tensors)
    for i, x in enumerate(found):
        if x._meta.shape != found[0]._meta.shape:
            raise ShapeError("MG-E204", f"stack expects each tensor to be equal size, but got {list(found[0]._meta.shape)} at "
                             f"entry 0 and {list(x._meta.shape)} at entry {i}")
    return call(Stack.op, (found, dimension(dim, found[0].ndim + 1)))
