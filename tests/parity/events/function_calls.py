"""Scenarios of calls of a Function: arguments of its methods, attributes of ctx, saved tensors, and errors."""

import gc
import itertools
import warnings

from tests.core.function_tools import exponential, function, square
from tests.parity.events.log import SCENARIOS, leaf, scenario

# ---- arguments: function/T-01 -----------------------------------------------------------------------------------------------

ARGUMENTS = {
    "a leaf": lambda m: ((leaf(m, 1., 2.),), {}),
    "a constant": lambda m: ((m.tensor([1., 2.]),), {}),
    "a leaf and a constant": lambda m: ((leaf(m, 1., 2.), m.tensor([3., 4.])), {}),
    "a constant and a leaf": lambda m: ((m.tensor([1., 2.]), leaf(m, 3., 4.)), {}),
    "two results": lambda m: ((leaf(m, 1., 2.) * 2, leaf(m, 3., 4.) * 3), {}),
    "a number": lambda m: ((leaf(m, 1., 2.), 3), {}),
    "None": lambda m: ((leaf(m, 1., 2.), None), {}),
    "one by name": lambda m: ((leaf(m, 1., 2.),), {"w": leaf(m, 5., 6.)}),
    "all by name": lambda m: ((), {"w": leaf(m, 5., 6.), "x": leaf(m, 1., 2.)}),
    "three": lambda m: ((leaf(m, 1., 2.), leaf(m, 3., 4.), 2), {}),
    "the third by name": lambda m: ((leaf(m, 1., 2.), leaf(m, 3., 4.)), {"n": 4}),
    "a gap": lambda m: ((leaf(m, 1., 2.),), {"n": 4}),
    "an unknown name": lambda m: ((leaf(m, 1., 2.),), {"other": 4}),
    "one twice": lambda m: ((leaf(m, 1., 2.),), {"x": leaf(m, 1., 2.)}),
    "none at all": lambda m: ((), {}),
    "too many": lambda m: ((leaf(m, 1.), leaf(m, 1.), 2, 3), {}),
    "a list of tensors": lambda m: (([leaf(m, 1., 2.)],), {}),
    "an integer tensor": lambda m: ((leaf(m, 1., 2.), m.tensor([3, 4])), {}),
    "one tensor twice": lambda m: ((leaf(m, 1., 2.),) * 2, {}),
    "a view and its base": lambda m: ((lambda b: (b, b[:2]))(leaf(m, 1., 2., 3.) * 1), {}),
}


def called_with(what, style):
    """function/F-01, function/F-02, function/F-03, function/F-04, function/F-05, function/X-15, function/B-06."""
    def run(m, log):
        def compute(x, w=None, n=2):
            if isinstance(x, list):
                x, = x
            return x.sum() * n + (w.sum() if isinstance(w, m.Tensor) else 0)

        def backward(ctx, g):
            log("backward", g, ctx.needs_input_grad, len(ctx.next_functions))
            return tuple(g * (i + 2) if needed else None for i, needed in enumerate(ctx.needs_input_grad))

        if style == "combined":
            def forward(ctx, x, w=None, n=2):
                log("forward", x, w, n, ctx.needs_input_grad, m.is_grad_enabled())
                return compute(x, w, n)
            mine = function(m, forward, backward)
        else:
            def forward(x, w=None, n=2):
                log("forward", x, w, n, m.is_grad_enabled())
                return compute(x, w, n)

            def setup_context(ctx, inputs, output):
                log("setup_context", type(inputs).__name__, len(inputs), inputs, output, ctx.needs_input_grad, m.is_grad_enabled())
                return "ignored"
            mine = function(m, forward, backward, setup_context=setup_context)
        args, kwargs = ARGUMENTS[what](m)
        try:
            y = mine.apply(*args, **kwargs)
        except (RuntimeError, TypeError) as error:
            log("apply", error)
            return log("grad mode", m.is_grad_enabled())
        log("result", y, y.grad_fn, y.output_nr)
        if y.requires_grad:
            log("edges", [node for node, _ in y.grad_fn.next_functions], [number for _, number in y.grad_fn.next_functions])
            log.attempt("backward", y.backward)
            log("gradients", [x.grad for x in (*args, *kwargs.values()) if isinstance(x, m.Tensor) and x.is_leaf])
    return run


for _what, _style in itertools.product(ARGUMENTS, ("combined", "with setup_context")):
    SCENARIOS[f"function of {_what} {_style}"] = called_with(_what, _style)

# ---- the class and its node -----------------------------------------------------------------------------------------------


@scenario
def function_classes(m, log):
    """function/C-02, function/C-03."""
    class Foo(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class SubFoo(Foo):
        pass
    for cls in (Foo, SubFoo):
        node = cls.apply(leaf(m, 1.)).grad_fn
        log("node", node.name(), type(node).__name__, type(node) is cls._backward_cls, node._forward_cls is cls)
        log("bases", [c.__name__ for c in type(node).__mro__ if c.__name__ in ("BackwardCFunction", "FunctionCtx")],
            isinstance(node, m.autograd.graph.Node))
    log("one each", Foo._backward_cls is not SubFoo._backward_cls, Foo.generate_vmap_rule)


@scenario
def function_inherits_half(m, log):
    base = function(m, lambda ctx, x: x * 2, lambda ctx, g: log("first", g))

    class Half(base):
        @staticmethod
        def backward(ctx, g):
            log("second", g)
            return g * 10
    x = leaf(m, 1.)
    Half.apply(x).backward()
    log("gradient", x.grad)


@scenario
def function_instances(m, log):
    """function/C-04."""
    def make(base):
        return function(m, lambda ctx, x: x * 2, lambda ctx, g: g * 2, base=base)
    for base in (m.autograd.Function, m.autograd.function.InplaceFunction):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            instance = make(base)()
        log("made", [w.category.__name__ for w in caught], hasattr(instance, "inplace"))
        log.attempt("called", instance, m.ones(1))
        log.attempt("applied", instance.apply, leaf(m, 1.))


@scenario
def function_in_place_class(m, log):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)
    mine = function(m, forward, lambda ctx, g: g * 3, base=m.autograd.function.InplaceFunction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log("inplace", mine(True).inplace, mine().inplace)
    x = leaf(m, 1.)
    y = x * 1
    log("same", mine.apply(y) is y, y, y._version, y.grad_fn)
    y.backward()
    log("gradient", x.grad)


@scenario
def function_without_staticmethod(m, log):
    """function/C-05."""
    class Plain(m.autograd.Function):
        def forward(ctx, x):
            ctx.factor = 3
            return x * ctx.factor

        def backward(ctx, g):
            return g * ctx.factor
    x = leaf(m, 1., 2.)
    y = Plain.apply(x)
    y.sum().backward()
    log("gradient", y, x.grad)


def methods(*names):
    """function/C-06, function/C-07."""
    def run(m, log):
        bodies = {"forward": lambda ctx, x: x * 2, "backward": lambda ctx, g: g * 2, "vjp": lambda ctx, g: g * 3}
        cls = type(m.autograd.Function)("Mine", (m.autograd.Function,), {name: staticmethod(bodies[name]) for name in names})
        x = leaf(m, 1., 2.)
        try:
            y = cls.apply(x)
        except NotImplementedError as error:
            return log("apply", error)
        log("result", y)
        log.attempt("backward", y.sum().backward)
        log("gradient", x.grad)
    return run


for _names in ((), ("forward",), ("backward",), ("forward", "backward"), ("forward", "vjp"), ("forward", "backward", "vjp")):
    SCENARIOS["function with " + (" and ".join(_names) or "no methods")] = methods(*_names)


@scenario
def function_has_no_vmap(m, log):
    """function/M-01, function/M-02, function/M-03: the behaviour without a transform."""
    log.attempt("vmap", m.autograd.Function.vmap, None, (0,), m.ones(3))
    own = function(m, lambda ctx, x: x * 2, lambda ctx, g: g * 2, vmap=lambda info, in_dims, x: (x, 0), generate_vmap_rule=True)
    log("its own", own.vmap(None, (0,), 5), own.generate_vmap_rule, own.apply(leaf(m, 1.)))


# ---- ctx --------------------------------------------------------------------------------------------------------------------


@scenario
def function_ctx_attributes(m, log):
    """function/X-01, function/X-02."""
    def forward(ctx, x):
        ctx.a, ctx.b = 1, x
        del ctx.a
        log.attempt("deleted", lambda: ctx.a)
        log.attempt("unknown", lambda: ctx.never_set)
        return x * 2

    def backward(ctx, g):
        log("identity", ctx.b is x, ctx is y.grad_fn, sorted(vars(ctx)))
        ctx.c = 5
        return g
    x = leaf(m, 1.)
    y = function(m, forward, backward).apply(x)
    y.grad_fn.d = "from outside"
    y.backward()
    log("afterwards", y.grad_fn.c, y.grad_fn.d)


@scenario
def function_ctx_as_a_node(m, log):
    """function/X-14."""
    def backward(ctx, g):
        log("in backward", ctx.name(), ctx.metadata is y.grad_fn.metadata, ctx._sequence_nr() == y.grad_fn._sequence_nr(),
            log.running())
        return g
    x = leaf(m, 1.)
    y = function(m, lambda ctx, x: x * 2, backward).apply(x)
    y.grad_fn.metadata["key"] = "value"
    log("node", dict(y.grad_fn.metadata), [node for node, _ in y.grad_fn.next_functions], len(y.grad_fn._input_metadata),
        tuple(y.grad_fn._input_metadata[0].shape))
    z = x * 3
    log("sequence", z.grad_fn._sequence_nr() - y.grad_fn._sequence_nr())        # function/F-11
    y.backward()


@scenario
def function_needs_input_grad_stays(m, log):
    """function/F-22."""
    def backward(ctx, g):
        log("needs", ctx.needs_input_grad)
        return g, g * 2
    x, w = leaf(m, 1.), leaf(m, 2.)
    y = function(m, lambda ctx, x, w: x * w, backward).apply(x, w)
    log("grad", m.autograd.grad(y, x, retain_graph=True))
    y.grad_fn.needs_input_grad = (False, True)
    log("set", y.grad_fn.needs_input_grad, m.autograd.grad(y, (x, w)))


@scenario
def function_requires_grad_changes_later(m, log):
    x, w = leaf(m, 1.), m.tensor([2.])
    y = function(m, lambda ctx, x, w: x * w, lambda ctx, g: (g, log("needs", ctx.needs_input_grad))).apply(x, w)
    w.requires_grad_()
    y.backward()
    log("gradients", x.grad, w.grad)


def saved(what, when):
    """function/X-03, function/X-06, function/X-07, function/X-08, function/X-10, function/T-03."""
    def run(m, log):
        def forward(ctx, x, w):
            log("empty", ctx.saved_tensors)
            if what == "dirty":
                ctx.mark_dirty(x)
                x.mul_(2)
            middle = x.exp()
            y = x if what == "dirty" else middle * w
            ctx.save_for_backward(*{"input": (x, w), "output": (y,), "dirty": (x,), "intermediate": (middle,), "None": (None, x),
                                    "twice": (x, x), "nothing": ()}[what])
            log("not yet", ctx.saved_tensors)
            return y

        def backward(ctx, g):
            found = ctx.saved_tensors
            log("saved", found, [t is not None and t.grad_fn for t in found], [t is x or t is w or t is y for t in found])
            return g * 2, None
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        given = x * 1
        y = function(m, forward, backward).apply(given, w)
        log("node", [t is not None and t.requires_grad for t in y.grad_fn.saved_tensors], hasattr(y.grad_fn, "to_save"))
        if when == "modified":
            with m.no_grad():
                (y if what in ("output", "dirty") else given).add_(1)
        log.attempt("first", y.sum().backward, retain_graph=when == "retained")
        log("gradients", x.grad, w.grad)
        log.attempt("again", y.sum().backward)
        log.attempt("read", lambda: len(y.grad_fn.saved_tensors))
        log("gradients", x.grad, w.grad)
    return run


for _what, _when in itertools.product(("input", "output", "dirty", "intermediate", "None", "twice", "nothing"),
                                      ("freed", "retained", "modified")):
    SCENARIOS[f"function that saves {_what} {_when}"] = saved(_what, _when)


@scenario
def function_saves_twice(m, log):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2)
        return x * 3
    x = leaf(m, 1.)
    y = function(m, forward, lambda ctx, g: log("saved", ctx.saved_tensors) or g).apply(x)
    y.backward()


@scenario
def function_saves_no_tensors(m, log):
    """function/X-04, function/F-08."""
    def forward(ctx, x):
        ctx.save_for_backward(x, 5)
        log("went on")
        return x * 2
    mine = function(m, forward, lambda ctx, g: g)
    log.attempt("grad", mine.apply, leaf(m, 1.))
    with m.no_grad():
        log.attempt("no_grad", mine.apply, leaf(m, 1.))
    log.attempt("constant", mine.apply, m.ones(1))
    log("grad mode", m.is_grad_enabled())


@scenario
def function_saved_variables(m, log):
    """function/X-09."""
    def backward(ctx, g):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            log("old name", ctx.saved_variables, [w.category.__name__ for w in caught])
        return g
    square_and_log = function(m, lambda ctx, x: ctx.save_for_backward(x) or x * x, backward)
    square_and_log.apply(leaf(m, 3.)).backward()


@scenario
def function_saved_once(m, log):
    """function/X-11."""
    def backward(ctx, g):
        log("first", ctx.saved_tensors)
        log.attempt("second", lambda: ctx.saved_tensors)
        return g
    mine = function(m, lambda ctx, x: ctx.save_for_backward(x) or x * x, backward, clear_saved_tensors_on_access=True)
    mine.apply(leaf(m, 3.)).backward()
    mine.clear_saved_tensors_on_access = 1
    log.attempt("no bool", lambda: mine.apply(leaf(m, 3.)).backward())


@scenario
def function_boxed_gradients(m, log):
    """function/X-12."""
    def backward(ctx, grads):
        log("box", type(grads).__name__, grads)
        first = grads.pop(0)
        return first * 2
    mine = function(m, lambda ctx, x: (x * 1, x * 2), backward, boxed_grads_call=True)
    x = leaf(m, 1.)
    mine.apply(x)[0].backward()
    log("gradient", x.grad)
    mine.boxed_grads_call = "yes"
    log.attempt("no bool", mine.apply, x)


@scenario
def function_clears_saved_tensors(m, log):
    """function/X-13."""
    def backward(ctx, g):
        ctx.maybe_clear_saved_tensors()
        log.attempt("cleared", lambda: ctx.saved_tensors)
        return g
    mine = function(m, lambda ctx, x: ctx.save_for_backward(x) or x * x, backward)
    for keep in (True, False):
        y = mine.apply(leaf(m, 3.))
        log.attempt("backward", y.backward, retain_graph=keep)


@scenario
def function_and_saved_tensors_hooks(m, log):
    def pack(t):
        log("pack", t)
        return t.detach()

    def unpack(t):
        log("unpack", t)
        return t * 1
    for mine in (square(m), exponential(m)):
        x = leaf(m, 2.)
        with m.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = mine.apply(x)
        y.backward()
        log("gradient", x.grad)


@scenario
def function_raw_saved_tensors(m, log):
    x = leaf(m, 2.)
    y = square(m).apply(x)
    raw = y.grad_fn._raw_saved_tensors
    log("raw", len(raw))
    raw[0].register_hooks(lambda t: log("pack", t.detach()) or t.detach(), lambda t: log("unpack", t) or t)
    y.backward()
    log("gradient", x.grad)
    log.attempt("freed", lambda: y.grad_fn._raw_saved_tensors)


def as_it_is(method):
    """function/U-03."""
    def run(m, log):
        def setup_context(ctx, inputs, output):
            if method == "keeps":
                ctx.kept = inputs[0]
            elif method != "saves nothing":
                getattr(ctx, method)(inputs[0])
        mine = function(m, lambda x: x, lambda ctx, g: g * 5, setup_context=setup_context)
        x = leaf(m, 2.)
        try:
            y = mine.apply(x)
        except RuntimeError as error:
            return log("apply", error)
        y.backward()
        log("gradient", y, y is x, y._is_view(), x.grad)
    return run


for _method in ("save_for_backward", "save_for_forward", "keeps", "saves nothing"):
    SCENARIOS[f"function that {_method} an input returned as it is"] = as_it_is(_method)


@scenario
def function_combined_saves_an_input_it_returns(m, log):
    x = leaf(m, 2.)
    y = function(m, lambda ctx, x: ctx.save_for_backward(x) or x, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    y.backward()
    log("gradient", x.grad)


@scenario
def function_setup_context_sees_plain_outputs(m, log):
    """function/U-01, function/U-02."""
    def setup_context(ctx, inputs, output):
        log("output", output, output[0].grad_fn, inputs[0] is x, m.is_grad_enabled())
        ctx.save_for_backward(*output)
    x = leaf(m, 2.)
    mine = function(m, lambda x: (x.exp(), x * 2), lambda ctx, g, h: g * ctx.saved_tensors[0] + h * 2, setup_context=setup_context)
    y, z = mine.apply(x)
    log("wrapped", y.grad_fn, z.output_nr)
    (y * z).backward()
    log("gradient", x.grad)


def option(name, value):
    """function/X-16, function/X-17, function/O-04, function/O-35."""
    def run(m, log):
        def forward(ctx, x):
            y = x * 2
            log.attempt(name, getattr(ctx, name), value)
            return y
        try:
            log("result", function(m, forward, lambda ctx, g: g).apply(leaf(m, 1.)))
        except (RuntimeError, TypeError) as error:
            log("apply", error)
        log("grad mode", m.is_grad_enabled())
    return run


for _name, _value in (("save_for_forward", 5), ("save_for_forward", None), ("set_materialize_grads", 1), ("set_materialize_grads", False),
                      ("mark_dirty", 5), ("mark_non_differentiable", 5), ("mark_non_differentiable", None)):
    SCENARIOS[f"function that calls {_name} with {_value}"] = option(_name, _value)

# ---- modes and errors -------------------------------------------------------------------------------------------------------


def in_mode(mode, style):
    """function/F-08, function/F-09, function/F-10."""
    def run(m, log):
        def forward(ctx, x):
            log("forward", m.is_grad_enabled(), ctx.needs_input_grad)
            ctx.save_for_backward(x)
            ctx.kept = x
            return x * 2
        mine = function(m, forward, lambda ctx, g: log("backward", ctx.saved_tensors) or g * 2)
        x = leaf(m, 1., 2.)
        with {"no_grad": m.no_grad, "enable_grad": m.enable_grad, "inference_mode": m.inference_mode}[mode]():
            y = mine.apply(x if style == "a leaf" else x * 1)
            log("result", y, y.grad_fn, y.is_leaf, y.is_inference())
        log.attempt("backward", y.sum().backward)
        log("gradient", x.grad)
    return run


for _mode, _style in itertools.product(("no_grad", "enable_grad", "inference_mode"), ("a leaf", "a result")):
    SCENARIOS[f"function of {_style} in {_mode}"] = in_mode(_mode, _style)


@scenario
def function_forward_with_gradients_enabled(m, log):
    """function/F-06, function/X-06: the graph that forward records itself is replaced."""
    def forward(ctx, x):
        with m.enable_grad():
            y = x.exp() * 2
        log("inner", y.grad_fn)
        ctx.inner = y
        return y.view_as(y)
    x = leaf(m, 1.)
    y = function(m, forward, lambda ctx, g: log("still there", ctx.inner.grad_fn) or g).apply(x)
    log("outer", y.grad_fn)
    y.backward()
    log("gradient", x.grad)


def failing(where, style):
    """function/F-07, function/T-09."""
    def run(m, log):
        def fail(*_):
            raise KeyError("on purpose")

        def forward(*args):
            if where == "forward":
                fail()
            if style == "combined":
                args[0].save_for_backward(args[1])
            return args[-1] * 2
        setup = {} if style == "combined" else {"setup_context": fail if where == "setup_context" else
                                                lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])}
        mine = function(m, forward, fail if where == "backward" else lambda ctx, g: g, **setup)
        x = leaf(m, 1.)
        hooks = {"pack": (fail, lambda t: t), "unpack": (lambda t: t, fail)}.get(where)
        try:
            if hooks:
                with m.autograd.graph.saved_tensors_hooks(*hooks):
                    y = mine.apply(x)
            else:
                y = mine.apply(x)
        except KeyError as error:
            log("apply", error, error.args)
        else:
            log("result", y)
            log.attempt("backward", y.backward)
            log.attempt("saved", lambda: y.grad_fn.saved_tensors)
        log("grad mode", m.is_grad_enabled(), x._version, x.grad, log.task())
        square(m).apply(x).backward()
        log("usable", x.grad)
    return run


for _where, _style in itertools.product(("forward", "setup_context", "backward", "pack", "unpack"), ("combined", "two methods")):
    if (_where, _style) != ("setup_context", "combined"):
        SCENARIOS[f"function in {_style} whose {_where} fails"] = failing(_where, _style)


@scenario
def function_ctx_is_freed(m, log):
    """function/G-01: refcounting alone frees all that the ctx holds."""
    class Big:
        def __del__(self):
            log("freed")

    def forward(ctx, x):
        ctx.big = Big()
        ctx.save_for_backward(x)
        y = x * 2
        ctx.save_for_backward(x, y)
        return y
    gc.disable()
    try:
        y = function(m, forward, lambda ctx, g: g).apply(leaf(m, 1.))
        log("before")
        y.backward()
        log("after the backward")
        del y
        log("after the end")
    finally:
        gc.enable()


@scenario
def function_ctx_cycles_are_collected(m, log):
    """function/G-02, function/G-03: an output on ctx is a cycle."""
    class Big:
        def __del__(self):
            log("freed")

    def forward(ctx, x):
        ctx.big = Big()
        return x * 2
    gc.disable()
    try:
        y = function(m, forward, lambda ctx, g: g).apply(leaf(m, 1.))
        y.grad_fn.itself = y.grad_fn
        del y
        log("before")
        gc.collect()
        log("after")
    finally:
        gc.enable()
