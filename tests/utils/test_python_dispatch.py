"""Modes that see every op: which ops, in which order, and the use of their results."""

import threading

import pytest

from minigrad.ops.base.registry import REGISTRY
from tests.core.engine_tools import leaf, ours, raises, value


def mode(m, function):
    """A mode with ``function(func, args)`` as `__torch_dispatch__`."""
    class Mode(m.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return function(func, args, **(kwargs or {}))
    return Mode()


def noting(m, log):
    """A mode that notes the names of ops."""
    def note(func, args, **kwargs):
        name = str(func).removeprefix("aten.").partition(".")[0]
        if name not in ("detach", "lift_fresh"):
            log.append(name)
        return func(*args, **kwargs)
    return mode(m, note)


def test_ops_of_forward_and_backward(m):
    log = []
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    y = x * w
    with noting(m, log):
        z = (2 * x).sin()
        z.exp_()
        y.backward(m.ones(2))
    assert log == ["mul", "sin", "exp_", *(["ones"] if m.__name__ == "torch" else []), "mul", "mul"]
    assert value(x.grad) == [3, 4] and z.grad_fn.name() == "ExpBackward0"


def test_below_autograd(m):
    """Gradients are off in the mode, and its result gets the op's node."""
    seen = []

    def look(func, args, **kwargs):
        out = func(*args, **kwargs)
        if "exp" in str(func):
            seen.append((args[0].requires_grad, out.requires_grad, out.grad_fn))
        return out
    x = leaf(m, 1., 2.)
    with mode(m, look):
        y = x.exp()
    assert seen == [(True, False, None)]
    assert y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()
    assert value(x.grad) == value(y)


def test_another_result(m):
    """The derivative is still the op's own."""
    x = leaf(m, 1., 2.)
    with mode(m, lambda func, args, **kwargs: m.full((2,), 5.) if "sin" in str(func) else func(*args, **kwargs)):
        y = x.sin()
        z = y * y
    assert value(y) == [5, 5]
    z.sum().backward()
    assert value(x.grad) == pytest.approx(value(10 * x.detach().cos()))


def test_result_shares_memory_and_version(m):
    kept = m.zeros(2)
    x = leaf(m, 1., 2.)
    with mode(m, lambda func, args, **kwargs: kept):
        y = x.sin()
    y.detach().add_(1)
    assert value(kept) == [1, 1] and kept._version == 1 == y._version


def test_innermost_first(m):
    log = []

    def named(name):
        def note(func, args, **kwargs):
            log.append(name)
            return func(*args, **kwargs)
        return mode(m, note)
    x = leaf(m, 1.)
    with named("outer"), named("inner"):
        x.sin()
    x.sin()
    assert log == ["inner", "outer"]


def test_a_mode_does_not_see_itself(m):
    def twice(func, args, **kwargs):
        return func(func(*args, **kwargs))
    x = leaf(m, 1.)
    with mode(m, twice):
        y = x.sin()
    assert y.item() == pytest.approx(x.sin().sin().item())


def test_error_in_a_mode(m):
    def fail(func, args, **kwargs):
        raise KeyError("mine")
    x = leaf(m, 1., 2.)
    y = x * 1
    with pytest.raises(KeyError), mode(m, fail):
        y.mul_(2)
    assert m.is_grad_enabled() and value(y) == [1, 2] and y.grad_fn.name() == "MulBackward0"
    log = []
    three = m.ones(3)
    with noting(m, log), pytest.raises(RuntimeError):
        x + three
    x.sin()
    assert log == ["add"]


def test_views_and_writes_to_them(m):
    log = []
    x = leaf(m, 1., 2., 3.)
    with noting(m, log):
        y = x * 1
        z = y[1:]
        z.mul_(10)
    assert value(y) == [1, 20, 30] and z._is_view() and z._base is y and y._version == 1
    assert log[:1] == ["mul"] and log[-1] == "mul_"
    y.sum().backward()
    assert value(x.grad) == [1, 10, 10]


def test_several_results(m):
    log = []
    x = m.tensor([[1., 4.], [3., 2.]], requires_grad=True)
    with noting(m, log):
        values, indices = x.max(1)
        _, b = x.split(1)
    (values.sum() + b.sum()).backward()
    assert value(indices) == [1, 0] and value(x.grad) == [[0, 1], [2, 1]] and len(log) == 2


def test_one_thread_only(m):
    log = []
    with noting(m, log):
        thread = threading.Thread(target=lambda: m.ones(2).sin())
        thread.start()
        thread.join()
    assert "sin" not in log


def test_with_inference_mode(m):
    log = []
    with m.inference_mode(), noting(m, log):
        y = m.ones(2).sin()
        assert y.is_inference()
    assert log[-1] == "sin"
    assert not m.ones(2).sin().is_inference()


@ours
def test_everything_that_computes_is_seen(m):
    """Whatever path an op takes without modes: the same numbers come out, and the same nodes."""
    x = m.rand(3, 4, dtype=m.float64, requires_grad=True)
    w = m.rand(4, 4, dtype=m.float64, requires_grad=True)

    def program():
        y = (x @ w).relu() + 1
        y.mul_(2)
        z = y[1:].transpose(0, 1)
        z.add_(x[0, 0])
        z = z * 2 + y.sum() - m.ones(1, dtype=m.int64)
        a, b = z.split(2)
        s = m.cat([a, b]).max(1)[0].sum() ** 2
        grads = m.autograd.grad(s, (x, w))
        return s.item(), value(grads), y._version, s.grad_fn.name()
    expected = program()
    log = []
    with noting(m, log):
        assert program() == expected
    assert len(log) > 30 and {name if name in REGISTRY else name.removesuffix("_") for name in log} <= set(REGISTRY)


@ours
def test_subclasses(m):
    class Mine(m.Tensor):
        pass
    x = m.ones(2).as_subclass(Mine) if hasattr(m.Tensor, "as_subclass") else Mine([1., 1.])
    with mode(m, lambda func, args: func(*args)):
        assert type(x.sin()) is Mine and type(x + 1) is Mine


@pytest.mark.differs(
    what="A dispatch mode that returns None or a number",
    there="None is accepted as the result of the op.",
    here="TypeError, which says what was returned.")
@ours
def test_no_tensor(m):
    x = m.ones(2)
    for result in (None, [None], 3.):
        with raises(TypeError, "a dispatch mode returned"), mode(m, lambda func, args, result=result: result):
            x.sin()


@ours
def test_operators(m):
    operator = m.utils._python_dispatch.operator
    x = m.tensor([1., 2.])
    assert value(operator("mul")(x, 3)) == [3, 6] and value(operator("neg")(x)) == [-1, -2]
    assert operator("mul_")(x, 2) is x and value(x) == [2, 4]
    assert operator("mul_").in_place and not operator("mul").in_place and operator("t").is_view
    assert operator("copy_").in_place and operator("mul") == "mul" and operator("mul") is operator("mul")
    with pytest.raises(KeyError):
        operator("matmul")
    with pytest.raises(NotImplementedError), m.utils._python_dispatch.TorchDispatchMode():
        x.sin()
