"""Function: its classes, and the arguments of apply."""

import pytest

from tests.core.engine_tools import leaf, raises, value
from tests.core.function_tools import function, scaled, square

# ---- classes -----------------------------------------------------------------------------------------------


def test_node_class(m):
    """function/C-01, function/C-02, function/C-03."""
    Foo = scaled(m, name="Foo")
    Sub = type(Foo)("Sub", (Foo,), {})
    y = Foo.apply(leaf(m, 1.0))
    node = y.grad_fn
    assert type(node) is Foo._backward_cls and node.name() == type(node).__name__ == "FooBackward"
    assert node._forward_cls is Foo and Foo._backward_cls._forward_cls is Foo
    assert Sub._backward_cls is not Foo._backward_cls and Sub._backward_cls.__name__ == "SubBackward"
    assert Sub._backward_cls._forward_cls is Sub and Sub.apply(leaf(m, 1.0)).grad_fn.name() == "SubBackward"
    assert Foo._backward_cls._autograd_function_id != Sub._backward_cls._autograd_function_id
    function_module = m.autograd.function
    assert isinstance(node, (m.autograd.graph.Node)) and isinstance(node, function_module.FunctionCtx)
    assert isinstance(node, function_module.BackwardCFunction) and isinstance(Foo, function_module.FunctionMeta)
    assert issubclass(function_module.InplaceFunction, m.autograd.Function)


def test_instances(m):
    """function/C-04."""
    Foo = scaled(m)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Foo()
    with raises(RuntimeError, "Legacy autograd function"):
        made(leaf(m, 1.0))


def test_forward_without_staticmethod(m):
    """function/C-05: the first parameter is still ctx."""
    class Foo(m.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * 2

        def backward(self, g):
            return g * self.saved_tensors[0]
    x = leaf(m, 3.0)
    Foo.apply(x).backward()
    assert value(x.grad) == 3


def test_missing_methods(m):
    """function/C-06."""
    y = function(m, lambda ctx, x: x * 2).apply(leaf(m, 1.0))
    with raises(NotImplementedError, "either the backward or vjp method"):
        y.backward()
    Nothing = type(m.autograd.Function)("Nothing", (m.autograd.Function,), {})
    with raises(NotImplementedError, "must implement the forward function"):
        Nothing.apply(leaf(m, 1.0))
    assert m.is_grad_enabled()


def test_a_class_may_change(m):
    """A method that is replaced, on the class or on a base, counts from the next call on; also for a graph that exists already."""
    class Mixin:
        @staticmethod
        def backward(ctx, g):
            return g * 2
    Base = function(m, lambda ctx, x: x * 2)
    Foo = type(Base)("Foo", (Mixin, Base), {})
    x = leaf(m, 1.0)

    def run():
        x.grad = None
        y = Foo.apply(x)
        y.backward()
        return value(y), value(x.grad)
    assert [run(), run()] == [(2, 2), (2, 2)]
    Base.forward = staticmethod(lambda ctx, x: x * 3)
    assert [run(), run()] == [(3, 2), (3, 2)]
    Mixin.backward = staticmethod(lambda ctx, g: g * 3)
    assert [run(), run()] == [(3, 3), (3, 3)]
    Foo.forward = staticmethod(lambda ctx, x: x * 5)
    Foo.backward = staticmethod(lambda ctx, g: g * 5)
    assert [run(), run()] == [(5, 5), (5, 5)]
    del Foo.backward, Mixin.backward
    Foo.vjp = staticmethod(lambda ctx, g: g * 7)
    assert [run(), run()] == [(5, 7), (5, 7)]
    y = Foo.apply(x)
    Foo.vjp = staticmethod(lambda ctx, g: g * 11)
    x.grad = None
    y.backward()
    assert value(x.grad) == 11
    Foo.forward = staticmethod(lambda x: x * 13)
    Foo.setup_context = staticmethod(lambda ctx, inputs, output: None)
    assert [run(), run()] == [(13, 11), (13, 11)]
    Foo.boxed_grads_call = True
    Foo.vjp = staticmethod(lambda ctx, grads: grads.pop() * 17)
    assert [run(), run()] == [(13, 17), (13, 17)]
    Foo.boxed_grads_call = 1
    for _ in range(2):
        with raises(RuntimeError, "must be a bool"):
            Foo.apply(x)


@pytest.mark.parametrize("cls", [int, 3, None])
def test_a_class_of_nodes_that_is_none(m, cls):
    Foo = scaled(m)
    Foo._backward_cls = cls
    for _ in range(2):
        with raises(TypeError, "must be a subclass of BackwardCFunction"):
            Foo.apply(leaf(m, 1.0))


def test_vjp(m):
    """function/C-07."""
    x = leaf(m, 1.0)
    function(m, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 5).apply(x).backward()
    assert value(x.grad) == 5
    y = scaled(m, vjp=lambda ctx, g: g).apply(x)
    with raises(RuntimeError, "Implementing both 'backward' and 'vjp'"):
        y.backward()


def test_vmap(m):
    """function/M-01, function/M-03."""
    assert m.autograd.Function.generate_vmap_rule is False
    with raises(NotImplementedError, "or set generate_vmap_rule"):
        m.autograd.Function.vmap(None, (0,), m.ones(2))
    Mapped = scaled(m, vmap=lambda info, in_dims, x: (x, 0), generate_vmap_rule=False)
    assert value(Mapped.apply(m.ones(1))) == [2]


# ---- apply -------------------------------------------------------------------------------------------------

STYLES = ["combined", "setup_context"]


def many(m, style, seen):
    """A Function of (a, b, k=2, t=None) in either style that notes its arguments."""
    def combined(ctx, a, b, k=2, t=None):
        seen.update(inputs=(a, b, k, t), needs=ctx.needs_input_grad)
        ctx.count = len(ctx.needs_input_grad)
        return a * k + b

    def forward(a, b, k=2, t=None):
        return a * k + b

    def setup_context(ctx, inputs, output):
        seen.update(inputs=inputs, needs=ctx.needs_input_grad)
        ctx.count = len(inputs)

    def backward(ctx, g):
        return (g, g, *[None] * (ctx.count - 2))
    if style == "combined":
        return function(m, combined, backward)
    return function(m, forward, backward, setup_context=setup_context)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("b_requires", [True, False])
@pytest.mark.parametrize("extra", [(), (3,), (3, "t"), {"k": 3}, {"t": None, "k": 4}])
def test_arguments(m, style, b_requires, extra):
    """The arguments that count, those that need a gradient, and the targets of the edges.

    function/T-01, function/F-02, function/F-03, function/U-02, function/X-15.
    """
    seen = {}
    a, b = leaf(m, 1.0), m.tensor(2.0, requires_grad=b_requires)
    y = many(m, style, seen).apply(a, b, *extra) if type(extra) is tuple else many(m, style, seen).apply(a, b, **extra)
    count = 4 if style == "setup_context" else 2 + len(extra)
    assert seen["needs"] == y.grad_fn.needs_input_grad == (True, b_requires, *[False] * (count - 2))
    assert len(seen["inputs"]) == 4 and seen["inputs"][0] is a and seen["inputs"][1] is b
    assert [node is not None for node, _ in y.grad_fn.next_functions] == [True, b_requires]
    y.backward()
    assert value(a.grad) == 1 and value(b.grad) == (1 if b_requires else None)


@pytest.mark.parametrize("style", STYLES)
def test_wrong_arguments(m, style):
    """function/F-04."""
    Two = many(m, style, {})
    a = leaf(m, 1.0)
    for arguments, named, key in [((a, a), {"z": 1}, "unexpected keyword argument"), ((a, a), {"a": a}, "multiple values for argument"),
                                  ((a,), {"k": 3}, "missing")]:
        with raises(TypeError, key):
            Two.apply(*arguments, **named)
    with pytest.raises(TypeError):
        Two.apply(a)
    with pytest.raises(TypeError):
        Two.apply(a, a, 1, None, 5)


def test_a_gap(m):
    """function/F-04: without setup_context, all parameters before one given by name must be given."""
    with raises(TypeError, "missing required argument"):
        many(m, "combined", {}).apply(leaf(m, 1.0), leaf(m, 1.0), t=1)


def test_what_forward_sees(m):
    """The forward gets the same tensor objects, with gradients disabled. Tensors in lists do not count.

    function/F-01, function/F-05, function/F-07, function/F-10.
    """
    x = leaf(m, 1.0)
    seen = []

    def forward(ctx, a, listed):
        seen.append((a is x, a.requires_grad, m.is_grad_enabled(), listed[0] is x, ctx.needs_input_grad))
        inner = square(m).apply(a)
        seen.append(inner.requires_grad)
        with m.enable_grad():
            seen.append(square(m).apply(a).requires_grad)
        return a * 1
    Mine = function(m, forward, lambda ctx, g: (g, None))
    y = Mine.apply(x, [x])
    assert seen == [(True, True, False, True, (True, False)), False, True] and m.is_grad_enabled()
    assert len(y.grad_fn.next_functions) == 1
    assert not Mine.apply(m.ones(1), [x]).requires_grad

    def fails(ctx, a):
        raise KeyError("forward")
    with raises(KeyError, "forward"):
        function(m, fails).apply(x)
    assert m.is_grad_enabled()


def test_enable_grad_in_forward(m):
    """function/F-06: the graph that forward makes is not the output's history."""
    def forward(ctx, x):
        with m.enable_grad():
            y = x * 3
        ctx.inner = y
        return y
    x = leaf(m, 1.0)
    y = function(m, forward, lambda ctx, g: g * 7).apply(x)
    assert y.grad_fn.name() == "MineBackward"
    y.backward()
    assert value(x.grad) == 7


@pytest.mark.parametrize("how", ["no_grad", "no gradient required", "no tensor", "inference_mode"])
def test_not_recorded(m, how):
    """Without recording, forward still gets a ctx; its saved values are neither checked nor kept.

    function/F-08, function/F-09.
    """
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x, "no tensor")
        seen.append(ctx)
        return m.ones(2) * x
    x = 2.0 if how == "no tensor" else m.tensor(2.0, requires_grad=how != "no gradient required")
    Mine = function(m, forward)
    if how in ("no_grad", "inference_mode"):
        with getattr(m, how)():
            y = Mine.apply(x)
    else:
        y = Mine.apply(x)
    ctx = seen[0]
    assert value(y) == [2, 2] and y.grad_fn is None and not y.requires_grad and y.is_inference() == (how == "inference_mode")
    assert ctx.saved_tensors == () and ctx.to_save is None
    assert ctx.needs_input_grad == (how in ("no_grad", "inference_mode"),)


def test_sequence_number(m):
    """function/F-11: one number a call, taken before forward runs."""
    x = leaf(m, 1.0)

    def forward(ctx, x):
        with m.enable_grad():
            ctx.inner = x * 1
        return x * 2
    Mine = function(m, forward)
    nodes = [(x * 1).grad_fn, Mine.apply(x).grad_fn, Mine.apply(x).grad_fn]
    first = nodes[0]._sequence_nr()
    assert [n._sequence_nr() - first for n in nodes] == [0, 1, 3] and nodes[1].inner.grad_fn._sequence_nr() - first == 2


# ---- setup_context -------------------------------------------------------------------------------------------


def test_setup_context(m):
    """function/U-01, function/U-02."""
    seen = []

    def forward(x, n=2):
        assert not m.is_grad_enabled()
        return x ** n

    def setup_context(ctx, inputs, output):
        seen.append((inputs, output.requires_grad, output.grad_fn, m.is_grad_enabled(), output))
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]
        return "ignored"

    def backward(ctx, g):
        return g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None
    x = leaf(m, 3.0)
    Power = function(m, forward, backward, setup_context=setup_context)
    y = Power.apply(x)
    y.backward()
    inputs, *rest, output = seen[0]
    assert inputs[0] is x and inputs[1] == 2 and rest == [False, None, False] and output is y and value(x.grad) == 6

    def fails(ctx, inputs, output):
        raise KeyError("setup")
    with raises(KeyError, "setup"):
        function(m, forward, backward, setup_context=fails).apply(x)
    assert m.is_grad_enabled()


@pytest.mark.parametrize("method", ["save_for_backward", "save_for_forward"])
def test_input_returned_and_saved_in_setup_context(m, method):
    """function/U-03."""
    def same(x):
        return x

    def setup_context(ctx, inputs, output):
        getattr(ctx, method)(inputs[0])
    x = leaf(m, 3.0)
    if method == "save_for_backward":
        with raises(RuntimeError, "returned as-is as output is being saved"):
            function(m, same, setup_context=setup_context).apply(x)
    assert value(function(m, same, setup_context=lambda ctx, inputs, output: None).apply(x)) == 3

    def combined(ctx, x):
        getattr(ctx, method)(x)
        return x
    y = function(m, combined, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    if method == "save_for_backward":
        assert y.grad_fn.saved_tensors[0] is x
