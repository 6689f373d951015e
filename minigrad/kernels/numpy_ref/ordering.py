"""Sorting, and the kernels that need it. nan counts as the largest number, as in PyTorch."""

import functools
import math

import numpy as np

__all__ = ["argsort", "cumextremum", "flip", "median", "mode", "nonzero", "searchsorted", "topk"]


MOST_DIMS = 32      # NumPy sorts arrays of no more dimensions


def for_any_dims(kernel):
    """Wrap a kernel along `dim` for any number of dimensions: those before `dim` become one, and those after it too."""
    @functools.wraps(kernel)
    def called(x, dim, *args):
        if x.ndim <= MOST_DIMS:
            return kernel(x, dim, *args)
        before, after = x.shape[:dim], x.shape[dim + 1:]
        z = kernel(x.reshape(math.prod(before), x.shape[dim], math.prod(after)), 1, *args)
        return z.reshape(*before, z.shape[1], *after)
    return called


def flip(x, dims):
    return np.array(np.flip(x, dims), order="C") if x.ndim else x.copy()


@for_any_dims
def argsort(x, dim, descending):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.ascontiguousarray(np.argsort(x, dim, kind="stable"))
    return np.ascontiguousarray(x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim))


def topk(x, number, dim, largest):
    return np.ascontiguousarray(argsort(x, dim, largest)[(slice(None),) * dim + (slice(number),)])


@for_any_dims
def median(x, dim, skip_nan):
    n = x.shape[dim]
    order = argsort(x, dim, False)
    nans = np.sum(x != x, dim, keepdims=True)
    if skip_nan:
        at = np.maximum(n - 1 - nans, 0) // 2
    else:
        at = np.where(nans > 0, n - nans, (n - 1) // 2)
    return np.take_along_axis(order, at, dim)


@for_any_dims
def mode(x, dim):
    x = np.moveaxis(x, dim, -1)
    order = argsort(x, x.ndim - 1, False)
    ordered = np.take_along_axis(x, order, -1)
    at = np.broadcast_to(np.arange(x.shape[-1]), x.shape)
    begins = np.ones(x.shape, bool)
    begins[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    length = at - np.maximum.accumulate(np.where(begins, at, 0), -1)        # of the run of equal elements that ends here, minus 1
    best = np.argmax(length, -1)[..., None]
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(order, best, -1), -1, dim))


def cumextremum(x, dim, largest):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    best = (np.maximum if largest else np.minimum).accumulate(x, dim)
    at = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    return np.ascontiguousarray(np.maximum.accumulate(np.where((x == best) | (x != x), at, 0), dim))


def nonzero(x):
    return np.ascontiguousarray(np.argwhere(x))


def searchsorted(x, y, right):
    side = "right" if right else "left"
    if x.ndim == 1:
        return np.asarray(np.searchsorted(x, y, side), np.int64)
    if not x.size or not y.size:
        return np.zeros(y.shape, np.int64)
    rows = [np.searchsorted(a, b, side) for a, b in zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]))]
    return np.array(rows, np.int64).reshape(y.shape)
