"""Attention by blocks of queries: right to the last digits, and in memory as in PyTorch."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels import CPU, NUMPY

F = mg.nn.functional


def arrays(rng, lead, queries, keys, width, values, dtype="f4"):
    """(q, s, v, g)"""
    return [rng.standard_normal((*lead, *shape)).astype(dtype)
            for shape in ((queries, width), (keys, width), (keys, values), (queries, values))]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries, keys", [(1100, 1100), (40, 3000), (90, 21)])
@pytest.mark.parametrize("spread", [1, 30])
def test_float32_against_float64(queries, keys, spread, causal):
    """Long rows, and scores over a wide range: the error is that of the scores and of a few roundings of the sums."""
    rng = np.random.default_rng(0)
    q, s, v, g = arrays(rng, (2,), queries, keys, 8, 16)
    q *= spread
    z, w = CPU.attention(q, s, v, 0.35, causal)
    wide = [x.astype("f8") for x in (q, s, v, g)]
    exact, exact_w = NUMPY.attention(*wide[:3], 0.35, causal)
    error = np.finfo("f4").eps * 4 * (1 + 0.35 * np.abs(wide[0] @ wide[1].swapaxes(1, 2)).max())     # of the scores
    assert np.abs(z - exact).max() <= error * np.abs(v).max()
    np.testing.assert_allclose(w.sum(-1), 1, rtol=2e-6)
    assert not causal or not np.triu(w, 1).any()
    found = CPU.attention_backward(g, q, s, v, w, 0.35, causal, (True, True, True))
    exact = NUMPY.attention_backward(wide[3], *wide[:3], exact_w, 0.35, causal, (True, True, True))
    for a, b in zip(found, exact):
        assert np.abs(a - b).max() <= 4 * error * max(1, np.abs(b).max())


@pytest.mark.parametrize("k", [CPU, NUMPY], ids=["CPU", "NumPy"])
def test_a_key_that_no_query_of_a_block_sees_has_no_part_in_it(k):
    rng = np.random.default_rng(0)
    q, s, v, g = arrays(rng, (), 48, 48, 8, 8)
    expected, w = k.attention(q, s, v, 1.0, True)
    expected_dq = k.attention_backward(g, q, s, v, w, 1.0, True, (True, True, True))[0]
    s[32:] = np.nan
    v[32:] = np.inf
    np.testing.assert_array_equal(k.attention(q, s, v, 1.0, True)[0][:32], expected[:32])
    np.testing.assert_array_equal(k.attention_backward(g, q, s, v, w, 1.0, True, (True, True, True))[0][:32], expected_dq[:32])


def test_heads_lie_side_by_side_where_those_of_the_queries_do():
    """So `z.transpose(1, 2).reshape(N, L, E)` makes no copy, and neither does its backward. PyTorch has the same strides."""
    apart = [mg.randn(2, 3, 5, 4, requires_grad=True) for _ in range(3)]
    joined = [x.transpose(1, 2) for x in mg.randn(3, 2, 5, 3, 4, requires_grad=True).unbind()]
    assert F.scaled_dot_product_attention(*apart).stride() == (60, 20, 4, 1)
    strides = []
    for x in joined:
        x.register_hook(lambda g: strides.append(g.stride()))
    z = F.scaled_dot_product_attention(*joined)
    z.sum().backward()
    assert [z.stride(), *strides] == [(60, 4, 12, 1)] * 4
