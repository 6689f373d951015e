"""nn.utils: clipping gradients, parameters as one vector; against PyTorch's."""

import inspect
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn


def parameters(m, scale=1.0):
    rng = np.random.default_rng(3)
    params = [m.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 2), (), (4,), (2,))]
    for p in params[:3]:        # the last one has no gradient
        p.grad = m.tensor(rng.standard_normal(tuple(p.shape)) * scale)
    return params


def grads(params):
    return [p.grad if p.grad is None else p.grad.numpy() for p in params]


@pytest.mark.parametrize("order", [2.0, 1, 3.5, 0, math.inf])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_clip_grad_norm_is_torchs(order, scale, torch):
    outcomes = []
    for m in (mg, torch):
        params = parameters(m, scale)
        norm = m.nn.utils.clip_grad_norm_((p for p in params), 1.5, norm_type=order)
        outcomes.append([norm.numpy(), *grads(params)])
    for ours, theirs in zip(*outcomes):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_clip_grad_value_is_torchs(torch):
    outcomes = []
    for m in (mg, torch):
        params = parameters(m)
        m.nn.utils.clip_grad_value_(params, 0.5)
        outcomes.append(grads(params)[:3])
    for ours, theirs in zip(*outcomes):
        np.testing.assert_array_equal(ours, theirs)


def test_a_norm_that_is_not_finite():
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    w.grad = mg.tensor([math.inf, 1.0])
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True)
    assert w.grad.tolist() == [math.inf, 1.0]
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


@pytest.mark.parametrize("name", nn.utils.__all__)
def test_signature(name, torch):
    ours, theirs = [{p.name: p.default for p in inspect.signature(getattr(m.nn.utils, name)).parameters.values()} for m in (mg, torch)]
    assert ours == theirs


def test_vectors_there_and_back():
    params = parameters(mg)
    vector = nn.utils.parameters_to_vector(params)
    assert vector.shape == (13,) and vector.requires_grad
    nn.utils.vector_to_parameters(vector * 2, params)
    assert nn.utils.parameters_to_vector(params).tolist() == (vector * 2).tolist()
