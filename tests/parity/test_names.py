"""Names and odd forms of PyTorch's: one snippet, run on both libraries, gives the same.

    same("m.gather(m.ones(3), 0, m.zeros(0, 2).long())")        the same value, dtype, shape, requires_grad; or the same kind of error
"""

import warnings

import numpy as np
import pytest
import torch

import minigrad as mg

KINDS = (IndexError, TypeError, ValueError, NotImplementedError, AttributeError, RuntimeError)


def outcome(m, snippet):
    """What a snippet gives on a library, in a form that can be compared: the builtin class of an error, the category of a warning."""
    m.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = plain(eval(snippet, {"m": m, "np": np, "F": m.nn.functional, "grad": m.autograd.grad}))
        except KINDS as error:
            return next(kind.__name__ for kind in KINDS if isinstance(error, kind))
    return value, {w.category.__name__ for w in caught}


def plain(x):
    """A result of either library without what tells which one it is."""
    if isinstance(x, (mg.Tensor, torch.Tensor)):
        numbers = [round_off(n) for n in x.detach().reshape(-1).tolist()]
        return "tensor", str(x.dtype).partition(".")[2], tuple(x.shape), numbers, x.requires_grad
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, (mg.dtype, torch.dtype, mg.Size, torch.Size, mg.Device, torch.device)):
        return str(x).replace("minigrad", "torch")
    return repr(x).replace("minigrad", "torch")


def round_off(number):
    """A number to six digits, which float32 has; nan as a word, since it is equal to nothing."""
    return number if isinstance(number, (bool, int)) else f"{number:.6g}"


def same(snippet):
    assert outcome(mg, snippet) == outcome(torch, snippet)


PICKED = "m.tensor([[1., 2.], [3., 4.]], requires_grad=True)"


@pytest.mark.parametrize("snippet", [
    "m.gather(m.tensor([1., 2.]), 0, m.zeros(0, 0).long())",
    "m.gather(m.tensor([1., 2.]), 0, m.zeros(2, 0).long())",
    "m.gather(m.tensor([1., 2.]), 0, m.zeros(0, 3, dtype=m.uint8))",
    "m.gather(m.tensor([[1., 2.]]), 0, m.zeros(0))",
    "m.gather(m.tensor(1.), 0, m.zeros(0, 3, 2).long())",
    "m.gather(m.tensor([1., 2.]), 0, m.tensor([1, 0], dtype=m.uint8))",
    "m.gather(m.ones(2, 3), 0, m.zeros(0, 9).long())",
    "grad(m.gather(x := m.tensor([1., 2.], requires_grad=True), 0, m.zeros(0, 3).long()).sum(), x)",
    "m.zeros(3).scatter_add(0, m.zeros(0, 2).long(), m.ones(2))",
    "m.zeros(3).scatter(0, m.zeros(0, 2).long(), m.ones(2))",
    "m.zeros(3).scatter(0, m.zeros(0, 2).long(), 1.)",
    "m.zeros(3).scatter_reduce(0, m.zeros(0, 2).long(), m.ones(2), 'sum')",
    "grad(m.zeros(3).scatter_add(0, m.zeros(0, 2).long(), x := m.ones(2, requires_grad=True)).sum(), x)",
    "grad(m.zeros(3).scatter(0, m.zeros(0, 2).long(), x := m.ones(2, requires_grad=True)).sum(), x)",
])
def test_empty_and_byte_indices(snippet):
    """differences/P-05"""
    same(snippet)


@pytest.mark.parametrize("snippet", [
    "m.tensor(1.).index_add(0, m.tensor([0]), m.tensor(2.))",
    "m.tensor(1.).index_add(0, m.tensor(0), m.tensor(2.))",
    "m.tensor(1.).index_add(0, m.tensor([0]), m.tensor([2.]))",
    "m.tensor(1.).index_add(0, m.tensor([0, 0]), m.tensor(2.))",
    "m.tensor([1.]).index_add(0, m.tensor([0]), m.tensor(2.))",
    "m.tensor(1.).index_add(0, m.tensor([1]), m.tensor(2.))",
    "m.tensor(1.).index_add_(-1, m.tensor([0]), m.tensor(2.), alpha=3)",
    "m.tensor(1.).index_fill(0, m.tensor([0]), 5.)",
    "m.tensor(1.).index_fill(0, m.tensor(0), 5.)",
    "m.tensor(1.).index_fill(0, m.tensor([0, 0]), 5.)",
    "m.tensor(1.).index_fill(0, m.tensor([-1]), 5.)",
    "m.tensor(1.).index_fill(0, m.tensor([1]), 5.)",
    "m.tensor(1.).index_fill(0, m.tensor([]).long(), 5.)",
    "m.tensor(1.).index_fill_(0, m.tensor([0]), m.tensor(5.))",
    "m.tensor(1.).index_copy(0, m.tensor([0]), m.tensor(2.))",
    "m.tensor(1.).index_copy(0, m.tensor([0, 0]), m.tensor([2., 3.]))",
    "m.tensor([1.]).index_copy(0, m.tensor([0]), m.tensor(2.))",
    "m.tensor([1., 2.]).index_copy(0, m.tensor([0, 1]), m.tensor(2.))",
    "m.tensor(1.).index_select(0, m.tensor([0]))",
    "grad((x := m.tensor(1., requires_grad=True)).index_fill(0, m.tensor([0]), 5.), x)",
    "grad((x := m.tensor(1., requires_grad=True)).index_add(0, m.tensor([0]), x * 2), x)",
    "grad(m.tensor([1.]).index_copy(0, m.tensor([0]), x := m.tensor(2., requires_grad=True)), x)",
    "grad(m.zeros(2).index_fill(0, m.tensor([0, 0]), x := m.tensor(3., requires_grad=True)).sum(), x)",
    "grad((x := m.tensor(1., requires_grad=True)).index_fill(0, m.tensor([0]), y := m.tensor(3., requires_grad=True)), (x, y))",
])
def test_indices_of_a_number(snippet):
    """differences/P-05"""
    same(snippet)


@pytest.mark.parametrize("snippet", [
    "m.take_along_dim(m.tensor([[1., 2.], [3., 4.]]), m.tensor([[-1], [0]]), 1)",
    "m.take_along_dim(m.tensor([[1., 2.], [3., 4.]]), m.tensor([[-3], [2]]), 1)",
    "m.take_along_dim(m.tensor([[1., 2.], [3., 4.]]), m.tensor([-1, 0]))",
    "m.take_along_dim(m.ones(2, 0), m.zeros(2, 1).long(), 1)",
    f"grad(m.take_along_dim(x := {PICKED}, m.tensor([[-1], [0]]), 1).sum(), x)",
])
def test_negative_indices_of_take_along_dim(snippet):
    """differences/P-05"""
    same(snippet)


@pytest.mark.parametrize("snippet", [
    "F.batch_norm(m.zeros(0), None, None, training=True)",
    "F.batch_norm(m.zeros(0), m.zeros(1), m.ones(1))",
    "F.batch_norm(m.zeros(0, requires_grad=True), None, None, m.ones(1), m.ones(1), training=True)",
    "F.batch_norm(m.zeros(3), m.zeros(3), m.ones(3))",
])
def test_batch_norm_of_nothing(snippet):
    """differences/P-05"""
    same(snippet)


@pytest.mark.parametrize("snippet", [
    f"m.matrix_power({PICKED}, 0)", f"grad(m.matrix_power(x := {PICKED}, 0).sum(), x)",
    f"m.matrix_power(x := {PICKED}, 0).grad_fn is not None", "m.linalg.matrix_power(m.ones(3, 2, 2, requires_grad=True), 0)",
])
def test_the_power_0_of_a_matrix(snippet):
    """differences/P-05"""
    same(snippet)
