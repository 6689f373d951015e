"""Putting arrays together, and picking elements out of them. Indices have been checked by the ops."""

import numpy as np

__all__ = ["cat", "gather", "index", "index_add", "index_put", "index_put_", "index_select", "into_slice", "masked_scatter",
           "scatter", "scatter_add", "scatter_reduce", "stack"]


def cat(xs, dim):
    return np.ascontiguousarray(np.concatenate(xs, dim))     # which keeps the order of columns


def into_slice(y, shape, dim, start, stop, step):
    z = np.zeros(shape, y.dtype)
    z[(slice(None),) * dim + (slice(start, stop, step),)] = y
    return z


def stack(xs, dim):
    return np.ascontiguousarray(np.stack(xs, dim))


def places(index, dim):
    """The full index that reaches the elements of `index` along `dim`."""
    grid = list(np.ogrid[tuple([slice(n) for n in index.shape])])
    grid[dim] = index
    return tuple(grid)


def gather(x, dim, index):
    return np.asarray(x[places(index, dim)]) if x.ndim else np.asarray(x.reshape(1)[index])


def scatter(x, dim, index, y):
    out = x.copy()
    if x.ndim == 0:
        out.reshape(1)[index] = y if np.ndim(y) == 0 else y[:index.size]
    else:
        out[places(index, dim)] = y if np.ndim(y) == 0 else y[tuple([slice(n) for n in index.shape])]
    return out


def masked_scatter(x, mask, y):
    x, mask = np.broadcast_arrays(x, mask)
    out = x.copy()
    out[mask] = y.reshape(-1)[:np.count_nonzero(mask)]
    return out


def scatter_add(x, dim, index, y):
    out = x.copy()
    if x.ndim == 0:
        np.add.at(out.reshape(1), np.asarray(index).reshape(-1), np.asarray(y).reshape(-1)[:index.size])
    else:
        np.add.at(out, places(index, dim), y[tuple([slice(n) for n in index.shape])])
    return out


def scatter_reduce(x, dim, index, y, reduce):
    out = x.copy()
    {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce].at(out, places(index, dim), y)
    return out


def index_select(x, dim, index):
    return np.take(x, index, dim)


def index_add(x, dim, index, y):
    out = x.copy()
    np.add.at(out, (slice(None),) * dim + (index,), y)
    return out


def full_index(indices):
    """PyTorch's list with None for a whole dimension as NumPy's tuple."""
    return tuple([slice(None) if index is None else index for index in indices])


def index(x, indices):
    return np.asarray(x[full_index(indices)])


def index_put(x, indices, y, accumulate):
    out = x.copy()
    index_put_(out, indices, y, accumulate)
    return out


def index_put_(x, indices, y, accumulate):
    if accumulate:
        np.add.at(x, full_index(indices), y)    # pyright: ignore[reportArgumentType]
    else:
        x[full_index(indices)] = y
