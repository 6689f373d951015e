"""einops on minigrad's tensors gives what it gives on NumPy's arrays, with a history."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

einops = pytest.importorskip("einops")
layers = pytest.importorskip("minigrad.utils.einops")

ARRAY = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("run", [
    lambda e, x: e.rearrange(x, "a b c -> b (a c)"), lambda e, x: e.rearrange(x, "a b (c d) -> d a b c", d=2),
    lambda e, x: e.reduce(x, "a b c -> b", "mean"), lambda e, x: e.reduce(x, "a b c -> a 1 c", "max"),
    lambda e, x: e.reduce(x, "a b c -> a", "prod"), lambda e, x: e.reduce(x, "a b (c d) -> a b c", "sum", d=2),
    lambda e, x: e.repeat(x, "a b c -> a b c d", d=2), lambda e, x: e.repeat(x, "a b c -> a (b r) c", r=3),
    lambda e, x: e.rearrange([x, x], "n a b c -> a n b c"), lambda e, x: e.pack([x, x], "a * c")[0],
    lambda e, x: e.einsum(x, x, "a b c, a b d -> c d"), lambda e, x: e.asnumpy(x),
], ids=range(12))
def test_values(run):
    assert np.allclose(np.asarray(run(einops, mg.tensor(ARRAY))), run(einops, ARRAY))


def test_history():
    x = mg.tensor(ARRAY, requires_grad=True)
    y = einops.rearrange(x, "a b c -> (a b) c")
    assert y._base is x or y.grad_fn is not None
    einops.reduce(y * y, "n c -> ", "sum").backward()
    assert np.allclose(x.grad.numpy(), 2 * ARRAY)


def test_layers():
    model = nn.Sequential(layers.Rearrange("b c h w -> b (c h w)"), nn.Linear(8, 4), layers.Reduce("b (k two) -> b k", "max", two=2))
    assert model(mg.ones(3, 2, 2, 2)).shape == (3, 2) and "Rearrange" in repr(model)
