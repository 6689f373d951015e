"""The strides of results where the elements of an input lie in another order than row-major, or with gaps between them: as in PyTorch.

A program notices them by `is_contiguous` and by `view`, which refuses what is not row-major.
"""

import pytest
import torch

import minigrad as mg

INPUTS = {
    "row-major": lambda m: m.arange(24.0).reshape(2, 3, 4),
    "permuted": lambda m: m.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "with gaps": lambda m: m.arange(48.0).reshape(2, 3, 8)[:, :, ::2],
    "permuted with gaps": lambda m: m.arange(48.0).reshape(2, 3, 8)[:, :, ::2].permute(2, 0, 1),
    "rows of more": lambda m: m.arange(48.0).reshape(2, 6, 4)[:, :3].transpose(0, 2),
    "expanded": lambda m: m.arange(4.0).expand(2, 3, 4),
    "expanded and permuted": lambda m: m.arange(3.0).expand(2, 4, 3).transpose(1, 2),
    "channels last": lambda m: m.arange(96.0).reshape(2, 6, 2, 4).contiguous(memory_format=m.channels_last)[:, ::2],
    "empty": lambda m: m.zeros(2, 0, 3).permute(2, 1, 0),
}
CASES = ["x.clone()", "x.detach().clone()", "x.flip(0)", "x.flip(0, -1)", "m.flipud(x)", "x.put(i, v)", "x + x.clone()", "x.contiguous()",
         "x.clone(memory_format=m.contiguous_format)", "x.masked_fill(x > 1, 0)", "x.masked_fill(x > 1, m.tensor(0.))", "x.tril()", "x.triu(1)",
         "x.index_add(0, i, x[:1])", "F.layer_norm(x, x.shape[-1:])", "x.renorm(2, 0, 1.)", "F.logsigmoid(x)", "x.median(0)[0]", "x.logsumexp(0)",
         "x.double()", "x.exp()", "x.mT.clone()"]


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("case", CASES)
def test_strides(case, kind):
    if kind == "empty" and ("median" in case or "put" in case or "index_add" in case or "layer_norm" in case):
        pytest.skip("no elements")
    if kind.startswith("expanded") and "median" in case:
        pytest.skip("PyTorch's median of these elements is wrong")
    found = []
    for m in (mg, torch):
        x = INPUTS[kind](m)
        z = eval(case, {"m": m, "F": m.nn.functional, "x": x, "i": m.tensor([0]), "v": m.tensor([9.0])})
        found.append((tuple(z.shape), z.stride() if z.numel() else None, z.is_contiguous(), z.tolist()))
    assert found[0][:3] == found[1][:3]
    assert mg.allclose(mg.tensor(found[0][3]), mg.tensor(found[1][3]), equal_nan=True)


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_a_view_of_masked_scores(m):
    scores = m.ones(2, 3, 4, requires_grad=True).transpose(1, 2)
    scores.masked_fill(m.ones(4, 3).tril() == 0, 0.0).view(2, 12).sum().backward()
