"""A function that is one node in PyTorch is one node here, with the same name, edges, and names of saved values."""

import math
import warnings

import pytest
import torch

import minigrad as mg


def numbers(m, *shape):
    return (m.arange(1.0, 1.0 + math.prod(shape)).reshape(*shape) / (1 + math.prod(shape))).requires_grad_()


def loss(name, reduction="mean", **options):
    return lambda m: getattr(m.nn.functional, name)(numbers(m, 2, 3), numbers(m, 2, 3) / 2, reduction=reduction, **options)


def padded(size, mode):
    return lambda m: m.nn.functional.pad(numbers(m, 1, 2, *[3] * size), (1, 2) * size, mode)


def normalized(training):
    return lambda m: m.nn.functional.batch_norm(numbers(m, 3, 4), m.zeros(4), m.ones(4), numbers(m, 4), numbers(m, 4), training)


PAIRS = {
    "var_mean": lambda m: m.var_mean(numbers(m, 3, 4), 1),
    "var_mean of all": lambda m: m.var_mean(numbers(m, 3, 4)),
    "std_mean": lambda m: m.std_mean(numbers(m, 3, 4), 1, keepdim=True),
    "aminmax": lambda m: m.aminmax(numbers(m, 3, 4)),
    "aminmax along": lambda m: m.aminmax(numbers(m, 3, 4), dim=1),
}
SINGLE = {
    "std": lambda m: numbers(m, 3, 4).std(),
    "std along": lambda m: numbers(m, 3, 4).std(1),
    "var": lambda m: numbers(m, 3, 4).var(1),
    **{f"{name} {reduction}": loss(name, reduction) for name in (
        "mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
       for reduction in ("none", "mean", "sum")},
    "binary_cross_entropy weight": lambda m: m.nn.functional.binary_cross_entropy(numbers(m, 3), numbers(m, 3) / 2, m.ones(3)),
    "binary_cross_entropy_with_logits weight": lambda m: m.nn.functional.binary_cross_entropy_with_logits(
        numbers(m, 3), numbers(m, 3) / 2, m.ones(3), pos_weight=m.ones(3)),
    **{f"pad {mode} {size}": padded(size, mode) for mode in ("constant", "reflect", "replicate") for size in (1, 2, 3)},
    "pad shorter": lambda m: m.nn.functional.pad(numbers(m, 3, 4), (-1, 2)),
    "batch_norm": normalized(True), "batch_norm running": normalized(False),
    "batch_norm plain": lambda m: m.nn.functional.batch_norm(numbers(m, 3, 4), None, None, training=True),
    "dist": lambda m: m.dist(numbers(m, 3), numbers(m, 3) / 2, 3),
    "cdist": lambda m: m.cdist(numbers(m, 3, 2), numbers(m, 4, 2) / 2),
    "renorm": lambda m: m.renorm(numbers(m, 3, 4), 2, 0, 0.5),
    "renorm of float16": lambda m: m.renorm(numbers(m, 3, 4).half(), 2, 0, 0.5),
    "smooth_l1_loss of float16": lambda m: m.nn.functional.smooth_l1_loss(numbers(m, 3).half(), numbers(m, 3).half() / 2),
    "roll": lambda m: m.roll(numbers(m, 3, 4), (1, 2), (0, 1)),
    "roll flat": lambda m: m.roll(numbers(m, 3, 4), 2),
    "nansum": lambda m: m.nansum(numbers(m, 3, 4)),
    "nansum along": lambda m: m.nansum(numbers(m, 3, 4), 1),
    "nanmean": lambda m: m.nanmean(numbers(m, 3, 4), 1),
    "masked_select": lambda m: m.masked_select(numbers(m, 3, 4), numbers(m, 4).detach() > 0.5),
}
# Of these PyTorch saves more: the shape of each operand.
FEWER = {
    "group_norm": lambda m: m.nn.functional.group_norm(numbers(m, 3, 4), 2, numbers(m, 4), numbers(m, 4)),
    "addbmm": lambda m: m.addbmm(numbers(m, 3, 5), numbers(m, 2, 3, 4), numbers(m, 2, 4, 5), beta=2, alpha=0.5),
    "addbmm_": lambda m: (numbers(m, 3, 5) * 1).addbmm_(numbers(m, 2, 3, 4), numbers(m, 2, 4, 5)),
}


def plain(node):
    return None if node is None else node.name().replace("torch::autograd::", "")


def graph(y):
    return plain(y.grad_fn), [plain(node) for node, _ in y.grad_fn.next_functions]


def saved(y):
    return {name for name in dir(y.grad_fn) if name.startswith("_saved_")}


def run(program, m):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program(m)


@pytest.mark.parametrize("name", SINGLE)
def test_one_node(name):
    """differences/N-03, and N-02 for std"""
    ours, theirs = run(SINGLE[name], mg), run(SINGLE[name], torch)
    assert graph(ours) == graph(theirs)
    assert saved(ours) == saved(theirs)


@pytest.mark.parametrize("name", FEWER)
def test_one_node_that_saves_less(name):
    """differences/N-03"""
    ours, theirs = run(FEWER[name], mg), run(FEWER[name], torch)
    assert graph(ours) == graph(theirs)
    assert saved(ours) <= saved(theirs)


@pytest.mark.parametrize("name", PAIRS)
def test_one_node_with_two_outputs(name):
    """differences/N-02"""
    ours, theirs = run(PAIRS[name], mg), run(PAIRS[name], torch)
    assert ours[0].grad_fn is ours[1].grad_fn
    assert [y.output_nr for y in ours] == [y.output_nr for y in theirs] == [0, 1]
    for a, b in zip(ours, theirs):
        assert graph(a) == graph(b)
        assert saved(a) == saved(b)


@pytest.mark.differs(
    what="`binary_cross_entropy(x, y, weight)`, where `weight` requires a gradient",
    there="RuntimeError.",
    here="`weight` gets its gradient.")
def test_a_weight_that_requires_a_gradient_gets_one():
    """PyTorch's node has no edge for it; we multiply by an op then."""
    x, y, w = numbers(mg, 3), numbers(mg, 3).detach() / 2, numbers(mg, 3)
    each = mg.nn.functional.binary_cross_entropy(x, y, reduction="none")
    found, = mg.autograd.grad(mg.nn.functional.binary_cross_entropy(x, y, w, reduction="sum"), w)
    assert found.tolist() == each.tolist()


@pytest.mark.differs(
    what="`batch_norm` in evaluation, and a training step before its backward",
    there="The gradient is computed with the new statistics.",
    here="The gradient is computed with those of the forward.")
def test_running_statistics_may_move_between_forward_and_backward():
    """A layer that is trained between the forward and the backward of an evaluation. (PyTorch's gradient is that of the new ones.)"""
    layer = mg.nn.BatchNorm1d(2)
    x = numbers(mg, 3, 2)
    z = layer.eval()(x)
    layer.train()(x.detach() * 5)
    z.sum().backward()
    assert abs(x.grad - 1).max().item() < 1e-4
