"""The ctx: its attributes, saved tensors and options, and the methods of a node."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import exponential, function, square

# ---- ctx ---------------------------------------------------------------------------------------------------


def test_attributes(m):
    """function/X-01, function/X-02; even under names that a node uses itself."""
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
    """It has the values from forward, and can be set. function/X-15, function/F-22."""
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
        _ = other.saved_tensors if m.__name__ == "torch" else raise_named(other)


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


# ---- hooks on saved tensors ------------------------------------------------------------------------------------


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
    """function/T-09: an error in a hook is raised unchanged, and the state stays valid."""
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


@pytest.mark.differs(
    what="`ctx.saved_tensors` after a pack hook has raised",
    there="No error.",
    here="RuntimeError: the node has saved nothing that can be used.")
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
