"""Every case against finite differences in float64: backward and forward mode, and both of them through the backward.

`gradcheck` looks at all entries of the Jacobians, and then whether a gradient of zeros gives zeros, whether an undefined one
counts as zeros, and whether the backward gives the same numbers twice.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.ops import REGISTRY
from tests.ops.cases import CASES, COMPLEX, OURS

TOLERANCES = {"rtol": 1e-6, "atol": 1e-6}


def weights(z):
    """Fixed numbers in the shape of `z`, to make a scalar of it."""
    return mg.tensor(np.cos(np.arange(z.numel(), dtype=float)).reshape(tuple(z.shape)))


def loss(case, xs):
    z = case.run(mg, *xs)
    return (z * weights(z)).sum()


def tensors(arrays):
    return [mg.tensor(a).requires_grad_() for a in arrays]


def function(case):
    return lambda *xs: case.run(mg, *xs)


EVERY = [*CASES, *COMPLEX, *OURS]


@pytest.mark.parametrize("case", EVERY, ids=lambda c: c.name)
def test_derivative(case):
    """tensor_surface/K-03: vjp and jvp, one for each element."""
    assert mg.autograd.gradcheck(function(case), tensors(case.arrays()), check_forward_ad=True, check_grad_dtypes=True, **TOLERANCES)


@pytest.mark.parametrize("case", [c for c in EVERY if c.double], ids=lambda c: c.name)
def test_second_derivative(case):
    """tensor_surface/K-12: vjp and jvp of the vjp, along random directions."""
    assert mg.autograd.gradgradcheck(function(case), tensors(case.arrays()), check_fwd_over_rev=True, fast_mode=True, **TOLERANCES)


def test_every_op_has_a_case():
    """An op without a case would have no gradient check."""
    reached = set()
    for case in EVERY:
        xs = tensors(case.arrays())
        roots = [loss(case, xs).real]
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
            roots = [(g * g).sum().real for g in grads if g is not None and g.requires_grad]
            if not roots:
                break
    inplace_only = {"CopySlices"}
    missing = {op.node_name for op in REGISTRY.values() if op.differentiable and not op.rule.no_derivative} - reached - inplace_only
    assert not missing, f"no case of tests/ops/cases.py reaches {sorted(missing)}"
