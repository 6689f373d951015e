"""Scenarios of forward-mode AD through a Function: its jvp, its arguments and its results."""

import itertools

from tests.core.function_tools import function
from tests.parity.events.forward_levels import dual, forward_ad, show, tangent
from tests.parity.events.log import SCENARIOS, leaf, scenario
from tests.parity.events.subjects import double

# ---- results of jvp: function/J-04, J-05 ----------------------------------------------------------------------------------------

RESULTS = {
    "right": lambda m, t: t * 2, "a tuple": lambda m, t: (t * 2,), "a list": lambda m, t: [t * 2], "too many": lambda m, t: (t, t),
    "trailing None": lambda m, t: (t, None), "a number": lambda m, t: 5, "nothing": lambda m, t: (), "another dtype": lambda m, t: t.double() * 2,
    "its argument": lambda m, t: t, "its argument, written": lambda m, t: t.mul_(2), "a view of it": lambda m, t: t.view_as(t),
    "a constant": lambda m, t: m.ones(2), "one that requires a gradient": lambda m, t: leaf(m, 1., 2.) * t,
    "a dual": lambda m, t: dual(m, [1., 2.], [3., 4.]),
}


def returning(what):
    def run(m, log):
        with forward_ad(m).dual_level():
            x = dual(m, [1., 2.], [3., 4.])
            mine = function(m, lambda ctx, x: x * 2, jvp=lambda ctx, t: RESULTS[what](m, t))
            try:
                y = mine.apply(x)
            except RuntimeError as error:
                return log("apply", error, tangent(m, x))
            show(m, log, y=y, x=x, product=y * y)
            log("same", tangent(m, y) is tangent(m, x), tangent(m, y).requires_grad)
    return run


for _what in RESULTS:
    SCENARIOS[f"forward_jvp returns {_what}"] = returning(_what)

# ---- outputs: function/J-06, J-07 -------------------------------------------------------------------------------------------------


def dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


OUTPUTS = {
    "new": lambda ctx, x: x * 2, "input": lambda ctx, x: x, "view": lambda ctx, x: x[:1], "dirty": dirty, "integer": lambda ctx, x: x.long(),
    "number": lambda ctx, x: 5,
}
TANGENTS = {
    "computed": lambda t: t * 2, "itself": lambda t: t, "a view of it": lambda t: t.view_as(t), "a part": lambda t: t[:1],
    "a copied part": lambda t: t[:1] * 1, "written": lambda t: t.mul_(2), "None": lambda t: None,
}
# An internal assert of PyTorch: function/J-05.
ASSERTS = {(output, "None") for output in ("new", "input", "view", "dirty")}


def output(what, how, in_tuple):
    def run(m, log):
        def forward(ctx, x):
            y = OUTPUTS[what](ctx, x)
            return (y, x * 3) if in_tuple else y

        def jvp(ctx, t):
            s = TANGENTS[how](t)
            return (s, t * 3) if in_tuple else s
        with forward_ad(m).dual_level():
            x = dual(m, [1., 2.], [3., 4.]).clone()
            try:
                found = function(m, forward, jvp=jvp).apply(x)
            except RuntimeError as error:
                return log("apply", error, x)
            for y in found if in_tuple else (found,):
                if isinstance(y, m.Tensor):
                    show(m, log, y=y, x=x)
    return run


for _what, _how, _in_tuple in itertools.product(OUTPUTS, TANGENTS, (False, True)):
    if (_what, _how) not in ASSERTS and (_what != "number" or _in_tuple) and (_what == "view") == (_how in ("a part", "a copied part")):
        SCENARIOS[f"forward_jvp of {_what}: {_how}" + ", and another" * _in_tuple] = output(_what, _how, _in_tuple)


@scenario
def forward_jvp_of_marked_outputs(m, log):
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        y, z = function(m, forward, jvp=lambda ctx, t: (t * 2, None)).apply(x)
        show(m, log, y=y, z=z)
        log.attempt("tangent of a constant", function(m, forward, jvp=lambda ctx, t: (t * 2, t)).apply, x)


# ---- arguments: function/J-01 to J-03, J-08 -------------------------------------------------------------------------------------------


def arguments(which, materialize, style):
    def run(m, log):
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(materialize)
            ctx.save_for_forward(*inputs[:2], None)
            ctx.save_for_backward(output)
            ctx.n = inputs[2]

        def jvp(ctx, t, u, n):
            x, w, nothing = ctx.saved_tensors
            log("jvp", t, u, n, nothing, x, w, ctx.needs_input_grad, m.is_grad_enabled(), tangent(m, x), tangent(m, x * 2))
            return (t * w if t is not None else 0) * ctx.n + (u * x if u is not None else 0) * ctx.n

        if style == "combined":
            def forward(ctx, x, w, n):
                y = x * w * n
                setup_context(ctx, (x, w, n), y)
                log("forward", tangent(m, x), tangent(m, x * 2))
                return y
            mine = function(m, forward, lambda ctx, g: (g, g, None), jvp=jvp)
        else:
            mine = function(m, lambda x, w, n: x * w * n, lambda ctx, g: (g, g, None), jvp=jvp, setup_context=setup_context)
        with forward_ad(m).dual_level():
            x, w = leaf(m, 1., 2.), m.tensor([5., 6.])
            if which in ("first", "both"):
                x = forward_ad(m).make_dual(x, m.tensor([3., 4.]))
            if which in ("second", "both"):
                w = forward_ad(m).make_dual(w, m.tensor([7., 8.]))
            y = mine.apply(x, w, 2)
            show(m, log, y=y)
            log("node", y.grad_fn, len(y.grad_fn.saved_tensors), hasattr(y.grad_fn, "saved_for_forward"))
            y.sum().backward()
    return run


for _which, _materialize, _style in itertools.product(("first", "second", "both", "neither"), (True, False), ("combined", "two methods")):
    SCENARIOS[f"forward_jvp with {_which} dual, {_style}" + " as None" * (not _materialize)] = arguments(_which, _materialize, _style)


def jvp_in_mode(mode):
    def run(m, log):
        modes = {"no_grad": m.no_grad, "enable_grad": m.enable_grad, "inference_mode": m.inference_mode,
                 "forward off": lambda: forward_ad(m)._set_fwd_grad_enabled(False)}

        def jvp(ctx, t):
            log("jvp", m.is_grad_enabled(), t)
            return t * 2
        with forward_ad(m).dual_level():
            x = forward_ad(m).make_dual(leaf(m, 1.), leaf(m, 2.))
            with modes[mode]():
                y = function(m, lambda ctx, x: x * 2, lambda ctx, g: g, jvp=jvp).apply(x)
                show(m, log, y=y)
    return run


for _mode in ("no_grad", "enable_grad", "inference_mode", "forward off"):
    SCENARIOS[f"forward_jvp in {_mode}"] = jvp_in_mode(_mode)


@scenario
def forward_without_jvp(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        log.attempt("apply", double(m).apply, x)
        log("plain", double(m).apply(m.ones(1)), m.is_grad_enabled(), tangent(m, x))
        with m.no_grad():
            log.attempt("no_grad", double(m).apply, x)


@scenario
def forward_jvp_that_fails(m, log):
    def fail(ctx, t):
        raise KeyError("on purpose")
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        log.attempt("apply", function(m, lambda ctx, x: x * 2, jvp=fail).apply, x)
        show(m, log, x=x, product=x * x)
        log("modes", m.is_grad_enabled())


@scenario
def forward_jvp_applies_a_function(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1., 2.], [3., 4.])
        inner = function(m, lambda ctx, x: x * 2, jvp=lambda ctx, t: log("inner", t) or t * 2)
        outer = function(m, lambda ctx, x: inner.apply(x), jvp=lambda ctx, t: log("outer", t) or inner.apply(t))
        show(m, log, y=outer.apply(x))


@scenario
def forward_jvp_saves_an_output(m, log):
    """function/X-16."""
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_forward(y)
        ctx.save_for_backward(y)
        return y
    exponential = function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0], jvp=lambda ctx, t: t * ctx.saved_tensors[0])
    p = leaf(m, 1., 2.)
    with forward_ad(m).dual_level():
        y = exponential.apply(forward_ad(m).make_dual(p, m.tensor([3., 4.])))
        show(m, log, y=y)
        log("history", tangent(m, y).requires_grad)
        y.sum().backward()
        log("gradient", p.grad)


@scenario
def forward_jvp_and_captured_duals(m, log):
    with forward_ad(m).dual_level():
        x, w = dual(m, [1.], [2.]), dual(m, [3.], [4.])
        mine = function(m, lambda ctx, x: x * w, jvp=lambda ctx, t: log("captured", tangent(m, w)) or t * w)
        show(m, log, y=mine.apply(x), z=mine.apply(m.ones(1)))


@scenario
def forward_jvp_of_lists(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        mine = function(m, lambda ctx, xs: xs[0] * 2, jvp=lambda ctx, t: log("jvp", t))
        show(m, log, y=mine.apply([x]))


# ---- a second derivative through a Function --------------------------------------------------------------------------------------------


def cube(m):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x ** 3
    return function(m, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
                    jvp=lambda ctx, t: t * 3 * ctx.saved_tensors[0] ** 2)


@scenario
def forward_reverse_over_jvp(m, log):
    p, t = leaf(m, 2., 3.), leaf(m, 1., 10.)
    with forward_ad(m).dual_level():
        y = cube(m).apply(forward_ad(m).make_dual(p, t))
        s = tangent(m, y)
        log("tangent", s, s.grad_fn)
        log("gradients", m.autograd.grad(s.sum(), (p, t)))


@scenario
def forward_over_reverse_of_a_function(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
        y = cube(m).apply(x)
        g, = m.autograd.grad(y.sum(), x)
        show(m, log, gradient=g)
