"""Pruning: the same masks, keys, errors and training on both libraries."""

import importlib

import pytest
import torch.nn.utils.prune

import minigrad as mg
from tests.parity.test_names import same

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])


def prune(m):
    return importlib.import_module(f"{m.__name__}.nn.utils.prune")


def layer(m):
    made = m.nn.Linear(4, 3)
    made.weight.data.copy_(m.tensor([[1.0, -2.0, 3.0, -4.0], [0.5, 0.25, -8.0, 9.0], [5.0, 6.0, -7.0, 0.0]]))
    made.bias.data.copy_(m.tensor([1.0, -0.1, 2.0]))
    return made


def numbers(x):
    return [round(n + 0.0, 4) for n in x.detach().reshape(-1).tolist()]


STEPS = [
    lambda m, p, x: p.l1_unstructured(x, "weight", amount=5),
    lambda m, p, x: p.l1_unstructured(x, "weight", amount=0.5),
    lambda m, p, x: p.l1_unstructured(x, "weight", 3, importance_scores=-x.weight.abs()),
    lambda m, p, x: p.l1_unstructured(p.l1_unstructured(x, "weight", 0.25), "weight", 0.25),
    lambda m, p, x: p.ln_structured(x, "weight", 1, n=2, dim=0),
    lambda m, p, x: p.ln_structured(x, "weight", 0.5, n=1, dim=-1),
    lambda m, p, x: p.ln_structured(x, "weight", 1, n=float("inf"), dim=1),
    lambda m, p, x: p.ln_structured(p.ln_structured(x, "weight", 1, 2, 0), "weight", 2, 2, 1),
    lambda m, p, x: p.l1_unstructured(p.ln_structured(x, "weight", 1, 2, 0), "weight", 3),
    lambda m, p, x: p.ln_structured(p.l1_unstructured(x, "weight", 3), "weight", 1, 2, 0),
    lambda m, p, x: p.identity(x, "bias"),
    lambda m, p, x: p.custom_from_mask(p.l1_unstructured(x, "weight", 2), "weight", m.tensor([[1, 1, 1, 0]] * 3)),
    lambda m, p, x: (p.global_unstructured([(x, "weight"), (x, "bias")], p.L1Unstructured, amount=0.4), x)[1],
    lambda m, p, x: (p.global_unstructured([(x, "weight"), (x, "bias")], p.L1Unstructured,
                                           importance_scores={(x, "bias"): m.ones(3) * 100}, amount=6), x)[1],
    lambda m, p, x: (p.l1_unstructured(x, "weight", 2), p.global_unstructured([(x, "weight")], p.L1Unstructured, amount=3), x)[2],
    lambda m, p, x: p.random_unstructured(x, "weight", 0), lambda m, p, x: p.random_structured(x, "weight", 0.0, 1),
    lambda m, p, x: p.random_unstructured(x, "weight", 12),
]


@pytest.mark.parametrize("step", STEPS)
def test_pruned(step):
    """Keys, masks, values, gradients; and the same after a removal."""
    found = []
    for m in (mg, torch):
        p, x = prune(m), layer(m)
        x = step(m, p, x)
        x(m.ones(2, 4)).sum().backward()
        seen = [[(key, numbers(value)) for key, value in x.state_dict().items()], numbers(x.weight), numbers(x.bias),
                [(name, numbers(w.grad)) for name, w in x.named_parameters()], p.is_pruned(x), repr(x),
                [type(hook).__name__ for hook in x._forward_pre_hooks.values()]]
        for name in ("weight", "bias"):
            if hasattr(x, name + "_mask"):
                p.remove(x, name)
        seen += [[(key, numbers(value)) for key, value in x.state_dict().items()], p.is_pruned(x), len(x._forward_pre_hooks)]
        found.append(seen)
    assert found[0] == found[1]


@BOTH
def test_random(m):
    p, x = prune(m), layer(m)
    assert p.random_unstructured(x, "weight", 0.25).weight_mask.sum() == 9
    assert p.random_unstructured(x, "weight", 4).weight_mask.sum() == 5
    x = p.random_structured(layer(m), "weight", 2, dim=0)
    assert sorted(x.weight_mask.sum(1).tolist()) == [0, 0, 4]


@BOTH
def test_training_keeps_zeros(m):
    p, x = prune(m), prune(m).l1_unstructured(layer(m), "weight", 6)
    zeros = (x.weight == 0).tolist()
    sgd = m.optim.SGD(x.parameters(), 0.1)
    before = x.weight_orig.clone()
    for _ in range(2):
        sgd.zero_grad()
        (x(m.ones(1, 4)) ** 2).sum().backward()
        sgd.step()
    x(m.ones(1, 4))
    assert not m.equal(before, x.weight_orig) and (x.weight == 0).tolist() == zeros
    other = p.identity(layer(m), "weight")
    other.load_state_dict(x.state_dict())
    other(m.ones(1, 4))
    assert (other.weight == 0).tolist() == zeros


@BOTH
def test_a_method_of_ones_own(m):
    p = prune(m)

    class Every(p.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    class Broken(p.BasePruningMethod):
        PRUNING_TYPE = "odd"

        def compute_mask(self, t, default_mask):
            raise KeyError("no")
    x = layer(m)
    assert isinstance(Every.apply(x, "bias"), Every) and x.bias_mask.tolist() == [0, 1, 0]
    with pytest.raises(KeyError):
        Broken.apply(x, "weight")
    assert isinstance(x.weight, m.nn.Parameter) and not hasattr(x, "weight_orig")
    with pytest.raises(ValueError, match="Unrecognized PRUNING_TYPE odd"):
        Broken.apply(x, "bias")
    with pytest.raises(TypeError):
        p.BasePruningMethod()
    with pytest.raises(AssertionError, match="should have the same shape"):
        p.l1_unstructured(layer(m), "weight", 1, importance_scores=m.ones(2))
    with pytest.raises(AssertionError, match="should have the same shape"):
        p.L1Unstructured(1).prune(m.ones(3), importance_scores=m.ones(2))
    with pytest.raises(AssertionError, match="must match"):
        p.custom_from_mask(layer(m), "weight", m.ones(2))
    container = p.PruningContainer()
    container._tensor_name = "weight"
    with pytest.raises(ValueError, match="Can only add pruning methods acting on the parameter named 'weight'"):
        other = Every()
        other._tensor_name = "bias"
        container.add_pruning_method(other)
    with pytest.raises(TypeError, match="is not a BasePruningMethod subclass"):
        container.add_pruning_method(3)
    assert len(container) == 0


def test_not_pruned_yet():
    """A method without a parameter. In PyTorch this is an AttributeError by accident."""
    for call in (mg.nn.utils.prune.Identity().remove, mg.nn.utils.prune.Identity().apply_mask):
        with pytest.raises(AssertionError, match="has to be pruned"):
            call(layer(mg))


P = "m.nn.utils.prune"


@pytest.mark.parametrize("snippet", [
    f"{P}.l1_unstructured(m.nn.Linear(2, 2), 'weight', 'a')", f"{P}.l1_unstructured(m.nn.Linear(2, 2), 'weight', 1.5)",
    f"{P}.l1_unstructured(m.nn.Linear(2, 2), 'weight', -1)", f"{P}.l1_unstructured(m.nn.Linear(2, 2), 'weight', 9)",
    f"{P}.ln_structured(m.nn.Linear(2, 2), 'bias', 1, 2, 0)", f"{P}.ln_structured(m.nn.Linear(2, 2), 'weight', 1, 2, 5)",
    f"{P}.random_structured(m.nn.Linear(2, 2), 'weight', 3, 0)", f"{P}.remove(m.nn.Linear(2, 2), 'weight')",
    f"{P}.l1_unstructured(m.nn.Linear(2, 2), 'other', 1)", f"{P}.global_unstructured(3, {P}.L1Unstructured, amount=1)",
    f"{P}.global_unstructured([(m.nn.Linear(2, 2), 'weight')], {P}.L1Unstructured, importance_scores=3, amount=1)",
    f"{P}.global_unstructured([(m.nn.Linear(2, 2), 'weight')], {P}.LnStructured, amount=1, n=2)",
    f"{P}.L1Unstructured(0.5).prune(m.tensor([1., -4., 2., 3.])), {P}.L1Unstructured(1).prune(m.tensor([1., -4., 2.]), default_mask=m.tensor([1., 0, 1.]))",
    f"{P}.L1Unstructured(1).prune(m.tensor([1., -4.]), importance_scores=m.tensor([5., 1.]))",
    f"{P}.L1Unstructured(0.5).prune(m.tensor([1., -4.], requires_grad=True))",
])
def test_snippets(snippet):
    same(snippet)
