"""Grad modes as functions, contexts and decorators: of functions, generators, coroutines and classes; nested, in threads."""

import asyncio
import threading

import pytest

import minigrad as mg
from minigrad.autograd import forward_ad

MODES = {"no_grad": (mg.no_grad, False), "enable_grad": (mg.enable_grad, True),
         "set_grad_enabled(False)": (lambda: mg.set_grad_enabled(False), False),
         "inference_mode": (mg.inference_mode, False)}
modes = pytest.mark.parametrize("make, inside", MODES.values(), ids=MODES)


def state():
    return mg.is_grad_enabled(), mg.is_inference_mode_enabled()


@pytest.fixture(params=[True, False], ids=["outside on", "outside off"])
def outside(request):
    """Gradients on and off outside; restored after the test."""
    with mg.set_grad_enabled(request.param):
        yield request.param


# ---- contexts -----------------------------------------------------------------------------------------


@modes
def test_context_sets_and_restores(make, inside, outside):
    """tensor_surface/M-01 tensor_surface/M-02 tensor_surface/Z-02: the state of `__enter__` comes back at `__exit__`, after an exception too."""
    before = state()
    with make():
        assert mg.is_grad_enabled() is inside
    assert state() == before
    with pytest.raises(KeyError), make():
        raise KeyError
    assert state() == before


@pytest.mark.differs(
    what="One `no_grad()` object entered twice: `with mode:` inside `with mode:`",
    there="Gradients stay off after both blocks.",
    here="Each exit restores what its own entry found.")
@modes
def test_nested_in_itself(make, inside, outside):
    """tensor_surface/M-02: one object entered twice restores both times (better than torch)."""
    before = state()
    mode = mg.no_grad() if make is not mg.no_grad else make()
    with make(), mode, mode:
        assert not mg.is_grad_enabled()
    assert state() == before
    with mode:
        with mode:
            pass
        assert not mg.is_grad_enabled()
    assert state() == before


def test_alternating():
    with mg.no_grad():
        with mg.enable_grad():
            with mg.no_grad():
                assert not mg.is_grad_enabled()
            assert mg.is_grad_enabled()
        assert not mg.is_grad_enabled()
    assert mg.is_grad_enabled()


def test_set_grad_enabled_acts_at_construction(outside):
    """tensor_surface/M-03: it takes effect immediately; as a context it restores the mode from construction."""
    mode = mg.set_grad_enabled(not outside)
    assert mg.is_grad_enabled() is not outside
    with mode:
        assert mg.is_grad_enabled() is not outside
    assert mg.is_grad_enabled() is outside
    assert "mode=" in repr(mode)


def test_set_grad_enabled_as_decorator_undoes_construction():
    """tensor_surface/M-03"""
    @mg.set_grad_enabled(False)
    def inside():
        return mg.is_grad_enabled()
    assert mg.is_grad_enabled()
    assert inside() is False
    assert mg.is_grad_enabled()


def test_inference_mode_false():
    """tensor_surface/M-04: it switches gradients on, also inside no_grad and inference mode."""
    with mg.no_grad(), mg.inference_mode(False):
        assert state() == (True, False)
    with mg.inference_mode(), mg.inference_mode(False):
        assert state() == (True, False)
    with mg.inference_mode():
        assert state() == (False, True)
    assert state() == (True, False)


def test_enable_grad_in_inference_mode_records_nothing():
    x = mg.ones(2, requires_grad=True)
    with mg.inference_mode(), mg.enable_grad():
        y = x * 2
    assert y.is_inference() and y.grad_fn is None


def test_results_are_leaves():
    """tensor_surface/M-10: results are leaves without gradient, views still count; a factory obeys requires_grad."""
    x = mg.ones(2, 2, requires_grad=True)
    with mg.no_grad():
        y, view, made = x * 2, x[0], mg.zeros(2, requires_grad=True)
    assert y.is_leaf and not y.requires_grad
    assert view.requires_grad
    assert made.requires_grad, "tensor_surface/R-09"


def test_no_grad_leaves_tangents_alone():
    """tensor_surface/M-09: forward-mode AD goes on under no_grad and not in inference mode."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(mg.ones(2), mg.full((2,), 3.0))
        with mg.no_grad():
            y = x * 2
        assert forward_ad.unpack_dual(y).tangent.tolist() == [6.0, 6.0]
        with mg.inference_mode():
            y = x * 2
        assert forward_ad.unpack_dual(y).tangent is None


# ---- decorators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decorate", [mg.no_grad, mg.no_grad(), mg.inference_mode, mg.inference_mode(), mg.set_grad_enabled],
                         ids=["no_grad", "no_grad()", "inference_mode", "inference_mode()", "set_grad_enabled"])
def test_function(decorate):
    """tensor_surface/M-05 tensor_surface/Z-02: with and without parentheses; name, doc, arguments and result go through."""
    if decorate is mg.set_grad_enabled:
        decorate = mg.set_grad_enabled(False)

    @decorate
    def f(a, *, b):
        """its doc"""
        return a, b, mg.is_grad_enabled()
    assert f(1, b=2) == (1, 2, False)
    assert (f.__name__, f.__doc__) == ("f", "its doc")
    assert mg.is_grad_enabled()


def test_enable_grad_decorator():
    """tensor_surface/M-05"""
    with mg.no_grad():
        assert mg.enable_grad(mg.is_grad_enabled)()
        assert mg.enable_grad()(mg.is_grad_enabled)()


def test_recursion_gets_a_fresh_context():
    """tensor_surface/M-05"""
    @mg.no_grad()
    def f(n):
        inner = f(n - 1) if n else []
        return [*inner, mg.is_grad_enabled()]
    assert f(3) == [False] * 4
    assert mg.is_grad_enabled()


def test_function_that_raises():
    @mg.no_grad()
    def f():
        raise KeyError
    with pytest.raises(KeyError):
        f()
    assert mg.is_grad_enabled()


def test_class():
    """tensor_surface/M-08 tensor_surface/Z-02: a warning, and only `__init__` is covered."""
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        @mg.no_grad()
        class C:
            def __init__(self):
                self.made = mg.is_grad_enabled()

            def method(self):
                return mg.is_grad_enabled()
    assert C().made is False
    assert C().method() is True


def test_method_and_staticmethod():
    class C:
        @mg.no_grad()
        def method(self):
            return self, mg.is_grad_enabled()

        @staticmethod
        @mg.no_grad
        def static():
            return mg.is_grad_enabled()
    c = C()
    assert c.method() == (c, False)
    assert C.static() is False


# ---- generators ---------------------------------------------------------------------------------------


def recorder(log):
    """A generator that notes the mode at each of its steps, and the values sent and errors thrown to it."""
    try:
        for i in range(4):
            try:
                log.append((i, mg.is_grad_enabled(), (yield i)))
            except KeyError as error:
                log.append((i, mg.is_grad_enabled(), type(error).__name__))
        return "done"
    finally:
        log.append(("end", mg.is_grad_enabled()))


@modes
def test_generator(make, inside, outside):
    """tensor_surface/M-06 tensor_surface/Z-02: set while the body runs and not between; send, throw and the return value go through."""
    before = state()
    log = []
    body = make()(recorder)(log) if make is not mg.enable_grad else mg.enable_grad()(recorder)(log)
    assert state() == before
    assert next(body) == 0
    assert state() == before
    assert body.send("sent") == 1
    assert body.throw(KeyError()) == 2
    assert next(body) == 3
    assert state() == before
    with pytest.raises(StopIteration) as stop:
        next(body)
    assert stop.value.value == "done"
    assert state() == before
    assert log == [(0, inside, "sent"), (1, inside, "KeyError"), (2, inside, None), (3, inside, None), ("end", inside)]


def test_generator_close():
    """tensor_surface/M-06"""
    log = []
    body = mg.no_grad()(recorder)(log)
    next(body)
    body.close()
    assert log == [("end", False)]
    assert mg.is_grad_enabled()
    with pytest.raises(StopIteration):
        next(body)


def test_generator_whose_error_escapes():
    """tensor_surface/M-06"""
    log = []
    body = mg.no_grad()(recorder)(log)
    next(body)
    with pytest.raises(ZeroDivisionError):
        body.throw(ZeroDivisionError())
    assert log == [("end", False)]
    assert mg.is_grad_enabled()


def test_generator_in_a_for_loop_with_gradients():
    """tensor_surface/M-06: between the steps the consumer records its ops."""
    @mg.no_grad()
    def batches(x):
        for i in range(3):
            y = x * i
            assert not y.requires_grad
            yield y
    w = mg.ones(2, requires_grad=True)
    total = sum((w * y).sum() for y in batches(w))
    total.backward()
    assert w.grad.tolist() == [3.0, 3.0]


# ---- coroutines ---------------------------------------------------------------------------------------


@pytest.mark.differs(
    what="`@no_grad()` on an `async def`",
    there="Gradients are still on in its body.",
    here="They are off in its body, also after each `await`, and on in all other tasks.")
def test_coroutine_does_not_leak():
    """tensor_surface/M-07 tensor_surface/Z-02: the mode holds in the body across awaits, and in no other task (better than torch)."""
    log = []

    @mg.no_grad()
    async def quiet():
        for _ in range(3):
            log.append(("quiet", mg.is_grad_enabled()))
            await asyncio.sleep(0)
        return "result"

    async def loud():
        for _ in range(3):
            log.append(("loud", mg.is_grad_enabled()))
            await asyncio.sleep(0)

    async def main():
        return await asyncio.gather(quiet(), loud(), quiet())
    assert asyncio.iscoroutinefunction(quiet)
    assert asyncio.run(main())[0] == "result"
    assert {on for who, on in log if who == "quiet"} == {False}
    assert {on for who, on in log if who == "loud"} == {True}
    assert len(log) == 9


def test_coroutine_that_raises_and_is_cancelled():
    """tensor_surface/M-07"""
    seen = []

    @mg.no_grad()
    async def fails():
        await asyncio.sleep(0)
        raise KeyError

    @mg.no_grad()
    async def waits():
        try:
            await asyncio.sleep(10)
        finally:
            seen.append(mg.is_grad_enabled())

    async def main():
        with pytest.raises(KeyError):
            await fails()
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert mg.is_grad_enabled()
    asyncio.run(main())
    assert seen == [False]


@pytest.mark.differs(
    what="`@no_grad()` on an async generator",
    there="Gradients are still on in its body.",
    here="TypeError: there is no moment at which the mode could be right.")
def test_async_generator_is_refused():
    """tensor_surface/M-07: no moment exists at which the mode could be set correctly."""
    with pytest.raises(TypeError, match="async generator"):
        @mg.no_grad()
        async def f():
            yield 1


# ---- threads ------------------------------------------------------------------------------------------


def test_threads_start_enabled():
    """tensor_surface/M-01: the modes belong to the thread, and a new thread starts with gradients on."""
    seen = {}
    ready, go = threading.Event(), threading.Event()

    def work():
        seen["start"] = state()
        with mg.no_grad():
            ready.set()
            go.wait(10)
            seen["inside"] = state()
        seen["after"] = state()
    with mg.inference_mode():
        thread = threading.Thread(target=work)
        thread.start()
        ready.wait(10)
        assert state() == (False, True)
    assert state() == (True, False)
    go.set()
    thread.join()
    assert seen == {"start": (True, False), "inside": (False, False), "after": (True, False)}
