"""The order of hooks, the gradients that each sees, and undefined gradients: engine.md 12 and 13."""

import pytest

from tests.core.engine_tools import accumulator, leaf, note, ours, raises, value


def test_order_at_a_nonleaf(m):
    """engine/H-01, engine/H-03: each hook sees the result of the previous one; retain_grad is the last of the tensor hooks."""
    x = leaf(m, 1.)
    y = x * 2
    seen = []
    y.retain_grad()
    y.grad_fn.register_hook(lambda grads, outs: seen.append(("post", value(grads[0]), value(outs[0]))))
    y.grad_fn.register_prehook(lambda grads: seen.append(("pre", value(grads[0]))) or (grads[0] * 100,))
    y.register_hook(lambda g: seen.append(("tensor", value(g))) or g * 10)
    y.register_hook(lambda g: seen.append(("tensor", value(g))))
    y.backward()
    assert seen == [("tensor", 1), ("tensor", 10), ("pre", 10), ("post", 2000, 1000)]
    assert value(y.grad) == 10 and value(x.grad) == 2000


def test_hooks_of_several_outputs(m):
    """engine/H-02: in the order in which each tensor got its first hook."""
    x = leaf(m, 1., 2., 3.)
    a, b, c = x.split(1)
    events = []
    for name, t in (("c", c), ("a", a), ("c again", c), ("b", b)):
        t.register_hook(note(events, name))
    (a + b + c).sum().backward()
    assert events == ["c", "c again", "a", "b"]


def test_retained_gradient_is_nobody_elses(m):
    """engine/H-04: first a copy, then sums out of place."""
    x = leaf(m, 1., 2.)
    y = x * 2
    y.retain_grad()
    g = m.ones(2)
    flying = []
    y.grad_fn.register_prehook(lambda grads: flying.append(grads[0]))
    y.backward(g, retain_graph=True)
    first = y.grad
    assert first.data_ptr() not in (g.data_ptr(), flying[0].data_ptr())
    y.backward(g)
    assert y.grad is not first and value([first, y.grad]) == [[1, 1], [2, 2]]


def test_order_at_a_leaf(m):
    """engine/H-05: the post-accumulate hook gets the leaf itself, in the grad mode of the run."""
    x = leaf(m, 1.)
    y = x * 2
    acc = accumulator(x)
    events = []
    acc.register_hook(lambda grads, outs: events.append(("post", grads, value(outs))))
    x.register_post_accumulate_grad_hook(lambda t: events.append(("accumulated", t is x, value(t.grad), m.is_grad_enabled())))
    acc.register_prehook(lambda grads: events.append(("pre", value(grads), x.grad)))
    x.register_hook(lambda g: events.append(("tensor", value(g))))
    y.backward()
    assert events == [("tensor", 2), ("pre", [2], None), ("accumulated", True, 2, False), ("post", (), [2])]


def test_post_accumulate_hook_may_change_the_leaf(m):
    """engine/H-05"""
    x = leaf(m, 1.)

    def step(t):
        t -= t.grad         # not recorded: the backward runs without
        t.grad = None
    x.register_post_accumulate_grad_hook(step)
    (x * 0.25).backward()
    assert value(x) == 0.75 and x.grad is None


@pytest.mark.parametrize("result, error, key", [
    (lambda t: 1.0, TypeError, "expected Variable, but hook returned"),
    (lambda t: t.grad, RuntimeError, "Tensor post accumulate grad hooks should return None")])
def test_post_accumulate_hook_returns_nothing(m, result, error, key):
    """engine/H-05"""
    x = leaf(m, 1.)
    x.register_post_accumulate_grad_hook(result)
    with raises(error, key):
        (x * 2).backward()


def test_post_accumulate_hook_may_return_the_leaf(m):
    """engine/H-05: as a method that writes in place does."""
    x = leaf(m, 1.)
    x.register_post_accumulate_grad_hook(lambda t: t.zero_())
    (x * 2).backward()
    assert value([x, x.grad]) == [0, 2]


def test_posthook_sees_what_nobody_needs(m):
    """graph/N-38: a gradient that an op need not compute is None; hooks see the gradient that a Function returns for a constant."""
    class Product(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            return g, g * 5
    x, w = leaf(m, 1.), m.tensor(3.)
    seen = []
    for y in (x * w, Product.apply(x, w)):
        y.grad_fn.register_hook(lambda ins, outs: seen.append(value(ins)))
        z = y * 1
        z.backward()
    assert seen == [[3, None], [1, 5]] and value(x.grad) == 4 and w.grad is None


@pytest.mark.parametrize("root", ["leaf", "nonleaf"])
def test_hook_on_the_root(m, root):
    """engine/H-13"""
    x = leaf(m, 1.)
    y = x if root == "leaf" else x * 2
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert value(x.grad) == (10 if root == "leaf" else 20)


def test_hook_sees_the_sum(m):
    """engine/H-14"""
    x = leaf(m, 1.)
    seen = []
    x.register_hook(lambda g: seen.append(value(g)))
    (x * 2 + x * 3 + x * 5).backward()
    assert seen == [10]


# ---- in-place operations ------------------------------------------------------------------------------------


def test_where_the_hooks_of_a_leaf_live(m):
    """engine/H-20: tensor and post-accumulate hooks live as long as the leaf, hooks of its node as long as the graphs."""
    x = leaf(m, 1.)
    events = []
    x.register_hook(note(events, "tensor"))
    x.register_post_accumulate_grad_hook(note(events, "accumulated"))
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(note(events, "node"))
    y.backward()
    del y
    (x * 2).backward()
    assert events == ["tensor", "accumulated", "node", "tensor", "accumulated"]


def test_hooks_before_and_after_an_inplace_op(m):
    """engine/H-21, engine/H-23: the old stay with the value before; both fire, the new first."""
    x = leaf(m, 1.)
    y = x * 2
    seen = []
    handle = y.register_hook(lambda g: seen.append(("old", value(g))))
    y.mul_(5)
    assert y._backward_hooks is None
    y.register_hook(lambda g: seen.append(("new", value(g))))
    (y * 3).backward(retain_graph=True)
    assert seen == [("new", 3), ("old", 15)]
    handle.remove()
    (y * 3).backward()
    assert seen[2:] == [("new", 3)]


def test_retained_gradient_follows_the_value(m):
    """engine/H-22"""
    x = leaf(m, 1.)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).backward()
    assert value(y.grad) == 3 and value(x.grad) == 30


def test_hooks_of_a_base_and_its_view(m):
    """engine/H-24: a write through a view leaves the hooks of both behind. The base's see the gradient before it."""
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    view = base[:2]
    seen = []
    base.register_hook(lambda g: seen.append(("base", value(g))))
    view.register_hook(lambda g: seen.append(("view", value(g))))
    view.mul_(5)
    (base * 3).sum().backward()
    assert seen == [("base", [15, 15, 3])] and value(x.grad) == [15, 15, 3]


def test_retaining_view_of_a_changed_base(m):
    """engine/H-25"""
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    view = base[:2]
    view.retain_grad()
    base.mul_(5)
    (view * 3).sum().backward()
    assert value(view.grad) == [3, 3] and value(x.grad) == [15, 15, 0]


def test_hook_of_a_leaf_that_became_a_nonleaf(m):
    """engine/H-26"""
    x, w = leaf(m, 1.), leaf(m, 4.)
    seen = []
    x.register_hook(note(seen, "x"))
    x.requires_grad_(False)
    x.mul_(w)
    (x * 2).backward()
    assert seen == [] and value(w.grad) == 2


# ---- results of hooks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("result, error, key", [
    (lambda m, g: 1.0, TypeError, "expected Variable, but hook returned"),
    (lambda m, g: g.double(), RuntimeError, "has changed the type of value"),
    (lambda m, g: g.sum(), RuntimeError, "has changed the size of value"),
    (lambda m, g: m.stack([g, g]), RuntimeError, "has changed the size of value"),
])
@pytest.mark.parametrize("kind", ["tensor", "pre", "post"])
def test_results_that_do_not_fit(m, result, error, key, kind):
    """engine/H-30: the same checks for every kind of hook."""
    y = leaf(m, 1., 2.) * 2
    if kind == "tensor":
        y.register_hook(lambda g: result(m, g))
    elif kind == "pre":
        y.grad_fn.register_prehook(lambda grads: (result(m, grads[0]),))
    else:
        y.grad_fn.register_hook(lambda grads, _: (result(m, grads[0]), None))
    with raises(error, key):
        y.sum().backward()


@pytest.mark.parametrize("kind", ["pre", "post"])
@pytest.mark.parametrize("result, error, key", [
    (lambda g: list(g), TypeError, "expected tuple, but hook returned"),
    (lambda g: g[0], TypeError, "expected tuple, but hook returned"),
    (lambda g: (*g, None), RuntimeError, "has returned an incorrect number of values"),
])
def test_results_that_are_no_tuple(m, kind, result, error, key):
    """graph/N-33, graph/N-34, graph/N-41"""
    y = leaf(m, 1.) * 2
    if kind == "pre":
        y.grad_fn.register_prehook(result)
    else:
        y.grad_fn.register_hook(lambda grads, _: result(grads))
    with raises(error, key):
        y.backward()


def test_no_gradient_out_of_nothing(m):
    """engine/H-30, graph/N-35: a hook may not replace None by a gradient."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    z.grad_fn.register_prehook(lambda grads: (None,))
    y.register_hook(lambda g: m.tensor(1.))
    with raises(RuntimeError, "can't replace a None gradient"):
        z.backward()


def test_hook_that_writes(m):
    """engine/H-31: forbidden, but it takes effect."""
    x = leaf(m, 1.)
    y = x * 2
    y.register_hook(lambda g: g.mul_(10) and None)
    (y * 3).backward()
    assert value(x.grad) == 60


@pytest.mark.differs(
    what="`x.register_hook(1.0)`",
    there="The registration succeeds, and the backward raises TypeError.",
    here="The registration raises TypeError, so the traceback shows the line with the mistake.")
@ours
def test_what_cannot_be_called_is_refused(m):
    """engine/H-32: at registration, where torch waits for the backward."""
    x = leaf(m, 1.)
    for register in (x.register_hook, x.register_post_accumulate_grad_hook, (x * 2).grad_fn.register_hook):
        with pytest.raises(TypeError):
            register(1.0)


@pytest.mark.parametrize("what", ["itself", "later"])
def test_hooks_change_their_table(m, what):
    """graph/R-07: the round that runs is a snapshot."""
    y = leaf(m, 1.) * 2
    events = []

    def first(g):
        events.append("first")
        handles.pop().remove() if what == "itself" else y.register_hook(note(events, "added"))
    handles = [y.register_hook(first)]
    y.register_hook(note(events, "second"))
    y.backward(retain_graph=True)
    assert events == ["first", "second"]
    y.backward()
    assert events[2:] == (["second"] if what == "itself" else ["first", "second", "added"])


def test_post_hook_registered_while_the_node_runs(m):
    """graph/N-37: from a pre-hook, it fires with the gradients that the node got."""
    y = leaf(m, 1.) * 2
    seen = []

    def pre(_):
        y.grad_fn.register_hook(lambda results, grads: seen.append(value([results[0], *grads])))
    y.grad_fn.register_prehook(pre)
    y.backward()
    assert seen == [[2, 1]]


@ours
@pytest.mark.parametrize("replace", [False, True])
def test_post_hook_registered_by_the_node_itself(m, replace):
    """graph/N-37: from inside the backward it fires too, without the gradients that the node got."""
    from tests.core.test_engine_errors import bad_op
    seen = []

    def formula(_):
        y.grad_fn.register_hook(lambda results, grads: seen.append(grads) or ((results[0] * 10,) if replace else None))
        return m.ones(2)
    x, y = bad_op(formula)
    y.sum().backward()
    assert seen == [()] and value(x.grad) == ([10, 10] if replace else [1, 1])


# ---- undefined gradients --------------------------------------------------------------------------------------


def test_undefined_gradients_travel(m):
    """engine/U-01, engine/U-02, engine/U-03, engine/U-04, engine/G-01: every node runs, every hook is called with None."""
    x = leaf(m, 1., 2.)
    y = x.exp()
    z = y * 2
    w = z.sum()
    acc = accumulator(x)
    seen = []
    w.grad_fn.register_prehook(lambda grads: (None,))
    w.grad_fn.register_hook(lambda gi, go: seen.append(("post w", gi, go)))
    z.register_hook(lambda g: seen.append(("tensor z", g)))
    z.retain_grad()
    y.grad_fn.register_prehook(lambda grads: seen.append(("pre y", grads)))
    x.register_hook(lambda g: seen.append(("tensor x", g)))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t.grad)))
    acc.register_hook(lambda gi, go: seen.append(("post x", gi, go)))
    w.backward()
    assert seen == [("post w", (None,), (None,)), ("tensor z", None), ("pre y", (None,)), ("tensor x", None),
                    ("accumulated", None), ("post x", (), (None,))]
    assert x.grad is None and z.grad is None


@pytest.mark.parametrize("first", [True, False])
def test_undefined_and_defined(m, first):
    """engine/U-06, engine/B-01: adding undefined changes nothing, whichever comes first."""
    x = leaf(m, 1.)
    y = x * 1
    a = y * 3
    b = y * 5
    (a if first else b).grad_fn.register_prehook(lambda grads: (None,))
    (a + b).backward()
    assert value(x.grad) == (5 if first else 3)
