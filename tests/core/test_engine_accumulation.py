"""Sums of gradients, and their accumulation in a leaf: engine.md 8, 9 and the aliasing audit M-03."""

import itertools

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.internals import needs


def pointer(t):
    return t.data_ptr()


# ---- buffers --------------------------------------------------------------------------------------------


def test_the_first_gradient_is_not_copied(m):
    """engine/B-01"""
    y = leaf(m, 1., 2.) * 2
    g = m.ones(2)
    seen = []
    y.register_hook(lambda g: seen.append(g))
    (y + 0).backward(g)
    assert pointer(seen[0]) == pointer(g)


@needs("counts")
def test_a_gradient_that_nobody_holds_is_added_to_in_place(m):
    """engine/B-02: the sum is in the memory of the first gradient."""
    y = leaf(m, 1., 2.) * 2
    a = y.exp()
    b = y.sin()
    where = []
    b.grad_fn.register_hook(lambda grads, _: where.append(pointer(grads[0])))
    y.register_hook(lambda g: where.append(pointer(g)))
    (a.sum() + b.sum()).backward()
    assert where[0] == where[1]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("held", ["hook", "post-hook", "user", "two ways", "captured"])
def test_a_gradient_that_somebody_holds_is_not_changed(m, held, create):
    """engine/B-02, engine/B-03"""
    x = leaf(m, 1., 2.)
    y = x * 1
    g = m.ones(2)
    a = y * 3
    b = y * 5
    kept = []
    if held == "hook":          # of the second of the two consumers, which runs first
        b.register_hook(kept.append)
        (a + b).backward(g, create_graph=create)
        assert value(kept) == [[1, 1]]
    elif held == "post-hook":
        b.grad_fn.register_hook(lambda grads, _: kept.append(grads[0]))
        (a + b).backward(g, create_graph=create)
        assert value(kept) == [[5, 5]]
    elif held == "user":
        m.autograd.backward([y, y, a], [g, g, g], create_graph=create)
    elif held == "two ways":    # + hands one gradient to both sides
        z = x * 1
        (((y + z) + y) + z).backward(g, create_graph=create)
    else:
        kept = m.autograd.grad([a, b, y], [a, b, y, x], [g, g, g], create_graph=create)
        assert value(kept[:2]) == [[1, 1], [1, 1]]
    expected = {"hook": 8, "post-hook": 8, "user": 5, "two ways": 4, "captured": None}[held]
    assert value(g) == [1, 1] and value(x.grad) == (None if expected is None else [expected] * 2)


def test_broadcast_gradients_are_not_added_in_place(m):
    """engine/B-04: the gradients of sum() have stride 0, so the engine adds them out of place."""
    x = m.zeros(3, 4, requires_grad=True)
    y = x * 1
    (y.sum() + y.sum() + (y * y).sum() + y.sum()).backward()
    assert value(x.grad) == [[3] * 4] * 3


def test_order_of_additions(m):
    """engine/B-05: of arrival, so that the last bit is the same every time."""
    def run():
        x = m.tensor([0.1, 1e8, 3.3], requires_grad=True)
        y = x * 1
        (y * 0.1 + (y * 1e7).sin() + y * 7.7 + y * -1e5 + y.exp() * 1e-9).sum().backward()
        return value(x.grad)
    assert run() == run()


# ---- the leaf -------------------------------------------------------------------------------------------


def test_a_leaf_that_requires_no_gradient_any_more(m):
    """engine/G-02"""
    x = leaf(m, 1.)
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_a_leaf_that_got_a_history(m):
    """engine/G-03"""
    x = leaf(m, 1.)
    y = x * 2
    x.requires_grad_(False)
    x.mul_(leaf(m, 3.))
    with raises(RuntimeError, "moved into the graph interior"):
        y.backward()


@needs("counts")
@pytest.mark.parametrize("inputs", [False, True])
def test_stolen(m, inputs):
    """engine/G-04: a gradient without another reference becomes .grad itself."""
    x = leaf(m, 1., 2., 3.)
    where = []
    y = x.exp()
    y.grad_fn.register_hook(lambda grads, _: where.append(pointer(grads[0])))
    y.sum().backward(inputs=[x] if inputs else None)
    assert where == [pointer(x.grad)]


@pytest.mark.parametrize("case", ["hook", "root", "linear", "clone", "two leaves"])
def test_copied(m, case):
    """engine/G-04: else it is copied."""
    x, w = leaf(m, 1., 2.), leaf(m, 1., 2.)
    g = m.ones(2)
    kept = [g]
    if case == "hook":
        x.register_hook(kept.append)
        (x * 3).backward(g)
    elif case == "root":
        x.backward(g)
    elif case == "linear":
        (x + 0).backward(g)
    elif case == "clone":
        x.clone().backward(g)
    else:
        (x + w).exp().sum().backward()
        kept.append(w.grad)
    assert pointer(x.grad) not in [pointer(t) for t in kept]
    x.grad.add_(1)
    assert value(g) == [1, 1]


@pytest.mark.parametrize("history", [True, False])
def test_first_gradient_with_create_graph(m, history):
    """engine/G-05, engine/C-02: a gradient without a history gives a .grad without one."""
    x = leaf(m, 3.)
    (x * x if history else x * 2).backward(m.tensor(1.), create_graph=True)
    assert x.grad.requires_grad is history
    if history:
        assert value(m.autograd.grad(x.grad, x)) == [2]


def test_later_gradients(m):
    """engine/G-06: in place, so that other references to .grad see the sum; out of place under create_graph."""
    x = leaf(m, 3.)
    (x * 2).backward()
    held, version = x.grad, x.grad._version
    (x * 2).backward()
    assert x.grad is held and value(held) == 4 and held._version == version + 1
    (x * x).backward(create_graph=True)
    assert x.grad is not held and value([held, x.grad]) == [4, 10] and x.grad.requires_grad


LAYOUTS = {
    "contiguous": (lambda m: m.zeros(2, 3), (3, 1)),
    "transposed": (lambda m: m.zeros(3, 2).t(), (1, 2)),
    "permuted": (lambda m: m.zeros(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
    "strided slice": (lambda m: m.zeros(4, 6)[::2, ::2], (3, 1)),
    "expanded": (lambda m: m.zeros(1, 3).expand(2, 3), (3, 1)),
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(m, layout, create):
    """engine/G-07: .grad has the layout of a dense leaf, else row-major, whatever the layout of the gradient."""
    make, strides = LAYOUTS[layout]
    for other in (False, True):
        x = make(m).requires_grad_()
        g = m.arange(x.numel(), dtype=m.float32).reshape(x.shape)
        g = g.t().contiguous().t() if other and x.ndim == 2 else g
        (x * 2).backward(g, create_graph=create)
        assert value(x.grad) == value(g * 2)
        if not create:
            assert x.grad.stride() == strides


def test_layout_is_kept_by_later_sums(m):
    """engine/G-07"""
    x = m.zeros(2, 3, requires_grad=True)
    x.grad = m.zeros(3, 2).t()
    (x * 2).sum().backward()
    assert x.grad.stride() == (1, 2) and value(x.grad) == [[2] * 3] * 2


@needs("counts")
@pytest.mark.parametrize("enforce", [True, False])
def test_layout_policy(m, enforce):
    """engine/G-08: without it, a gradient that may be stolen is, in whatever layout."""
    x = m.zeros(3, 2).t().requires_grad_()
    where = []

    def run():
        y = x.contiguous().exp()
        y.grad_fn.register_hook(lambda grads, _: where.append((pointer(grads[0]), grads[0].stride())))
        y.sum().backward()
    with m.autograd.enforce_grad_layout_policy(enforce):
        run()
    assert value(x.grad) == [[1] * 3] * 2
    assert x.grad.stride() == ((1, 2) if enforce else (3, 1)) and (pointer(x.grad) == where[0][0]) is not enforce
    assert where[0][1] == (3, 1)


@needs("counts")
def test_layout_policy_is_a_switch(m):
    """engine/G-08: the switch works as a function, as a context and as a decorator."""
    policy = m.autograd.enforce_grad_layout_policy
    x = m.zeros(3, 2).t().requires_grad_()

    def strides():
        x.grad = None
        x.contiguous().exp().sum().backward()
        return x.grad.stride()
    decorated = policy(False)(strides)
    assert strides() == (1, 2) and decorated() == (3, 1) and strides() == (1, 2)
    policy(False)
    try:
        assert strides() == (3, 1)
    finally:
        policy(True)
    assert strides() == (1, 2)


def test_gradient_of_another_shape_present(m):
    """engine/G-09: the error of the addition."""
    x = leaf(m, 1., 2.)
    (x * 2).sum().backward()
    x.data = m.zeros(3)
    with pytest.raises(RuntimeError):
        (x * 2).sum().backward()


def test_accumulator_of_replaced_data(m):
    """engine/G-11: the leaf holds its accumulator weakly; a new one is made on demand, and after `data` of another kind."""
    x = leaf(m, 1., 2.)

    def node():
        return (x * 1).grad_fn.next_functions[0][0]
    held = x * 1
    first = held.grad_fn.next_functions[0][0]
    assert node() is first and first.variable is x
    first.metadata["mine"] = True
    del held, first
    assert "mine" not in node().metadata
    held = x * 1
    x.data = m.zeros(2, dtype=m.float64)
    assert node() is not held.grad_fn.next_functions[0][0]
    (x * 2).sum().backward()
    assert x.grad.dtype is m.float64


# ---- M-03 -----------------------------------------------------------------------------------------------

GRAPHS = {
    "sum": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "difference and views": lambda a, b: (a - b).view_as(a) + b.clone(),
    "shared": lambda a, b: (a + b) + (a + b),
    "fan": lambda a, b: a + a + b * 2 + b,
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("graph", GRAPHS)
def test_nothing_is_shared(m, graph, create):
    """engine/M-03: no two share memory: gradients of leaves, gradients that the caller gave, and gradients that hooks kept."""
    a, b = m.ones(2, 3, requires_grad=True), m.ones(2, 3, requires_grad=True)
    y = GRAPHS[graph](a, b)
    y.retain_grad()
    g = m.ones(2, 3)
    in_hooks = []
    a.register_hook(in_hooks.append)
    y.register_hook(in_hooks.append)
    y.backward(g, create_graph=create)
    for s, t in itertools.combinations([a.grad, b.grad, y.grad, g], 2):
        assert pointer(s) != pointer(t)
    for s, t in itertools.product([a.grad, b.grad, y.grad], in_hooks):
        assert pointer(s) != pointer(t)


@ours
def test_gradient_kept_by_a_view_of_it(m):
    """engine/B-03: a view that a program keeps holds the array, though not the tensor."""
    y = leaf(m, 1., 2.) * 1
    a, b = y * 3, y * 5
    kept = []
    b.grad_fn.register_hook(lambda grads, _: kept.append(grads[0][:1]))
    (a + b).sum().backward()
    assert value(kept) == [[5]]


# ---- grad_dtype -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen, gradient, expected", [
    ("default", "float64", "float32"), ("float64", "float32", "float64"), ("float16", "float32", "float16"),
    ("none", "float64", "float64"), ("none", "float16", "float16")])
@pytest.mark.parametrize("when", ["before the graph", "after it"])
def test_grad_dtype(m, chosen, gradient, expected, when):
    """tensor_surface/D-02, tensor_surface/D-03"""
    x = leaf(m, 1., 2.)
    kinds = {"none": None, "float16": m.float16, "float32": m.float32, "float64": m.float64}
    y = x.detach() if when == "before the graph" else x * 1
    if chosen != "default":
        x.grad_dtype = kinds[chosen]
    assert x.grad_dtype is (m.float32 if chosen == "default" else kinds[chosen])
    for _ in range(2):
        x.backward(m.ones(2, dtype=kinds[gradient]))
    assert x.grad.dtype is kinds[expected] and value(x.grad) == [2, 2]
    del y


def test_grad_dtype_of_an_op(m):
    """tensor_surface/D-02: gradients from an op are cast too, and the results of grad; a live accumulator takes the new dtype."""
    x = leaf(m, 1., 2.)
    y = x * 2
    x.grad_dtype = m.float64
    assert m.autograd.grad(y.sum(), x, retain_graph=True)[0].dtype is m.float64
    y.sum().backward()
    assert x.grad.dtype is m.float64 and value(x.grad) == [2, 2]


def test_grad_dtype_is_checked(m):
    """tensor_surface/D-01, tensor_surface/D-04"""
    x = leaf(m, 1., 2.)
    y = x * 2
    with raises(RuntimeError, "can only be accessed on leaf tensors"):
        _ = y.grad_dtype
    with raises(RuntimeError, "can only be set on leaf tensors"):
        y.grad_dtype = m.float64
    with raises(RuntimeError, "grad_dtype must be a"):
        x.grad_dtype = 3
    x.grad = m.ones(2)
    with raises(RuntimeError, "already a gradient with dtype"):
        x.grad_dtype = m.float64
    x.grad = None
    x.grad_dtype = m.float64
    with raises(RuntimeError, "attempting to assign a gradient with dtype"):
        x.grad = m.ones(2)
    x.grad = m.ones(2, dtype=m.float64)
