"""Checkpointing without reentrance: when the function runs again, the tensors kept until then, and the checks."""

import contextlib
import gc
import threading
import weakref

import pytest

from minigrad._core.graph.thread_state import current
from tests.core.engine_tools import leaf, ours, raises, value


def lib(m):
    return m.utils.checkpoint


def check(m, function, *args, **kwargs):
    return lib(m).checkpoint(function, *args, use_reentrant=False, **kwargs)


class Counted:
    """A function that counts its runs, and calls `functions`, one per run; the last of them ever after."""

    def __init__(self, *functions):
        self.functions = functions
        self.runs = 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.functions[min(self.runs, len(self.functions)) - 1](*args, **kwargs)


def chain(x):
    return x.sin().exp()


# ---- results and recomputations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [None, True, False])
def test_runs_and_gradients(m, reentrant):
    """tensor_surface/P-01, tensor_surface/P-02"""
    x = leaf(m, 1., 2.)
    f = Counted(chain)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed") if reentrant is None else \
            contextlib.nullcontext():
        y = lib(m).checkpoint(f, x, use_reentrant=reentrant)
    assert f.runs == 1
    y.sum().backward()
    assert f.runs == 2
    expected, = m.autograd.grad(chain(x).sum(), x)
    assert value(x.grad) == value(expected) and value(y) == value(chain(x))


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers(m, reentrant, preserve):
    """tensor_surface/P-03"""
    x = leaf(m, *[1.] * 64)
    masks = []

    def drop(x):
        mask = (m.rand(64) < 0.5).float()
        masks.append(value(mask))
        return (x * mask).sin()
    m.manual_seed(0)
    y = lib(m).checkpoint(drop, x, use_reentrant=reentrant, preserve_rng_state=preserve)
    after = m.get_rng_state()
    expected = value(m.rand(3))
    m.set_rng_state(after)
    y.sum().backward()
    assert (masks[0] == masks[1]) == preserve
    if preserve:
        assert value(m.rand(3)) == expected


@pytest.mark.parametrize("reentrant", [True, False])
def test_inputs_written_to(m, reentrant):
    """tensor_surface/P-04"""
    x, c = leaf(m, 1., 2.), m.ones(2)
    f = Counted(lambda x, c: (x * c).sin())
    y = lib(m).checkpoint(f, x, c, use_reentrant=reentrant).sum()
    c.add_(1)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.backward()
    assert f.runs == 1 and x.grad is None


@pytest.mark.differs(
    what="`checkpoint(f, x, c=c)`, and a write to `c` before the backward",
    there="`f` is computed again with the new numbers.",
    here="RuntimeError: `c` was modified by an inplace operation.")
@ours
def test_keyword_arguments_written_to(m):
    """tensor_surface/P-04: PyTorch lets these pass, and computes with the new numbers."""
    x, c = leaf(m, 1., 2.), m.ones(2)
    y = check(m, lambda x, c: (x * c).sin(), x, c=c).sum()
    c.add_(1)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.backward()


@pytest.mark.differs(
    what="A function under `checkpoint` that overwrites a tensor which it has saved",
    there="It is not noticed.",
    here="RuntimeError, as without a checkpoint.")
@ours
def test_written_to_within(m):
    """An overwritten saved tensor raises an error, as without a checkpoint; PyTorch does not notice it."""
    def f(x):
        y = x.exp()
        y.add_(1)
        return y.sin()
    with raises(RuntimeError, "modified by an inplace operation"):
        check(m, f, leaf(m, 1.)).backward()


@pytest.mark.parametrize("reentrant", [True, False])
def test_without_gradients(m, reentrant):
    """tensor_surface/P-05"""
    f = Counted(chain)
    with m.no_grad():
        y = lib(m).checkpoint(f, leaf(m, 1.), use_reentrant=reentrant)
    assert f.runs == 1 and not y.requires_grad and y.grad_fn is None


def test_graph_is_the_ordinary_one(m):
    """tensor_surface/P-20, tensor_surface/P-21"""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)

    def f(pair, *, scale):
        return pair["x"].sin() * w, pair["x"].detach() * 2, scale
    y, constant, scale = check(m, f, {"x": x}, scale=5)
    assert y.grad_fn.name() == "MulBackward0" and y.grad_fn.next_functions[0][0].name() == "SinBackward0"
    assert not constant.requires_grad and scale == 5
    gx, = m.autograd.grad(y.sum(), x, retain_graph=True)
    assert value(gx) == pytest.approx(value(x.detach().cos() * w.detach()))
    y.sum().backward(inputs=[w])
    assert x.grad is None and value(w.grad) == pytest.approx(value(x.detach().sin()))


def test_nothing_saved(m):
    """tensor_surface/P-22"""
    f = Counted(lambda x: x + 1)
    check(m, f, leaf(m, 1.)).backward()
    assert f.runs == 1


def test_several_outputs(m):
    """tensor_surface/Z-05"""
    x = leaf(m, 1., dtype="float64")
    f = Counted(lambda x: (x.sin(), x.exp(), x.cos()))
    a, b, c = check(m, f, x)
    (a * b).backward(retain_graph=True)
    assert f.runs == 2
    c.backward()
    assert f.runs == 3
    t = x.detach()
    assert x.grad.item() == pytest.approx((t.cos() * t.exp() + t.sin() * t.exp() - t.sin()).item())


@pytest.mark.parametrize("early", [True, False])
def test_early_stop(m, early):
    """tensor_surface/P-23"""
    events = []

    def f(x):
        events.append("start")
        y = x.sin()
        events.append("saved")
        z = y + 1
        events.append("end")
        return z
    x = leaf(m, 1.)
    check(m, f, x, early_stop=early).backward()
    with lib(m).set_checkpoint_early_stop(not early):
        y = check(m, f, x, early_stop=early)
    y.backward()
    cut = ["start", "saved", "end", "start"]
    whole = ["start", "saved", "end"] * 2
    assert events == (cut + whole if early else whole + cut)


def test_stop_passes_through_the_function(m):
    """tensor_surface/P-23: its `finally` and `with` run."""
    events = []

    def f(x):
        try:
            with m.no_grad():
                pass
            return x.sin()
        finally:
            events.append("finally")
    check(m, f, leaf(m, 1.)).backward()
    assert events == ["finally"] * 2 and m.is_grad_enabled()


@pytest.mark.differs(
    what="`except Exception` in a function under `checkpoint`",
    there="It catches the signal that ends the recomputation.",
    here="The signal is not an Exception, and passes.")
@ours
def test_stop_is_no_exception_of_the_functions(m):
    """PyTorch's stop is an Exception, which the function takes for a failure of its own."""
    def f(x):
        try:
            return x.sin()
        except Exception:
            raise AssertionError("caught") from None
    x = leaf(m, 1.)
    check(m, f, x).backward()
    assert x.grad is not None


@ours
def test_stop_may_be_caught(m):
    def f(x):
        y = x
        for _ in range(3):
            with contextlib.suppress(BaseException):
                y = y.sin()
        return y
    x = leaf(m, 1., dtype="float64")
    check(m, f, x).backward()
    expected, = m.autograd.grad(x.sin().sin().sin(), x)
    assert x.grad.item() == expected.item()


@pytest.mark.parametrize("f, again", [
    (lambda x, w: (x @ w).exp() @ w, ["mm", "exp"]), (lambda x, w: (x @ w).exp(), ["mm", "exp"]), (lambda x, w: x @ w, []),
    (lambda x, w: ((x @ w) * w).sin() + 1, ["mm", "mul"]), (lambda x, w: x.sin() @ w.detach(), ["sin"])])
def test_last_op_is_spared(m, f, again):
    """tensor_surface/P-23: where it is its inputs that are saved."""
    log = []

    class Noted(m.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten.").partition(".")[0])
            return func(*args, **(kwargs or {}))
    x = m.tensor([[0.5, 1.], [1.5, 2.]], requires_grad=True)
    w = m.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    check(m, f, x, w, context_fn=lambda: (contextlib.nullcontext(), Noted())).sum().backward()
    assert [name for name in log if name != "detach"] == again
    assert value(x.grad) == value(m.autograd.grad(f(x, w).sum(), x)[0])


@ours
def test_early_stop_leaves_nothing_behind(m):
    """The path on which the last inputs are saved first is left with the recomputation."""
    x = leaf(m, 1.)
    for f in (chain, lambda x: x.sin() if m.is_grad_enabled() else 1 / 0):
        check(m, f, x).backward()
        with contextlib.suppress(ZeroDivisionError):
            check(m, Counted(f, lambda x: x.sin() / 0 + 1 / 0), x).backward()
        assert current().fast_path and current().interceptors == ()


def test_each_backward_recomputes(m):
    """tensor_surface/P-24"""
    x = leaf(m, 1.)
    f = Counted(chain)
    y = check(m, f, x)
    y.backward(retain_graph=True)
    y.backward()
    assert f.runs == 3
    with raises(RuntimeError, "second time"):
        y.backward()
    assert f.runs == 3


def test_outside_of_a_backward(m):
    """tensor_surface/P-25: each access recomputes."""
    f = Counted(chain)
    y = check(m, f, leaf(m, 1.))
    sin = y.grad_fn.next_functions[0][0]
    assert (sin._saved_self.item(), sin._saved_self.item()) == (1, 1) and f.runs == 3
    assert y.grad_fn._saved_result.item() == y.item() and f.runs == 4


# ---- checks ---------------------------------------------------------------------------------------------------


def test_fewer_saved(m):
    """tensor_surface/P-26, tensor_surface/P-27"""
    f = Counted(chain, lambda x: x.sin())
    error = lib(m).CheckpointError
    assert issubclass(error, RuntimeError)
    with raises(error, "A different number of tensors was saved"):
        check(m, f, leaf(m, 1.)).backward()


def test_more_saved(m):
    """tensor_surface/P-26"""
    def more():
        return Counted(chain, lambda x: x.sin().exp().sin())
    check(m, more(), leaf(m, 1.)).backward()
    with raises(lib(m).CheckpointError, "trying to save more tensors during recomputation"):
        check(m, more(), leaf(m, 1.), early_stop=False).backward()


@pytest.mark.parametrize("again", [lambda x: x[:1].sin().exp(), lambda x: x.double().sin().exp()], ids=["shape", "dtype"])
def test_different_metadata(m, again):
    """tensor_surface/P-26"""
    x = leaf(m, 1., 2.)
    with pytest.raises(lib(m).CheckpointError) as caught:
        check(m, Counted(chain, again), x).sum().backward()
    message = str(caught.value)
    assert "different metadata than during the forward" in message and "tensor at position 0" in message
    assert str(tuple(again(x).shape))[1:-2] in message and str(again(x).dtype) in message and str(x.dtype) in message


def test_metadata_not_compared(m):
    """tensor_surface/P-26"""
    x = leaf(m, 1., 2.)
    check(m, Counted(lambda x: x.sin(), lambda x: (x + m.zeros(1, 2)).sin()), x, determinism_check="none").sum().backward()
    assert value(x.grad) == pytest.approx(value(x.detach().cos()))


def test_unknown_determinism_check(m):
    """tensor_surface/P-26"""
    with raises(ValueError, "determinism_check should be one of"):
        check(m, chain, leaf(m, 1.), determinism_check="strict")


def test_debug(m):
    """tensor_surface/P-27"""
    with pytest.raises(lib(m).CheckpointError) as caught:
        check(m, Counted(chain, lambda x: x.cos()), leaf(m, 1.), debug=True).backward()
    message = str(caught.value)
    for key in ("An error happened while unpacking tensors", "sin", "exp", "cos", "test_checkpoint.py"):
        assert key in message
    x = leaf(m, 1.)
    with lib(m).set_checkpoint_debug_enabled(True):
        y = check(m, chain, x)
        with raises(ValueError, "debug=True is incompatible with non-default context_fn"):
            check(m, chain, x, context_fn=lambda: lib(m).noop_context_fn())
    y.backward()
    assert x.grad is not None
    with lib(m).set_checkpoint_debug_enabled(False):
        y = check(m, Counted(chain, lambda x: x.cos()), x, debug=True)
    with raises(lib(m).CheckpointError, "A different number"):
        y.backward()


@ours
def test_debug_says_where_the_runs_part(m):
    with pytest.raises(lib(m).CheckpointError) as caught:
        check(m, Counted(chain, lambda x: x.sin() + 1), leaf(m, 1., 2.), debug=True).sum().backward()
    message = str(caught.value)
    assert "The runs differ from operation 2 on." in message and "A different number" in message
    assert "  1. sin(float32[2]) -> float32[2]" in message and "in chain" in message


def test_exception_in_the_forward(m):
    """tensor_surface/P-28"""
    def f(x):
        x.sin()
        raise KeyError("mine")
    x = leaf(m, 1.)
    with pytest.raises(KeyError):
        check(m, f, x)
    y = x.sin()
    assert y.grad_fn._saved_self is x


def test_exception_in_the_recomputation(m):
    """tensor_surface/Z-05"""
    def fail(x):
        x.sin()
        raise KeyError("mine")
    x = leaf(m, 1.)
    f = Counted(chain, fail, chain)
    y = check(m, f, x)
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    assert x.grad is None and m.is_grad_enabled()
    assert x.sin().grad_fn._saved_self is x
    y.backward()
    assert f.runs == 3 and value(x.grad) == value(m.autograd.grad(chain(x), x)[0])


def test_contexts(m):
    """tensor_surface/P-28"""
    events = []

    class Noted:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            events.append(self.name)

        def __exit__(self, *exc_info):
            return self.swallow
    x = leaf(m, 1.)
    check(m, chain, x, context_fn=lambda: (Noted("forward"), Noted("again"))).backward()
    assert events == ["forward", "again"]

    def fail(x):
        raise KeyError
    with raises(RuntimeError, "suppressed an exception"):
        check(m, fail, x, context_fn=lambda: (Noted("forward", True), Noted("again")))


# ---- nesting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early", [True, False])
def test_nested(m, early):
    """tensor_surface/P-29, tensor_surface/Z-05"""
    inner = Counted(lambda x: x.sin().exp())
    outer = Counted(lambda x: check(m, inner, x.cos(), early_stop=early) * x.exp())
    x = leaf(m, 0.5, 1., dtype="float64")
    y = check(m, outer, x, early_stop=early).sum()
    assert (outer.runs, inner.runs) == (1, 1)
    y.backward()
    assert outer.runs == 2 and inner.runs == 3
    expected, = m.autograd.grad((x.cos().sin().exp() * x.exp()).sum(), x)
    assert value(x.grad) == pytest.approx(value(expected), rel=1e-15)


def test_nested_twice(m):
    """tensor_surface/Z-05"""
    x = leaf(m, 0.5, dtype="float64")
    y = check(m, lambda x: check(m, lambda x: check(m, chain, x.exp()).cos(), x.sin()).exp(), x)
    g, = m.autograd.grad(y, x, create_graph=True)
    h, = m.autograd.grad(g, x)
    z = chain(x.sin().exp()).cos().exp()
    f, = m.autograd.grad(z, x, create_graph=True)
    e, = m.autograd.grad(f, x)
    assert (y.item(), g.item(), h.item()) == pytest.approx((z.item(), f.item(), e.item()), rel=1e-14)


@pytest.mark.differs(
    what="A nested `checkpoint(f, h=h)`",
    there="The tensor `h` stays in memory.",
    here="It is computed again, as a positional argument is.")
@ours
def test_inner_keyword_arguments_are_recomputed_too(m):
    """PyTorch keeps tensors that a nested checkpoint gets as keyword arguments."""
    inside = []

    def f(x):
        h = x.exp()
        inside.append(weakref.ref(h))
        return check(m, lambda *, h: h.sin(), h=h)
    x = leaf(m, 0.5, dtype="float64")
    y = check(m, f, x)
    assert inside[0]() is None
    y.backward()
    assert x.grad.item() == pytest.approx(m.autograd.grad(x.exp().sin(), x)[0].item())


@pytest.mark.parametrize("early", [True, False])
def test_backward_inside(m, early):
    """tensor_surface/P-29"""
    def f(x):
        y = x.sin()
        g, = m.autograd.grad(y.exp().sum(), x, create_graph=True)
        return g.cos() * y

    x = leaf(m, 0.5, 1., dtype="float64")
    check(m, f, x, early_stop=early).sum().backward()
    expected, = m.autograd.grad(f(x).sum(), x)
    assert value(x.grad) == pytest.approx(value(expected), rel=1e-14)


def test_double_backward(m):
    """tensor_surface/Z-05"""
    x = leaf(m, 0.5, 1., dtype="float64")
    f = Counted(lambda x: x.sin() * x)
    g, = m.autograd.grad(check(m, f, x).sum(), x, create_graph=True)
    assert f.runs == 2
    g.sum().backward()
    t = x.detach()
    assert value(x.grad) == pytest.approx(value(2 * t.cos() - t * t.sin()))


def test_shared_parameter(m):
    """tensor_surface/Z-05"""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    (check(m, lambda x: (x * w).sin(), x) * w).sum().backward()
    expected = m.autograd.grad(((x * w).sin() * w).sum(), (x, w))
    assert (value(x.grad), value(w.grad)) == (value(expected[0]), value(expected[1]))


def test_views_and_writes(m):
    def f(x):
        y = x * 2
        y[0] = x[1] * 3
        y.t().mul_(x[0, 0])
        return y.sin()
    x = m.tensor([[0.5, 1.], [1.5, 2.]], requires_grad=True)
    expected, = m.autograd.grad(f(x).sum(), x)
    for early in (True, False):
        got, = m.autograd.grad(check(m, f, x, early_stop=early).sum(), x)
        assert value(got) == value(expected)


# ---- memory ------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_intermediates_die(m, no_gc):
    """tensor_surface/P-31, tensor_surface/Z-05"""
    inside = []

    def f(x):
        h = x.sin()
        inside.append(weakref.ref(h))
        h = h.exp()
        inside.append(weakref.ref(h))
        return h.cos()

    class Big:
        pass
    big = Big()
    x = leaf(m, 1.)
    y = check(m, lambda x, big: f(x), x, big)
    assert [r() for r in inside] == [None] * 2
    dead = weakref.ref(big)
    del big
    assert dead() is not None
    y.backward(retain_graph=True)
    assert [r() for r in inside] == [None] * 4
    del y
    assert dead() is None


@pytest.mark.differs(
    what="What a checkpoint computes again and the backward does not use",
    there="It can stay in memory after the backward.",
    here="All of it is freed after the backward, also when that has failed.")
@ours
def test_recomputed_values_do_not_outlive_the_backward(m, no_gc):
    """tensor_surface/P-31: the recomputed tensors are freed: also unused ones, as in PyTorch, and those of a failed backward."""
    alive = []

    class Noted(m.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            alive.append(weakref.ref(out))
            return out

    x, w = leaf(m, 1.), leaf(m, 2.)

    def fail(g):
        raise KeyError
    for stop in (False, True):
        y = check(m, lambda x: (x.sin() * w).exp().cos(), x, context_fn=lambda: (contextlib.nullcontext(), Noted()))
        if stop:
            w.register_hook(fail)
            with contextlib.suppress(KeyError):
                m.autograd.backward(y, inputs=[w])
        else:
            m.autograd.grad(y, w, retain_graph=True)
        assert alive and all(r() is None for r in alive)


@ours
def test_dropped_as_they_are_taken(m, no_gc):
    """tensor_surface/P-24"""
    seen = []

    def f(x):
        y = x.sin()
        y.register_hook(lambda g: seen.append([r() is not None for r in values]))
        z = y.cos()
        return z.exp()
    values = []

    class Noted(m.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            values.append(weakref.ref(out))
            return out
    check(m, f, leaf(m, 1.), context_fn=lambda: (contextlib.nullcontext(), Noted())).backward()
    assert len(seen) == 1 and not any(seen[0])


# ---- groups, threads, sequences ---------------------------------------------------------------------------------


def test_group(m):
    """tensor_surface/P-30"""
    group = lib(m).GraphExecGroup
    x = leaf(m, 1.)
    f = Counted(lambda x: (x.sin(), x.exp()))
    a, b = check(m, f, x)
    with group():
        a.backward()
        b.backward()
    assert f.runs == 2
    y = check(m, chain, x)
    with group():
        y.backward(retain_graph=True)
        with raises(lib(m).CheckpointError, "two backward calls that overlap"):
            y.backward()
    with group(), raises(RuntimeError, "contexts cannot be nested"), group():
        pass
    with group():
        pass


def test_threads(m):
    """tensor_surface/Z-07"""
    x = leaf(m, 0.5, 1., dtype="float64")
    expected = value(m.autograd.grad(chain(x).sum(), x)[0])
    shared = check(m, chain, x, preserve_rng_state=False).sum()
    found, inside = [], threading.Barrier(2)

    def f(x):
        y = x.sin()
        inside.wait(10)
        return y.exp() + 1

    def work(early):
        with lib(m).set_checkpoint_early_stop(early) if m.__name__ != "torch" else contextlib.nullcontext():
            y = check(m, f, x, preserve_rng_state=False, early_stop=early).sum()
            inside.wait(10)
        found.append(value(m.autograd.grad(y, x)[0]))
        found.append(value(m.autograd.grad(shared, x, retain_graph=True)[0]))
        found.append(m.is_grad_enabled() and x.sin().grad_fn._saved_self is x)
    threads = [threading.Thread(target=work, args=(early,)) for early in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and found.count(True) == 2
    assert all(g == pytest.approx(expected, rel=1e-14) for g in found if g is not True)


@pytest.mark.parametrize("segments, runs", [(1, [1] * 5), (2, [2] * 2 + [1] * 3), (5, [2] * 4 + [1])])
def test_sequential(m, segments, runs):
    """tensor_surface/P-50"""
    functions = [Counted(lambda x: x.sin()) for _ in range(5)]
    x = leaf(m, 1., dtype="float64")
    y = lib(m).checkpoint_sequential(functions, segments, x, use_reentrant=False)
    y.backward()
    assert [f.runs for f in functions] == runs
    expected, = m.autograd.grad(x.sin().sin().sin().sin().sin(), x)
    assert x.grad.item() == expected.item()


def test_sequential_arguments(m):
    """tensor_surface/P-50"""
    sequential = lib(m).checkpoint_sequential
    x = leaf(m, 1.)
    with raises(ValueError, "Unexpected keyword arguments"):
        sequential([chain, chain], 2, x, use_reentrant=False, debug=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        sequential([chain, chain], 2, x)
    model = m.nn.Sequential(m.nn.Linear(1, 2), m.nn.Tanh(), m.nn.Linear(2, 1))
    y = sequential(model, 2, m.ones(3, 1), use_reentrant=False, preserve_rng_state=False)
    assert value(y) == value(model(m.ones(3, 1)))


@pytest.mark.differs(
    what="`checkpoint_sequential(functions, 0, x)`",
    there="ZeroDivisionError.",
    here="ValueError, which says how many segments there can be.")
@ours
@pytest.mark.parametrize("segments", [0, 3, -1])
def test_impossible_segments(m, segments):
    with raises(ValueError, "segments must be between 1"):
        lib(m).checkpoint_sequential([chain, chain], segments, leaf(m, 1.), use_reentrant=False)


# ---- the reentrant variant -----------------------------------------------------------------------------------------


def reenter(m, function, *args, **kwargs):
    return lib(m).checkpoint(function, *args, use_reentrant=True, **kwargs)


def test_one_node(m):
    """tensor_surface/P-10"""
    modes = []

    def f(x):
        modes.append(m.is_grad_enabled())
        return x.sin(), x.detach() * 2, (x > 0), 5
    y, constant, mask, five = reenter(m, f, leaf(m, 1., 2.))
    assert modes == [False] and five == 5
    assert (y.requires_grad, constant.requires_grad, mask.requires_grad) == (True, True, False)
    assert y.grad_fn is constant.grad_fn and y.grad_fn.name() == "CheckpointFunctionBackward"
    y.sum().backward()
    assert modes == [False, True]


def test_no_input_requires_grad(m):
    """tensor_surface/P-11"""
    w = leaf(m, 2.)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        y = reenter(m, lambda x: x * w, m.tensor(3.))
    assert not y.requires_grad


def test_plain_backward_only(m):
    """tensor_surface/P-12"""
    x = leaf(m, 1.)
    for f in (lambda y: m.autograd.grad(y, x), lambda y: y.backward(inputs=[x])):
        y = reenter(m, chain, x)
        with raises(RuntimeError, "incompatible with .grad()"):
            f(y)
    assert x.grad is None


def test_reentrant_arguments(m):
    """tensor_surface/P-13"""
    x = leaf(m, 1.)
    with raises(ValueError, "Unexpected keyword arguments"):
        reenter(m, lambda x, scale: x * scale, x, scale=2)
    for wrong in ({"debug": True}, {"context_fn": lambda: lib(m).noop_context_fn()}):
        with raises(ValueError, "only supported when use_reentrant=False"):
            reenter(m, chain, x, **wrong)


def test_closures_and_containers(m):
    """tensor_surface/P-14"""
    x, w, h = leaf(m, 3.), leaf(m, 2.), leaf(m, 5.)
    inner = h * 1
    y = reenter(m, lambda x, pair: x * w * pair[0], x, [inner])
    y.backward()
    assert (value(x.grad), value(w.grad)) == (10, 15)
    assert value(h.grad) == 6


def test_nothing_to_differentiate(m):
    """tensor_surface/P-15"""
    y = reenter(m, lambda x: x.detach() * 2, leaf(m, 1.))
    with raises(RuntimeError, "none of output has requires_grad=True"):
        y.backward()


def test_reentrant_sequence_and_nesting(m):
    x = leaf(m, 0.5, 1., dtype="float64")
    expected, = m.autograd.grad(chain(chain(chain(x))).sum(), x)
    lib(m).checkpoint_sequential([chain] * 3, 3, x, use_reentrant=True).sum().backward()
    assert value(x.grad) == value(expected)
    x.grad = None
    reenter(m, lambda x: chain(reenter(m, chain, chain(x))), x).sum().backward()
    assert value(x.grad) == value(expected)
    x.grad = None
    check(m, lambda x: chain(reenter(m, chain, chain(x))), x).sum().backward()
    assert value(x.grad) == value(expected)
    x.grad = None
    reenter(m, lambda x: chain(check(m, chain, chain(x))), x).sum().backward()
    assert value(x.grad) == value(expected)


def test_reentrant_memory(m, no_gc):
    """tensor_surface/Z-05"""
    inside = []

    def f(x):
        h = x.sin()
        inside.append(weakref.ref(h))
        return h.exp()
    y = reenter(m, f, leaf(m, 1.))
    assert inside[0]() is None
    y.backward()
    assert inside[1]() is None


def test_saved_tensors_read_twice(m):
    """tensor_surface/P-25"""
    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            if twice:
                x, = ctx.saved_tensors
            return 2 * x * g
    for twice in (False, True):
        x = leaf(m, 3.)
        y = check(m, Square.apply, x)
        with raises(lib(m).CheckpointError, "already unpacked once") if twice else contextlib.nullcontext():
            y.backward()
        assert value(x.grad) == (None if twice else 6)


def test_helpers(m):
    x = leaf(m, 1.) * 2
    y, constant, three = lib(m).detach_variable((x, x.detach(), 3))
    assert y.is_leaf and y.requires_grad and not constant.requires_grad and three == 3
    with raises(RuntimeError, "Only tuple of tensors is supported"):
        lib(m).detach_variable([x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        lib(m).check_backward_validity([x.detach(), 3])
    lib(m).check_backward_validity([x.detach(), x])
