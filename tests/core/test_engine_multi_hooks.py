"""One hook on several tensors: `register_multi_grad_hook`, in both modes."""

import gc
import threading
import weakref

import pytest

from tests.core.engine_tools import leaf, note, ours, raises, value
from tests.core.test_engine_threads import in_threads

MODES = ["all", "any"]


def register(m, tensors, fn, **mode):
    return m.autograd.graph.register_multi_grad_hook(tensors, fn, **mode)


def gather(m, tensors, **mode):
    """Register a hook on `tensors` that notes its gradients."""
    seen = []
    handle = register(m, tensors, lambda grads: seen.append(value(grads)), **mode)
    return seen, handle


# ---- common -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["remove", "with"])
def test_handle_of_several(m, mode, how):
    """graph/M-01"""
    a, b = leaf(m, 2.), leaf(m, 3.)
    seen, handle = gather(m, (a, b), mode=mode)
    assert isinstance(handle, m.utils.hooks.RemovableHandle) and type(handle) is m.autograd.graph._MultiHandle
    assert len(handle.handles) == 2 and all(isinstance(h, m.utils.hooks.RemovableHandle) for h in handle.handles)
    if how == "with":
        with handle as entered:
            (a * b).backward()
        assert entered is handle
    else:
        (a * b).backward()
        handle.remove()
        handle.remove()
    (a * b).backward()
    assert len(seen) == 1


@pytest.mark.parametrize("mode", ["some", None, "ALL"])
def test_mode_that_there_is_not(m, mode):
    """graph/M-02"""
    x = leaf(m, 1.)
    with raises(ValueError, "Expects mode to be one of"):
        register(m, [x], print, mode=mode)
    assert not x._backward_hooks


@pytest.mark.differs(
    what="`register_multi_grad_hook([x], 3)`",
    there="The registration succeeds.",
    here="The registration raises TypeError, as `register_hook` does.")
@ours
@pytest.mark.parametrize("mode", MODES)
def test_multi_hook_that_cannot_be_called(m, mode):
    """As engine/H-32: refused when it is registered."""
    x = leaf(m, 1.)
    with pytest.raises(TypeError):
        register(m, [x], 3, mode=mode)
    assert not x._backward_hooks


@pytest.mark.parametrize("mode", MODES)
def test_multi_hooks_are_tensor_hooks(m, mode):
    """graph/M-03: multi-grad hooks run in the order of registration among tensor hooks; the result of fn is ignored."""
    x = leaf(m, 1.)
    y = x * 2
    events = []
    y.grad_fn.register_prehook(note(events, "pre"))
    y.register_hook(lambda g: events.append("before") or g * 10)
    register(m, [y], lambda grads: events.append(value(grads)) or m.tensor(77.), mode=mode)
    y.register_hook(note(events, "after"))
    y.retain_grad()
    (y * 1).backward()
    assert events == ["before", [10] if mode == "all" else 10, "after", "pre"]
    assert value(x.grad) == 20 and value(y.grad) == 10


def test_multi_hook_and_a_write_in_place(m):
    """graph/M-03: it stays with the values before the write."""
    x = leaf(m, 1.)
    y, z = x * 2, x * 3
    seen, _ = gather(m, [y, z])
    y.mul_(5)
    (y * z).backward()
    assert seen == [[15, 10]]       # 5 z, and y of now


@pytest.mark.parametrize("mode", MODES)
def test_each_backward_begins_anew(m, mode):
    """graph/M-04, graph/T-04: also after one that failed midway."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    x, y = a * 1, b * 1         # y is the later node, so its gradient comes first
    seen, _ = gather(m, [x, y], mode=mode)

    def fail(g):
        raise ValueError("mine")
    z = x * y
    first = [[3, 2]] if mode == "all" else [2]
    z.backward(retain_graph=True)
    assert seen == first
    handle = x.register_hook(fail)
    for _ in range(2):
        with raises(ValueError, "mine"):
            z.backward(retain_graph=True)
    handle.remove()
    z.backward(retain_graph=True)
    (z * 10).backward()
    assert seen == first * 4 + ([[30, 20]] if mode == "all" else [20])


def test_half_gathered_when_it_failed(m):
    """graph/M-04: gradients from a failed backward are not completed by the next backward, which reaches fewer tensors."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    x, y = a * 1, b * 1

    def fail(g):
        raise ValueError("mine")
    handle = x.register_hook(fail)      # before ours: x's gradient never gets there
    seen, _ = gather(m, [x, y])
    with raises(ValueError, "mine"):
        (x * y).backward(retain_graph=True)
    handle.remove()
    (x * 5).backward(retain_graph=True)
    (y * 7).backward()
    assert seen == [[5, None], [None, 7]]


@pytest.mark.parametrize("mode", MODES)
def test_multi_hook_outside_of_a_backward(m, mode):
    """graph/M-05"""
    x = leaf(m, 1.)
    register(m, [x], print, mode=mode)
    hook, = x._backward_hooks.values()
    with raises(AssertionError, "inside a backward call"):
        hook(m.tensor(1.))


# ---- all ----------------------------------------------------------------------------------------------------


def test_all_need_a_gradient(m):
    """graph/M-10: registration under no_grad is fine for leaves."""
    x, c = leaf(m, 2.), m.tensor(3.)
    with raises(AssertionError, "Expected gradient function to be set"):
        register(m, [x, c], print)
    with m.no_grad():
        seen, _ = gather(m, [x])
    (x * c).backward()
    assert seen == [[3]]


@ours
def test_refused_registration_leaves_no_hook(m):
    """graph/M-10"""
    x = leaf(m, 2.)
    with pytest.raises(AssertionError):
        register(m, [x, m.tensor(3.)], print)
    assert not x._backward_hooks
    (x * 2).backward()


@pytest.mark.parametrize("inputs, expected", [(None, [True, True, True, False]), ((0,), [True, False, True, False]),
                                              ((1,), [False, True, True, False]), ((2,), [False, False, True, False])])
def test_what_is_waited_for(m, inputs, expected):
    """graph/M-11, graph/M-12: fn is called once, after the last gradient of the tensors with nodes that run, in the order of the list."""
    tensors = a, b, c, _ = [leaf(m, 1., 2.) for _ in range(4)]
    s = a.exp() * b
    t = s * c
    seen = []
    events = []
    register(m, tensors, lambda grads: (seen.append(grads), events.append("fn")))
    for x in tensors:
        x.register_hook(note(events, "tensor"))
    y = t.sum()
    for _ in range(2):
        y.backward(inputs=None if inputs is None else [tensors[i] for i in inputs] + [c], retain_graph=True)
        assert [g is not None for g in seen[-1]] == expected and type(seen[-1]) is list
        assert events.count("fn") == 1 and events.index("fn") == len(events) - 2        # before the next hook of the last tensor
        events.clear()


def test_undefined_gradients_count(m):
    """graph/M-13: only one of two outputs is used, so the gradient of the other arrives as None."""
    x = leaf(m, 1., 2.)
    a, b = x.split(1)
    seen, _ = gather(m, [a, b])
    (b * 3).sum().backward()
    assert seen == [[None, [3]]]
    y, z = leaf(m, 1.) * 2, leaf(m, 5.)
    w = y * z
    seen, _ = gather(m, [y, z])
    w.grad_fn.register_prehook(lambda grads: (None,))
    w.backward()
    assert seen == [[None, None]]


def test_listed_twice(m):
    """graph/M-14"""
    x, y = leaf(m, 2.), leaf(m, 3.)
    seen, _ = gather(m, [x, y, x])
    (x * y).backward()
    assert seen == [[3, 2, 3]]


@pytest.mark.differs(
    what="`register_multi_grad_hook([y, z], f)`, then `z.backward()`",
    there="`f` is called twice, each time with one gradient and None: the root is not counted.",
    here="`f` is called once, with both gradients.")
@ours
def test_root_is_waited_for(m):
    """graph/M-11: torch does not count the root among the nodes that run."""
    y = leaf(m, 2.) * 3
    z = y * 5
    seen, _ = gather(m, [y, z])
    z.backward()
    assert seen == [[5, 1]]


def test_inner_tensors_of_grad(m):
    """graph/M-15"""
    x, w = leaf(m, 2.), leaf(m, 5.)
    a = x * 3
    b = a * w
    seen, _ = gather(m, [a, b])
    m.autograd.grad(b * 7, x, retain_graph=True)
    m.autograd.grad(b * 7, a, retain_graph=True)
    m.autograd.grad(b * 7, b)
    assert seen == [[35, 7], [35, 7], [None, 7]]


@pytest.mark.differs(
    what="`register_multi_grad_hook` on leaves, then `autograd.grad`",
    there="RuntimeError: PyTorch cannot say whether the call will reach a leaf.",
    here="`f` is called: the engine knows for which leaves the call computes a gradient.")
@ours
@pytest.mark.parametrize("wanted, expected", [((0,), [15, None, 35]), ((1,), [None, 6, 35]), ((0, 1), [15, 6, 35])])
def test_leaves_of_grad(m, wanted, expected):
    """graph/M-15: torch refuses to say whether a leaf will be reached."""
    x, w = leaves = leaf(m, 2.), leaf(m, 5.)
    a = x * 3
    y = a * w
    seen, _ = gather(m, [x, w, a])
    found = m.autograd.grad(y * 1, [leaves[i] for i in wanted])
    assert value(found) == [expected[i] for i in wanted]
    assert seen == [[*expected[:2], 5 if 0 in wanted else None]]


@ours
def test_two_under_way(m):
    """graph/M-16: one call of fn for each backward."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    seen, _ = gather(m, [a, b])
    y = b * 1
    with m.enable_grad():
        inner = [a * 11, a * b * 13]        # the first reaches a alone
    y.register_hook(lambda g: [t.backward() for t in inner] and None)
    (a * y).backward()
    assert seen == [[11, None], [39, 26], [3, 2]]


@pytest.mark.differs(
    what="`register_multi_grad_hook`, when one backward runs inside another",
    there="Both share the number of gradients to wait for, and `f` is never called for the outer backward.",
    here="Each backward counts for itself, and `f` is called for both.")
@ours
def test_an_inner_backward_takes_no_count_from_the_outer_one(m):
    """graph/M-16: torch shares the number to wait for: the inner one expects one gradient, and the outer one waits for no second."""
    x, y = leaf(m, 2.) * 1, leaf(m, 3.) * 1
    seen, _ = gather(m, [x, y])
    inner = x * 10      # it reaches x alone
    y.register_hook(lambda g: inner.backward(retain_graph=True))
    (x * y).backward()
    assert seen == [[10, None], [3, 2]]


@ours
def test_two_under_way_over_one_graph(m):
    """graph/M-16: the inner one begins when the outer has brought one gradient of two; and from within fn."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    x, y = a * 1, b * 1
    z = x * y * 10
    seen = []

    def fn(grads):
        seen.append(value(grads))
        if len(seen) == 1:
            z.backward(retain_graph=True)
    register(m, [x, y], fn)
    begun = []

    def hook(g):
        if not begun:
            begun.append(True)
            z.backward(retain_graph=True)
    y.register_hook(hook)
    (x * y).backward(retain_graph=True)
    assert seen == [[30, 20], [30, 20], [3, 2]]


def test_threads_gather_for_themselves(m):
    """graph/M-17, graph/T-03: four threads share the leaves; one call for each backward of each thread."""
    a, b = leaf(m, 2.), leaf(m, 3.)
    seen = []
    register(m, [a, b], lambda grads: seen.append((threading.get_ident(), value(grads))))

    def work(i):
        for k in range(20):
            (a * b * (100 * i + k)).backward()
        return threading.get_ident()
    idents = in_threads(4, work)
    for i, ident in enumerate(idents):
        assert [g for t, g in seen if t == ident] == [[3 * (100 * i + k), 2 * (100 * i + k)] for k in range(20)]
    assert len(seen) == 80


@pytest.mark.parametrize("mode", MODES)
def test_no_tensors(m, mode):
    """graph/M-18"""
    seen, handle = gather(m, [], mode=mode)
    (leaf(m, 1.) * 2).backward()
    assert seen == [] and handle.handles == ()
    handle.remove()


# ---- any ----------------------------------------------------------------------------------------------------


def test_any_passes_over_constants(m):
    """graph/M-20"""
    x, c = leaf(m, 2.), m.tensor(3.)
    seen, handle = gather(m, [c, x], mode="any")
    assert len(handle.handles) == 1
    (x * c).backward()
    assert seen == [3]


def test_any_gets_the_first(m):
    """graph/M-21: the tensor itself, once per backward."""
    x = leaf(m, 2.)
    a = x * 1
    b = x * 1
    got = []
    register(m, [a, b, x], got.append, mode="any")
    for _ in range(3):
        (a * 3 + b * 5).backward(retain_graph=True)
    assert value(got) == [5, 5, 5]          # b was made last


def test_any_in_threads(m):
    """graph/M-22"""
    a, b = leaf(m, 2.), leaf(m, 3.)
    seen = []
    register(m, [a, b], lambda grad: seen.append(threading.get_ident()), mode="any")

    def work(i):
        for _ in range(20):
            (a * b).backward()
        return threading.get_ident()
    idents = in_threads(4, work)
    assert [seen.count(i) for i in idents] == [20] * 4


# ---- memory -------------------------------------------------------------------------------------------------


@pytest.mark.differs(
    what='`register_multi_grad_hook(mode="any")`, after many backwards',
    there="A table of the hook grows by one entry with each backward.",
    here="The entry goes away when its backward ends.")
@ours
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left_behind(m, mode, fails, no_collection):
    """graph/M-23: notes on a backward go with it; and the hooks keep neither graph nor leaf alive."""
    a, b = leaf(m, 2., 3.), leaf(m, 3., 4.)
    x = a * 2
    arrived = []
    a.register_hook(lambda g: arrived.append(weakref.ref(g)))
    b.register_hook(lambda g: arrived.append(weakref.ref(g)))

    def fail(leaf):
        if fails:
            raise ValueError("mine")
    b.register_post_accumulate_grad_hook(fail)
    register(m, [a, b, x], lambda grads: None, mode=mode)
    for _ in range(3):
        if fails:
            with pytest.raises(ValueError):
                m.autograd.backward((x * b).sum(), inputs=[a, b], retain_graph=True)
        else:
            m.autograd.grad((x * b).sum(), [a, b], retain_graph=True)
    a.grad = b.grad = None
    assert arrived and [r() for r in arrived] == [None] * len(arrived)
    dead = [weakref.ref(t) for t in (a, b, x)] + [weakref.ref(x.grad_fn)]
    del a, b, x
    assert [d() for d in dead] == [None] * 4


@ours
def test_gradients_of_a_call_are_free_after_it(m, no_collection):
    """graph/M-12: after the call of fn nothing holds the gradients, while the backward goes on."""
    a, b = leaf(m, 2., 3.), leaf(m, 3., 4.)
    x, y = a * 2, b * 2
    refs = []
    register(m, [x, y], lambda grads: refs.extend(weakref.ref(g) for g in grads))
    alive = []
    a.register_hook(lambda g: alive.extend(r() is not None for r in refs))
    (x * y).sum().backward()
    assert alive == [False, False]
    gc.collect()
