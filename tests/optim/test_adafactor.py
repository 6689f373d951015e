"""Adafactor: the steps are PyTorch's; an empty parameter stays as it is."""

import numpy as np
import pytest

import minigrad as mg

OPTIONS = [{}, {"lr": 0.3, "beta2_decay": -0.5, "d": 2.0}, {"eps": (1e-3, 0.1), "weight_decay": 0.1}, {"lr": 0.1, "maximize": True}]


def steps(m, shape, dtype, options):
    """A parameter after twenty steps on fixed gradients, and its state."""
    rng = np.random.default_rng(0)
    w = m.tensor(rng.standard_normal(shape).astype(dtype)).requires_grad_()
    optimizer = m.optim.Adafactor([w], **options)
    for _ in range(20):
        w.grad = m.tensor(rng.standard_normal(shape).astype(dtype))
        optimizer.step()
    return w.detach().numpy(), {name: np.asarray(value) for name, value in optimizer.state_dict()["state"][0].items()}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (40, 30)], ids=str)
def test_steps_are_torchs(shape, dtype, options):
    torch = pytest.importorskip("torch")
    (ours, state), (theirs, their_state) = (steps(m, shape, dtype, options) for m in (mg, torch))
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance / 100)
    assert list(state) == list(their_state)
    for name, value in state.items():
        np.testing.assert_allclose(value, their_state[name], rtol=tolerance, err_msg=name)


def test_an_empty_parameter():
    w = mg.zeros(0, 2, requires_grad=True)
    optimizer = mg.optim.Adafactor([w])
    w.grad = mg.zeros(0, 2)
    optimizer.step()
    assert w.shape == (0, 2)
    assert optimizer.state[w]["col_var"].shape == (1, 2)


def test_a_matrix_keeps_a_row_and_a_column():
    w = mg.ones(6, 5, requires_grad=True)
    optimizer = mg.optim.Adafactor([w])
    w.grad = mg.ones(6, 5)
    optimizer.step()
    assert {name: value.numel() for name, value in optimizer.state[w].items() if name != "step"} == {"row_var": 6, "col_var": 5}
