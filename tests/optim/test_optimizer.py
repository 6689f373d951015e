"""Optimisers: options, groups, state, and their effect on parameters. Steps are compared with PyTorch in test_steps.py."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import optim

OPTIMIZERS = [lambda ps, **o: optim.SGD(ps, 0.1, momentum=0.9, **o), lambda ps, **o: optim.Adam(ps, 0.1, **o),
              lambda ps, **o: optim.AdamW(ps, 0.1, amsgrad=True, **o), lambda ps, **o: optim.RMSprop(ps, 0.1, momentum=0.5, **o),
              lambda ps, **o: optim.Adagrad(ps, 0.1, **o), lambda ps, **o: optim.Adadelta(ps, 1.0, **o),
              lambda ps, **o: optim.Adamax(ps, 0.1, **o), lambda ps, **o: optim.NAdam(ps, 0.1, **o),
              lambda ps, **o: optim.RAdam(ps, 0.1, **o), lambda ps, weight_decay=0, **o: optim.Rprop(ps, 0.1, **o),
              lambda ps, **o: optim.ASGD(ps, 0.1, **o)]
each = pytest.mark.parametrize("make", OPTIMIZERS, ids=["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam",
                                                        "RAdam", "Rprop", "ASGD"])


def leaf(*numbers, m=mg):
    return m.tensor(numbers or (1.0, 2.0), requires_grad=True)


def fit(w, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (w * w * w).sum().backward()
        optimizer.step()


# Wrong options: (call, exception class, words), the same in PyTorch unless the last is False
MISTAKES = [
    (lambda m: m.optim.SGD([leaf(m=m)], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda m: m.optim.SGD([leaf(m=m)], momentum=-1), ValueError, "Invalid momentum value: -1"),
    (lambda m: m.optim.SGD([leaf(m=m)], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (lambda m: m.optim.SGD([leaf(m=m)], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
    (lambda m: m.optim.SGD([leaf(m=m)], 0.1, 0.9, 0.1, nesterov=True), ValueError, "Nesterov momentum requires"),
    (lambda m: m.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
    (lambda m: m.optim.SGD(leaf(m=m)), TypeError, "should be an iterable of Tensors or dicts"),
    (lambda m: m.optim.SGD([3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (lambda m: m.optim.SGD(3), TypeError, "not iterable"),
    (lambda m: m.optim.SGD([leaf(m=m) * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (lambda m: m.optim.SGD([{"param": [leaf(m=m)]}]), KeyError, "params"),
    (lambda m: m.optim.SGD([{"params": [w := leaf(m=m)]}, {"params": [w]}]), ValueError,
     "some parameters appear in more than one parameter group"),
    (lambda m: m.optim.SGD([{"params": {leaf(m=m)}}]), TypeError, "ordered collections"),
    (lambda m: m.optim.SGD([("a", leaf(m=m)), leaf(m=m)]), ValueError, "Some param names are missing"),
    (lambda m: m.optim.SGD([leaf(m=m)]).add_param_group(3), TypeError, "param_group must be a dict, but got <class 'int'>"),
    (lambda m: m.optim.SGD([("a", leaf(m=m))]).add_param_group({"params": [leaf(m=m)]}), ValueError,
     "should be with/without names"),
    (lambda m: m.optim.SGD([leaf(m=m)], lr=m.tensor([0.1, 0.2])), ValueError, "Tensor lr must be 1-element"),
    (lambda m: m.optim.SGD([leaf(m=m)], foreach=True, fused=True), RuntimeError,
     "`fused` and `foreach` cannot be `True` together."),
    (lambda m: m.optim.Adam([leaf(m=m)], differentiable=True, fused=True), RuntimeError,
     "`fused` does not support `differentiable`"),
    (lambda m: m.optim.Adam([leaf(m=m)], lr=-1), ValueError, "Invalid learning rate"),
    (lambda m: m.optim.Adam([leaf(m=m)], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda m: m.optim.Adam([leaf(m=m)], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (lambda m: m.optim.AdamW([leaf(m=m)], betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
    (lambda m: m.optim.Adam([leaf(m=m)], betas=(0.9,)), IndexError, "out of range"),
    (lambda m: m.optim.RMSprop([leaf(m=m)], alpha=-1), ValueError, "Invalid alpha value: -1"),
    (lambda m: m.optim.RMSprop([leaf(m=m)], momentum=-1), ValueError, "Invalid momentum value: -1"),
    (lambda m: m.optim.RMSprop([leaf(m=m)], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda m: m.optim.Adagrad([leaf(m=m)], lr_decay=-1), ValueError, "Invalid lr_decay value: -1"),
    (lambda m: m.optim.Adagrad([leaf(m=m)], initial_accumulator_value=-1), ValueError,
     "Invalid initial_accumulator_value value: -1"),
    (lambda m: m.optim.Adadelta([leaf(m=m)], rho=2), ValueError, "Invalid rho value: 2"),
    (lambda m: m.optim.Adamax([leaf(m=m)], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (lambda m: m.optim.NAdam([leaf(m=m)], momentum_decay=-1), ValueError, "Invalid momentum_decay value: -1"),
    (lambda m: m.optim.RAdam([leaf(m=m)], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda m: m.optim.Rprop([leaf(m=m)], etas=(1.5, 2.0)), ValueError, "Invalid eta values: 1.5, 2.0"),
    (lambda m: m.optim.Adafactor([leaf(m=m)], beta2_decay=0.1), ValueError, "beta2_decay"),
    (lambda m: m.optim.Adafactor([leaf(m=m)], eps=(-1, 0.1)), ValueError, "eps"),
    (lambda m: m.optim.Adafactor([leaf(m=m)], eps=(None, -0.1)), ValueError, "eps"),
    (lambda m: m.optim.Adafactor([leaf(m=m)], d=0.5), ValueError, "d "),
    (lambda m: m.optim.ASGD([leaf(m=m)], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (lambda m: m.optim.LBFGS([leaf(m=m)], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda m: m.optim.LBFGS([{"params": [leaf(m=m)]}, {"params": [leaf(m=m)]}]), ValueError,
     "LBFGS doesn't support per-parameter options (parameter groups)"),
    (lambda m: m.optim.LBFGS([leaf(m=m)]).step(), TypeError, "closure"),
    (lambda m: m.optim.AdamW([leaf(m=m)], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (lambda m: m.optim.Adam([leaf(m=m)], lr=m.tensor(0.1), foreach=True), ValueError, "lr as a Tensor is not supported"),
    (lambda m: m.optim.SGD([leaf(m=m)], lr="a"), TypeError, "str"),
    (lambda m: m.optim.SGD([leaf(m=m)]).load_state_dict({}), KeyError, "param_groups"),
    (lambda m: m.optim.SGD([leaf(m=m)]).load_state_dict({"state": {}, "param_groups": []}), ValueError,
     "a different number of parameter groups"),
    (lambda m: m.optim.SGD([leaf(m=m)]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}), ValueError,
     "doesn't match the size"),
]


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(mg)


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes_are_torchs(call, error, words):
    torch = pytest.importorskip("torch")
    with pytest.raises(error, match=re.escape(words)):
        call(torch)


@pytest.mark.parametrize("name", [n for n in optim.__all__ if n[0].isupper() and n != "Optimizer"])
def test_signatures_are_torchs(name):
    torch = pytest.importorskip("torch")
    ours, theirs = [[(p.name, p.kind, p.default) for p in inspect.signature(getattr(m.optim,
            name)).parameters.values()] for m in (mg, torch)]
    assert ours == theirs


@each
def test_options_are_accepted_or_refused(make):
    """foreach and fused change only speed in PyTorch; a step that autograd records is not here, and says so."""
    fused = [{"fused": True}, {"fused": False}] if "fused" in make([leaf()]).defaults else []      # PyTorch's RMSprop is never fused
    for options in ({"foreach": True}, {"foreach": False}, *fused, {"differentiable": False}):
        w = leaf()
        fit(w, make([w], **options), 1)
        assert w.tolist() != [1, 2]
    with pytest.raises(NotImplementedError, match="differentiable=True is not supported"):
        make([leaf()], differentiable=True)


def test_duplicates_warn():
    w = leaf()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([w, w])


def test_base_class_has_no_step():
    w = leaf()
    w.sum().backward()
    with pytest.raises(NotImplementedError):
        optim.Optimizer([w], {}).step()


# ---- groups ----------------------------------------------------------------------------------------------


def test_groups_have_their_own_options():
    a, b, c = leaf(), leaf(), leaf()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5, "name": "b"}], lr=0.1)
    optimizer.add_param_group({"params": (x for x in [c]), "lr": 0})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5, 0] and optimizer.param_groups[1]["name"] == "b"
    for w in (a, b, c):
        w.sum().backward()
    optimizer.step()
    assert (a.tolist(), b.tolist(), c.tolist()) == (pytest.approx([0.9, 1.9]), [0.5, 1.5], [1, 2])
    optimizer.param_groups[2]["lr"] = 1.0        # as a schedule does
    optimizer.step()
    assert c.tolist() == [0, 1]


def test_parameters_from_a_module_and_by_name():
    model = mg.nn.Linear(2, 1)
    assert len(optim.SGD(model.parameters()).param_groups[0]["params"]) == 2
    named = optim.SGD(model.named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"] == named.state_dict()["param_groups"][0]["param_names"]


def test_learning_rate_as_a_tensor():
    w = leaf()
    optimizer = optim.SGD([w], lr=mg.tensor(0.5))
    w.sum().backward()
    optimizer.step()
    assert w.tolist() == [0.5, 1.5] and w.is_leaf
    w = leaf()
    fit(w, optim.Adam([w], lr=mg.tensor([0.5])), 1)
    assert w.tolist() == pytest.approx([0.5, 1.5])


# ---- a step ----------------------------------------------------------------------------------------------


@each
def test_a_step_changes_memory_in_place(make):
    w = leaf()
    address, version, alias = w.data_ptr(), w._version, w.detach()
    fit(w, make([w]), 1)
    assert w.data_ptr() == address and w._version > version and alias.tolist() == w.tolist() != [1, 2]
    assert w.is_leaf and w.requires_grad


@each
def test_a_step_between_forward_and_backward_is_noticed(make):
    w = leaf()
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    make([w]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@each
def test_parameters_without_gradient_are_left_alone(make):
    a, b = leaf(), leaf()
    a.sum().backward()
    optimizer = make([a, b])
    optimizer.step()
    assert b.tolist() == [1, 2]
    assert b not in optimizer.state or optimizer.state[b]["step"] == 0       # Adagrad has its sums from the beginning


@each
def test_gradients_are_not_changed(make):
    w = leaf()
    w.sum().backward()
    make([w], maximize=True, weight_decay=0.5).step()
    assert w.grad.tolist() == [1, 1]


def test_closure():
    w = leaf()
    optimizer = optim.SGD([w], lr=0.1)

    def closure():
        assert mg.is_grad_enabled()
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss
    with mg.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 5 and w.tolist() == pytest.approx([0.8, 1.6])
    assert optimizer.step() is None


def test_zero_grad():
    w, v = leaf(), leaf()
    optimizer = optim.SGD([w, v])
    w.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0] and v.grad is None
    (w * w).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert not w.grad.requires_grad and w.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert w.grad is None


# ---- state ------------------------------------------------------------------------------------------------


@each
def test_state_goes_on_after_a_round_trip(make):
    """Trained, saved, loaded into another optimiser and trained on: the same as trained without a stop."""
    w, straight = leaf(), leaf()
    optimizer = make([w])
    fit(w, optimizer, 3)
    fit(straight, make([straight]), 6)
    resumed = w.detach().clone().requires_grad_()
    later = make([resumed])
    later.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    fit(resumed, later, 3)
    np.testing.assert_array_equal(resumed.detach().numpy(), straight.detach().numpy())


@each
def test_loaded_state_is_a_copy_in_the_dtype_of_the_parameter(make):
    w, double = leaf(), mg.tensor([1.0, 2.0], dtype=mg.float64, requires_grad=True)
    optimizer, later = make([w]), make([double])
    fit(w, optimizer, 1)
    later.load_state_dict(optimizer.state_dict())
    state = later.state[double]
    assert all(v.dtype is mg.float64 for k, v in state.items() if isinstance(v, mg.Tensor) and k != "step")
    before = {k: v.tolist() for k, v in optimizer.state[w].items() if isinstance(v, mg.Tensor)}
    fit(double, later, 2)
    assert before == {k: v.tolist() for k, v in optimizer.state[w].items() if isinstance(v, mg.Tensor)}


def test_state_dict_form():
    a, b = leaf(), leaf()
    optimizer = optim.Adam([{"params": [a]}, {"params": [b], "lr": 5}])
    assert optimizer.state_dict()["state"] == {}
    b.sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"]) == [1] and set(state["state"][1]) == {"step", "exp_avg", "exp_avg_sq"}
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]] and state["param_groups"][1]["lr"] == 5
    plain = optim.SGD([a])
    a.sum().backward()
    plain.step()
    assert plain.state_dict()["state"] == {}


def test_a_failed_load_changes_nothing():
    w = leaf()
    optimizer = optim.SGD([w], lr=0.1)
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1], "lr": 9}]})
    assert optimizer.param_groups[0]["lr"] == 0.1


@pytest.mark.parametrize("name, options", [("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {"amsgrad": True})])
def test_torchs_state_dict_loads(name, options):
    torch = pytest.importorskip("torch")
    theirs = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = getattr(torch.optim, name)([theirs], lr=0.1, **options)
    fit(theirs, optimizer, 3)
    state = optimizer.state_dict()
    state["state"] = {n: {k: mg.tensor(v.numpy()) for k, v in s.items()} for n, s in state["state"].items()}
    ours = mg.tensor(theirs.detach().numpy(), requires_grad=True)
    later = getattr(optim, name)([ours])
    later.load_state_dict(state)
    fit(theirs, optimizer, 3)
    fit(ours, later, 3)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


@each
def test_copies(make):
    w = leaf()
    optimizer = make([w])
    fit(w, optimizer, 1)
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        other = twin.param_groups[0]["params"][0]
        assert other is not w and other in twin.state
        fit(other, twin, 1)
    fit(w, optimizer, 1)
    assert other.tolist() == w.tolist()


def test_repr_is_torchs():
    torch = pytest.importorskip("torch")
    for name in ("SGD", "Adam", "AdamW"):
        ours, theirs = [getattr(m.optim, name)([{"params": [leaf(m=m)]}, {"params": [leaf(m=m)], "lr": 5}]) for m in (mg, torch)]
        assert repr(ours) == repr(theirs)
