"""Averages of weights, against PyTorch's."""

import inspect

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.optim import swa_utils

AVERAGES = [("swa", {}), ("swa by one", {"avg_fn": lambda s: s.get_swa_avg_fn()}), ("swa by many", {"multi_avg_fn": lambda s: s.get_swa_multi_avg_fn()}),
            ("ema by one", {"avg_fn": lambda s: s.get_ema_avg_fn(0.8)}), ("ema by many", {"multi_avg_fn": lambda s: s.get_ema_multi_avg_fn(0.8)}),
            ("own", {"avg_fn": lambda s: lambda average, value, n: average * 0.5 + value * 2 + n})]


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def model(m):
    net = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.ReLU(), m.nn.Linear(4, 2)).double()
    net[3].to(m.float32)        # two dtypes
    return net


def drift(m, net, step):
    """New known parameters and statistics."""
    with m.no_grad():
        for i, p in enumerate([*net.parameters(), *net.buffers()]):
            p.copy_(m.tensor(np.cos(np.arange(p.numel()) + 3 * i + step).reshape(tuple(p.shape)) * 10))


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("case", AVERAGES, ids=lambda c: c[0])
def test_average_is_torchs(case, use_buffers, torch):
    if use_buffers and case[0] == "swa by many":
        pytest.skip("PyTorch's function raises on buffers of integers")
    found = []
    for m in (mg, torch):
        net = model(m)
        options = {name: make(m.optim.swa_utils) for name, make in case[1].items()}
        average = m.optim.swa_utils.AveragedModel(net, use_buffers=use_buffers, **options)
        for step in range(5):
            drift(m, net, step)
            average.update_parameters(net)
        found.append({name: value.numpy() for name, value in average.state_dict().items()})
    assert list(found[0]) == list(found[1])
    for name, ours in found[0].items():
        assert ours.dtype == found[1][name].dtype
        np.testing.assert_allclose(ours, found[1][name], rtol=1e-6, atol=1e-6, err_msg=name)


def test_equal_average_and_exponential_average():
    """By the formulas, without PyTorch."""
    net = nn.Linear(1, 1, bias=False)
    equal, ema = swa_utils.AveragedModel(net), swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    expected = 0.0
    for n, value in enumerate([3.0, 1.0, 4.0, 1.0, 5.0]):
        nn.init.constant_(net.weight, value)
        equal.update_parameters(net)
        ema.update_parameters(net)
        expected = value if n == 0 else 0.9 * expected + 0.1 * value
    assert equal.module.weight.item() == pytest.approx(14 / 5) and ema.module.weight.item() == pytest.approx(expected)


def test_buffers_of_integers_are_averaged_too():
    net = nn.BatchNorm1d(2)
    average = swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_swa_multi_avg_fn(), use_buffers=True)
    for count in (2, 4, 9):
        net.num_batches_tracked.fill_(count)
        average.update_parameters(net)
    assert average.module.num_batches_tracked.item() == 5


def test_the_model_stays_as_it_is():
    net = nn.Linear(2, 1)
    average = swa_utils.AveragedModel(net)
    average.update_parameters(net)
    weight = net.weight.tolist()
    nn.init.zeros_(average.module.weight)
    assert net.weight.tolist() == weight and average(mg.ones(2)).shape == (1,)
    assert repr(average) == "AveragedModel(\n  (module): Linear(in_features=2, out_features=1, bias=True)\n)"
    other = swa_utils.AveragedModel(nn.Linear(2, 1))
    other.load_state_dict(average.state_dict())
    assert other.n_averaged.item() == 1


def test_averages_of_what_requires_a_gradient_are_no_graph():
    net = nn.Linear(2, 1)
    average = swa_utils.AveragedModel(net, avg_fn=swa_utils.get_ema_avg_fn())
    for _ in range(3):
        average.update_parameters(net)
    assert all(p.grad_fn is None and p.requires_grad for p in average.parameters())


@pytest.mark.parametrize("batches", ["tensors", "pairs"])
def test_update_bn_is_torchs(batches, torch):
    found = []
    for m in (mg, torch):
        net = m.nn.Sequential(m.nn.BatchNorm1d(3, momentum=0.3), m.nn.ReLU(), m.nn.BatchNorm1d(3)).double().eval()
        drift(m, net, 0)
        data = [m.tensor(np.random.default_rng(i).standard_normal((4, 3))) for i in range(5)]
        m.optim.swa_utils.update_bn(data if batches == "tensors" else [(x, 1) for x in data], net)
        assert not net.training and net[0].momentum == 0.3
        found.append([b.numpy() for b in net.buffers()])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_update_bn_restores_after_an_error():
    net = nn.Sequential(nn.BatchNorm1d(3)).eval()
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        swa_utils.update_bn([mg.ones(3)], net)
    assert net[0].momentum == 0.1 and not net[0].training
    swa_utils.update_bn([None], nn.Linear(1, 1))        # nothing to update: the data is not looked at


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 7])
def test_schedule_is_torchs(strategy, epochs, torch):
    found = []
    for m in (mg, torch):
        optimizer = m.optim.SGD([{"params": [m.zeros(1, requires_grad=True)], "lr": 1.0}, {"params": [m.zeros(1, requires_grad=True)]}], lr=0.3)
        scheduler = m.optim.swa_utils.SWALR(optimizer, [0.05, 0.5], epochs, strategy)
        seen = [scheduler.get_last_lr()]
        for step in range(12):
            optimizer.step()
            scheduler.step()
            if step == 3:
                optimizer.param_groups[1]["lr"] = 0.4
            seen.append(scheduler.get_last_lr())
        found.append(seen)
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_schedule_after_another_one(torch):
    found = []
    for m in (mg, torch):
        optimizer = m.optim.SGD([m.zeros(1, requires_grad=True)], lr=1.0)
        first, then = m.optim.lr_scheduler.ExponentialLR(optimizer, 0.7), m.optim.swa_utils.SWALR(optimizer, 0.05, 4)
        seen = []
        for step in range(12):
            optimizer.step()
            (first if step < 5 else then).step()
            seen.append(optimizer.param_groups[0]["lr"])
        found.append(seen)
    np.testing.assert_allclose(*found, rtol=1e-12)


def sgd(m):
    return m.optim.SGD([m.zeros(1, requires_grad=True)], lr=1.0)


@pytest.mark.parametrize("library", ["minigrad", "torch"])
@pytest.mark.parametrize("call, error, words", [
    (lambda m, s: s.get_ema_multi_avg_fn(2), ValueError, r"Invalid decay value 2 provided. Please provide a value in \[0,1\] range."),
    (lambda m, s: s.get_ema_avg_fn(-1), ValueError, "Invalid decay value -1 provided"),
    (lambda m, s: s.AveragedModel(m.nn.ReLU(), avg_fn=max, multi_avg_fn=max), AssertionError, "Only one of avg_fn and multi_avg_fn"),
    (lambda m, s: s.SWALR(sgd(m), 0.1, anneal_strategy="x"), ValueError, "anneal_strategy must be one of 'cos' or 'linear', instead got x"),
    (lambda m, s: s.SWALR(sgd(m), 0.1, anneal_epochs=-1), ValueError, "anneal_epochs must be equal or greater than 0, got -1"),
    (lambda m, s: s.SWALR(sgd(m), [0.1, 0.2]), ValueError, "swa_lr must have the same length as optimizer.param_groups"),
])
def test_mistakes(call, error, words, library):
    m = pytest.importorskip(library)
    with pytest.raises(error, match=words):
        call(m, m.optim.swa_utils)


@pytest.mark.parametrize("name", swa_utils.__all__)
def test_signature(name, torch):
    ours, theirs = [[(p.name, p.kind, p.default) for p in inspect.signature(getattr(m.optim.swa_utils, name)).parameters.values()] for m in (mg, torch)]
    assert ours == theirs
