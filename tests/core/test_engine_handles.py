"""Handles of hooks: `RemovableHandle`."""

import collections
import copy
import gc
import pickle
import weakref

import pytest

from tests.core.engine_tools import leaf, note, ours, value
from tests.core.test_engine_threads import in_threads


def table(m, *extra):
    """A table with one hook, and its handle; `extra` are further tables with an entry under its number."""
    hooks = collections.OrderedDict()
    handle = m.utils.hooks.RemovableHandle(hooks, extra_dict=list(extra) if len(extra) != 1 else extra[0])
    for each in (hooks, *extra):
        each[handle.id] = print
    return hooks, handle


def test_handle_holds_its_table_weakly(m, no_collection):
    """graph/R-01"""
    hooks, handle = table(m)
    dead = weakref.ref(hooks)
    del hooks
    assert dead() is None
    handle.remove()
    with pytest.raises(TypeError):
        m.utils.hooks.RemovableHandle({})


def test_numbers_of_handles(m):
    """graph/R-02: increasing, whatever the hook is on."""
    x = leaf(m, 1.)
    y = x * 2
    layer = m.nn.Linear(1, 1)
    handles = [x.register_hook(print), y.register_hook(print), y.grad_fn.register_hook(print), y.grad_fn.register_prehook(print),
               x.register_post_accumulate_grad_hook(print), layer.register_forward_hook(print), table(m)[1]]
    numbers = [h.id for h in handles]
    assert numbers == sorted(set(numbers)) and all(type(n) is int for n in numbers)


@ours
def test_numbers_of_handles_in_threads(m):
    """graph/R-02: unique, or one hook would take the place of another."""
    x = leaf(m, 1.)
    handles = in_threads(4, lambda i: [x.register_hook(lambda g: None) for _ in range(200)])
    assert len({h.id for hs in handles for h in hs}) == 800 == len(x._backward_hooks)


def test_the_table_of_a_tensor(m):
    """A dict in order of registration, which a handle references weakly. Pickled, it is an OrderedDict, as in PyTorch."""
    x = leaf(m, 1.)
    events = []
    handles = [x.register_hook(note(events, i)) for i in range(3)]
    hooks = x._backward_hooks
    assert isinstance(hooks, dict) and list(hooks) == [h.id for h in handles] and handles[0].hooks_dict_ref() is hooks
    hooks[handles[0].id] = hooks.pop(handles[0].id)
    (x * 2).backward()
    assert events == [1, 2, 0]
    hooks.clear()
    (x * 2).backward()
    assert events == [1, 2, 0]
    handle = x.register_hook(print)
    loaded = pickle.loads(pickle.dumps(hooks))
    assert type(loaded) is collections.OrderedDict and loaded == {handle.id: print} == hooks


@pytest.mark.parametrize("finalized", [1, 2, 3])
def test_the_collector_removes_hooks_during_a_backward(m, finalized):
    """A finalizer that removes a hook may run at any allocation, also when the engine copies the table."""
    class Removes:
        def __init__(self, handle):
            self.handle, self.itself = handle, self

        def __del__(self):
            self.handle.remove()
    x = leaf(m, 1.)
    events = []
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(50):
            y = x * 2
            handles = [y.register_hook(note(events, i)) for i in range(3)]
            for _ in range(finalized):
                Removes(handles.pop())
            y.backward()
    finally:
        gc.set_threshold(*threshold)
    assert events.count(0) == 50 or finalized == 3


def test_removing_twice(m):
    """graph/R-03"""
    x = leaf(m, 1.)
    events = []
    first, second = x.register_hook(note(events, 1)), x.register_hook(note(events, 2))
    first.remove()
    first.remove()
    (x * 2).backward()
    assert events == [2]
    second.remove()
    (x * 2).backward()
    assert events == [2] and not x._backward_hooks


@pytest.mark.parametrize("count", [0, 1, 2])
def test_further_tables(m, count):
    """graph/R-04"""
    extra = [collections.OrderedDict({"other": 1}) for _ in range(count)]
    hooks, handle = table(m, *extra)
    if count == 2:
        extra.pop()         # it may die before
    handle.remove()
    assert not hooks and all(list(each) == ["other"] for each in extra)


def test_handle_as_a_context(m):
    """graph/R-05: removed on the way out, also by an exception."""
    x = leaf(m, 1.)
    events = []
    handle = x.register_hook(note(events, "hook"))
    with pytest.raises(KeyError), handle as entered:
        assert entered is handle
        (x * 2).backward()
        raise KeyError
    (x * 2).backward()
    assert events == ["hook"]


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
def test_copied_handles(m, how):
    """graph/R-06, graph/T-07: with the table, they work on its copy; a shallow one on the table itself."""
    extra = collections.OrderedDict()
    hooks, handle = table(m, extra)
    assert handle.__getstate__() == (hooks, handle.id, (extra,))
    both = hooks, extra, handle
    new_hooks, new_extra, twin = {"copy": lambda: (hooks, extra, copy.copy(handle)), "deepcopy": lambda: copy.deepcopy(both),
                                  "pickle": lambda: pickle.loads(pickle.dumps(both))}[how]()
    assert type(twin) is type(handle) and twin.id == handle.id
    twin.remove()
    assert not new_hooks and not new_extra and bool(hooks) == bool(extra) == (how != "copy")


def test_restored_handles(m):
    """graph/R-06: a handle restored without its table is dead; old states have two elements; the next id is larger."""
    handle = m.utils.hooks.RemovableHandle
    dead = collections.OrderedDict()
    gone = handle(dead)
    del dead
    gc.collect()
    state = gone.__getstate__()
    assert state == (None, gone.id, ())
    for restored in (state, state[:2]):
        twin = handle.__new__(handle)
        twin.__setstate__(restored)
        assert twin.id == gone.id and twin.hooks_dict_ref() is None and twin.extra_dict_ref == ()
        twin.remove()
    twin = handle.__new__(handle)
    above = gone.id + 1000
    twin.__setstate__((None, above, ()))
    twin.remove()
    assert table(m)[1].id > above
    twin.__setstate__((None, 0, ()))
    assert table(m)[1].id > above + 1


@pytest.mark.differs(
    what="A copy of a hook's handle, after one of its tables is gone",
    there="TypeError: there is no weak reference to None.",
    here="The copy works: there is nothing to remove from a table that is gone.")
@ours
def test_restored_without_a_further_table(m):
    """graph/R-06: a dead one is nothing to remove from; torch fails over it."""
    hooks, handle = table(m, collections.OrderedDict())
    assert handle.__getstate__() == (hooks, handle.id, (None,))
    twin = copy.copy(handle)
    twin.remove()
    assert not hooks


def test_handle_removed_in_its_hook(m):
    """graph/R-07, graph/T-07: on tensors and nodes."""
    x = leaf(m, 1.)
    y = x * 2
    events = []
    for register in (y.register_hook, y.grad_fn.register_prehook, y.grad_fn.register_hook, x.register_post_accumulate_grad_hook):
        handles = []

        def hook(*args, handles=handles):
            events.append("hook")
            handles[0].remove()
        handles.append(register(hook))
    y.backward(retain_graph=True)
    y.backward()
    assert events == ["hook"] * 4 and value(x.grad) == 4


def test_handle_outlives_the_tensor(m):
    """graph/T-07: and may remove the hook of a graph that lives on."""
    x = leaf(m, 1.)
    y = x * 2
    events = []
    handle, dead = y.register_hook(note(events, "hook")), weakref.ref(y)
    z = y * 3
    del y
    gc.collect()
    assert dead() is None
    z.backward(retain_graph=True)
    assert events == ["hook"]
    handle.remove()
    z.backward()
    assert events == ["hook"]
    del x, z
    gc.collect()
    handle.remove()


def test_copied_multi_handle(m):
    """graph/M-01, graph/R-06: its state are its handles."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    seen = []
    handle = m.autograd.graph.register_multi_grad_hook([a, b], seen.append)
    assert handle.__getstate__() == handle.handles
    twin = copy.copy(handle)
    assert type(twin) is type(handle) and twin.handles == handle.handles
    twin.remove()
    (a * b).backward()
    assert seen == []
