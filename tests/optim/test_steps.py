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
BETAS = [{}, {"betas": (0.5, 0.9)}, {"eps": 0.1}, {"weight_decay": 0.1}, {"maximize": True, "weight_decay": 0.1}]
OTHERS = [("Adadelta", [{"lr": 1.0}, {"rho": 0.5, "eps": 0.1}, {"weight_decay": 0.1, "maximize": True}]), ("Adamax", BETAS),
          ("NAdam", [*BETAS, {"momentum_decay": 0.3}, {"weight_decay": 0.1, "decoupled_weight_decay": True}]),
          ("RAdam", [*BETAS, {"weight_decay": 0.1, "decoupled_weight_decay": True}]),
          ("Rprop", [{}, {"etas": (0.3, 1.7), "step_sizes": (0.01, 0.2)}, {"maximize": True}]),
          ("ASGD", [{}, {"lambd": 0.1, "alpha": 0.3, "t0": 5}, {"weight_decay": 0.1, "maximize": True}])]
CASES = [(name, {"lr": 0.05, **o}) for name, options in (("SGD", SGD), ("Adam", [*ADAM, {"decoupled_weight_decay": True,
        "weight_decay": 0.1}]),
                                                         ("AdamW", ADAM), ("RMSprop", RMSPROP), ("Adagrad", ADAGRAD), *OTHERS) for o in options]
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
    # PyTorch's NAdam and ASGD keep factors in float32, whatever the dtype of the parameters.
    tolerance = 2e-5 if dtype == "float32" else 1e-6 if case[0] in ("NAdam", "ASGD") else 1e-12
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


def adadelta(w, grads, lr, rho=0.9, eps=1e-6, weight_decay=0, maximize=False):
    v = u = 0
    for g in grads:
        g = (-g if maximize else g) + weight_decay * w
        v = rho * v + (1 - rho) * g * g
        d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d
        w = w - lr * d
    return w


def adamax(w, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False):
    m = u = 0
    for t, g in enumerate(grads, 1):
        g = (-g if maximize else g) + weight_decay * w
        m, u = betas[0] * m + (1 - betas[0]) * g, np.maximum(betas[1] * u, np.abs(g) + eps)
        w = w - lr / (1 - betas[0] ** t) * m / u
    return w


def nadam(w, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False,
          maximize=False):
    m = v = 0
    mus = [betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in range(1, len(grads) + 2)]
    for t, g in enumerate(grads, 1):
        g = -g if maximize else g
        if decoupled_weight_decay:
            w = w - lr * weight_decay * w
        else:
            g = g + weight_decay * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        step = (1 - mus[t - 1]) * g / (1 - np.prod(mus[:t])) + mus[t] * m / (1 - np.prod(mus[:t + 1]))
        w = w - lr * step / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return w


def radam(w, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, maximize=False):
    m = v = 0
    most = 2 / (1 - betas[1]) - 1
    for t, g in enumerate(grads, 1):
        g = -g if maximize else g
        if decoupled_weight_decay:
            w = w - lr * weight_decay * w
        else:
            g = g + weight_decay * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        step, filled = m / (1 - betas[0] ** t), 1 - betas[1] ** t
        length = most - 2 * t * betas[1] ** t / filled
        if length > 5:
            step = step * np.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length) * filled) / (np.sqrt(v) + eps)
        w = w - lr * step
    return w


def rprop(w, grads, lr, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False):
    s, before = lr, 0
    for g in grads:
        g = -g if maximize else g
        s = np.clip(s * np.select([g * before > 0, g * before < 0], [etas[1], etas[0]], 1.0), *step_sizes)
        before = np.where(g * before < 0, 0, g)
        w = w - s * np.sign(before)
    return w


def asgd(w, grads, lr, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, maximize=False):
    eta = lr
    for t, g in enumerate(grads, 1):
        g = (-g if maximize else g) + weight_decay * w
        w = (1 - lambd * eta) * w - eta * g
        eta = lr / (1 + lambd * lr * t) ** alpha
    return w


FORMULAS = {"SGD": sgd, "Adam": adam, "AdamW": adam, "RMSprop": rmsprop, "Adagrad": adagrad, "Adadelta": adadelta, "Adamax": adamax,
            "NAdam": nadam, "RAdam": radam, "Rprop": rprop, "ASGD": asgd}


@pytest.mark.parametrize("t0", [1e6, 5])
def test_averages_of_asgd_are_torchs(t0):
    torch = pytest.importorskip("torch")
    averages = []
    for m in (mg, torch):
        w = m.tensor(np.arange(3.0), requires_grad=True)
        optimizer = m.optim.ASGD([w], lr=0.1, t0=t0)
        for step in range(20):
            w.grad = m.tensor(np.cos(np.arange(3.0) + step))
            optimizer.step()
        averages.append(optimizer.state[w]["ax"].numpy())
    np.testing.assert_allclose(*averages, rtol=1e-6)


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
