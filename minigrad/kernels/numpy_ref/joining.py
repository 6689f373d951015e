"""Joining arrays, and reading and writing elements by index. The ops have checked the indices of a forward pass."""

import numpy as np

from minigrad.kernels.numpy_ref.precision import dtype_of_sums, quiet
from minigrad.kernels.refusals import translate_index_errors

__all__ = ["cat", "gather", "index", "index_add", "index_put", "index_put_", "index_select", "into_slice", "masked_fill_",
           "masked_scatter", "scatter", "scatter_add", "scatter_reduce", "stack", "take_grid"]


def cat(xs, dim):
    return np.ascontiguousarray(np.concatenate(xs, dim))     # np.concatenate keeps a column-major order


def into_slice(y, shape, dim, start, stop, step):
    z = np.zeros(shape, y.dtype)
    z[(slice(None),) * dim + (slice(start, stop, step),)] = y
    return z


def stack(xs, dim):
    return np.ascontiguousarray(np.stack(xs, dim))


# NumPy's `ufunc.at` takes no more dimensions: with more it crashes the process (2.4). Its other ways to index reach 63.
MOST_DIMS = 32


def dims_to_keep(index, dim):
    """The dimensions of `index`. If it has MOST_DIMS or more: only those of a size other than 1, and `dim`."""
    return [d for d in range(index.ndim) if index.ndim < MOST_DIMS or index.shape[d] != 1 or d == dim]


def places(x, dim, index):
    """(x or a view of it, the tuple of indices into it) for the elements that `index` names along `dim`."""
    kept = dims_to_keep(index, dim)
    if len(kept) < index.ndim:
        x = x[tuple([slice(None) if d in kept else 0 for d in range(index.ndim)])]
        index, dim = index.reshape([index.shape[d] for d in kept]), kept.index(dim)
    grid = list(np.ogrid[tuple([slice(n) for n in index.shape])])
    grid[dim] = index
    return x, tuple(grid)


def take_matching(y, dim, index):
    """The elements of `y` for those of `index`, in the shape that `places` gives the index."""
    y = y[tuple([slice(n) for n in index.shape])]
    return y.reshape([y.shape[d] for d in dims_to_keep(index, dim)])


def join_at(ufunc, x, index, y):
    """``ufunc.at(x, index, y)`` for any number of dimensions. NumPy reads outside the memory of a `y` that does not broadcast."""
    y = np.broadcast_to(y, x[index].shape)
    if x.ndim <= MOST_DIMS and max([np.ndim(i) for i in index], default=0) <= MOST_DIMS:
        ufunc.at(x, index, y)
        return
    flat = x.reshape(-1)        # a copy if x has gaps
    at = np.arange(x.size).reshape(x.shape)[index]
    ufunc.at(flat, at.reshape(-1), y.reshape(-1))
    x[...] = flat.reshape(x.shape)


@translate_index_errors
def gather(x, dim, index):
    if not x.ndim:
        return np.asarray(x.reshape(1)[index])
    view, at = places(x, dim, index)
    return np.asarray(view[at]).reshape(index.shape)


@translate_index_errors
def scatter(x, dim, index, y):
    out = x.copy()
    if x.ndim == 0:
        out.reshape(1)[index] = y if np.ndim(y) == 0 else y[:index.size]
    else:
        view, at = places(out, dim, index)
        view[at] = y if np.ndim(y) == 0 else take_matching(y, dim, index)
    return out


def masked_fill_(x, mask, y):
    np.copyto(x, y, where=mask)


def masked_scatter(x, mask, y):
    x, mask = np.broadcast_arrays(x, mask)
    out = x.copy()
    out[mask] = y.reshape(-1)[:np.count_nonzero(mask)]
    return out


@quiet
@translate_index_errors
def scatter_add(x, dim, index, y):
    out = x.astype(dtype_of_sums(x, index.size))
    if x.ndim == 0:
        join_at(np.add, out.reshape(1), (np.asarray(index).reshape(-1),), np.asarray(y).reshape(-1)[:index.size])
    else:
        join_at(np.add, *places(out, dim, index), take_matching(y, dim, index))
    return out.astype(x.dtype, copy=False)


@quiet
@translate_index_errors
def scatter_reduce(x, dim, index, y, reduce):
    out = x.copy()
    ufunc = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    join_at(ufunc, *places(out, dim, index), take_matching(y, dim, index))
    return out


@translate_index_errors
def index_select(x, dim, index):
    return np.take(x, index, dim)


@translate_index_errors
def take_grid(x, places):
    for dim, index in enumerate(places):
        x = x if index is None else np.take(x, index, dim)
    return np.array(x, order="C")


@quiet
@translate_index_errors
def index_add(x, dim, index, y):
    out = x.astype(dtype_of_sums(x, y.size))
    join_at(np.add, out, (slice(None),) * dim + (index,), y)
    return out.astype(x.dtype, copy=False)


def full_index(indices):
    """NumPy's tuple of indices, from PyTorch's list with None for a whole dimension."""
    return tuple([slice(None) if index is None else index for index in indices])


@translate_index_errors
def index(x, indices):
    return np.asarray(x[full_index(indices)], order="C")


@translate_index_errors
def index_put(x, indices, y, accumulate):
    out = x.copy()
    index_put_(out, indices, y, accumulate)
    return out


@quiet
@translate_index_errors
def index_put_(x, indices, y, accumulate):
    wide = dtype_of_sums(x, np.size(y)) if accumulate else x.dtype
    if wide is not x.dtype:
        out = x.astype(wide)
        join_at(np.add, out, full_index(indices), y)
        x[...] = out
    elif accumulate:
        join_at(np.add, x, full_index(indices), y)
    else:
        x[full_index(indices)] = y
