"""Copies of tensors on a GPU by Python's means: they stay where they are, and share no memory."""

import copy
import pickle

import pytest

import minigrad as mg

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.t(), lambda x: x[1:]])
def test_a_tensor(how, view):
    x = view(mg.arange(6.0).reshape(2, 3).cuda()).detach().requires_grad_()
    y = COPIES[how](x)
    assert y.device == x.device and y.requires_grad and y.tolist() == x.tolist()
    with mg.no_grad():
        y.zero_()
    assert x.sum().item() > 0


@pytest.mark.parametrize("how", COPIES)
def test_a_module(how):
    layer = mg.nn.Linear(3, 2).cuda()
    twin = COPIES[how](layer)
    assert {p.device.type for p in twin.parameters()} == {"cuda"}
    x = mg.ones(1, 3, device="cuda")
    assert twin(x).tolist() == layer(x).tolist()


def test_where_a_module_is():
    """nn: parameters, gradients and buffers move together, counters that are integers too."""
    norm = mg.nn.BatchNorm1d(3)
    norm(mg.randn(4, 3)).sum().backward()
    for move, kind in ((lambda: norm.cuda(), "cuda"), (lambda: norm.cpu(), "cpu"), (lambda: norm.to("cuda"), "cuda"),
                       (lambda: norm.to(mg.zeros(1)), "cpu"), (lambda: norm.to(device=mg.device("cuda"), dtype=mg.float64), "cuda")):
        assert move() is norm
        there = [*norm.parameters(), *norm.buffers(), *[p.grad for p in norm.parameters()]]
        assert {x.device.type for x in there} == {kind}
    assert norm.weight.dtype is mg.float64 and norm.num_batches_tracked.dtype is mg.int64


def test_save_and_load(tmp_path):
    pytest.importorskip("safetensors")
    x = mg.arange(6.0).reshape(2, 3).cuda()
    mg.save({"x": x.t()}, tmp_path / "x.safetensors")
    assert mg.load(tmp_path / "x.safetensors")["x"].tolist() == x.t().tolist()
