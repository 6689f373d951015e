"""The switches of the backward: when each is on, and in which thread. On torch too, through tests/parity/test_gradcheck.py."""

import threading

import pytest

from tests.core.engine_tools import ours

SWITCHES = {"set_multithreading_enabled": (True, "multithreading", "_is_multithreading_enabled"),
            "enforce_grad_layout_policy": (True, "grad_layout", "_is_grad_layout_enforcement_enabled"),
            "_force_original_view_tracking": (False, "view_replay", "_is_view_replay_enabled")}


@pytest.fixture(params=SWITCHES)
def switch(request, m):
    """(the class, a function that returns whether it is on, the default)"""
    default, field, getter = SWITCHES[request.param]
    made = getattr(m.autograd.grad_mode, request.param)
    if m.__name__ == "torch":
        return made, getattr(m._C, getter), default
    return made, lambda: getattr(made.owner(), field), default


def test_at_construction(switch):
    """tensor_surface/M-11: it takes effect immediately; as a context it restores the value from construction at the exit."""
    make, on, default = switch
    assert on() is default
    mode = make(not default)
    assert on() is not default
    with mode:
        assert on() is not default
    assert on() is default


def test_restored_after_an_error(switch):
    """tensor_surface/M-11"""
    make, on, default = switch
    with pytest.raises(KeyError), make(not default):
        raise KeyError
    assert on() is default


def test_nested_switches(switch):
    """tensor_surface/M-11"""
    make, on, default = switch
    with make(not default):
        with make(default):
            assert on() is default
            with make(not default):
                assert on() is not default
        assert on() is not default
    assert on() is default


@pytest.mark.differs(
    what="`with mode:`, where `mode = set_multithreading_enabled(...)` was made earlier",
    there="Entering the block does not set the switch again.",
    here="Entering the block sets the switch.")
@ours       # torch's contexts do not set the flag again when they are entered
def test_late_context(switch):
    """tensor_surface/M-11: the exit restores the value from construction, not from entering."""
    make, on, default = switch
    mode = make(default)
    other = make(not default)
    with mode:
        assert on() is default
    assert on() is default
    with other:
        assert on() is not default
    assert on() is default


def test_switch_as_decorator(switch):
    """tensor_surface/M-11 tensor_surface/Z-02: as a decorator it is set while the function runs; the function keeps its name."""
    make, on, default = switch

    @make(not default)
    def body(x, *, y):
        """its doc"""
        return on(), x, y
    with make(default):         # torch's set_multithreading_enabled stays as it was constructed
        assert body(1, y=2) == (not default, 1, 2)
        assert on() is default
    assert (body.__name__, body.__doc__) == ("body", "its doc")
    make(default)


@pytest.mark.differs(
    what="`set_multithreading_enabled(False)` as a decorator",
    there="The switch stays off after the decoration.",
    here="It is off only while the function runs.")
@ours       # torch: set_multithreading_enabled(False) stays off after it has decorated something
def test_decorating_changes_nothing(switch):
    """tensor_surface/M-11"""
    make, on, default = switch
    make(not default)(lambda: None)
    assert on() is default


def test_switch_on_a_generator(switch):
    """tensor_surface/Z-02: set while the body runs, not between its steps."""
    make, on, default = switch

    @make(not default)
    def body():
        sent = yield on()
        try:
            yield on(), sent
        except KeyError:
            yield on(), "thrown"
        return on()
    make(default)
    steps = body()
    assert next(steps) is not default
    assert on() is default
    assert steps.send(5) == (not default, 5)
    assert steps.throw(KeyError()) == (not default, "thrown")
    assert on() is default
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value is not default
    assert on() is default


@pytest.mark.differs(
    what="`set_multithreading_enabled(False)` on an `async def`",
    there="The switch has no effect in its body.",
    here="The switch is set in its body, also after each `await`.")
@ours       # torch does not set the mode inside of coroutines
def test_switch_on_a_coroutine(switch):
    """tensor_surface/Z-02"""
    import asyncio
    make, on, default = switch

    @make(not default)
    async def body():
        before = on()
        await asyncio.sleep(0)
        return before, on()

    async def main():
        found, _ = await asyncio.gather(body(), asyncio.sleep(0))
        return found
    assert asyncio.run(main()) == (not default, not default)
    assert on() is default


def test_switch_belongs_to_the_thread(switch):
    """tensor_surface/M-11 tensor_surface/Z-02"""
    make, on, default = switch
    seen = []

    def work():
        seen.append(on())
        with make(not default):
            seen.append(on())
        seen.append(on())
    with make(not default):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert on() is not default
    assert seen == [default, not default, default]


def test_gradients_do_not_depend_on_it(m, switch):
    """tensor_surface/M-11"""
    make, _, default = switch

    def gradient():
        w = m.tensor([[1.0, 2.0], [3.0, 4.0]]).T.requires_grad_()
        x = w * 2
        row = x[0]
        x.mul_(3)
        (row * row).sum().backward()
        return w.grad.tolist()
    expected = gradient()
    with make(not default):
        assert gradient() == expected
