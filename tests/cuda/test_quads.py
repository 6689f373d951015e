"""Elementwise kernels in quads: ends of rows, starts that packs cannot read, tiles of a transposed copy, and writing in place."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.cuda.elementwise import elementwise
from minigrad.kernels.cuda.shape import layout
from tests.cuda.test_kernels import CUDA, on_gpu


def numbers(*shape, dtype=np.float32):
    return (np.arange(np.prod(shape), dtype=np.int64) % 100 + 1).astype(dtype).reshape(shape)


def equals(found, expected):
    found = CUDA.to_host(found)
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 31, 32, 33, 37, 70])
def test_in_order_to_the_last_element(length):
    x, y = numbers(length), numbers(length)
    equals(CUDA.mul(on_gpu(x), on_gpu(y)), x * y)
    equals(CUDA.mul(on_gpu(x[1:]), on_gpu(y[1:])), x[1:] * y[1:])       # begins at 4 bytes, not at 16


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 11])
def test_rows_and_columns(length):
    x, row, column = numbers(3, length), numbers(length), numbers(3, 1)
    equals(CUDA.sub(on_gpu(x), on_gpu(row)), x - row)
    equals(CUDA.sub(on_gpu(column), on_gpu(x)), column - x)
    equals(CUDA.sub(on_gpu(row), on_gpu(column)), row - column)
    equals(CUDA.add(on_gpu(x[:, ::-1]), on_gpu(x)), x[:, ::-1] + x)
    equals(CUDA.where(on_gpu(row > 2), on_gpu(x), on_gpu(column)), np.where(row > 2, x, column))


def test_more_than_a_kernel_can_divide_is_done_in_parts(monkeypatch):
    monkeypatch.setattr(elementwise, "MOST", 2)
    x, row = numbers(5, 13), numbers(13)
    equals(CUDA.sub(on_gpu(x), on_gpu(row)), x - row)
    y = np.repeat(numbers(41), 2)[::2]
    equals(CUDA.mul(on_gpu(y), 2.0), y * 2)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (7, 4), (1, 6), (9, 5), (2, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.complex128])
def test_copies_by_tiles(shape, dtype):
    x = numbers(*shape, dtype=dtype)
    for order in {tuple(reversed(range(len(shape)))), (*range(1, len(shape)), 0)}:
        y = x.transpose(order)
        equals(CUDA.copy(on_gpu(y)), y)
    z = on_gpu(np.zeros_like(x))
    layout.store(CUDA.transpose(z, 0, len(shape) - 1), on_gpu(x.swapaxes(0, -1)))
    equals(z, x)


def test_in_place_without_a_copy(monkeypatch):
    x = mg.tensor([[1., 2., 3.], [4., 5., 6.]]).to("cuda")
    y = mg.tensor([[10., 20., 30.], [40., 50., 60.]]).to("cuda")
    monkeypatch.setattr(layout, "store", None)
    x.add_(y)
    x.mul_(2.0)
    x.neg_()
    assert x.tolist() == [[-22., -44., -66.], [-88., -110., -132.]]
    assert x._version == 3


def test_in_place_with_what_is_repeated(monkeypatch):
    """A row, a column, numbers of other kinds and a transposed target need no memory of their own either."""
    made = []
    real = elementwise.empty_array
    x, row, column, i = [mg.tensor(a) for a in ([[1., 2., 3.], [4., 5., 6.]], [10., 20., 30.], [[2.], [3.]], [[1, 2], [3, 4]])]
    y, r, c, j = [a.to("cuda") for a in (x, row, column, i)]
    monkeypatch.setattr(elementwise, "empty_array", lambda *args: made.append(args) or real(*args))
    for a, b, d, e in ((x, row, column, i), (y, r, c, j)):
        a.add_(b)
        a.mul_(d)
        a.t().sub_(b[:, None])
        e.mul_(3)
        e.bitwise_not_()
    assert not made
    assert y.tolist() == x.tolist() and j.tolist() == i.tolist()


def test_gradients_of_what_is_repeated_in_place():
    grads = []
    for device in ("cpu", "cuda"):
        x = mg.tensor([[1., 2., 3.], [4., 5., 6.]]).to(device).requires_grad_()
        row = mg.tensor([1., -2., 3.]).to(device).requires_grad_()
        y = x * 1.0
        y.mul_(row)
        y.add_(row)
        (y * y).sum().backward()
        grads.append((x.grad.tolist(), row.grad.tolist()))
    assert grads[0] == grads[1]


def test_in_place_saves_what_was_before():
    x = mg.tensor([1., 2., 3.]).to("cuda").requires_grad_()
    y = x * 1.0
    y.mul_(x)
    y.exp_()
    y.sum().backward()
    assert np.allclose(x.grad.tolist(), [2 * v * np.exp(v * v) for v in (1, 2, 3)], rtol=1e-5)


def test_in_place_from_the_same_memory():
    x = np.arange(12, dtype=np.float32)
    z = on_gpu(x)
    shifted = CUDA.slice(z, 0, 0, 8, 1), CUDA.slice(z, 0, 4, 12, 1)
    CUDA.add(shifted[1], shifted[0], shifted[1])
    equals(z, np.concatenate([x[:4], x[4:] + x[:8]]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_a_negative_float_wraps(dtype):
    x = np.array([-2., -1.5, 3.7, 200., -130.], dtype=np.float32)
    equals(CUDA.cast(on_gpu(x), np.dtype(dtype)), x.astype(np.int64).astype(dtype))
