"""Hooks on saved tensors: when they run, on which tensors, and the place of the unpacked tensor in the graph."""

import gc
import importlib
import threading
import weakref

import pytest

from tests.core.engine_tools import leaf, ours, raises, value


def hooks(m):
    return m.autograd.graph.saved_tensors_hooks


class Box:
    """Something that weak references can tell from dead."""


class Log:
    """A pair of hooks that keep a detached alias, and note their arguments."""

    def __init__(self):
        self.packed, self.unpacked = [], []

    def pack(self, x):
        self.packed.append((value(x), x.is_leaf, x.requires_grad))
        return x.detach()

    def unpack(self, x):
        self.unpacked.append(value(x))
        return x

    def on(self, m):
        return hooks(m)(self.pack, self.unpack)


# ---- activation ------------------------------------------------------------------------------------------------


def test_no_decorator(m):
    """graph/S-01"""
    with pytest.raises(TypeError):
        hooks(m)(lambda x: x, lambda x: x)(lambda: None)


def test_innermost_pair_alone(m):
    """graph/S-02, graph/T-01"""
    outer, inner = Log(), Log()
    x = leaf(m, 2.)
    with outer.on(m):
        with inner.on(m):
            y = x.exp()
        z = x.sin()
    (y + z).backward()
    assert len(inner.packed) == len(inner.unpacked) == 1 and len(outer.packed) == len(outer.unpacked) == 1


def test_left_by_position_and_entered_again(m):
    """graph/S-03"""
    first, second = Log(), Log()
    one, two = first.on(m), second.on(m)
    x = leaf(m, 2.)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    x.exp()
    one.__exit__(None, None, None)
    with one:
        with one:
            x.exp()
    x.exp()
    assert len(first.packed) == 2 and not second.packed


def test_per_thread(m):
    """graph/S-04"""
    log = Log()
    x = leaf(m, 2.)
    with log.on(m):
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert not log.packed


@pytest.mark.parametrize("pair", [(3, len), (len, None)], ids=str)
def test_hooks_that_cannot_be_called(m, pair):
    """graph/S-05: refused when the context is entered."""
    context = hooks(m)(*pair)
    with pytest.raises(TypeError):
        context.__enter__()


@ours
def test_nothing_to_leave(m):
    """graph/S-06"""
    with raises(RuntimeError, "no saved tensors hooks to leave"):
        hooks(m)(len, len).__exit__(None, None, None)


# ---- pack ------------------------------------------------------------------------------------------------------


def test_what_is_packed(m):
    """graph/S-10, graph/S-11, graph/S-12, graph/S-13, graph/S-14, graph/S-15"""
    x, c = leaf(m, 2.), m.tensor(3.)
    for f, expected in [
            (lambda: x + 1, []), (lambda: x * 2, []), (lambda: c * c, []),
            (lambda: x * c, [(3., True, False)]), (lambda: x * x, [(2., True, True)] * 2),
            (lambda: (x + 1).sqrt(), [(pytest.approx(3 ** 0.5), False, True)]),
            (lambda: (x + 1).sin(), [(3., False, True)])]:
        log = Log()
        with log.on(m):
            f()
            with m.no_grad():
                f()
        assert log.packed == expected


def test_output_has_its_node(m):
    """graph/S-15"""
    seen = []
    x = leaf(m, 1., 2.)
    with hooks(m)(lambda t: seen.append(t.grad_fn) or t.detach(), lambda t: t):
        y = x.exp()
    assert seen == [y.grad_fn]


def test_pack_runs_without_gradients(m):
    """graph/S-16"""
    seen = []
    x = leaf(m, 2.)
    with hooks(m)(lambda t: seen.append((m.is_grad_enabled(), threading.get_ident())) or t, lambda t: t):
        x.sin()
    assert seen == [(False, threading.get_ident())] and m.is_grad_enabled()


def test_version_is_not_checked(m):
    """graph/S-17: the original is not kept, and the backward uses the tensor in the packed object."""
    x, y = leaf(m, 2.), m.tensor(3.)
    with Log().on(m):
        z = x * y
    y.add_(1)
    z.backward()
    assert x.grad.item() == 4
    x, y = leaf(m, 2.), m.tensor(3.)
    with hooks(m)(lambda t: value(t), lambda v: m.tensor(v)):
        z = x * y
    y.add_(1)
    dead = weakref.ref(y)
    del y
    assert dead() is None
    z.backward()
    assert x.grad.item() == 3


def test_pack_may_not_write(m):
    """graph/S-18"""
    x, y = leaf(m, 2.), m.tensor(3.)
    with hooks(m)(lambda t: t.add_(1), lambda t: t), raises(RuntimeError, "pack hook is modifying its input in place"):
        x * y


def test_error_in_pack(m):
    """graph/S-19"""
    error = KeyError("mine")

    def pack(_):
        raise error
    x = leaf(m, 2.)
    with hooks(m)(pack, lambda t: t), pytest.raises(KeyError) as caught:
        x.exp()
    assert caught.value is error and m.is_grad_enabled()
    x.exp().backward()
    assert x.grad is not None


@pytest.mark.differs(
    what="A pack hook that returns the output of the op itself",
    there="The output and its node hold each other, and are never freed.",
    here="The garbage collector frees both.")
@ours
def test_pack_that_returns_an_output(m):
    """graph/S-20: the node holds the tensor that holds the node, and torch never frees them. The collector frees ours.
    A pack hook should return ``x.detach()``, which makes no cycle."""
    x = leaf(m, 2.)
    with hooks(m)(lambda t: t, lambda t: t):
        y = x.exp()
    y.backward(retain_graph=True)
    assert value(x.grad) == pytest.approx(value(y))
    dead = weakref.ref(y), weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert dead[0]() is None and dead[1]() is None


def test_pack_within_pack(m):
    """graph/S-21: operations that save, with gradients enabled, inside a pack hook call it again."""
    depth = []

    def pack(t):
        depth.append(len(depth))
        if len(depth) < 5:
            with m.enable_grad():
                t.exp()
        return t.detach()
    with hooks(m)(pack, lambda t: t):
        y = leaf(m, 0.).sin()
    assert depth == [0, 1, 2, 3, 4]
    y.backward()


# ---- unpack ----------------------------------------------------------------------------------------------------


def test_unpacked_at_each_use(m):
    """graph/S-30, graph/S-31, graph/S-33"""
    log = Log()
    x = leaf(m, 2.)
    with log.on(m):
        y = x * x
    y.backward(retain_graph=True)
    assert len(log.unpacked) == 2
    with m.autograd.graph.disable_saved_tensors_hooks("no"):
        y.backward(retain_graph=True)
    assert len(log.unpacked) == 4 and len(log.packed) == 2
    assert y.grad_fn._saved_self.item() == 2 and len(log.unpacked) == 5
    assert x.grad.item() == 8


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_of_unpack(m, create_graph):
    """graph/S-32: the backward's, and the caller's outside of one."""
    seen = []
    x = leaf(m, 2.)
    with hooks(m)(lambda t: t.detach(), lambda t: seen.append(m.is_grad_enabled()) or t):
        y = x.sin()
    m.autograd.grad(y, x, create_graph=create_graph, retain_graph=True)
    with m.no_grad():
        y.grad_fn._saved_self.sum()
    assert seen == [create_graph, False]


def test_unpack_returns_a_tensor(m):
    """graph/S-34"""
    x = leaf(m, 2.)
    with hooks(m)(lambda t: t, lambda t: 3.):
        y = x.sin()
    with raises(TypeError, "unpack_hook expected to be a Tensor"):
        y.backward()


def test_error_in_unpack(m):
    """graph/S-35"""
    error = KeyError("mine")

    def unpack(_):
        raise error
    x = leaf(m, 2.)
    with hooks(m)(lambda t: t, unpack):
        y = x.sin()
    with pytest.raises(KeyError) as caught:
        y.backward()
    assert caught.value is error and x.grad is None


def test_place_in_the_graph_is_the_originals(m):
    """graph/S-36"""
    x = leaf(m, 2.)
    with hooks(m)(lambda t: t.detach(), lambda t: t * 2):
        y = x.sin()             # saves a leaf
        w = x + 1
        z = w.sin()             # an inner tensor
        e = w.exp()             # an output
    s = y.grad_fn._saved_self
    assert s is not x and s.is_leaf and s.requires_grad and s.item() == 4
    (s * 3).backward()
    assert x.grad.item() == 3
    assert z.grad_fn._saved_self.grad_fn is w.grad_fn and z.grad_fn._saved_self.output_nr == 0
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn


def test_view_without_history_through_hooks(m):
    """graph/S-36, saved_and_versions/N-01: a view made under no_grad requires a gradient, unpacked too."""
    x, w = leaf(m, 3.), leaf(m, 2.)
    with m.no_grad():
        view = x.view(1)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = w * view
    g, = m.autograd.grad(y, w, create_graph=True)
    assert g.item() == 3 and g.requires_grad and view.requires_grad and view.is_leaf


def test_double_backward_through_packed_values(m):
    """graph/S-37"""
    x = leaf(m, 2., dtype="float64")
    with Log().on(m):
        y = (x * x).exp()
    g, = m.autograd.grad(y, x, create_graph=True)
    h, = m.autograd.grad(g, x)
    assert h.item() == pytest.approx((2 + 4 * 4) * float(y))


def test_freed_at_once(m):
    """graph/S-38"""
    boxes = []

    def pack(t):
        box = Box()
        box.t = t.detach()
        boxes.append(weakref.ref(box))
        return box
    x = leaf(m, 2.)
    gc.disable()
    try:
        with hooks(m)(pack, lambda box: box.t):
            y = x.sin()
        y.backward()
        assert boxes[0]() is None
    finally:
        gc.enable()


# ---- per slot ----------------------------------------------------------------------------------------------------


def test_register_hooks_on_one(m):
    """graph/S-40, graph/S-46"""
    x = leaf(m, 2.)
    y = x * m.tensor(3.)
    raw = y.grad_fn._raw_saved_other
    raw.register_hooks(lambda t: value(t), lambda v: m.tensor(v + 1))
    assert y.grad_fn._saved_other.item() == 4
    y.backward()
    assert x.grad.item() == 4


def test_hooks_once(m):
    """graph/S-41"""
    x = leaf(m, 2.)
    with Log().on(m):
        y = x.sin()
    z = x.sin()
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    for node in (y.grad_fn, z.grad_fn):
        with raises(RuntimeError, "hooks have already been set"):
            node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_after_freeing(m):
    """graph/S-42, graph/S-45, graph/S-46"""
    y = leaf(m, 2.).sin()
    y.backward()
    raw = y.grad_fn._raw_saved_self
    with raises(RuntimeError, "saved tensor after it has been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)


@ours
def test_unpack_after_freeing(m):
    """graph/S-46: PyTorch keeps `unpack` from Python."""
    y = leaf(m, 2.).sin()
    assert y.grad_fn._raw_saved_self.unpack().item() == 2
    y.backward()
    with raises(RuntimeError, "through the graph a second time"):
        y.grad_fn._raw_saved_self.unpack()


def test_hooks_on_nothing(m):
    """graph/S-43: no hook runs for a value that the formula does not need, or that a Function saved as None."""
    class Saves(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2
    product, mine = (leaf(m, 2.) * m.tensor(3.)).grad_fn, Saves.apply(leaf(m, 2.)).grad_fn
    assert product._saved_self is None and mine.saved_tensors[1] is None
    for raw in (product._raw_saved_self, mine._raw_saved_tensors[1]):
        with raises(RuntimeError, "saved tensor with value None is forbidden"):
            raw.register_hooks(lambda t: t, lambda t: t)


@ours
def test_unpacking_nothing(m):
    """graph/S-46, graph/S-43"""
    y = leaf(m, 2.) * m.tensor(3.)
    raw = y.grad_fn._raw_saved_self
    assert raw.unpack() is None
    y.backward()
    assert raw.unpack() is None and y.grad_fn._saved_self is None
    with pytest.raises(AttributeError, match="has not saved 'result'"):
        y.grad_fn._saved_result     # noqa: B018


@pytest.mark.parametrize("pair", [(3, len), (len, None)], ids=str)
def test_per_slot_hooks_that_cannot_be_called(m, pair):
    """graph/S-44"""
    y = leaf(m, 2.).sin()
    with pytest.raises(TypeError):
        y.grad_fn._raw_saved_self.register_hooks(*pair)


# ---- interaction, save_on_cpu, disable ----------------------------------------------------------------------------


def test_hooks_within_create_graph(m):
    """graph/S-50"""
    log = Log()
    x = leaf(m, 2.)
    y = x.sin()
    with log.on(m):
        g, = m.autograd.grad(y, x, create_graph=True)
    assert log.packed
    g.backward()
    assert log.unpacked


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_has_hooks_of_its_own(m, reentrant):
    """graph/S-51, graph/S-02: within it the pair outside is not called, and one inside of it is."""
    checkpoint = importlib.import_module(f"{m.__name__}.utils.checkpoint").checkpoint
    outer, inner = Log(), Log()
    x = leaf(m, 2.)

    def work(t):
        s = t.sin()
        with inner.on(m):
            e = s.exp()
        return e.cos()
    with outer.on(m):
        y = checkpoint(work, x, use_reentrant=reentrant)
    # the outer pair gets at most the argument
    assert [v for v, *_ in outer.packed] in ([], [2.]) and len(inner.packed) == (0 if reentrant else 1)
    y.backward()
    assert [v for v, *_ in outer.packed] in ([], [2.]) and len(inner.packed) >= 1
    expected = leaf(m, 2.)
    work(expected).backward()
    assert value(x.grad) == pytest.approx(value(expected.grad))


@pytest.mark.parametrize("when", ["hook", "unpack"])
def test_backward_within_a_backward_has_its_own_hooks(m, when):
    """graph/S-51: a pair entered in a nested backward or forward holds for that alone."""
    outer, inner = Log(), Log()
    x = leaf(m, 2.)

    def nested(t):
        with inner.on(m), m.enable_grad():
            leaf(m, 3.).exp().backward()
        return t
    with hooks(m)(lambda t: t.detach(), nested if when == "unpack" else lambda t: t):
        y = x.exp()
    if when == "hook":
        y.register_hook(nested)
    with outer.on(m):
        g, = m.autograd.grad(y * 1, x, create_graph=True)
    assert len(inner.packed) == len(inner.unpacked) == 1
    assert outer.packed and g.requires_grad and value(g) == pytest.approx(value(y))


def test_saved_output_makes_no_circle(m, no_collection):
    """graph/T-02: an unpacked output has the node as its grad_fn, and the node is freed with the last reference."""
    x = leaf(m, 2.)
    with Log().on(m):
        y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved.grad_fn is y.grad_fn and saved.output_nr == 0
    del saved
    dead = weakref.ref(y)
    y.grad_fn.metadata["box"] = box = Box()
    gone = weakref.ref(box)
    del y, box
    assert dead() is None and gone() is None


def test_in_place_ops_are_packed(m):
    """graph/S-10: their result at its new version."""
    log = Log()
    x = leaf(m, 1., 2.)
    y = x * 1
    with log.on(m):
        y.exp_()
    y.add_(1)           # unnoticed: S-17; the alias shows the current values
    y.sum().backward()
    assert len(log.packed) == 1 and value(x.grad) == value(y)


@pytest.mark.parametrize("pin", [False, True])
def test_save_on_cpu(m, pin):
    """graph/C-01, graph/C-02, graph/C-03, graph/C-04, graph/C-05"""
    x, c = leaf(m, 2., 3.), m.tensor([5., 7.])
    context = m.autograd.graph.save_on_cpu(pin_memory=pin, device_type="cuda")
    assert isinstance(context, hooks(m))
    with context:
        y = x * c
    c.add_(1)
    y.sum().backward()
    assert value(x.grad) == ([5, 7] if pin else [6, 8])


def test_disabled(m):
    """graph/D-01, graph/D-02, graph/D-04, graph/D-05"""
    disable, on_cpu = m.autograd.graph.disable_saved_tensors_hooks, m.autograd.graph.save_on_cpu

    def enter(message):
        for context in (Log().on(m), on_cpu()):
            with pytest.raises(RuntimeError) as caught:
                context.__enter__()
            assert str(caught.value) == message
    with disable("outer"):
        enter("outer")
        with pytest.raises(KeyError), disable("inner"):
            enter("inner")
            raise KeyError
        enter("outer")
        x = leaf(m, 2.)
        x.exp().backward()
        assert x.grad is not None
    with Log().on(m):
        pass

    @disable("decorated")
    def function():
        enter("decorated")
    function()


def test_disabling_too_late(m):
    """graph/D-03"""
    with Log().on(m), pytest.raises(RuntimeError, match=r"^too late$"), m.autograd.graph.disable_saved_tensors_hooks("too late"):
        pass


def test_message_is_a_string(m):
    """graph/D-06"""
    with pytest.raises(TypeError), m.autograd.graph.disable_saved_tensors_hooks(3):
        pass


# ---- increment_version -------------------------------------------------------------------------------------------


def test_increment_version(m):
    """graph/V-01, graph/V-02, graph/V-03, graph/V-05"""
    bump = m.autograd.graph.increment_version
    x, y = m.zeros(3), leaf(m, 1., 2.)
    bump(x)
    bump([x, x, y])
    bump(x[1:])
    with m.inference_mode():
        inference = m.zeros(2)
    bump(inference)
    bump(iter((y,)))
    assert (x._version, y._version) == (4, 2)


@pytest.mark.parametrize("argument, key", [(3, "Iterable[Tensor]"), ([3], "element of the iterable to be a tensor")], ids=str)
def test_increment_version_of_what_is_no_tensor(m, argument, key):
    """graph/V-04"""
    with raises(RuntimeError, key):
        m.autograd.graph.increment_version(argument)


def test_increment_version_is_seen(m):
    """graph/V-01: a write that the library cannot see is made known."""
    x, c = leaf(m, 2.), m.tensor(3.)
    y = x * c
    m.autograd.graph.increment_version(c)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.backward()
