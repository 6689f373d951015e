"""Muon: the steps of its formula, which are PyTorch's up to the digits of bfloat16."""

import numpy as np
import pytest

import minigrad as mg

OPTIONS = [{}, {"nesterov": False}, {"momentum": 0.5, "weight_decay": 0.0}, {"adjust_lr_fn": "match_rms_adamw"},
           {"adjust_lr_fn": "original", "ns_steps": 3}, {"ns_coefficients": (2.0, -1.5, 0.5), "eps": 1e-3}, {"ns_steps": 0}]
SHAPES = [(3, 4), (40, 30), (1, 5), (7, 7), (0, 2)]


def steps(m, shape, dtype, options, transposed=False):
    """A parameter after each of ten steps on fixed gradients, and its momentum."""
    rng = np.random.default_rng(0)
    w = m.tensor(rng.standard_normal(shape).astype(dtype))
    w = (w.t().contiguous().t() if transposed else w).requires_grad_()
    optimizer = m.optim.Muon([w], lr=0.1, **options)
    seen = []
    for _ in range(10):
        w.grad = m.tensor(rng.standard_normal(shape).astype(dtype))
        optimizer.step()
        seen.append(w.detach().numpy().copy())
    return seen, np.asarray(optimizer.state_dict()["state"][0]["momentum_buffer"])


def by_the_formula(shape, nesterov=True, momentum=0.95, weight_decay=0.1, adjust_lr_fn="original", ns_steps=5, eps=1e-7,
                   ns_coefficients=(3.4445, -4.775, 2.0315)):
    """The same steps in NumPy, through the singular values."""
    rng = np.random.default_rng(0)
    w, b, seen = rng.standard_normal(shape), np.zeros(shape), []
    factor = np.sqrt(max(1, shape[0] / shape[1])) if adjust_lr_fn == "original" else 0.2 * np.sqrt(max(shape))
    for _ in range(10):
        g = rng.standard_normal(shape)
        b = momentum * b + (1 - momentum) * g
        u, s, v = np.linalg.svd(momentum * b + (1 - momentum) * g if nesterov else b, full_matrices=False)
        s = s / max(np.sqrt((s * s).sum()), eps)
        for _ in range(ns_steps):
            s = sum(k * s ** p for k, p in zip(ns_coefficients, (1, 3, 5)))
        w = w * (1 - 0.1 * weight_decay) - 0.1 * factor * (u * s) @ v
        seen.append(w)
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
def test_steps_are_the_formulas(shape, options):
    np.testing.assert_allclose(steps(mg, shape, "float64", options)[0], by_the_formula(shape, **options), rtol=1e-9, atol=1e-11)


@pytest.mark.differs(
    what="the numbers of `optim.Muon`",
    there="It orthogonalizes in bfloat16: two or three digits are right.",
    here="In the dtype of the parameter.")
@pytest.mark.parametrize("transposed", [False, True], ids=["row-major", "column-major"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_steps_are_torchs(shape, options, transposed):
    torch = pytest.importorskip("torch")
    (ours, buffer), (theirs, their_buffer) = (steps(m, shape, "float32", options, transposed) for m in (mg, torch))
    np.testing.assert_allclose(ours, theirs, atol=0.02)
    np.testing.assert_allclose(buffer, their_buffer, rtol=1e-5, atol=1e-7)


def matrix(m, *shape, dtype="float32"):
    return m.ones(*shape or (2, 2), dtype=getattr(m, dtype)).requires_grad_()


def step(m, param, **options):
    param.grad = m.ones_like(param)
    m.optim.Muon([param], **options).step()


MISTAKES = [
    (lambda m: m.optim.Muon([matrix(m, 3)]), ValueError, "Muon only supports 2D parameters"),
    (lambda m: m.optim.Muon([matrix(m)], lr=-1), ValueError, None),
    (lambda m: m.optim.Muon([matrix(m)], momentum=-1), ValueError, None),
    (lambda m: m.optim.Muon([matrix(m)], weight_decay=-1), ValueError, None),
    (lambda m: m.optim.Muon([matrix(m)], lr="a"), TypeError, "str"),
    (lambda m: m.optim.Muon([matrix(m)], lr=m.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (lambda m: m.optim.Muon([matrix(m)], adjust_lr_fn="x"), ValueError, "Adjust learning rate function x is not supported"),
    (lambda m: step(m, matrix(m), ns_coefficients=(1, 2)), ValueError, "Coefficients must be a tuple of exactly 3 values"),
    (lambda m: step(m, matrix(m), ns_steps=100), ValueError, None),
    (lambda m: step(m, matrix(m, dtype="complex64")), RuntimeError, "Muon does not support complex parameters"),
]


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call(mg)


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes_are_torchs(call, error, words):
    torch = pytest.importorskip("torch")
    with pytest.raises(error, match=words):
        call(torch)


def test_a_refused_group_is_not_added():
    optimizer = mg.optim.Muon([matrix(mg)])
    with pytest.raises(ValueError, match="Give it to another optimizer, such as AdamW"):
        optimizer.add_param_group({"params": [matrix(mg, 3)]})
    assert len(optimizer.param_groups) == 1
