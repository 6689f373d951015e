"""`allow_mutation_on_saved_tensors`: it allows writes to saved tensors. And `_unsafe_preserve_version_counter`, which hides writes."""

import gc
import threading
import weakref

import pytest

from tests.core.engine_tools import leaf, ours, raises, value

OUTSIDE = "outside of the 'allow_mutation"
MODIFIED = "modified by an inplace operation"


def allowed(m):
    return m.autograd.graph.allow_mutation_on_saved_tensors()


def counts(context):
    return len(context.original), len(context.cloned)


def test_the_gradient_is_that_without_the_write(m):
    """graph/A-13, graph/A-02."""
    x = leaf(m, 1., 2., 3.)
    with allowed(m):
        b = x.clone()
        y = (b ** 2).sum()
        b.sin_()
        (y + b.sum()).backward()
    expected, = m.autograd.grad((x ** 2).sum() + x.sin().sum(), x)
    assert value(x.grad) == pytest.approx(value(expected))


SAVES = {"input": lambda b: (b * b).sum(), "output": lambda b: b.exp().sum(), "view": lambda b: (b[:2] ** 2).sum(),
         "view of a view": lambda b: (b.view(2, 2)[0] ** 2).sum(), "detached": lambda b: (b * b.detach()).sum()}
WRITES = {"same": lambda b: b.mul_(5), "zero_": lambda b: b.zero_(), "setitem": lambda b: b.__setitem__(0, 7.),
          "detached": lambda b: b.detach().mul_(5), "view from the start": lambda b: b[:3].mul_(5), "copy_": lambda b: b.copy_(b + 1),
          "twice": lambda b: b.mul_(5).add_(1)}


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("grad", [True, False])
def test_who_writes_to_what(m, save, write, grad):
    """graph/A-06, graph/A-08, graph/T-05: every kind of write to every tensor that begins at the same address."""
    x = leaf(m, 1., 2., 3., 4.)
    expected, = m.autograd.grad(SAVES[save](x), x)
    with allowed(m):
        b = x.clone()
        y = SAVES[save](b)
        with m.set_grad_enabled(grad):
            WRITES[write](b)
        y.backward()
    assert value(x.grad) == pytest.approx(value(expected))


@pytest.mark.differs(
    what="`allow_mutation_on_saved_tensors()`: save `b`, then `b[1:].mul_(5)`",
    there="The write is not noticed, because the addresses differ, and the gradient is wrong.",
    here="The saved tensor is copied before any write to its memory.")
@ours
@pytest.mark.parametrize("save, write", [
    (lambda b: b, lambda b: b[1:].mul_(5)), (lambda b: b[1:], lambda b: b.mul_(5)), (lambda b: b[1:], lambda b: b[2:].mul_(5)),
    (lambda b: b[2:], lambda b: b[1:3].mul_(5)), (lambda b: b.view(2, 2).t(), lambda b: b[3:].zero_())])
def test_views_that_begin_elsewhere(m, save, write):
    """graph/A-07: PyTorch looks for one address, and gives a wrong gradient in silence."""
    x = leaf(m, 1., 2., 3., 4.)
    expected, = m.autograd.grad((save(x) * save(x)).sum(), x)
    with allowed(m):
        b = x.clone()
        y = (save(b) * save(b)).sum()
        with m.no_grad():
            write(b)
        y.backward()
    assert value(x.grad) == value(expected)


def test_what_is_recorded(m):
    """graph/A-01, graph/A-03, graph/A-04, graph/A-05: one copy, made before the first write, and not again."""
    with allowed(m) as context:
        b = leaf(m, 1., 2.).clone()
        assert counts(context) == (0, 0)
        y = (b * b).sum() + b.sin().sum()
        assert counts(context) == (1, 0) and len(context.tid_to_weakhandle) == 1
        with m.no_grad():
            b.add_(1)
            assert counts(context) == (0, 1)
            b.add_(1)
        assert counts(context) == (0, 1)
        z = (b * b).sum()
        assert counts(context) == (1, 1) and len(context.sid_to_tid) >= 1
        (y + z).backward()


def test_released_tensors_are_not_copied(m):
    """graph/A-09."""
    with allowed(m) as context:
        b = leaf(m, 1., 2.).clone()
        (b ** 2).sum().backward()
        gc.collect()
        b.detach().sin_()
        assert counts(context)[1] == 0


def test_backward_outside(m):
    """graph/A-10."""
    x = leaf(m, 1., 2.)
    with allowed(m):
        y, z = (x ** 2).sum(), (x ** 3).sum()
    with raises(AssertionError, OUTSIDE):
        y.backward()
    with allowed(m), raises(AssertionError, OUTSIDE if m.__name__ == "minigrad" else ""):
        z.backward()
    x.grad = None
    (x ** 2).sum().backward()
    assert value(x.grad) == [2, 4]


def test_nested_is_refused(m):
    """graph/A-11."""
    with allowed(m), raises(RuntimeError, "contexts cannot be nested"), allowed(m):
        pass


@pytest.mark.differs(
    what="`allow_mutation_on_saved_tensors()` inside itself",
    there="It raises, and a backward in the outer context then fails too.",
    here="It raises, and the outer context works as before.")
@ours
def test_refused_nesting_leaves_the_outer_context_alone(m):
    """graph/A-11: PyTorch's can no longer be used."""
    x = leaf(m, 1., 2.)
    with allowed(m):
        b = x.clone()
        y = (b ** 2).sum()
        with raises(RuntimeError, "contexts cannot be nested"), allowed(m):
            pass
        b.zero_()
        y.backward()
    assert value(x.grad) == [2, 4]


def test_leaving(m):
    """graph/A-12: by an exception too; all is forgotten, and it may be entered again."""
    x = leaf(m, 1., 2.)
    with pytest.raises(ValueError), allowed(m) as context:
        kept = (x ** 2).sum()
        assert counts(context) == (1, 0) or counts(context) == (2, 0)
        raise ValueError
    assert counts(context) == (0, 0) and not context.tid_to_weakhandle and not context.sid_to_tid and kept is not None
    w = m.ones(2)
    y = (x * w).sum()
    w.add_(1)
    with raises(RuntimeError, MODIFIED):
        y.backward()
    with allowed(m):
        w = m.ones(2)
        y = (x * w).sum()
        w.add_(1)
        y.backward()
    assert value(x.grad) == [1, 1]


def test_optimizer_step_between_forward_and_backward(m):
    """graph/A-06: a step is a write."""
    w = leaf(m, 1., 2.)
    optimizer = m.optim.SGD([w], lr=0.5)
    with allowed(m):
        y = (w ** 2).sum()
        y.backward(retain_graph=True)
        optimizer.step()
        w.grad = None
        y.backward()
    assert value(w.grad) == [2, 4] and value(w) == [0, 0]


@pytest.mark.parametrize("create", [False, True])
def test_second_derivative(m, create):
    """graph/S-37: the copy stands in the graph where the original did."""
    x = leaf(m, 1., 2.)
    with allowed(m):
        b = x * 1
        y = (b ** 3).sum()
        b.zero_()
        g, = m.autograd.grad(y, x, create_graph=True)
        assert value(g) == [3, 12]
        second, = m.autograd.grad(g.sum(), x, create_graph=create)
    assert value(second) == [6, 12]


@pytest.mark.differs(
    what="`x.exp()` inside `allow_mutation_on_saved_tensors()`",
    there="The result and its node stay in memory until the context ends.",
    here="They are freed when the program no longer uses them.")
@ours
def test_saved_outputs_make_no_cycle(m):
    """PyTorch holds the output itself until the context is left, and with it the node."""
    gc.disable()
    try:
        with allowed(m) as context:
            x = leaf(m, 1., 2.)
            held = weakref.ref(x)
            y = x.exp()
            del x
            assert held() is not None
            del y
            assert held() is None and counts(context) == (0, 0)
    finally:
        gc.enable()


@ours
def test_memory_used_again(m):
    """A record about freed memory is not used for a new tensor at the same address."""
    total = 0
    with allowed(m):
        graphs = []
        for i in range(50):
            b = leaf(m, float(i), 1.).clone()
            graphs.append((b ** 2).sum())
            with m.no_grad():
                b.zero_()
            del b
        for i, y in enumerate(graphs):
            g, = m.autograd.grad(y, y.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0].variable)
            assert value(g) == [2. * i, 2.]
            total += 1
    assert total == 50


@pytest.mark.differs(
    what="`allow_mutation_on_saved_tensors()` in two threads",
    there="There is one context for all threads: the second thread cannot enter.",
    here="Each thread may have its own context.")
@ours
def test_other_threads_are_left_alone(m):
    """Their saved tensors are checked as ever, and they may have a context of their own."""
    seen = []

    def work():
        w = m.ones(2)
        y = (leaf(m, 1., 2.) * w).sum()
        w.add_(1)
        try:
            y.backward()
        except RuntimeError as error:
            seen.append(MODIFIED in str(error))
        with allowed(m):
            y = (leaf(m, 1., 2.) * w).sum()
            w.add_(1)
            y.backward()
            seen.append("own")
    with allowed(m):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [True, "own"]


# ---- looking away -------------------------------------------------------------------------------------------------


def test_preserved_version(m):
    """saved_and_versions/V-10: the writes inside are not counted, and the backward uses the new values."""
    x, w, v = leaf(m, 1., 2.), m.ones(2), m.ones(2)
    y = (x * w).sum()
    with m.autograd._unsafe_preserve_version_counter(w):
        w.fill_(3)
        assert w._version == 1
    assert w._version == 0
    y.backward()
    assert value(x.grad) == [3, 3]
    with m.autograd._unsafe_preserve_version_counter((w, v)):
        w[0] = 1
        v.add_(1).add_(1)
    assert w._version == v._version == 0
    with pytest.raises(AssertionError):
        m.autograd._unsafe_preserve_version_counter([w])
