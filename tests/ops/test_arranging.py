"""Repeating, stacking, diagonals, windows: values, dtypes, edges and errors are PyTorch's. Derivatives are in cases.py."""

import pytest

import minigrad as mg
from tests.ops.alike import check_alike

INPUTS = {
    "matrix": lambda m: m.arange(6.0).reshape(2, 3), "row": lambda m: m.tensor([3, 1, 2]), "0-d": lambda m: m.tensor(2.5),
    "empty": lambda m: m.zeros(0), "no rows": lambda m: m.zeros(0, 3), "strided": lambda m: m.arange(12.0).reshape(3, 4).t()[::2],
    "cube": lambda m: m.arange(24).reshape(2, 3, 4), "bool": lambda m: m.tensor([True, False]),
    "complex": lambda m: m.tensor([[1 + 2j, 3j], [0j, 1 + 0j]]),
}
ONE = {
    "flip 0": lambda m, x: m.flip(x, (0,)), "flip -1": lambda m, x: x.flip(-1), "flip both": lambda m, x: x.flip(0, 1),
    "flip none": lambda m, x: m.flip(x, ()), "flip twice": lambda m, x: x.flip(0, 0),
    "fliplr": lambda m, x: m.fliplr(x), "flipud": lambda m, x: m.flipud(x),
    "roll": lambda m, x: m.roll(x, 1), "roll -5": lambda m, x: m.roll(x, -5, 0), "roll two": lambda m, x: m.roll(x, (1, 2), (0, 1)),
    "roll misfit": lambda m, x: m.roll(x, (1, 2), 0), "roll none": lambda m, x: m.roll(x, ()), "roll far": lambda m, x: m.roll(x, 1, 9),
    "rot90": lambda m, x: m.rot90(x), "rot90 -1": lambda m, x: x.rot90(-1, (1, 0)), "rot90 2": lambda m, x: x.rot90(2),
    "rot90 bad": lambda m, x: x.rot90(1, (0, 0)), "rot90 one": lambda m, x: x.rot90(1, (0,)),
    "repeat": lambda m, x: x.repeat(2, 2), "repeat 3": lambda m, x: x.repeat(1, 2, 2), "repeat few": lambda m, x: x.repeat(2),
    "repeat 0": lambda m, x: x.repeat(0, 1, 1), "repeat -1": lambda m, x: x.repeat(1, 1, -1), "repeat none": lambda m, x: x.repeat(()),
    "tile": lambda m, x: m.tile(x, (2,)), "tile 3": lambda m, x: x.tile(2, 1, 2), "tile none": lambda m, x: x.tile(()),
    "repeat_interleave": lambda m, x: m.repeat_interleave(x, 2), "repeat_interleave 0": lambda m, x: x.repeat_interleave(0, 0),
    "repeat_interleave dim": lambda m, x: x.repeat_interleave(3, -1), "repeat_interleave -1": lambda m, x: x.repeat_interleave(-1),
    "repeat_interleave tensor": lambda m, x: x.repeat_interleave(m.tensor([2, 0, 1]), -1),
    "repeat_interleave one": lambda m, x: x.repeat_interleave(m.tensor([2]), 0),
    "repeat_interleave indices": lambda m, x: m.repeat_interleave(x),
    "repeat_interleave size": lambda m, x: x.repeat_interleave(m.tensor([2]), 0, output_size=1),
    "repeat_interleave negative": lambda m, x: x.repeat_interleave(m.tensor([-1]), 0),
    "repeat_interleave float": lambda m, x: x.repeat_interleave(m.tensor([1.0]), 0),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1), "hstack": lambda m, x: m.hstack([x, x]), "vstack": lambda m, x: m.vstack((x, x)),
    "dstack": lambda m, x: m.dstack((x, x)), "column_stack": lambda m, x: m.column_stack((x, x)),
    "row_stack": lambda m, x: m.row_stack((x,)), "hstack mixed": lambda m, x: m.hstack([x, m.tensor([1, 2])]),
    "tensor_split": lambda m, x: m.tensor_split(x, 2), "tensor_split 4": lambda m, x: x.tensor_split(4, -1),
    "tensor_split 0": lambda m, x: x.tensor_split(0), "tensor_split at": lambda m, x: x.tensor_split((1, 2)),
    "tensor_split back": lambda m, x: x.tensor_split((2, 1, -1, 9)), "tensor_split tensor": lambda m, x: x.tensor_split(m.tensor([1])),
    "hsplit": lambda m, x: m.hsplit(x, 2), "hsplit at": lambda m, x: x.hsplit([1]), "vsplit": lambda m, x: x.vsplit(2),
    "dsplit": lambda m, x: x.dsplit(2), "meshgrid": lambda m, x: m.meshgrid(x, x, indexing="ij"),
    "meshgrid xy": lambda m, x: m.meshgrid(x, x[:1], indexing="xy"), "meshgrid warns": lambda m, x: m.meshgrid(x),
    "meshgrid bad": lambda m, x: m.meshgrid(x, indexing="yx"), "meshgrid kinds": lambda m, x: m.meshgrid(x, m.ones(2), indexing="ij"),
    "broadcast_tensors": lambda m, x: m.broadcast_tensors(x, m.ones(4, 1, 1)), "broadcast misfit": lambda m, x: m.broadcast_tensors(
        x, m.ones(7)),
    "atleast_1d": lambda m, x: m.atleast_1d(x), "atleast_2d": lambda m, x: m.atleast_2d(x, x), "atleast_3d": lambda m, x: m.atleast_3d(
        [x]),
    "cartesian_prod": lambda m, x: m.cartesian_prod(x, x), "cartesian_prod one": lambda m, x: m.cartesian_prod(x),
    "combinations": lambda m, x: m.combinations(x), "combinations 3": lambda m, x: m.combinations(x, 3, True),
    "combinations 0": lambda m, x: m.combinations(x, 0), "combinations -1": lambda m, x: m.combinations(x, -1),
    "unfold": lambda m, x: x.unfold(0, 2, 1), "unfold last": lambda m, x: x.unfold(-1, 2, 2), "unfold 0": lambda m, x: x.unfold(0, 0, 1),
    "unfold 1": lambda m, x: x.unfold(0, 1, 1), "unfold step": lambda m, x: x.unfold(0, 1, 0), "unfold -1": lambda m, x: x.unfold(0, -1, 1),
    "unfold large": lambda m, x: x.unfold(0, 99, 1), "unfold far": lambda m, x: x.unfold(5, 1, 1),
    "diag": lambda m, x: m.diag(x), "diag 1": lambda m, x: x.diag(1), "diag far": lambda m, x: x.diag(-5),
    "diag_embed": lambda m, x: m.diag_embed(x), "diag_embed dims": lambda m, x: x.diag_embed(1, 0, -1),
    "diag_embed same": lambda m, x: x.diag_embed(0, 0, 0), "diagflat": lambda m, x: x.diagflat(-1), "trace": lambda m, x: m.trace(x),
    "block_diag": lambda m, x: m.block_diag(x, m.tensor([[1, 2]]), x), "block_diag one": lambda m, x: m.block_diag(x),
}


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for make in INPUTS.values():
        check_alike(lambda m, make=make: ONE[name](m, make(m)))


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "meshgrid", "cartesian_prod", "broadcast_tensors"])
def test_no_tensors(name):
    split = name in ("meshgrid", "cartesian_prod", "broadcast_tensors")
    check_alike(lambda m: getattr(m, name)() if split else getattr(m, name)([]))


def test_windows_are_views():
    """A write to one window is seen by its neighbours, and their gradients add up."""
    x = mg.arange(4.0)
    w = x.unfold(0, 2, 1)
    w[0, 1] = 9.0
    assert x.tolist() == [0.0, 9.0, 2.0, 3.0] and w[1, 0].item() == 9.0 and w._base is x
    y = mg.ones(4, requires_grad=True)
    y.unfold(0, 2, 1).sum().backward()
    assert y.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_a_turn_is_a_flip_by_columns():
    """The strides are PyTorch's."""
    x = mg.arange(6.0).view(2, 3)
    assert [x.rot90(turns).stride() for turns in range(4)] == [(3, 1), (1, 3), (3, 1), (1, 3)]
    assert x.t().rot90().is_contiguous() and x.rot90()._base is None


def test_meshgrid_wants_to_know():
    with pytest.warns(UserWarning, match="indexing"):
        mg.meshgrid(mg.ones(2))
