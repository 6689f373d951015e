"""Function: its classes, what apply does with arguments, and what ctx offers."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import exponential, function, scaled, square

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
    """function/C-05: the first parameter is ctx all the same."""
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
    """A Function of (a, b, k=2, t=None) in either style that notes what it was given."""
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
    """Which arguments count, who needs a gradient, and where the edges lead.

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
    """function/F-04: without setup_context nothing may be left out before what is given by name."""
    with raises(TypeError, "missing required argument"):
        many(m, "combined", {}).apply(leaf(m, 1.0), leaf(m, 1.0), t=1)


def test_what_forward_sees(m):
    """The very arguments, with gradients disabled; not what lies in lists.

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
    """There is a ctx, and forward runs; nothing is kept of what it saves, or even looked at.

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


# ---- ctx ---------------------------------------------------------------------------------------------------


def test_attributes(m):
    """function/X-01, function/X-02; names that a node uses for itself are no exception."""
    names = ["shape", "n", "meta", "grad", "task", "needed", "edges", "more", "extra", "plan", "saved0", "freed", "sequence", "arity",
             "release", "connect", "hooked", "variables"]

    def forward(ctx, x):
        for i, name in enumerate(names):
            assert not hasattr(ctx, name)
            setattr(ctx, name, i)
        return x * 2

    def backward(ctx, g):
        seen.append([getattr(ctx, name) for name in names])
        del ctx.grad
        assert not hasattr(ctx, "grad")
        return g * 2
    seen = []
    x = leaf(m, 1.0)
    y = function(m, forward, backward).apply(x)
    assert y.grad_fn.n == 1 and y.grad_fn.__dict__ == {name: i for i, name in enumerate(names)}
    y.backward()
    assert seen == [list(range(len(names)))] and value(x.grad) == 2
    with raises(AttributeError, "'MineBackward' object has no attribute 'unknown'"):
        _ = y.grad_fn.unknown
    with pytest.raises(AttributeError):
        del y.grad_fn.unknown


def test_node_interface(m):
    """function/X-14, function/H-01."""
    x = leaf(m, 1.0)
    y = exponential(m).apply(x)
    ctx = y.grad_fn
    assert ctx.next_functions[0][0].variable is x and ctx.next_functions[0][1] == 0
    assert ctx.metadata == {} and len(ctx._input_metadata) == 1 and tuple(ctx._input_metadata[0].shape) == ()
    seen = []
    ctx.register_hook(lambda results, grads: seen.append((value(results), value(grads))))
    ctx.register_prehook(lambda grads: (grads[0] * 2,))
    y.backward()
    assert seen == [([pytest.approx(2 * 2.7182817)], [2.0])]


def test_needs_input_grad(m):
    """It says what was so in forward, and can be set. function/X-15, function/F-22."""
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, g
    y = function(m, lambda ctx, x, w: x * w, backward).apply(x, w)
    m.autograd.grad(y, x, retain_graph=True)
    x.requires_grad_(False)
    y.grad_fn.needs_input_grad = (True, False)
    m.autograd.grad(y, w)
    assert seen == [(True, True), (True, False)]


def test_saved_tensors(m):
    """Inputs are themselves, outputs aliases with history; the last call counts.

    function/X-03, function/X-05, function/X-06, function/T-03, saved_and_versions/S-01.
    """
    def forward(ctx, x):
        y = x * 2
        middle = x * 3
        ctx.save_for_backward(y)
        assert ctx.saved_tensors == ()
        ctx.save_for_backward(x, y, None, middle)
        assert ctx.saved_tensors == ()
        return y
    x = leaf(m, 1.0, 2.0)
    y = function(m, forward).apply(x)
    ctx = y.grad_fn
    saved = ctx.saved_tensors
    assert type(saved) is tuple and saved[0] is x and saved[2] is None
    assert saved[1] is not y and saved[1].data_ptr() == y.data_ptr() and saved[1].grad_fn is ctx and saved[1].output_nr == 0
    assert value(saved[3]) == [3, 6] and not saved[3].requires_grad
    assert ctx.to_save is None


def test_saving_what_is_no_tensor(m):
    """function/X-04: noticed when forward has returned."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x, 5)
        seen.append("returned")
        return x * 2
    with raises(TypeError, "can only save variables") as info:
        function(m, forward).apply(leaf(m, 1.0))
    assert seen and "argument 1" in str(info.value) and "int" in str(info.value)


def test_modified_since(m):
    """The check is made for each tensor at each access. function/X-07, saved_and_versions/S-36."""
    x = leaf(m, 1.0)
    w = x * 1
    y = square(m).apply(w)
    assert y.grad_fn.saved_tensors[0] is w
    w.add_(1)
    for _ in range(2):
        with raises(RuntimeError, "modified by an inplace operation"):
            _ = y.grad_fn.saved_tensors
    with raises(RuntimeError, "which is output 0 of Add"):
        y.backward()
    z = exponential(m, name="Exponential").apply(x)
    z.add_(1)
    with raises(RuntimeError, "modified by an inplace operation"):
        z.backward()
    kept = exponential(m, name="Exponential").apply(x)
    other = kept.grad_fn
    kept.detach().add_(1)
    with raises(RuntimeError, "is output 0 of Exponential"):
        _ = other.saved_tensors if hasattr(m, "_C") else raise_named(other)


def raise_named(node):
    """minigrad's alias of a saved output has no history while it is checked: the node is named in a line of its own."""
    try:
        return node.saved_tensors
    except RuntimeError as error:
        assert "ExponentialBackward" in str(error)
        raise RuntimeError("is output 0 of Exponential") from error


def test_after_release(m):
    """function/X-08, saved_and_versions/S-40, saved_and_versions/R-03, engine/R-05."""
    x = leaf(m, 3.0)
    y = square(m).apply(x)
    y.backward()
    with raises(RuntimeError, "through the graph a second time"):
        y.backward()
    with raises(RuntimeError, "through the graph a second time"):
        _ = y.grad_fn.saved_tensors

    def forward(ctx, x):
        ctx.x = x
        return x * x
    x.grad = None
    y = function(m, forward, lambda ctx, g: 2 * g * ctx.x).apply(x)
    y.backward()
    y.backward()
    assert value(x.grad) == 12
    with raises(RuntimeError, "through the graph a second time"):
        _ = y.grad_fn.saved_tensors


def test_saved_variables(m):
    """function/X-09."""
    x = leaf(m, 1.0)
    ctx = square(m).apply(x).grad_fn
    with pytest.warns(DeprecationWarning, match="saved_variables"):
        assert ctx.saved_variables[0] is x
    assert ctx.to_save is None


def test_clear_saved_tensors_on_access(m):
    """function/X-11."""
    x = leaf(m, 3.0)
    y = square(m, clear_saved_tensors_on_access=True).apply(x)
    y.backward(retain_graph=True)
    assert value(x.grad) == 6
    with raises(RuntimeError, "can only be accessed once"):
        y.backward()
    with raises(RuntimeError, "bool"):
        square(m, clear_saved_tensors_on_access=1).apply(x)


def test_boxed_gradients(m):
    """function/X-12."""
    seen = []

    def backward(ctx, grads):
        seen.append((type(grads), len(grads)))
        return grads[0]
    x = leaf(m, 3.0)
    function(m, lambda ctx, x: (x * 1, x * 2), backward, boxed_grads_call=True).apply(x)[1].backward()
    function(m, lambda ctx, x: x * 1, backward, boxed_grads_call=True).apply(x).backward()
    assert seen == [(list, 2), (list, 1)]
    with raises(RuntimeError, "must be a bool"):
        square(m, boxed_grads_call="yes").apply(x)


def test_maybe_clear_saved_tensors(m):
    """function/X-13, saved_and_versions/R-04."""
    def backward(ctx, g):
        x, = ctx.saved_tensors
        ctx.maybe_clear_saved_tensors()
        try:
            _ = ctx.saved_tensors
            seen.append("kept")
        except RuntimeError:
            seen.append("cleared")
        return 2 * g * x
    seen = []
    Early = function(m, square(m).forward, backward)
    y = Early.apply(leaf(m, 3.0))
    y.backward(retain_graph=True)
    y.backward()
    assert seen == ["kept", "cleared"]


def test_options(m):
    """function/X-16, function/X-17."""
    def forward(ctx, x, use, what):
        getattr(ctx, use)(what)
        return x * 2
    Mine = function(m, forward, lambda ctx, g: (g, None, None))
    x = leaf(m, 1.0)
    with raises(AssertionError, "save_for_forward expects all arguments to be tensors"):
        Mine.apply(x, "save_for_forward", 5)
    with pytest.raises(TypeError):
        Mine.apply(x, "set_materialize_grads", 1)
    ctx = Mine.apply(x, "save_for_forward", x).grad_fn
    assert ctx.saved_for_forward is None and ctx.saved_tensors == ()


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


# ---- hooks on what is saved ------------------------------------------------------------------------------------


def test_saved_tensors_hooks(m):
    """The packed object takes the tensor's place; an input and an output keep theirs in the graph. saved_and_versions/S-04."""
    seen = []

    def pack(x):
        seen.append(value(x))
        return x.detach()
    x = leaf(m, 1.0)
    with m.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed * 1):
        y = exponential(m).apply(x)
        z = square(m).apply(x)
    e = pytest.approx(2.7182817)
    assert seen == [e, 1.0] and y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    second, = m.autograd.grad(m.autograd.grad(y + z, x, create_graph=True), x)
    assert value(second) == pytest.approx(2.7182817 + 2)


def test_raw_saved_tensors(m):
    """function/X-14: one handle per tensor, on which hooks can be registered once."""
    x = leaf(m, 3.0)
    y = square(m).apply(x)
    raw, = y.grad_fn._raw_saved_tensors
    raw.register_hooks(lambda t: t.tolist(), lambda number: m.tensor(number + 1))
    with raises(RuntimeError, "already been set"):
        raw.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError):
        raw.register_hooks(1, 2)
    y.backward()
    assert value(x.grad) == 8
    with pytest.raises(RuntimeError):
        raw.register_hooks(lambda t: t, lambda t: t)


@pytest.mark.parametrize("where", ["pack", "unpack"])
def test_failing_hooks(m, where):
    """function/T-09: an error of the user's passes through as it is, and the state stays right."""
    error = KeyError(where)

    def hook(x):
        raise error
    keep = lambda x: x      # noqa: E731
    x = leaf(m, 3.0)
    with m.autograd.graph.saved_tensors_hooks(*((hook, keep) if where == "pack" else (keep, hook))), pytest.raises(KeyError) as info:
        square(m).apply(x).backward()
    assert info.value is error and m.is_grad_enabled()
    square(m).apply(x).backward()
    assert value(x.grad) == 6


@ours
def test_half_saved(m):
    """A pack hook that fails leaves a node behind that knows of it."""
    seen = []

    def forward(ctx, x):
        seen.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    def fail(x):
        raise KeyError("pack")
    with m.autograd.graph.saved_tensors_hooks(fail, fail), pytest.raises(KeyError):
        function(m, forward).apply(leaf(m, 1.0))
    with raises(RuntimeError, "freed"):
        _ = seen[0].saved_tensors
