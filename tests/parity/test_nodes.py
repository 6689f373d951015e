"""Nodes compared with PyTorch's: types, names, copies of gradients, and attributes that cannot be deleted."""

import copy
import gc
import pickle
import warnings

import pytest
import torch

import minigrad as mg

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])


def leaf(m, *values):
    return m.tensor(list(values) or [3.0], requires_grad=True)


def builtin(error):
    return next(base.__qualname__ for base in type(error).__mro__ if base.__module__ == "builtins")


# ---- types --------------------------------------------------------------------------------------------------------


@BOTH
def test_the_type_is_the_op(m):
    """differences/N-01"""
    x = leaf(m)
    square, product = (x ** 2).grad_fn, (x * x).grad_fn
    assert type(square).__name__ == "PowBackward0"
    assert type(product).__name__ == "MulBackward0"
    assert type(product) is type((x * 3).grad_fn)
    assert type(product).__module__ == "builtins"
    assert type(product.next_functions[0][0]).__name__ == "AccumulateGrad"
    assert isinstance(square, m.autograd.graph.Node)
    assert issubclass(type(square), m.autograd.graph.Node)
    assert repr(type(square)) == "<class 'PowBackward0'>"


@BOTH
def test_nobody_makes_nodes(m):
    """differences/N-01"""
    cls = type((leaf(m) ** 2).grad_fn)
    with pytest.raises(TypeError, match="cannot create 'PowBackward0' instances"):
        cls()
    with pytest.raises(TypeError, match="type 'PowBackward0' is not an acceptable base type"):
        type("Sub", (cls,), {})


@BOTH
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_nodes_are_not_copied(way, m):
    """differences/N-01"""
    with pytest.raises(TypeError, match="cannot pickle 'PowBackward0' object"):
        way((leaf(m) ** 2).grad_fn)


def test_classes_of_nodes_live_and_die():
    """Each op has one class, and nodes come and go without it."""
    classes = set()
    for _ in range(3):
        x = mg.ones(2, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = y.exp().sin()
        classes |= {type(y.grad_fn), type(y.grad_fn.next_functions[0][0])}
        del x, y
        gc.collect()
    assert sorted(c.__name__ for c in classes) == ["ExpBackward0", "SinBackward0"]


# ---- calls --------------------------------------------------------------------------------------------------------

CALLS = {
    "one": lambda m, x, g: (x ** 2).grad_fn(g), "undefined": lambda m, x, g: (x ** 2).grad_fn(None),
    "none given": lambda m, x, g: (x ** 2).grad_fn(), "two given": lambda m, x, g: (x ** 2).grad_fn(g, g),
    "a number": lambda m, x, g: (x ** 2).grad_fn(3), "keyword": lambda m, x, g: (x ** 2).grad_fn(grad=g),
    "two inputs": lambda m, x, g: (x * x).grad_fn(g), "a number is an input": lambda m, x, g: (x * 3).grad_fn(g),
    "two outputs": lambda m, x, g: m.stack([x[0], x[0] * 2]).unbind()[0].grad_fn(m.ones(()), None),
    "one of two": lambda m, x, g: m.stack([x[0], x[0] * 2]).unbind()[0].grad_fn(m.ones(())),
    "without history": lambda m, x, g: without_history(m, (x ** 3).grad_fn, g),
    "spent": lambda m, x, g: spent(m, x ** 2, g), "a view": lambda m, x, g: x.expand(2, 1).grad_fn(m.ones(2, 1)),
    "a write": lambda m, x, g: write(m, x * 1).grad_fn(g)}


def without_history(m, node, g):
    with m.no_grad():
        return node(g)


def spent(m, y, g):
    y.backward()
    return y.grad_fn(g)


def write(m, y):
    y[0] = 3.0
    return y


def plain(result):
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    return None if result is None else (result.tolist(), result.requires_grad)


@pytest.mark.parametrize("name", CALLS)
def test_nodes_are_called(name):
    """differences/N-06"""
    def outcome(m):
        try:
            return plain(CALLS[name](m, leaf(m), m.ones(1)))
        except Exception as error:
            return builtin(error), str(error).splitlines()[0][:60]
    assert outcome(mg) == outcome(torch)


@BOTH
def test_no_hook_runs(m):
    """differences/N-06: a call is the node alone."""
    events = []
    y = leaf(m) ** 2
    y.retain_grad()
    y.register_hook(lambda g: events.append("tensor"))
    y.grad_fn.register_hook(lambda *_: events.append("post"))
    y.grad_fn.register_prehook(lambda *_: events.append("pre"))
    assert y.grad_fn(m.ones(1)).tolist() == [6.0]
    assert y.grad is None and not events
    y.backward()        # nothing has been freed


@BOTH
def test_accumulate_grad_is_called(m):
    """differences/N-06"""
    x = leaf(m)
    events = []
    x.register_hook(lambda g: events.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda p: events.append("post accumulate"))
    node = (x * 2).grad_fn.next_functions[0][0]
    assert node(m.ones(1)) == () and node(m.ones(1)) == () and node(None) == ()
    assert x.grad.tolist() == [2.0]
    assert events == ["post accumulate"] * 3


@BOTH
def test_the_node_of_a_function(m):
    """differences/N-06: it is not called, but applied."""
    class Twice(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 5, None

    node = Twice.apply(leaf(m), 3).grad_fn
    grad, rest = node.apply(m.ones(1))
    assert grad.tolist() == [5.0] and rest is None
    with pytest.raises(TypeError, match="'TwiceBackward' object is not callable"):
        node(m.ones(1))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'g'"):
        node.apply()


@BOTH
def test_an_engine_of_ones_own(m):
    """differences/N-06: nodes and edges are enough to write one."""
    x = leaf(m, 0.5, 2.0)
    y = ((x.sin() * x).exp() + x).sum()
    buffers, order, seen = {y.grad_fn: m.ones(())}, [], set()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for following, _ in node.next_functions:
                visit(following)
            order.append(node)
    visit(y.grad_fn)
    for node in reversed(order):
        grads = node(buffers.pop(node))
        for (following, _), grad in zip(node.next_functions, grads if isinstance(grads, tuple) else (grads,)):
            if following is not None:
                buffers[following] = buffers[following] + grad if following in buffers else grad
    expected, = m.autograd.grad(y, x)
    assert x.grad.tolist() == pytest.approx(expected.tolist())


# ---- gradients that are copied ------------------------------------------------------------------------------------


@BOTH
def test_a_first_gradient_with_history_is_a_copy(m):
    """differences/N-04"""
    x = leaf(m, 1.0, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * x).sum().backward(create_graph=True)
    node = x.grad.grad_fn
    assert type(node).__name__ == "CopyBackwards"
    assert [following and type(following).__name__ for following, _ in node.next_functions] == [None, "AddBackward0"]
    second, = m.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [2.0, 2.0]


@BOTH
def test_the_node_of_what_can_be_differentiated_once(m):
    """differences/N-04"""
    class Once(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @m.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    x = leaf(m)
    grad, = m.autograd.grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
    assert type(grad.grad_fn).__name__ == "Error"


@BOTH
@pytest.mark.parametrize("hooks", [0, 1, 2])
def test_a_post_hook_does_not_cost_a_copy(hooks, m):
    """differences/N-07: .grad is still the memory of the gradient that arrived."""
    x = m.ones(4, requires_grad=True)
    seen = []
    node = m.autograd.graph.get_gradient_edge(x).node
    for _ in range(hooks):
        node.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_outputs[0].data_ptr()))
    x.register_hook(lambda g: seen.append(g.data_ptr()))
    (x * 2).backward(m.ones(4))
    assert seen == [x.grad.data_ptr()] * (hooks + 1)
    g = m.ones(4)
    x.grad = None
    x.backward(g)           # held by the caller: copied
    assert x.grad.data_ptr() != g.data_ptr()


# ---- what cannot be deleted, and the old name of a tensor -----------------------------------------------------------


@BOTH
def test_deleting(m):
    """differences/N-08"""
    x = leaf(m)
    with pytest.raises(RuntimeError, match=r"Deleting tensor data is not allowed\. Delete tensor instead!"):
        del x.data
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del x.requires_grad
    del x.grad
    for name in ("grad_fn", "shape", "is_leaf", "dtype"):
        with pytest.raises(AttributeError):
            delattr(x, name)


@BOTH
def test_the_old_name(m):
    """differences/N-08"""
    Variable = m.autograd.Variable
    for data in ([1.0], 3.0):
        with pytest.raises(TypeError, match=f"Variable data has to be a tensor, but got {type(data).__name__}"):
            Variable(data)
    assert tuple(Variable().shape) == (0,) and not Variable().requires_grad
    assert Variable(m.ones(1), requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        Variable(m.ones(1), volatile=True)


@BOTH
@pytest.mark.parametrize("make", [lambda m: m.ones(2, 2), lambda m: m.ones(2, 2, requires_grad=True) * 2, lambda m: m.ones(2, 2, dtype=m.int64)])
def test_dir_names_what_is_there(make, m):
    """differences/N-08"""
    x = make(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [name for name in dir(x) if not has(x, name)] == []


def has(x, name):
    try:
        return hasattr(x, name)
    except RuntimeError:        # there is such a name, but not for this tensor: x.imag
        return True
