"""Optimisers write to their parameters like any in-place op: they refuse overlapping elements and read-only memory."""

import numpy as np
import pytest

import minigrad as mg

NAMES = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor", "LBFGS"]
OPTIONS = [{}, {"momentum": 0.9}, {"amsgrad": True}, {"weight_decay": 0.5}]


def steps(name, param, **options):
    optimizer = getattr(mg.optim, name)([param], lr=0.1, **options)
    param.grad = mg.ones(param.shape)
    optimizer.step((lambda: mg.tensor(1.0)) if name == "LBFGS" else None)


def cases():
    for name in NAMES:
        for options in OPTIONS:
            if not options or name in {"momentum": ("SGD",), "amsgrad": ("Adam", "AdamW"), "weight_decay": ("SGD", "Adam")}[next(iter(options))]:
                yield name, options


@pytest.mark.parametrize("name, options", list(cases()), ids=str)
def test_an_expanded_parameter(name, options):
    """differences/S-08: as PyTorch."""
    p = mg.ones(1).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        steps(name, p, **options)
    assert p.tolist() == [1, 1, 1]


@pytest.mark.differs(
    what="`optimizer.step()` on a parameter in read-only memory",
    there="It writes into an immutable `bytes` object.",
    here="RuntimeError.")
@pytest.mark.parametrize("name, options", list(cases()), ids=str)
def test_read_only_memory(name, options):
    """differences/S-08: PyTorch writes into the bytes."""
    memory = bytes(12)
    p = mg.from_numpy(np.frombuffer(memory, np.float32)).requires_grad_()
    with pytest.raises(RuntimeError, match="read-only"):
        steps(name, p, **options)
    assert memory == bytes(12) and p._version == 0


def test_zero_grad_of_an_expanded_gradient():
    """differences/S-08: a gradient that was assigned may be a view."""
    p = mg.ones(3, requires_grad=True)
    p.grad = mg.ones(1).expand(3)
    mg.optim.SGD([p], lr=0.1).zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0, 0]
