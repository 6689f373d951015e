"""Fifty steps of each optimiser on the same gradients as PyTorch's, for all options; and by the formulas alone, without it."""

import numpy as np
import pytest

import minigrad as mg

SGD = [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1},
       {"momentum": 0.5, "weight_decay": 0.1, "maximize": True}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1,
               "maximize": True}]
ADAM = [{}, {"betas": (0.5, 0.9)}, {"eps": 0.1}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True},
        {"amsgrad": True, "weight_decay": 0.1, "maximize": True, "betas": (0.8, 0.95)}]
RMSPROP = [{}, {"alpha": 0.5}, {"momentum": 0.9}, {"centered": True}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1,
                                                                        "maximize": True}, {"eps": 0.1}]
ADAGRAD = [{}, {"lr_decay": 0.1}, {"initial_accumulator_value": 0.5, "weight_decay": 0.1}, {"maximize": True, "eps": 0.1}]
CASES = [(name, {"lr": 0.05, **o}) for name, options in (("SGD", SGD), ("Adam", [*ADAM, {"decoupled_weight_decay": True,
        "weight_decay": 0.1}]),
                                                         ("AdamW", ADAM), ("RMSprop", RMSPROP), ("Adagrad", ADAGRAD)) for o in options]
SHAPES = {"scalar": (), "vector": (5,), "matrix": (3, 4), "large": (130, 70), "empty": (0, 2)}


def case_id(case):
    return f"{case[0]} " + " ".join(f"{k}={v}" for k, v in case[1].items() if k != "lr")


def walk(m, name, options, dtype, transposed):
    """The parameters after each of fifty steps on fixed gradients."""
    rng = np.random.default_rng(0)
    params = []
    for shape in SHAPES.values():
        w = m.tensor(rng.standard_normal(shape).astype(dtype))
        params.append((w.t().contiguous().t() if transposed and len(shape) == 2 else w).requires_grad_())
    optimizer = getattr(m.optim, name)(params, **options)
    seen = []
    for step in range(50):
        for p in params:
            grad = rng.standard_normal(tuple(p.shape)).astype(dtype)
            p.grad = m.tensor(grad) if step % 7 != 3 or p.ndim != 1 else None       # now and then one has no gradient
        if step == 10:
            optimizer.param_groups[0]["lr"] = 0.01
        optimizer.step()
        seen.append([p.detach().numpy().copy() for p in params])
    return seen


@pytest.mark.parametrize("transposed", [False, True], ids=["row-major", "column-major"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_steps_are_torchs(case, dtype, transposed):
    torch = pytest.importorskip("torch")
    ours, theirs = [walk(m, *case, dtype, transposed) for m in (mg, torch)]
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for step, (a, b) in enumerate(zip(ours, theirs)):
        for x, y, shape in zip(a, b, SHAPES):
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=f"{shape} after step {step + 1}")


def sgd(w, grads, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    buffer = None
    for g in grads:
        g = (-g if maximize else g) + weight_decay * w
        if momentum:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        w = w - lr * g
    return w


def adam(w, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False, decoupled_weight_decay=False):
    m = v = top = 0
    for t, g in enumerate(grads, 1):
        g = -g if maximize else g
        if decoupled_weight_decay:
            w = w - lr * weight_decay * w
        else:
            g = g + weight_decay * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        top = np.maximum(top, v)
        w = w - lr * m / (1 - betas[0] ** t) / (np.sqrt((top if amsgrad else v) / (1 - betas[1] ** t)) + eps)
    return w


def rmsprop(w, grads, lr, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False):
    v = mean = b = 0
    for g in grads:
        g = (-g if maximize else g) + weight_decay * w
        v, mean = alpha * v + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
        b = momentum * b + g / (np.sqrt(v - mean * mean if centered else v) + eps)
        w = w - lr * b
    return w


def adagrad(w, grads, lr, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, maximize=False):
    total = initial_accumulator_value
    for t, g in enumerate(grads):
        g = (-g if maximize else g) + weight_decay * w
        total = total + g * g
        w = w - lr / (1 + t * lr_decay) * g / (np.sqrt(total) + eps)
    return w


FORMULAS = {"SGD": sgd, "Adam": adam, "AdamW": adam, "RMSprop": rmsprop, "Adagrad": adagrad}


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_steps_are_the_formulas(case):
    name, options = case
    rng = np.random.default_rng(1)
    start, grads = rng.standard_normal(6), [rng.standard_normal(6) for _ in range(20)]
    w = mg.tensor(start, requires_grad=True)
    optimizer = getattr(mg.optim, name)([w], **options)
    for g in grads:
        w.grad = mg.tensor(g)
        optimizer.step()
    if name == "AdamW":
        options = {"decoupled_weight_decay": True, "weight_decay": 0.01, **options}
    np.testing.assert_allclose(w.detach().numpy(), FORMULAS[name](start, grads, **options), rtol=1e-10)
