"""Every case against finite differences in float64: the vjp, the vjp of the vjp, and the jvp."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad
from minigrad.ops import REGISTRY
from tests.ops.cases import CASES

EPS = 1e-6


def weights(z):
    """Fixed numbers in the shape of `z`, to make a scalar of it."""
    return mg.tensor(np.cos(np.arange(z.numel(), dtype=float)).reshape(tuple(z.shape)))


def loss(case, xs):
    z = case.run(mg, *xs)
    return (z * weights(z)).sum()


def tensors(arrays):
    return [mg.tensor(a).requires_grad_() for a in arrays]


def numerical(f, arrays):
    """The gradient of the number f(arrays) by central differences, one array per input."""
    grads = []
    for i, a in enumerate(arrays):
        g = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            def shifted(step, i=i, at=at):
                moved = [b.copy() for b in arrays]
                moved[i][at] += step
                return f(moved)
            g[at] = (shifted(EPS) - shifted(-EPS)) / (2 * EPS)
        grads.append(g)
    return grads


def compare(found, expected, what, tolerance=1e-6):
    for i, (g, e) in enumerate(zip(found, expected)):
        g = np.zeros_like(e) if g is None else g.detach().numpy()
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * 10, err_msg=f"{what} of input {i}")


def skip_small(case):
    if case.name == "to":
        pytest.skip("goes through float32, which finite differences of 1e-6 cannot see")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_vjp(case):
    skip_small(case)
    arrays = case.arrays()
    found = mg.autograd.grad(loss(case, xs := tensors(arrays)), xs, allow_unused=True)
    if case.name == "maximum ties":
        return      # half of each side: the parity test knows
    compare(found, numerical(lambda moved: loss(case, [mg.tensor(a) for a in moved]).item(), arrays), "vjp")


@pytest.mark.parametrize("case", [c for c in CASES if c.double], ids=lambda c: c.name)
def test_double_backward(case):
    def gradient_loss(arrays):
        xs = tensors(arrays)
        grads = mg.autograd.grad(loss(case, xs), xs, create_graph=True, allow_unused=True)
        total = sum([(g * g).sum() for g in grads if g is not None], mg.tensor(0.0, dtype=mg.float64))
        return xs, total

    arrays = case.arrays()
    xs, total = gradient_loss(arrays)
    found = mg.autograd.grad(total, xs, allow_unused=True) if total.requires_grad else [None] * len(xs)
    compare(found, numerical(lambda moved: gradient_loss(moved)[1].item(), arrays), "double backward", 2e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_jvp(case):
    """The tangent of the result, given tangents of the inputs, is the directional derivative."""
    skip_small(case)
    if case.name == "maximum ties":
        pytest.skip("not differentiable there")
    arrays = case.arrays()
    rng = np.random.default_rng(1)
    directions = [rng.standard_normal(a.shape) for a in arrays]
    with forward_ad.dual_level():
        z = case.run(mg, *[forward_ad.make_dual(mg.tensor(a), mg.tensor(d)) for a, d in zip(arrays, directions)])
        tangent = forward_ad.unpack_dual(z).tangent
    ahead = case.run(mg, *[mg.tensor(a + EPS * d) for a, d in zip(arrays, directions)]).numpy()
    behind = case.run(mg, *[mg.tensor(a - EPS * d) for a, d in zip(arrays, directions)]).numpy()
    expected = (ahead - behind) / (2 * EPS)
    found = np.zeros_like(expected) if tangent is None else tangent.numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


def test_every_op_has_a_case():
    """What no case reaches would go unchecked."""
    reached = set()
    for case in CASES:
        xs = tensors(case.arrays())
        roots = [loss(case, xs)]
        for _ in range(2):      # the graph, and the graph of its gradients
            stack = [r.grad_fn for r in roots if r.requires_grad]
            seen = set()
            while stack:
                node = stack.pop()
                if node is not None and node not in seen:
                    seen.add(node)
                    reached.add(node.name())
                    stack.extend(n for n, _ in node.next_functions)
            grads = mg.autograd.grad(roots, xs, create_graph=True, allow_unused=True) if any(r.requires_grad for r in roots) else []
            roots = [(g * g).sum() for g in grads if g is not None and g.requires_grad]
            if not roots:
                break
    inplace_only = {"CopySlices"}
    missing = {op.node_name for op in REGISTRY.values() if op.differentiable} - reached - inplace_only
    assert not missing - KNOWN, f"no case of tests/ops/cases.py reaches {sorted(missing - KNOWN)}"


# Reached by tests of their own: random numbers, complex numbers, adjoints that only a third derivative needs, and the logical
# ops in place (tests/core/test_written.py), of which PyTorch has no gradient.
KNOWN = {"LogicalAndBackward0", "LogicalNotBackward0", "LogicalOrBackward0", "LogicalXorBackward0",
         "UniformBackward0", "NormalBackward0", "BernoulliBackward0", "ConjBackward0", "RealBackward0",
         "MaxPool2DSelectBackward0"}
