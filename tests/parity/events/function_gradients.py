"""Scenarios of the backward of a Function: its arguments and results, hooks around it, second derivatives, threads."""

import itertools
import threading

from tests.core.function_tools import exponential, function, square
from tests.parity.events.log import SCENARIOS, heard, leaf, scenario, watch
from tests.parity.events.subjects import both_ways

# ---- results of backward: function/B-05 to B-11 -----------------------------------------------------------------------------

RESULTS = {
    "a tensor": lambda m, g: g, "a tuple": lambda m, g: (g, None, g), "a list": lambda m, g: [g, None, g], "None": lambda m, g: None,
    "Nones": lambda m, g: (None, None, None), "too few": lambda m, g: (g, None), "too many": lambda m, g: (g, None, g, g),
    "trailing Nones": lambda m, g: (g, None, g, None, None), "a gradient for a number": lambda m, g: (g, g, g),
    "a number": lambda m, g: (5, None, g), "a string": lambda m, g: ("g", None, g), "the same twice": lambda m, g: (g, None, g),
    "a scalar": lambda m, g: (g.sum(), None, g), "one row more": lambda m, g: (m.stack([g, g]), None, g),
    "three elements": lambda m, g: (m.ones(3), None, g), "a column": lambda m, g: (g.reshape(2, 1), None, g),
    "float64": lambda m, g: (g.double(), None, g), "integers": lambda m, g: (g.long(), None, g), "complex": lambda m, g: (g + 1j, None, g),
    "bool": lambda m, g: (g > 0, None, g), "expanded": lambda m, g: (g.sum().expand(2), None, g), "its argument, written": lambda m, g: (g.clone().mul_(2), None, g),
    "a view of it": lambda m, g: (g[:1].expand(2), None, g), "nan": lambda m, g: (g * float("nan"), None, g),
    "something that requires a gradient": lambda m, g: (leaf(m, 5., 6.) * 1, None, g), "an empty tuple": lambda m, g: (),
}


def returning(what):
    def run(m, log):
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        y = function(m, lambda ctx, x, n, w: x * n + w, lambda ctx, g: RESULTS[what](m, g)).apply(x, 2, w)
        watch(log, y)
        x.register_hook(heard(log, "x"))
        log.attempt("backward", y.sum().backward)
        log("gradients", x.grad, w.grad, x.grad is w.grad, log.task(), m.is_grad_enabled())
        log.attempt("grad", lambda: m.autograd.grad(
            function(m, lambda ctx, x, n, w: x * n + w, lambda ctx, g: RESULTS[what](m, g)).apply(x, 2, w).sum(), (x, w)))
    return run


for _what in RESULTS:
    SCENARIOS[f"function whose backward returns {_what}"] = returning(_what)


@scenario
def function_gradient_of_what_needs_none(m, log):
    """function/B-09."""
    x, w = leaf(m, 1.), m.tensor([2.])
    y = function(m, lambda ctx, x, w: x * w, lambda ctx, g: (g, m.ones(7))).apply(x, w)
    y.backward()
    log("gradients", x.grad, w.grad)


@scenario
def function_inputs_never_share_a_gradient(m, log):
    """function/B-13."""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    y = function(m, lambda ctx, x, w: x + w, lambda ctx, g: (g, g)).apply(x, w)
    y.backward(m.ones(2))
    x.grad.mul_(10)
    log("gradients", x.grad, w.grad)


@scenario
def function_keeps_what_it_returns(m, log):
    """function/B-12."""
    kept = []

    def backward(ctx, g):
        kept.append(g * 2)
        return kept[0]
    x = leaf(m, 1., 2.)
    y = function(m, lambda ctx, x: x * 2, backward).apply(x)
    (y.sum() + (x * 3).sum()).backward()
    log("kept", kept[0], x.grad)
    x.grad.mul_(5)
    log("kept", kept[0])


# ---- undefined gradients: function/T-04 ---------------------------------------------------------------------------------------


def undefined(reached, materialize):
    """function/B-01, function/B-02, function/B-03."""
    def run(m, log):
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        y, z = both_ways(m, materialize).apply(x, w)
        y.grad_fn.register_prehook(heard(log, "before"))
        y.grad_fn.register_hook(heard(log, "after"))
        root = {"first": y, "second": z, "both": y + z, "neither": x * 0}[reached]
        root.sum().backward()
        log("gradients", x.grad, w.grad)
    return run


for _reached, _materialize in itertools.product(("first", "second", "both", "neither"), (True, False)):
    SCENARIOS[f"function of two outputs, {_reached} reached" + " as None" * (not _materialize)] = undefined(_reached, _materialize)


def all_undefined(materialize):
    """function/B-04."""
    def run(m, log):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2

        def backward(ctx, g):
            log("backward", g)
            return g
        x = leaf(m, 1., 2.)
        y = function(m, forward, backward).apply(x)
        z = function(m, lambda ctx, y: y * 3, lambda ctx, g: None).apply(y)
        watch(log, z)
        z.sum().backward()
        log("gradient", x.grad)
    return run


for _materialize in (True, False):
    SCENARIOS["function behind one that returns None" + " as None" * (not _materialize)] = all_undefined(_materialize)

# ---- second derivatives: function/D-01 to D-05 ----------------------------------------------------------------------------------


def intermediate(m):
    """y = eˣ + 1 with a saved intermediate result: a second derivative misses its term."""
    def forward(ctx, x):
        middle = x.exp()
        ctx.save_for_backward(middle)
        return middle + 1
    return function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0])


def by_attribute(m):
    """y = x², by an attribute of ctx."""
    def forward(ctx, x):
        ctx.x = x
        return x * x
    return function(m, forward, lambda ctx, g: g * 2 * ctx.x)


def nested(m):
    """y = eˣ with a backward that applies another Function."""
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    product = function(m, lambda ctx, g, y: ctx.save_for_backward(g, y) or g * y,
                       lambda ctx, h: (h * ctx.saved_tensors[1], h * ctx.saved_tensors[0]), name="Product")
    return function(m, forward, lambda ctx, g: product.apply(g, ctx.saved_tensors[0]))


def once(m):
    """y = x² with a backward that runs only once."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]
    return function(m, forward, m.autograd.function.once_differentiable(backward))


MADE = {"square": square, "exponential": exponential, "intermediate": intermediate, "by_attribute": by_attribute, "nested": nested,
        "once": once}


def twice(what, root):
    def run(m, log):
        x = leaf(m, 1., 2.)
        y = MADE[what](m).apply(x)
        y.grad_fn.register_hook(lambda ins, outs: log("modes", m.is_grad_enabled(), ins, outs))
        g, = m.autograd.grad({"sum": y, "square": y * y, "weighted": y * x}[root].sum(), x, create_graph=True)
        log("first", g, g.grad_fn is not None)
        if not g.requires_grad:
            return log.attempt("second", g.sum().backward)
        try:
            second, = m.autograd.grad(g.sum(), x, create_graph=True, allow_unused=True)
        except RuntimeError as error:
            return log("second", error)
        log("second", second)
        if second is not None and second.requires_grad:
            log.attempt("third", lambda: m.autograd.grad(second.sum(), x, allow_unused=True))
    return run


for _what, _root in itertools.product(MADE, ("sum", "square", "weighted")):
    SCENARIOS[f"function differentiated twice: {_what} {_root}"] = twice(_what, _root)


@scenario
def function_once_differentiable_in_detail(m, log):
    """function/D-03, function/D-05, function/D-06."""
    def backward(ctx, g, h):
        """Its text."""
        log("inside", m.is_grad_enabled(), g, h)
        return g * 2, None
    wrapped = m.autograd.function.once_differentiable(backward)
    log("wrapped", wrapped.__name__, wrapped.__doc__)
    x, w = leaf(m, 1.), leaf(m, 2.)
    y, z = function(m, lambda ctx, x, w: (x * 2, w * 3), wrapped).apply(x, w)
    grads = m.autograd.grad((y * y + z).sum(), (x, w), create_graph=True, allow_unused=True)
    log("gradients", grads, grads[0].grad_fn is not None)
    log.attempt("second", lambda: m.autograd.grad(grads[0], x))


# ---- hooks: function/H-01, H-02 ---------------------------------------------------------------------------------------------


@scenario
def function_hooks_on_its_node(m, log):
    x, w = leaf(m, 1.), m.tensor([2.])
    y, z = function(m, lambda ctx, x, n, w: (x * n, x * w), lambda ctx, g, h: (g * 2 + h, None, h)).apply(x, 2, w)
    y.grad_fn.register_prehook(lambda grads: log("before", grads) or (grads[0] * 10, grads[1]))
    y.grad_fn.register_hook(lambda ins, outs: log("after", len(ins), ins, outs) or (ins[0] * 10, *ins[1:]))
    (y + z).backward()
    log("gradient", x.grad)


@scenario
def function_registers_hooks_in_its_backward(m, log):
    def backward(ctx, g):
        ctx.register_hook(lambda ins, outs: log("registered inside", ins, outs))
        g.register_hook(heard(log, "on the gradient")) if g.requires_grad else None
        return g * 2
    x = leaf(m, 1.)
    y = function(m, lambda ctx, x: x * 2, backward).apply(x)
    y.backward(retain_graph=True)
    log("once")
    y.backward()
    log("gradient", x.grad)


@scenario
def function_hooks_on_all_its_outputs(m, log):
    x = leaf(m, 1.)
    outputs = function(m, lambda ctx, x: (x * 2, x * 3, x * 4), lambda ctx, *g: log("backward", g) or sum(g)).apply(x)
    for i, y in enumerate(outputs):
        y.register_hook(heard(log, f"output {i}"))
        y.retain_grad()
    (outputs[2] * 2 + outputs[0]).backward()
    log("retained", [y.grad for y in outputs], x.grad)


@scenario
def function_hook_changes_the_gradient(m, log):
    x = leaf(m, 1., 2.)
    y = function(m, lambda ctx, x: x * 2, lambda ctx, g: log("backward", g) or g).apply(x)
    y.register_hook(lambda g: g * 5)
    y.register_hook(lambda g: g + 1)
    y.sum().backward()
    log("gradient", x.grad)


# ---- engines within engines -------------------------------------------------------------------------------------------------


@scenario
def function_backward_runs_a_backward(m, log):
    """function/T-06."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    def backward(ctx, g):
        x, = ctx.saved_tensors
        with m.enable_grad():
            inner = x.detach().requires_grad_()
            z = (inner ** 3).sum()
        log("inside", log.running(), m.is_grad_enabled())
        z.backward()
        log("and again", log.running())
        return g * inner.grad
    x = leaf(m, 2., 3.)
    y = function(m, forward, backward).apply(x)
    y.sum().backward()
    log("gradient", x.grad)


@scenario
def function_backward_runs_its_own_backward(m, log):
    def backward(ctx, g):
        log("depth", ctx.depth)
        if ctx.depth:
            with m.enable_grad():
                inner = leaf(m, 1.)
                z = mine.apply(inner, ctx.depth - 1)
            z.backward()
            return g + inner.grad, None
        return g, None

    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1
    mine = function(m, forward, backward)
    x = leaf(m, 5.)
    mine.apply(x, 3).backward()
    log("gradient", x.grad)


@scenario
def function_in_the_forward_of_another(m, log):
    """function/F-10."""
    inner = function(m, lambda ctx, x: x * 2, lambda ctx, g: log("inner", g) or g * 2, name="Inner")

    def forward(ctx, x):
        y = inner.apply(x)
        log("recorded", y.grad_fn)
        with m.enable_grad():
            z = inner.apply(x)
            log("recorded", z.grad_fn)
        return y
    x = leaf(m, 1.)
    y = function(m, forward, lambda ctx, g: g * 3, name="Outer").apply(x)
    log("outer", y.grad_fn, [node for node, _ in y.grad_fn.next_functions])
    y.backward()
    log("gradient", x.grad)


@scenario
def functions_in_a_row(m, log):
    x = leaf(m, 1., 2.)
    y = x
    for i in range(5):
        y = function(m, lambda ctx, x: x * 2, lambda ctx, g, i=i: log("backward", i, g) or g * 2).apply(y)
    watch(log, y)
    y.sum().backward()
    log("gradient", x.grad)


@scenario
def function_wraps_an_autograd_call(m, log):
    """The gradient of a graph that forward has built, by a call of grad in backward."""
    def forward(ctx, x):
        with m.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.sin() * ctx.x
        return ctx.y.detach()

    def backward(ctx, g):
        return m.autograd.grad(ctx.y, ctx.x, g)
    x = leaf(m, 1., 2.)
    y = function(m, forward, backward).apply(x)
    y.sum().backward()
    log("gradient", x.grad)
    log.attempt("again", y.sum().backward)


@scenario
def function_backward_with_graph_kept(m, log):
    x = leaf(m, 2.)
    y = square(m).apply(x)
    for _ in range(3):
        y.backward(retain_graph=True)
    log("gradient", x.grad)
    y.backward()
    log.attempt("freed", y.backward)


@scenario
def function_with_inputs_given(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    y = function(m, lambda ctx, x, w: x * w, lambda ctx, g: log("backward", g) or (g * 2, g)).apply(x, w)
    y.backward(inputs=[w], retain_graph=True)
    log("gradients", x.grad, w.grad)
    log("grad", m.autograd.grad(y, y, retain_graph=True), m.autograd.grad(y, x, m.tensor([5.])))


@scenario
def function_not_on_the_way(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    y = function(m, lambda ctx, x: x * 2, lambda ctx, g: log("should not run") or g).apply(x)
    z = w * 3
    log("grad", m.autograd.grad((y + z).sum(), w))


@scenario
def function_modes_in_backward(m, log):
    def backward(ctx, g):
        log("modes", m.is_grad_enabled(), m.is_inference_mode_enabled(), g.requires_grad)
        m.set_grad_enabled(not m.is_grad_enabled())
        return g * 2
    for keep, outer in itertools.product((False, True), (m.enable_grad, m.no_grad)):
        x = leaf(m, 1.)
        y = function(m, lambda ctx, x: x * 2, backward).apply(x)
        with outer():
            y.backward(create_graph=keep)
            log("after", m.is_grad_enabled())


@scenario
def function_writes_to_its_gradient(m, log):
    x = leaf(m, 1., 2.)
    y = function(m, lambda ctx, x: x * 2, lambda ctx, g: g.mul_(3)).apply(x)
    given = m.ones(2)
    y.backward(given)
    log("gradient", x.grad, given)


@scenario
def function_raises_in_one_of_two_branches(m, log):
    def fail(ctx, g):
        raise ValueError("on purpose")
    x, w = leaf(m, 1.), leaf(m, 2.)
    bad = function(m, lambda ctx, x: x * 2, fail, name="Bad").apply(x)
    good = function(m, lambda ctx, w: w * 2, lambda ctx, g: log("good", g) or g, name="Good").apply(w)
    log.attempt("backward", (bad + good).backward)
    log("gradients", x.grad, w.grad, log.running(), log.task())
    log.attempt("again", (bad + good).backward)


@scenario
def function_in_anomaly_mode(m, log):
    import warnings
    x = leaf(m, 1.)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with m.autograd.detect_anomaly():
            y = function(m, lambda ctx, x: x * 2, lambda ctx, g: g * float("nan")).apply(x)
            log.attempt("backward", y.backward)
    log("gradient", x.grad)


@scenario
def function_of_complex_numbers(m, log):
    x = m.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = function(m, lambda ctx, x: ctx.save_for_backward(x) or x * x, lambda ctx, g: g * 2 * ctx.saved_tensors[0].conj()).apply(x)
    y.real.sum().backward()
    log("gradient", x.grad)


@scenario
def function_real_from_complex(m, log):
    x = m.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = function(m, lambda ctx, x: x.real * 1, lambda ctx, g: log("backward", g) or g).apply(x)
    y.sum().backward()
    log("gradient", x.grad)


# ---- threads ------------------------------------------------------------------------------------------------------------------


def in_a_thread(function):
    caught = []

    def run():
        try:
            function()
        except Exception as error:
            caught.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return caught


@scenario
def function_built_in_one_thread_run_in_another(m, log):
    main = threading.get_ident()

    def backward(ctx, g):
        log("backward", threading.get_ident() == main, m.is_grad_enabled(), ctx.saved_tensors)
        return g * 2
    x = leaf(m, 1.)
    y = function(m, lambda ctx, x: ctx.save_for_backward(x) or x * 2, backward).apply(x)
    log("caught", in_a_thread(y.backward))
    log("gradient", x.grad)


@scenario
def function_fails_in_another_thread(m, log):
    def fail(ctx, g):
        raise ValueError("on purpose")
    x = leaf(m, 1.)
    y = function(m, lambda ctx, x: x * 2, fail).apply(x)
    log("caught", in_a_thread(y.backward), m.is_grad_enabled())


@scenario
def function_starts_a_thread_in_its_backward(m, log):
    def backward(ctx, g):
        inner = leaf(m, 3.)
        log("in a thread", in_a_thread(lambda: log("modes", m.is_grad_enabled(), log.task()) or (inner * 2).backward()), inner.grad)
        log("here", m.is_grad_enabled())
        return g * inner.grad
    x = leaf(m, 1.)
    function(m, lambda ctx, x: x * 2, backward).apply(x).backward()
    log("gradient", x.grad)


@scenario
def function_in_many_threads_at_once(m, log):
    x = leaf(m, 1.)
    mine = square(m)
    threads = [threading.Thread(target=lambda: [mine.apply(x).backward() for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log("finite", bool((x.grad > 0).all()), x.grad.shape == x.shape)
