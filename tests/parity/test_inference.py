"""Inference mode: a matrix of tensors and actions, inside the mode and outside, in both libraries.

Each cell is what comes out: a normal tensor or an inference tensor, whether it requires a gradient, has a history, is a view, its
values; or an error of the same class. `BETTER` lists the cells in which we differ on purpose.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import minigrad

pytestmark = pytest.mark.filterwarnings("ignore")


def inside(m, make):
    with m.inference_mode():
        return make()


def leaf(m):
    return m.tensor([1., 2.], requires_grad=True)


def plain(m):
    return m.tensor([1., 2.])


def number(m):
    return m.tensor(3., requires_grad=True)


TENSORS = {
    "plain": plain, "leaf": leaf, "non-leaf": lambda m: leaf(m) * 1,
    "inference": lambda m: inside(m, lambda: plain(m)),
    "slice of inference": lambda m: inside(m, lambda: plain(m))[:2],
    "slice of inference inside": lambda m: inside(m, lambda: plain(m)[:2]),
    "result inside": lambda m: inside(m, lambda: leaf(m) * 2),
    "slice of plain inside": lambda m: (lambda x: inside(m, lambda: x[:2]))(plain(m)),
    "slice of leaf inside": lambda m: (lambda x: inside(m, lambda: x[:2]))(leaf(m)),
    "slice of non-leaf inside": lambda m: (lambda x: inside(m, lambda: x[:2]))(leaf(m) * 1),
    "slice of a view inside": lambda m: (lambda x: inside(m, lambda: x[:2]))((leaf(m) * 1)[:2]),
    "chunk of leaf inside": lambda m: (lambda x: inside(m, lambda: x.chunk(1)[0]))(leaf(m)),
    "detached inside": lambda m: (lambda x: inside(m, x.detach))(leaf(m)),
    "data inside": lambda m: (lambda x: inside(m, lambda: x.data))(leaf(m)),
    "gradient inside": lambda m: (lambda x, y: inside(m, lambda: m.autograd.grad(y, x)[0]))(*squared(m)),
}


def squared(m):
    x = leaf(m)
    return x, (x * x).sum()


def backward(m, x):
    loss = (x * x).sum()
    loss.backward()
    return x.grad


def after(x, act):
    """`x`, after an action that returns something else."""
    act(x)
    return x


def step(m, x, name):
    x.grad = m.ones(2)
    getattr(m.optim, name)([x], lr=0.5).step()
    return x


def under_no_grad(m, act):
    with m.no_grad():
        return act()


ACTIONS = {
    "itself": lambda m, x: x, "x * 2": lambda m, x: x * 2, "x * leaf": lambda m, x: x * number(m), "leaf * x": lambda m, x: number(m) * x,
    "x + leaf": lambda m, x: x + number(m), "view": lambda m, x: x.view(-1), "slice": lambda m, x: x[:1], "slice twice": lambda m, x: x[:1][:1],
    "t": lambda m, x: x.t(), "expand": lambda m, x: x.expand(2, -1), "unbind": lambda m, x: x.unbind()[0], "detach": lambda m, x: x.detach(),
    "data": lambda m, x: x.data, "clone": lambda m, x: x.clone(), "contiguous": lambda m, x: x.contiguous(), "to float64": lambda m, x: x.to(m.float64),
    "to float32": lambda m, x: x.to(m.float32), "as_tensor": lambda m, x: m.as_tensor(x), "tensor": lambda m, x: m.tensor(x),
    "zeros_like": lambda m, x: m.zeros_like(x), "cat": lambda m, x: m.cat([x, x]), "where": lambda m, x: m.where(x > 1, x, -x),
    "index": lambda m, x: x[m.tensor([0])], "add_": lambda m, x: x.add_(1), "zero_": lambda m, x: x.zero_(), "fill_": lambda m, x: x.fill_(2),
    "mul_ twice": lambda m, x: x.mul_(2).add_(1), "write to a slice": lambda m, x: after(x, lambda x: x[:1].add_(1)),
    "returned slice": lambda m, x: x[:1].add_(1), "setitem": lambda m, x: after(x, lambda x: x.__setitem__(0, 5.)),
    "setitem mask": lambda m, x: after(x, lambda x: x.__setitem__(x > 1, 0.)), "write to data": lambda m, x: after(x, lambda x: x.data.add_(1)),
    "write to detached": lambda m, x: after(x, lambda x: x.detach().add_(1)), "add_ leaf": lambda m, x: x.add_(number(m)),
    "copy_ leaf": lambda m, x: x.copy_(number(m)), "slice mul_ leaf": lambda m, x: after(x, lambda x: x[:1].mul_(number(m))),
    "no_grad add_": lambda m, x: under_no_grad(m, lambda: x.add_(1)), "no_grad x * 2": lambda m, x: under_no_grad(m, lambda: x * 2),
    "no_grad slice": lambda m, x: under_no_grad(m, lambda: x[:1]), "increment_version": lambda m, x: after(x, m.autograd.graph.increment_version),
    "requires_grad_": lambda m, x: x.requires_grad_(), "requires_grad_(False)": lambda m, x: x.requires_grad_(False),
    "detach_": lambda m, x: x.detach_(), "retain_grad": lambda m, x: after(x, lambda x: x.retain_grad()),
    "register_hook": lambda m, x: after(x, lambda x: x.register_hook(lambda g: None)), "backward": backward,
    "grad": lambda m, x: m.autograd.grad((x * x).sum(), x)[0], "deepcopy": lambda m, x: copy.deepcopy(x), "copy": lambda m, x: copy.copy(x),
    "pickle": lambda m, x: pickle.loads(pickle.dumps(x)), "Parameter": lambda m, x: m.nn.Parameter(x),
    "Parameter of detached": lambda m, x: m.nn.Parameter(x.detach()), "Buffer": lambda m, x: m.nn.Buffer(x),
    "SGD": lambda m, x: step(m, x, "SGD"), "Adam": lambda m, x: step(m, x, "Adam"), "set grad": lambda m, x: after(x, lambda x: setattr(x, "grad", m.ones(2))),
    "numpy": lambda m, x: m.from_numpy(x.detach().numpy()), "version": lambda m, x: x._version, "is_leaf": lambda m, x: x.is_leaf,
    "item": lambda m, x: x[0].item(), "repr": lambda m, x: repr(x),
}
INFERENCE = {"inference", "slice of inference", "slice of inference inside", "result inside", "gradient inside"}
BETTER = {
    # PyTorch lets what shares the memory of an inference tensor be written to outside, so that the tensor changes all the same
    *[(tensor, action, False) for tensor in INFERENCE for action in ("write to data", "write to detached")],
}


def outcome(m, tensor, action, within):
    """What comes out of a cell."""
    x = TENSORS[tensor](m)
    try:
        with m.inference_mode(within) if within else m.enable_grad():
            y = ACTIONS[action](m, x)
            if not isinstance(y, m.Tensor):
                return y
            return (y.is_inference(), y.requires_grad, y.grad_fn is not None, y._is_view(), tuple(y.shape),
                    np.round(np.array(y.tolist()), 4).tolist())
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        return next(base.__qualname__ for base in type(error).__mro__ if base.__module__ == "builtins")


@pytest.mark.parametrize("within", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize("tensor", TENSORS)
def test_as_in_torch(tensor, within):
    """saved_and_versions/N-01 to saved_and_versions/N-07."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for action in ACTIONS:
            if (tensor, action, within) not in BETTER:
                assert outcome(minigrad, tensor, action, within) == outcome(torch, tensor, action, within), action


def test_differences_are_still_there():
    """What is listed as different is different."""
    for tensor, action, within in BETTER:
        assert outcome(minigrad, tensor, action, within) != outcome(torch, tensor, action, within), (tensor, action)


# ---- ops that see inference tensors only ------------------------------------------------------------------------------

OPS = {
    "exp": lambda m, a: a.exp(), "sum": lambda m, a: a.sum(), "view": lambda m, a: a.view(6), "t": lambda m, a: a.t(),
    "cat": lambda m, a: m.cat([a, a]), "a * 2": lambda m, a: a * 2, "a ** 2": lambda m, a: a ** 2, "1 - a": lambda m, a: 1 - a,
    "a * a": lambda m, a: a * a, "a * normal": lambda m, a: a * m.ones(3), "a[0]": lambda m, a: a[0], "a[:, 1:]": lambda m, a: a[:, 1:],
    "unbind": lambda m, a: a.unbind()[0], "mm": lambda m, a: a @ a.t(), "where": lambda m, a: m.where(a > 0, a, a),
    "where normal": lambda m, a: m.where(m.tensor(True), a, a), "clone": lambda m, a: a.clone(), "double": lambda m, a: a.double(),
    "expand": lambda m, a: a.expand(2, 2, 3), "softmax": lambda m, a: m.softmax(a, 0), "cumsum": lambda m, a: a.cumsum(0),
    "max": lambda m, a: a.max(0)[0], "index": lambda m, a: a[m.tensor([0])], "masked_fill": lambda m, a: a.masked_fill(m.tensor(True), 0.0),
    "layer_norm": lambda m, a: m.nn.functional.layer_norm(a, (3,)), "einsum": lambda m, a: m.einsum("ij,ij->i", a, a)}


@pytest.mark.parametrize("name", OPS)
def test_inference_tensors_alone_are_not_recorded(name):
    """differences/M-03: outside of the mode; one normal tensor among them, and the op is recorded."""
    def recorded(m):
        with m.inference_mode():
            a = m.ones(2, 3, requires_grad=True)
        y = OPS[name](m, a)
        return y.requires_grad, y.grad_fn is not None, y.is_inference(), y.is_leaf
    assert recorded(minigrad) == recorded(torch)


def test_nothing_fills_the_grad_of_an_inference_leaf():
    """differences/M-03"""
    with minigrad.inference_mode():
        a = minigrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        a.exp().sum().backward()
    assert a.grad is None


def test_resize_and_detach_inside():
    """differences/M-04"""
    def events(m):
        n = m.ones(3, requires_grad=True)
        q = n * 2
        found = []

        def note(x):
            found.append((x.requires_grad, x.grad_fn is not None, x.is_inference(), x.is_leaf, x._is_view(), tuple(x.shape)))

        with m.inference_mode():
            note(n.view(3).detach_())
            note(n.resize_(2))
            note(n.resize_as_(m.ones(3)))
            found.append(n._version)
            note(q.resize_(5))
            note(q.detach_())
            z = m.ones(4, requires_grad=True)
            note(z.resize_(2))
            note(z.detach_())
        note(n)
        note(z.detach_())
        note(q.detach_())
        with m.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            n.resize_(2)
        return found
    assert events(minigrad) == events(torch)
