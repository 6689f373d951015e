"""Schedules of learning rates: fifty epochs of each are PyTorch's, saved and resumed in the middle too; and their complaints."""

import math
import pickle
import re
import warnings

import numpy as np
import pytest

import minigrad as mg

# name -> (module, its lr_scheduler, optimizer) -> schedule
SCHEDULES = {
    "LambdaLR": lambda L, o: L.LambdaLR(o, lambda epoch: 0.9 ** epoch),
    "LambdaLR of each": lambda L, o: L.LambdaLR(o, [lambda epoch: 0.9 ** epoch, lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda L, o: L.MultiplicativeLR(o, lambda epoch: 1 - 1 / (epoch + 2)),
    "StepLR": lambda L, o: L.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda L, o: L.MultiStepLR(o, [30, 5, 5, 17], 0.3),
    "ConstantLR": lambda L, o: L.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda L, o: L.LinearLR(o, 0.2, 0.7, 11),
    "ExponentialLR": lambda L, o: L.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda L, o: L.PolynomialLR(o, 20, 1.7),
    "CosineAnnealingLR": lambda L, o: L.CosineAnnealingLR(o, 13, 0.01),
    "CosineAnnealingWarmRestarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "OneCycleLR": lambda L, o: L.OneCycleLR(o, [0.3, 0.6], 51),
    "OneCycleLR linear": lambda L, o: L.OneCycleLR(o, 0.3, epochs=6, steps_per_epoch=9, anneal_strategy="linear", pct_start=0.4),
    "OneCycleLR three": lambda L, o: L.OneCycleLR(o, 0.3, 60, three_phase=True, base_momentum=0.5, div_factor=3.0),
    "CyclicLR": lambda L, o: L.CyclicLR(o, [0.1, 0.05], 0.3, 7),
    "CyclicLR two": lambda L, o: L.CyclicLR(o, 0.1, [0.3, 0.2], 5, 3, mode="triangular2", base_momentum=0.5, max_momentum=0.7),
    "CyclicLR exp": lambda L, o: L.CyclicLR(o, 0.1, 0.3, 4, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "CyclicLR own": lambda L, o: L.CyclicLR(o, 0.1, 0.3, 4, scale_fn=lambda t: 1 / (1 + t), scale_mode="iterations"),
    "OneCycleLR alone": lambda L, o: L.OneCycleLR(o, 0.3, 60, cycle_momentum=False),
    "SequentialLR": lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=4), L.CosineAnnealingLR(o, 20),
                                                    L.StepLR(o, 3, 0.3)], [4, 25]),
    "SequentialLR of functions": lambda L, o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 90), L.LambdaLR(o, lambda e: 0.9 ** e)], [9]),
    "ChainedScheduler": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 4), L.ExponentialLR(o, 0.9)]),
}
OPTIMIZERS = {"SGD": {"momentum": 0.9}, "Adam": {}}


def made(m, name="SGD", schedule="StepLR"):
    """(parameters, optimizer of two groups, schedule)"""
    params = [m.tensor([1.0, -2.0], dtype=m.float64, requires_grad=True), m.tensor(3.0, dtype=m.float64, requires_grad=True)]
    optimizer = getattr(m.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.02}], lr=0.05, **OPTIMIZERS[name])
    return params, optimizer, SCHEDULES[schedule](m.optim.lr_scheduler, optimizer)


def epoch(params, optimizer, scheduler):
    """The learning rates, momenta and parameters after one epoch."""
    optimizer.zero_grad()
    sum((p * p).sum() for p in params).backward()
    optimizer.step()
    scheduler.step()
    momenta = [group.get("momentum", group.get("betas", [0])) for group in optimizer.param_groups]
    return [*scheduler.get_last_lr(), *np.ravel(momenta), *[x for p in params for x in p.detach().numpy().ravel()]]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fifty_epochs_are_torchs(schedule, name):
    torch = pytest.importorskip("torch")
    walks = []
    for m in (mg, torch):
        things = made(m, name, schedule)
        walks.append([things[2].get_last_lr()] + [epoch(*things) for _ in range(50)])
    for t, (ours, theirs) in enumerate(zip(*walks)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=f"epoch {t}")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_goes_on_after_saving(schedule):
    things, others = made(mg, "SGD", schedule), made(mg, "SGD", schedule)
    for _ in range(8):
        epoch(*things)
    others[1].load_state_dict(things[1].state_dict())
    others[2].load_state_dict(pickle.loads(pickle.dumps(things[2].state_dict())))
    with mg.no_grad():
        for p, q in zip(others[0], things[0]):
            p.copy_(q)
    for _ in range(30):
        assert epoch(*others) == epoch(*things)


@pytest.mark.parametrize("options", [{}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.05}, {"cooldown": 3},
                                     {"min_lr": [0.01, 0.001]}, {"mode": "max", "threshold_mode": "abs"}, {"eps": 0.02}], ids=str)
def test_plateau_is_torchs(options):
    torch = pytest.importorskip("torch")
    losses = np.abs(np.sin(np.arange(60) * 0.7)) + 1 / (np.arange(60) + 1)
    walks = []
    for m in (mg, torch):
        _, optimizer, _ = made(m)
        scheduler = m.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.5, **options)
        walks.append([])
        for loss in losses:
            scheduler.step(m.tensor(loss))
            walks[-1].append((*scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.best))
    np.testing.assert_allclose(*walks, rtol=1e-12)
    assert len({w[0] for w in walks[0]}) > 1


def sgd(m, **options):
    return m.optim.SGD([m.zeros(1, requires_grad=True)], lr=0.1, **options)


def beyond(m):
    optimizer = sgd(m)
    scheduler = m.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 2)
    for _ in range(3):
        scheduler.step()


def other_optimizer(m):
    L = m.optim.lr_scheduler
    return L.SequentialLR(sgd(m), [L.StepLR(sgd(m), 1)], [])


MISTAKES = [
    (lambda m: m.optim.lr_scheduler.StepLR(3, 3), TypeError, "int is not an Optimizer"),
    (lambda m: m.optim.lr_scheduler.StepLR(sgd(m), 3, last_epoch=3), KeyError, "param 'initial_lr' is not specified in param_groups[0]"),
    (lambda m: m.optim.lr_scheduler.LambdaLR(sgd(m), [math.sin] * 2), ValueError, "Expected 1 lr_lambdas, but got 2"),
    (lambda m: m.optim.lr_scheduler.ConstantLR(sgd(m), factor=2), ValueError, "factor expected to be between 0 and 1."),
    (lambda m: m.optim.lr_scheduler.LinearLR(sgd(m), start_factor=0), ValueError, "expected to be greater than 0 and less or equal to 1"),
    (lambda m: m.optim.lr_scheduler.LinearLR(sgd(m), end_factor=3), ValueError, "Ending multiplicative factor expected"),
    (lambda m: m.optim.lr_scheduler.CyclicLR(sgd(m), 0.1, 0.2, mode="square"), ValueError, "mode is invalid and scale_fn is None"),
    (lambda m: m.optim.lr_scheduler.CyclicLR(m.optim.Adagrad([m.zeros(1)]), 0.1, 0.2), ValueError, "must support momentum or beta1"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), 0.1), ValueError, "You must define either total_steps OR"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), 0.1, 2.5), ValueError, "Expected positive integer total_steps, but got 2.5"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), 0.1, epochs=-3, steps_per_epoch=1), ValueError, "Expected positive integer epochs"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), 0.1, 9, pct_start=2.0), ValueError, "Expected float between 0 and 1 pct_start"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), 0.1, 9, anneal_strategy="x"), ValueError, "anneal_strategy must be one of"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(sgd(m), [0.1, 0.2], 9), ValueError, "max_lr must have the same length"),
    (lambda m: m.optim.lr_scheduler.OneCycleLR(m.optim.Adagrad([m.zeros(1)]), 0.1, 9), ValueError, "must support momentum or beta1"),
    (beyond, ValueError, "Tried to step 3 times. The specified number of total steps is 2"),
    (lambda m: m.optim.lr_scheduler.ReduceLROnPlateau(sgd(m), factor=1.0), ValueError, "Factor should be < 1.0."),
    (lambda m: m.optim.lr_scheduler.ReduceLROnPlateau(3), TypeError, "int is not an Optimizer"),
    (lambda m: m.optim.lr_scheduler.ReduceLROnPlateau(sgd(m), min_lr=[1, 2]), ValueError, "expected 1 min_lrs, got 2"),
    (lambda m: m.optim.lr_scheduler.ReduceLROnPlateau(sgd(m), mode="x"), ValueError, "mode x is unknown!"),
    (lambda m: m.optim.lr_scheduler.ReduceLROnPlateau(sgd(m), threshold_mode="x"), ValueError, "threshold mode x is unknown!"),
    (lambda m: m.optim.lr_scheduler.SequentialLR(sgd(m), [], []), ValueError, "SequentialLR expects at least one scheduler"),
    (other_optimizer, ValueError, "SequentialLR expects all schedulers to belong to the same optimizer"),
    (lambda m: m.optim.lr_scheduler.SequentialLR(o := sgd(m), [m.optim.lr_scheduler.StepLR(o, 1)], [3]), ValueError,
     "expects number of schedulers provided to be one more than the number of milestone points"),
    (lambda m: m.optim.lr_scheduler.ChainedScheduler([]), ValueError, "ChainedScheduler expects at least one scheduler"),
    (lambda m: m.optim.lr_scheduler.SequentialLR(o := sgd(m), [m.optim.lr_scheduler.ReduceLROnPlateau(o)], []), ValueError,
     "SequentialLR does not support `ReduceLROnPlateau` scheduler"),
    (lambda m: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd(m), 0), ValueError, "Expected positive integer T_0, but got 0"),
    (lambda m: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd(m), 1, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
]


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("library", ["minigrad", "torch"])
@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words, library):
    with pytest.raises(error, match=re.escape(words)):
        call(pytest.importorskip(library))


def test_a_step_of_the_schedule_before_the_optimizers_warns():
    _, optimizer, scheduler = made(mg)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        scheduler.step()
    _, optimizer, scheduler = made(mg)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        scheduler.step()


def test_an_epoch_can_be_said():
    """Deprecated, as in PyTorch: the closed form of that epoch."""
    _, optimizer, scheduler = made(mg, schedule="ExponentialLR")
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(5)
    assert scheduler.get_last_lr() == pytest.approx([0.05 * 0.93 ** 5, 0.02 * 0.93 ** 5])


def test_a_tensor_as_learning_rate_is_written_to():
    lr = mg.tensor(1.0)
    optimizer = mg.optim.SGD([mg.zeros(1)], lr=lr)
    mg.optim.lr_scheduler.ConstantLR(optimizer, 0.5)
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.5


@pytest.mark.differs(
    what="A `SequentialLR` inside a `SequentialLR`",
    there="NotImplementedError.",
    here="It begins at its milestone.")
def test_a_sequence_of_sequences_begins_at_its_milestone():
    """PyTorch cannot begin a nested sequence: NotImplementedError."""
    _, optimizer, _ = made(mg)
    L = mg.optim.lr_scheduler
    inner = L.SequentialLR(optimizer, [L.ConstantLR(optimizer, 0.3, 90), L.ExponentialLR(optimizer, 0.5)], [2])
    scheduler = L.SequentialLR(optimizer, [L.ConstantLR(optimizer, 0.1, 90), inner], [3])
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(7):
        optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    assert np.array(seen) / 0.05 == pytest.approx([0.1, 0.1, 0.1, 0.3, 0.3, 1, 0.5, 0.25])
