"""The outputs of a Function: new tensors, its inputs, views of them, inputs that it has written to, and other objects."""

import warnings

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import exponential, function, scaled

IN_FUNCTION = "created inside a custom Function"


def identity(m, factor=5, **attributes):
    """A Function that returns its input unchanged, with its own gradient."""
    return function(m, lambda ctx, x: x, lambda ctx, g: g * factor, **attributes)


# ---- kinds ---------------------------------------------------------------------------------------------------


def test_one_or_a_tuple(m):
    """function/O-01: a tuple stays one, a list is an opaque thing."""
    class Pair(tuple):
        pass
    x = leaf(m, 1.0)
    results = {"bare": lambda ctx, x: x * 2, "one": lambda ctx, x: (x * 2,), "pair": lambda ctx, x: Pair((x * 2, x * 3)),
               "list": lambda ctx, x: [x * 2, x * 3], "dict": lambda ctx, x: {"y": x * 2}}
    found = {name: function(m, forward, lambda ctx, *gs: gs[0]).apply(x) for name, forward in results.items()}
    assert isinstance(found["bare"], m.Tensor) and type(found["one"]) is tuple and len(found["one"]) == 1
    assert type(found["pair"]) is tuple and [y.requires_grad for y in found["pair"]] == [True, True]
    assert type(found["list"]) is list and [y.requires_grad for y in found["list"]] == [False, False]
    assert type(found["dict"]) is dict and not found["dict"]["y"].requires_grad
    found["one"][0].backward()
    assert value(x.grad) == 1
    assert function(m, lambda ctx, x: ()).apply(x) == ()


def test_what_is_no_tensor(m):
    """function/O-02: it takes a place in the count."""
    seen = []
    x = leaf(m, 1.0)
    number, nothing, y, text = function(m, lambda ctx, x: (7, None, x * 2, "text"),
                                        lambda ctx, *gs: seen.append(value(gs)) or gs[2] * 2).apply(x)
    assert (number, nothing, text, y.output_nr) == (7, None, "text", 2)
    y.backward()
    assert seen == [[None, None, 1.0, None]] and value(x.grad) == 2
    assert function(m, lambda ctx, x: None).apply(x) is None


def test_integers(m):
    """function/O-03."""
    seen = []
    x = leaf(m, 1.0, 2.0)

    def backward(ctx, *grads):
        seen.extend([(g.dtype, value(g)) for g in grads])
        return grads[1]
    i, y, b = function(m, lambda ctx, x: (m.tensor([3, 4, 5]), x * 2, x > 1), backward).apply(x)
    assert [(t.requires_grad, t.grad_fn, t.output_nr) for t in (i, b)] == [(False, None, 0)] * 2 and y.output_nr == 1
    y.sum().backward()
    assert seen == [(m.int64, [0, 0, 0]), (m.float32, [1, 1]), (m.bool, [False, False])]


@pytest.mark.parametrize("materialize", [True, False])
def test_non_differentiable(m, materialize):
    """function/O-04, function/X-18, function/X-19."""
    seen = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(a)
        ctx.mark_non_differentiable(b)
        ctx._materialize_non_diff_grads = materialize
        return a, b
    x = leaf(m, 1.0)
    a, b = function(m, forward, lambda ctx, *gs: seen.append(value(gs)) or gs[0] * 2).apply(x)
    assert a.requires_grad and not b.requires_grad and b.grad_fn is None
    a.backward()
    assert seen == [[1.0, 0.0 if materialize else None]]


@pytest.mark.parametrize("method, key", [("mark_non_differentiable", "only accepts variable arguments"),
                                         ("mark_dirty", "mark_dirty can only accept variables")])
def test_marking_what_is_no_tensor(m, method, key):
    """function/O-04, function/O-35."""
    def forward(ctx, x):
        getattr(ctx, method)(5)
        return x * 2
    with raises(RuntimeError, key):
        function(m, forward).apply(leaf(m, 1.0))


def test_history_of_an_output(m):
    """function/O-05: whatever forward did, the Function is the history."""
    x = leaf(m, 1.0, 2.0)
    for forward in (lambda ctx, x: x.detach() * 1, lambda ctx, x: m.zeros(2, requires_grad=True), lambda ctx, x: m.ones(2).detach()):
        y = function(m, forward).apply(x)
        assert y.grad_fn.name() == "MineBackward" and not y.is_leaf and y.requires_grad


def test_the_same_tensor_twice(m):
    """function/O-06."""
    seen = []

    def forward(ctx, x):
        y = x * 2
        return y, y
    a, b = function(m, forward, lambda ctx, *gs: seen.append(value(gs)) or gs[1]).apply(leaf(m, 1.0))
    assert a is b and a.output_nr == 1
    a.backward()
    assert seen == [[0.0, 1.0]]


@pytest.mark.differs(
    what="A `forward` that returns a tensor which is not an argument",
    there="That tensor becomes the output: a parameter stops being a leaf.",
    here="The output is an alias, and the tensor keeps its place in the graph.")
@ours
@pytest.mark.parametrize("outside", ["leaf", "computed"])
@pytest.mark.parametrize("constant", [False, True])
def test_a_tensor_from_outside(m, outside, constant):
    """function/O-07: it keeps the place that it has; the output is an alias of it."""
    p = leaf(m, 3.0)
    q = p if outside == "leaf" else p * 1
    before = q.grad_fn

    def forward(ctx, x):
        ctx.save_for_backward(q)
        if constant:
            ctx.mark_non_differentiable(q)
        return q
    x = leaf(m, 1.0)
    y = function(m, forward, lambda ctx, g: g * 7).apply(x)
    assert y is not q and y.data_ptr() == q.data_ptr() and q.grad_fn is before and q.requires_grad
    assert y.requires_grad is not constant and q.is_leaf == (outside == "leaf")
    if not constant:
        assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
        y.backward()
        assert value(x.grad) == 7 and p.grad is None


# ---- inputs as outputs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leaf", "computed", "view"])
def test_input_as_output(m, kind):
    """function/O-10, function/O-11, saved_and_versions/M-08."""
    a = leaf(m, 1.0, 2.0)
    x = {"leaf": lambda: a, "computed": lambda: a * 1, "view": lambda: (a * 1)[:1]}[kind]()
    before = x.grad_fn
    y = identity(m).apply(x)
    assert y is not x and y._is_view() and y._base is (x._base if kind == "view" else x) and y.data_ptr() == x.data_ptr()
    assert y.grad_fn.name() == "MineBackward" and x.grad_fn is before
    with raises(RuntimeError, IN_FUNCTION):
        y.mul_(2)
    y.sum().backward()
    assert value(a.grad) == ([5, 0] if kind == "view" else [5, 5])


def test_two_inputs_as_outputs(m):
    """Writes to them are refused as those to several views are."""
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    y, z = function(m, lambda ctx, a, b: (b, a), lambda ctx, g, h: (h * 2, g * 3)).apply(a, b)
    (y * 10 + z * 100).backward()
    assert (value(a.grad), value(b.grad)) == (200, 30) and (y._base is b, z._base is a) == (True, True)
    with raises(RuntimeError, "function that returns multiple views"):
        y.mul_(2)


@pytest.mark.parametrize("requires", [True, False])
def test_non_differentiable_input(m, requires):
    """function/O-12."""
    def forward(ctx, x, w):
        ctx.mark_non_differentiable(x)
        return x
    x = m.tensor([1.0], requires_grad=requires)
    y = function(m, forward).apply(x, leaf(m, 1.0))
    assert y is not x and y.data_ptr() == x.data_ptr() and not y.requires_grad and x.requires_grad is requires
    assert y._is_view() is not requires


def test_input_as_output_unrecorded(m):
    x = m.ones(2)
    y = identity(m).apply(x)
    assert y is not x and y._is_view() and y._base is x and not y.requires_grad
    p = leaf(m, 1.0)
    with m.no_grad():
        z = identity(m).apply(p)
    assert z is not p and not z.requires_grad and not z._is_view() and p.requires_grad


# ---- views of inputs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["view", "base"])
def test_view_of_an_input(m, write):
    """function/O-20: the write or the next look at the history is refused."""
    x = leaf(m, 1.0, 2.0, 3.0) * 1
    y = function(m, lambda ctx, x: x[:2], lambda ctx, g: m.ones(3) * 7).apply(x)
    assert y._is_view() and y._base is x and y.grad_fn.name() == "MineBackward"
    if write == "view":
        with raises(RuntimeError, IN_FUNCTION):
            y.mul_(2)
    else:
        x.mul_(2)
        with raises(RuntimeError, IN_FUNCTION):
            _ = y.grad_fn


def test_view_among_several(m):
    """function/O-21."""
    x = leaf(m, 1.0, 2.0, 3.0) * 1
    y, z = function(m, lambda ctx, x: (x[:2], x * 2), lambda ctx, g, h: h).apply(x)
    with raises(RuntimeError, "function that returns multiple views"):
        y.mul_(2)
    z.mul_(2)


def test_non_differentiable_view(m):
    """function/O-22: as if made under no_grad."""
    def forward(ctx, x):
        view = x[:2]
        ctx.mark_non_differentiable(view)
        return view
    x = leaf(m, 1.0, 2.0, 3.0)
    y = function(m, forward).apply(x * 1)
    assert y.requires_grad and y.grad_fn is None


def test_pure_view(m):
    """function/O-23: a pure view, which has the usual gradient of a view, may be written to."""
    def forward(ctx, x):
        ctx._is_pure_view = True
        return x[:2]
    a = leaf(m, 1.0, 2.0, 3.0)
    x = a * 1
    y = function(m, forward, lambda ctx, g: m.cat([g, m.zeros(1)])).apply(x)
    y.mul_(5)
    x.sum().backward()
    assert value(a.grad) == [5, 5, 1]


def test_view_of_something_new(m):
    """It is a view like any other that comes out of a Function."""
    y = function(m, lambda ctx, x: (x * 2).view(2, 1)).apply(leaf(m, 1.0, 2.0))
    assert y._is_view() and y.grad_fn.name() == "MineBackward"
    with raises(RuntimeError, IN_FUNCTION):
        y.mul_(2)


# ---- the matrix ----------------------------------------------------------------------------------------------

KINDS = ["new", "input", "view", "dirty", "int", "constant", "text"]


@pytest.mark.parametrize("second", [None, *KINDS])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("source", ["leaf", "computed", "plain"])
def test_matrix(m, source, first, second):
    """Every pair of kinds on every kind of input: which outputs require a gradient, which are views, and the gradients.

    function/T-02
    """
    kinds = [first] if second is None else [first, second]

    def forward(ctx, x, w):
        constants, outs = [], []
        for kind in kinds:
            out = {"new": lambda: x * 2, "input": lambda: x, "view": lambda: x[:1], "dirty": lambda: x, "int": lambda: m.tensor([1, 2]),
                   "constant": lambda: x * 3, "text": lambda: "text"}[kind]()
            if kind == "constant":
                constants.append(out)
            outs.append(out)
        if "dirty" in kinds:
            ctx.mark_dirty(x)
        if constants:
            ctx.mark_non_differentiable(*constants)
        return outs[0] if second is None else tuple(outs)

    def backward(ctx, *grads):
        return m.ones(2) * sum(float(g.sum()) for g, kind in zip(grads, kinds) if kind not in ("text", "int", "constant")), None
    start = m.tensor([1.0, 2.0], requires_grad=source != "plain")
    x = start * 1 if source == "computed" else start
    apply = function(m, forward, backward).apply
    if source == "leaf" and "dirty" in kinds:
        with raises(RuntimeError, "has been used in an in-place operation"):
            apply(x, leaf(m, 1.0))
        return
    found = apply(x, leaf(m, 1.0))
    found = (found,) if second is None else found
    for i, (kind, out) in enumerate(zip(kinds, found)):
        as_input = kind == "input" and "dirty" not in kinds
        if kind == "text":
            assert out == "text"
            continue
        assert out.requires_grad == (kind not in ("int", "constant")), (kind, out)
        assert (out is x) == (kind == "dirty" or (kind == "input" and not as_input))
        assert out._is_view() == (as_input or kind == "view")
        if out.requires_grad and kinds.count("dirty") < 2 and not ("dirty" in kinds and "input" in kinds):
            assert out.output_nr == i and out.grad_fn.name() == "MineBackward"
    differentiable = [out for out in found if isinstance(out, m.Tensor) and out.requires_grad]
    if differentiable and source != "plain" and len({id(out) for out in differentiable}) == len(differentiable):
        total = sum(out.sum() for out in differentiable)
        total.backward()
        assert value(start.grad) == [sum(out.numel() for out in differentiable)] * 2


def test_no_warnings(m):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled(m).apply(leaf(m, 1.0)).backward()
        exponential(m).apply(leaf(m, 1.0)).backward()
