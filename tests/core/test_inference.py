"""Inference mode: which tensors are inference tensors, their permitted uses, and a backward inside the mode.

tests/parity/test_inference.py compares the whole matrix of tensors and actions with PyTorch.
"""

import threading

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.internals import needs

NOT_WRITTEN = "Inplace update to inference tensor outside InferenceMode is not allowed"
NOT_SAVED = "Inference tensors cannot be saved for backward"


def made_inside(m, *values):
    with m.inference_mode():
        return m.tensor(list(values))


def square(m):
    """A leaf and a loss."""
    x = leaf(m, 1., 2.)
    return x, (x * x).sum()


# ---- a backward inside the mode -----------------------------------------------------------------------------------


@needs("counts")
@pytest.mark.parametrize("create", [False, True])
def test_gradients_computed_inside(m, create):
    """saved_and_versions/N-07: they are inference tensors, and have no history, whatever `create_graph` says."""
    x, y = square(m)
    with m.inference_mode():
        found, = m.autograd.grad(y, x, create_graph=create, retain_graph=True)
        y.backward(retain_graph=True)
    for g in (found, x.grad):
        assert g.is_inference() and not g.requires_grad and g.is_leaf and value(g) == [2, 4]


def test_retained_gradients_computed_inside(m):
    x = leaf(m, 1., 2.)
    y = x * 2
    y.retain_grad()
    loss = (y * y).sum()
    with m.inference_mode():
        loss.backward()
    assert y.grad.is_inference() and value(y.grad) == [4, 8] and value(x.grad) == [8, 16]


@needs("counts")
def test_adding_up_inside_and_outside(m):
    """A normal `.grad` may be added to inside; one computed inside may not be added to outside, but replaced by a clone."""
    x, y = square(m)
    y.backward(retain_graph=True)
    with m.inference_mode():
        y.backward(retain_graph=True)
    assert not x.grad.is_inference() and value(x.grad) == [4, 8]
    x.grad = None
    with m.inference_mode():
        y.backward(retain_graph=True)
        y.backward(retain_graph=True)
    assert x.grad.is_inference() and value(x.grad) == [4, 8]
    with raises(RuntimeError, NOT_WRITTEN):
        y.backward(retain_graph=True)
    assert value(x.grad) == [4, 8] or m.__name__ == "torch"     # which has written before it complains
    x.grad = m.tensor([4., 8.])
    y.backward()
    assert value(x.grad) == [6, 12]


def test_normal_mode_inside(m):
    """saved_and_versions/N-06: all is as outside."""
    x, y = square(m)
    with m.inference_mode(), m.inference_mode(False):
        y.backward()
        assert (x * 2).requires_grad
    assert not x.grad.is_inference()


def test_hooks_run_inside(m):
    """saved_and_versions/N-05: hooks see the mode, and enable_grad does not switch recording on."""
    x, y = square(m)
    seen = []

    def hook(g):
        with m.enable_grad():
            seen.append((g.is_inference(), m.is_inference_mode_enabled(), (g * x).requires_grad))
        with m.inference_mode(False):
            seen.append((x * 2).requires_grad)
    x.register_hook(hook)
    with m.inference_mode():
        y.backward()
    assert seen == [(True, True, False), True]


def test_unpack_hooks_run_inside(m):
    x, seen = leaf(m, 1., 2.), []

    def unpack(t):
        seen.append((m.is_inference_mode_enabled(), m.is_grad_enabled()))
        return t
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    with m.inference_mode():
        y.backward()
    assert seen == [(True, False)] * 2


def test_gradient_given(m):
    """An inference tensor may be the gradient to start from, if no formula saves it for a second derivative."""
    x, g = leaf(m, 1., 2.), made_inside(m, 1., 1.)
    (x * 2).backward(g)
    assert value(x.grad) == [2, 2] and not x.grad.is_inference()
    x.grad = None
    (x + 0).backward(g)
    assert value(x.grad) == [1, 1] and x.grad is not g
    with raises(RuntimeError, NOT_SAVED):
        m.autograd.grad(x * x, x, g, create_graph=True)


# ---- modes ------------------------------------------------------------------------------------------------------


def test_switching_gradients_on_inside(m):
    """saved_and_versions/N-05: nothing turns gradients on, except leaving the mode."""
    x = leaf(m, 1., 2.)
    with m.inference_mode():
        m.set_grad_enabled(True)
        assert not (x * 2).requires_grad
        with m.set_grad_enabled(True), m.enable_grad():
            assert not (x * 2).requires_grad and (x * 2).is_inference()
    assert m.is_grad_enabled() and (x * 2).requires_grad


@pytest.mark.parametrize("outer", ["no_grad", "enable_grad"])
def test_restores(m, outer):
    """saved_and_versions/N-06, also after an exception."""
    with getattr(m, outer)():
        before = m.is_grad_enabled()
        for mode in (True, False):
            with pytest.raises(ValueError), m.inference_mode(mode):
                assert m.is_inference_mode_enabled() is mode and m.is_grad_enabled() is not mode
                raise ValueError
            assert not m.is_inference_mode_enabled() and m.is_grad_enabled() is before


def test_decorators(m):
    """tensor_surface/M-05, tensor_surface/M-06."""
    @m.inference_mode
    def bare():
        return m.ones(1).is_inference()

    @m.inference_mode(False)
    def normal():
        return m.is_grad_enabled(), m.is_inference_mode_enabled()

    @m.inference_mode()
    def numbers():
        yield m.ones(1).is_inference()
        yield m.ones(1).is_inference()
    assert bare() and not m.is_inference_mode_enabled()
    with m.inference_mode():
        assert normal() == (True, False)
    assert [(inside, m.is_inference_mode_enabled()) for inside in numbers()] == [(True, False)] * 2


def test_threads(m):
    """tensor_surface/M-01: a new thread starts in normal mode."""
    seen = []
    with m.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((m.is_inference_mode_enabled(), m.ones(1).is_inference())))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


# ---- tensors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda m, x: x[:1], lambda m, x: x.view(-1), lambda m, x: x.t(), lambda m, x: x.expand(2, 2), lambda m, x: x.chunk(2)[0],
    lambda m, x: x[:][:1], lambda m, x: x.unbind()[0], lambda m, x: x.detach(), lambda m, x: x.data])
@pytest.mark.parametrize("inside", [False, True])
def test_on_the_memory_of_an_inference_tensor(m, make, inside):
    """saved_and_versions/N-02: an inference tensor, wherever it is made, and no view in the sense of autograd."""
    x = made_inside(m, 1., 2.)
    with m.inference_mode(inside):
        y = make(m, x)
    assert y.is_inference() and not y._is_view() and y._base is None and not y.requires_grad
    with m.inference_mode():
        x.fill_(7)
    assert (y == 7).all()


@pytest.mark.parametrize("make", [lambda m, x: x[:1], lambda m, x: x.view(-1), lambda m, x: x.detach(), lambda m, x: x.data])
@pytest.mark.parametrize("kind", ["plain", "leaf", "non-leaf"])
def test_on_the_memory_of_a_normal_tensor(m, make, kind):
    """saved_and_versions/N-02: a normal one, also if it is made inside."""
    x = m.tensor([1., 2.], requires_grad=kind != "plain")
    x = x * 1 if kind == "non-leaf" else x
    with m.inference_mode():
        y = make(m, x)
        assert not y.is_inference()
        y.fill_(7)
        assert (x * 1).is_inference()
    assert y._version >= 1


@pytest.mark.parametrize("make", [lambda m, x: x.clone(), lambda m, x: x * 1, lambda m, x: x + leaf(m, 1., 2.), lambda m, x: m.cat([x, x]),
                                  lambda m, x: m.zeros_like(x), lambda m, x: x.to(m.float64), lambda m, x: m.where(x > 1, x, -x)])
def test_results_outside_are_normal(m, make):
    """saved_and_versions/N-02."""
    y = make(m, made_inside(m, 1., 2.))
    assert not y.is_inference() and y._version >= 0
    y.requires_grad_()


def test_leaf_made_inside(m):
    """It may require a gradient, but nothing is recorded inside."""
    with m.inference_mode():
        x = m.tensor([1.], requires_grad=True)
        y = m.ones(1).requires_grad_()
        assert x.requires_grad and y.requires_grad and x.is_inference() and not (x * y).requires_grad


@pytest.mark.differs(
    what="`x.data = y`, where `y` is an inference tensor",
    there="`x` becomes an inference tensor, and gradients are lost.",
    here="`x` gets the numbers of `y`, and stays a normal tensor.")
@ours
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_assigned_data(m, inside, numbers):
    """The numbers change, not the kind of the tensor, which goes on counting. PyTorch's changes, and its gradients are lost."""
    x = leaf(m, 1., 2.)
    with m.inference_mode(numbers):
        new = m.ones(2)
    with m.inference_mode(inside):
        x.data = new
    assert x.requires_grad and x._version == 0 and not x.is_inference()
    y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_write_with_an_inference_operand(m):
    """An inference tensor may be an operand of a write to a normal tensor."""
    x, p = m.zeros(2), made_inside(m, 1., 1.)
    x.add_(p)
    x.mul_(p)
    x[0] = p[0]
    assert not x.is_inference() and x._version == 3 and x.tolist() == [1, 1]


# ---- views across the border -----------------------------------------------------------------------------------


def test_view_made_inside_is_not_written_to_outside(m):
    """saved_and_versions/M-07: its grad_fn is not regenerated either; a write that is not recorded is allowed."""
    base = leaf(m, 1., 2.) * 1
    with m.inference_mode():
        view = base[:1]
    with raises(RuntimeError, "both inside the inference_mode block"):
        view.mul_(3)
    with m.no_grad():
        view.mul_(3)
    assert base.tolist() == [3, 2] and base._version == 1
    with raises(RuntimeError, "its base or another view of its base has been modified inplace"):
        assert view.grad_fn
    base.sum().backward()


# ---- modules and optimizers --------------------------------------------------------------------------------------


def test_parameters(m):
    """A Parameter is an inference tensor if its data is one; the two share memory and version."""
    with m.inference_mode():
        assert not m.nn.Parameter(leaf(m, 1., 2.).detach()).is_inference() or m.ones(1).is_inference()
        weight = m.nn.Linear(2, 2).weight
    assert weight.is_inference() and weight.requires_grad
    with raises(RuntimeError, "requires_grad=True on inference tensor"):
        m.nn.Parameter(made_inside(m, 1., 2.))
    assert m.nn.Parameter(made_inside(m, 1., 2.), requires_grad=False).is_inference()
    assert m.nn.Buffer(made_inside(m, 1., 2.)).is_inference()
    plain = m.ones(2)
    parameter, buffer = m.nn.Parameter(plain), m.nn.Buffer(plain)
    plain.add_(1)
    assert parameter._version == buffer._version == 1 and parameter.tolist() == buffer.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_steps(m, name):
    """A normal parameter steps inside and counts; one made inside does not step outside."""
    x, y = square(m)
    optimizer = getattr(m.optim, name)([x], lr=0.5)
    y.backward()
    with m.inference_mode():
        optimizer.step()
    assert x._version >= 1 and x.tolist() != [1, 2] and not x.is_inference()
    p = made_inside(m, 1., 2.)
    p.grad = m.ones(2)
    optimizer = getattr(m.optim, name)([p], lr=0.5)
    with raises(RuntimeError, NOT_WRITTEN):
        optimizer.step()
    assert p.tolist() == [1, 2] or m.__name__ == "torch"


@needs("counts")
def test_zero_grad_of_gradients_computed_inside(m):
    x, y = square(m)
    with m.inference_mode():
        y.backward()
    optimizer = m.optim.SGD([x], lr=0.5)
    optimizer.step()
    assert x.tolist() == [0, 0]
    with raises(RuntimeError, NOT_WRITTEN):
        optimizer.zero_grad(set_to_none=False)
    optimizer.zero_grad()
    assert x.grad is None


@pytest.mark.differs(
    what="`p.detach().add_(1)`, where `p` is an inference tensor",
    there="The write succeeds, and changes `p`.",
    here="RuntimeError, as for `p` itself: both have one memory.")
@ours
def test_detached_inference_tensors_are_not_written_to_either(m):
    """PyTorch lets `detach` and `data` of an inference tensor be written to outside, so that it changes."""
    p = made_inside(m, 1., 2.)
    for alias in (p.detach(), p.data):
        with raises(RuntimeError, NOT_WRITTEN):
            alias.add_(1)
    assert p.tolist() == [1, 2]


@pytest.mark.differs(
    what="`get_gradient_edge(leaf)` in inference mode",
    there="AttributeError.",
    here="It returns the edge.")
@ours
def test_edge_of_a_leaf_inside(m):
    """graph/E-04: PyTorch fails with an AttributeError."""
    x, y = square(m)
    with m.inference_mode():
        edge = m.autograd.graph.get_gradient_edge(x)
    assert m.autograd.grad(y, edge)[0].tolist() == [2, 4]
