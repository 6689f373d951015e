"""L-BFGS: PyTorch's trajectory, and the conditions that its line search promises."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.optim._wolfe import C1, C2, Point, strong_wolfe


def rosenbrock(m):
    ps = [m.tensor(np.array([-1.2, 1.0, 0.7, -0.3]), requires_grad=True), m.tensor(np.array([[2.0, -1.0]]), requires_grad=True)]

    def loss():
        w = m.cat([p.reshape(-1) for p in ps])
        return (100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()
    return ps, loss


def network(m):
    rng = np.random.default_rng(0)
    ps = [m.tensor(rng.standard_normal(shape) * 0.5, requires_grad=True) for shape in ((3, 8), (8,), (8, 1), (0, 2))]
    x, y = m.tensor(rng.standard_normal((20, 3))), m.tensor(rng.standard_normal((20, 1)))
    return ps, lambda: ((m.tanh(x @ ps[0] + ps[1]) @ ps[2] - y) ** 2).mean()


def bowl(m):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((10, 10))
    a, b = m.tensor(matrix @ matrix.T + np.eye(10) * 0.1), m.tensor(rng.standard_normal(10))
    p, unused = m.tensor(rng.standard_normal(10), requires_grad=True), m.tensor(np.ones(2), requires_grad=True)
    return [p, unused], lambda: p @ a @ p / 2 - b @ p


def walk(m, problem, options, steps=50):
    """After each call of `step`: the parameters, the loss that it returned, and how often the closure has been called."""
    params, loss = problem(m)
    optimizer = m.optim.LBFGS(params, **options)
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value
    seen = []
    for _ in range(steps):
        value = optimizer.step(closure)
        state = optimizer.state[params[0]]
        seen.append([*[p.detach().numpy().copy() for p in params], value.detach().numpy(),
                     np.array([len(calls), state["func_evals"], state["n_iter"]])])
    return seen


@pytest.mark.parametrize("problem, options", [
    (rosenbrock, {"lr": 1e-3, "max_iter": 1}), (rosenbrock, {"lr": 0.02, "max_iter": 5}), (rosenbrock, {"line_search_fn": "strong_wolfe"}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 4}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "max_iter": 1}), (rosenbrock, {"line_search_fn": "strong_wolfe", "max_eval": 3}),
    (network, {"lr": 0.5}), (network, {"lr": 0.02, "max_iter": 5}), (network, {"line_search_fn": "strong_wolfe"}),
    (network, {"line_search_fn": "strong_wolfe", "max_iter": 1, "lr": 0.1}), (network, {"tolerance_grad": 1e-2, "lr": 0.5}),
    (network, {"tolerance_change": 1e-3, "line_search_fn": "strong_wolfe"}),
    (bowl, {"lr": 0.5}), (bowl, {"line_search_fn": "strong_wolfe"}), (bowl, {"line_search_fn": "strong_wolfe", "max_iter": 1, "lr": 7.0}),
], ids=lambda x: getattr(x, "__name__", None) or " ".join(f"{k}={v}" for k, v in x.items()))
def test_trajectory_is_torchs(problem, options):
    torch = pytest.importorskip("torch")
    for step, (a, b) in enumerate(zip(*[walk(m, problem, options) for m in (mg, torch)])):
        for x, y in zip(a, b):
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6, err_msg=f"after step {step + 1}")


def test_complex_parameters_are_torchs():
    torch = pytest.importorskip("torch")

    def problem(m):
        p = m.tensor(np.array([1 + 2j, -0.5 + 1j]), requires_grad=True)
        target = m.tensor(np.array([2 - 1j, 0.5j]))
        return [p], lambda: ((p - target).abs() ** 4).sum() + (p.real * p.imag).sum() ** 2
    ours, theirs = [walk(m, problem, {"line_search_fn": "strong_wolfe", "max_iter": 3}, 10) for m in (mg, torch)]
    for a, b in zip(ours, theirs):
        for x, y in zip(a, b):
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_goes_on_from_a_state_dict(line_search):
    (params, loss), (others, other_loss) = rosenbrock(mg), rosenbrock(mg)
    a, b = [mg.optim.LBFGS(ps, lr=0.01, max_iter=3, line_search_fn=line_search) for ps in (params, others)]

    def closure(optimizer, loss):
        def run():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value
        return run
    for _ in range(4):
        a.step(closure(a, loss))
    with mg.no_grad():
        for p, q in zip(others, params):
            p.copy_(q)
    b.load_state_dict(copy.deepcopy(a.state_dict()))
    for _ in range(3):
        a.step(closure(a, loss))
        b.step(closure(b, other_loss))
    for p, q in zip(params, others):
        assert p.tolist() == q.tolist()


def test_finds_the_minimum():
    for problem, value in ((bowl, None), (rosenbrock, 0.0)):
        params, loss = problem(mg)
        if problem is rosenbrock:
            with mg.no_grad():
                for p in params:
                    p.fill_(0.3)
        optimizer = mg.optim.LBFGS(params, max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-10, tolerance_change=0)

        def closure(optimizer=optimizer, loss=loss):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value
        optimizer.step(closure)
        assert max(p.grad.abs().max().item() for p in params if p.grad is not None) < 1e-6
        assert value is None or abs(loss().item() - value) < 1e-12


def test_nothing_to_do():
    """At a minimum, and with no steps allowed, the parameters stay and the loss is returned."""
    torch = pytest.importorskip("torch")
    for m in (mg, torch):
        for start, options in ((3.0, {}), (1.0, {"max_iter": 0})):
            w = m.tensor([start], requires_grad=True)
            optimizer = m.optim.LBFGS([w], **options)

            def closure(w=w, optimizer=optimizer):
                optimizer.zero_grad()
                loss = ((w - 3) ** 2).sum()
                loss.backward()
                return loss
            assert optimizer.step(closure).item() == (start - 3) ** 2 and w.item() == start


def test_a_loss_that_is_a_number():
    """The closure may return a Python number, and runs with gradients enabled, whatever the mode of the caller."""
    w = mg.tensor([1.0], requires_grad=True)
    optimizer = mg.optim.LBFGS([w])

    def closure():
        optimizer.zero_grad()
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        return loss.item()
    with mg.no_grad():
        assert optimizer.step(closure) == 4
    assert w.item() == pytest.approx(3)


def test_unknown_line_search():
    torch = pytest.importorskip("torch")
    for m in (mg, torch):
        w = m.tensor([1.0], requires_grad=True)
        optimizer = m.optim.LBFGS([w], line_search_fn="x")

        def closure(w=w):
            loss = (w * w).sum()
            loss.backward()
            return loss
        with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
            optimizer.step(closure)


def test_a_second_group_is_refused():
    optimizer = mg.optim.LBFGS([mg.zeros(1, requires_grad=True)])
    optimizer.add_param_group({"params": [mg.zeros(1, requires_grad=True)]})
    with pytest.raises(AssertionError, match="Expected exactly one param_group, but got 2"):
        optimizer.step(lambda: 0)


@settings(max_examples=200, deadline=None)
@given(a=st.floats(-3, 3), b=st.floats(-5, 5), c=st.floats(-3, 3), first=st.floats(1e-3, 50))
def test_strong_wolfe_conditions(a, b, c, first):
    """On any line of a quartic that goes up in the end, the point that is found fulfils both conditions."""
    def evaluate(t):
        f = t**4 / 4 + a * t**3 / 3 + b * t**2 / 2 + c * t
        slope = t**3 + a * t**2 + b * t + c
        return Point(t, f, slope, slope)
    start = evaluate(0.0)
    if start.slope > -1e-2:
        return
    calls = []
    point, count = strong_wolfe(lambda t: (calls.append(t), evaluate(t))[1], first, start, 1.0, max_ls=60)
    assert count == len(calls) and point.t > 0
    assert point == evaluate(point.t)
    assert point.f <= start.f + C1 * point.t * start.slope + 1e-9
    assert abs(point.slope) <= C2 * abs(start.slope) + 1e-9


def test_a_search_that_finds_nothing_ends():
    """A wrong gradient: the value rises in every direction."""
    def evaluate(t):
        return Point(t, 1.0 + math.sqrt(t), None, -1.0)
    point, count = strong_wolfe(evaluate, 1.0, Point(0.0, 1.0, None, -1.0), 1.0, max_ls=10)
    assert point.t == 0 and count <= 11
