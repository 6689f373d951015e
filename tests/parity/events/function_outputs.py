"""Scenarios of the outputs of a Function: new tensors, inputs, views of them, written inputs, constants, other objects."""

import itertools
import warnings

from tests.core.function_tools import function
from tests.parity.events.log import SCENARIOS, heard, leaf, scenario

# ---- every kind of output, of every kind of input: function/T-02 ------------------------------------------------------------


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def constant(ctx, x):
    y = x * 2
    ctx.mark_non_differentiable(y)
    return y


def constant_view(ctx, x):
    y = x[:1]
    ctx.mark_non_differentiable(y)
    return y


def constant_input(ctx, x):
    ctx.mark_non_differentiable(x)
    return x


OUTPUTS = {
    "new": lambda ctx, x: x * 2, "detached": lambda ctx, x: (x * 2).detach(), "input": lambda ctx, x: x,
    "detached input": lambda ctx, x: x.detach(), "view": lambda ctx, x: x[:1], "reshaped": lambda ctx, x: x.view(1, 2),
    "written": written, "constant": constant, "constant view": constant_view, "constant input": constant_input,
    "integer": lambda ctx, x: x.long(), "number": lambda ctx, x: 5, "None": lambda ctx, x: None, "list": lambda ctx, x: [x * 2],
    "dict": lambda ctx, x: {"y": x * 2}, "tuple of one": lambda ctx, x: (x * 2,), "empty tuple": lambda ctx, x: (),
}
INPUTS = {
    "a leaf": lambda m: leaf(m, 1., 2.), "a result": lambda m: leaf(m, 1., 2.) * 1, "a constant": lambda m: m.tensor([1., 2.]),
    "a view": lambda m: (leaf(m, 0., 1., 2.) * 1)[1:], "a view of a leaf": lambda m: leaf(m, 0., 1., 2.)[1:],
}


def described(m, log, what, y, x):
    """All that can be seen of an output."""
    if not isinstance(y, m.Tensor):
        return log(what, type(y).__name__, y)
    log(what, y, y.grad_fn, y.output_nr, y.is_leaf, y._version, y is x, y._is_view(), y._base is x or y._base is x._base,
        y.data_ptr() == x.data_ptr())


def returning(output, given, beside):
    """function/O-01, function/O-02, function/O-03, function/O-05, function/O-10, function/O-12, function/O-22, function/O-32."""
    def run(m, log):
        def forward(ctx, x, w):
            y = OUTPUTS[output](ctx, x)
            return (y, w * 3) if beside else y

        def backward(ctx, *grads):
            log("backward", grads)
            return grads[-1].sum() * 5 * m.ones(2), grads[-1].sum() * 7
        x, w = INPUTS[given](m), leaf(m, 3.)
        try:
            found = function(m, forward, backward).apply(x, w)
        except RuntimeError as error:
            return log("apply", error, x, x._version)
        log("kind", type(found).__name__)
        ys = found if type(found) is tuple else (found,)
        for i, y in enumerate(ys):
            described(m, log, f"output {i}", y, x)
        log("input", x, x.grad_fn, x._version)
        for y in ys:
            if isinstance(y, m.Tensor) and y.requires_grad:
                log.attempt("gradients", lambda y=y: m.autograd.grad(y.sum(), w, retain_graph=True))
                log.attempt("of the input", lambda y=y: m.autograd.grad(y.sum(), x, retain_graph=True))
    return run


for _output, _given, _beside in itertools.product(OUTPUTS, INPUTS, (False, True)):
    if not (_beside and (_output in ("tuple of one", "empty tuple", "list", "dict") or _given == "a view of a leaf")):
        SCENARIOS[f"function returning {_output} of {_given}" + " and another" * _beside] = returning(_output, _given, _beside)

# ---- uses of the outputs --------------------------------------------------------------------------------------------------

WRITES = {
    "to the output": lambda m, x, y: y.mul_(2), "to the input": lambda m, x, y: x.mul_(2), "to a view of it": lambda m, x, y: y[:1].mul_(2),
    "of the output into another": lambda m, x, y: m.zeros(2).copy_(y), "to the output without gradients": lambda m, x, y: quietly(m, y),
    "detaching it": lambda m, x, y: y.detach_(), "making it need a gradient": lambda m, x, y: y.requires_grad_(),
}


def quietly(m, y):
    with m.no_grad():
        y.mul_(2)


def then_written(output, write, beside):
    """function/O-11, function/O-20, function/O-21: a view made in a Function may not be written to."""
    def run(m, log):
        def forward(ctx, x):
            y = OUTPUTS[output](ctx, x)
            return (y, x * 3) if beside else y
        a = leaf(m, 1., 2.)
        x = a * 1
        y = function(m, forward, lambda ctx, *g: sum(t.sum() for t in g) * m.ones(2)).apply(x)
        y = y[0] if beside else y
        log.attempt("write", lambda: WRITES[write](m, x, y) is None)
        for what, t in (("output", y), ("input", x)):
            log.attempt(what, lambda t=t: (t, t.grad_fn, t._version))
            log.attempt("gradient", lambda t=t: m.autograd.grad(t.sum(), a, retain_graph=True))
    return run


for _output, _write, _beside in itertools.product(("new", "input", "view", "reshaped", "written", "constant", "constant view"), WRITES,
                                                  (False, True)):
    if not (_beside and _output in ("constant", "constant view")) and (_output, _write) != ("view", "of the output into another"):
        SCENARIOS[f"function returning {_output}" + " and another" * _beside + f", a write {_write}"] = \
            then_written(_output, _write, _beside)

# ---- several outputs --------------------------------------------------------------------------------------------------------


@scenario
def function_returns_one_tensor_twice(m, log):
    """function/O-06."""
    def forward(ctx, x):
        y = x * 2
        return y, x * 3, y
    x = leaf(m, 1.)
    y, z, again = function(m, forward, lambda ctx, *g: log("backward", g) or g[2]).apply(x)
    log("outputs", y is again, y.output_nr, z.output_nr)
    y.backward()
    log("gradient", x.grad)


@scenario
def function_returns_one_input_twice(m, log):
    x = leaf(m, 1.)
    y, z = function(m, lambda ctx, x: (x, x), lambda ctx, *g: log("backward", g) or g[0] + g[1]).apply(x)
    log("outputs", y is z, y is x, y.output_nr, z.output_nr, y._is_view())
    (y * 2 + z * 3).backward()
    log("gradient", x.grad)


@scenario
def function_returns_things_between_tensors(m, log):
    """function/O-02."""
    def backward(ctx, *g):
        log("backward", g)
        return g[1] + g[4]
    x = leaf(m, 1.)
    outputs = function(m, lambda ctx, x: ("text", x * 2, None, 5, x * 3, [x]), backward).apply(x)
    log("outputs", [(type(y).__name__, y.output_nr if isinstance(y, m.Tensor) else y) for y in outputs[:5]], outputs[5][0] is x)
    (outputs[1] + outputs[4]).backward()
    log("gradient", x.grad)


@scenario
def function_returns_a_subclass_of_tuple(m, log):
    from collections import namedtuple
    Pair = namedtuple("Pair", "a b")
    y = function(m, lambda ctx, x: Pair(x * 2, x * 3), lambda ctx, g, h: g).apply(leaf(m, 1.))
    log("outputs", type(y).__name__, y)


@scenario
def function_returns_what_an_op_returns(m, log):
    x = leaf(m, 1., 5., 3.)
    found = function(m, lambda ctx, x: x.max(0), lambda ctx, g, h: log("backward", g, h) or g * m.ones(3)).apply(x)
    log("outputs", type(found) is tuple, found, found[1].grad_fn)
    found[0].backward()
    log("gradient", x.grad)


@scenario
def function_gradient_slots_of_constants(m, log):
    """function/O-03, function/O-04, function/X-19."""
    def forward(ctx, x):
        order = x.long()
        marked = x * 5
        ctx.mark_non_differentiable(marked)
        return x * 2, order, marked, 7
    x = leaf(m, 1., 2.)
    outputs = function(m, forward, lambda ctx, *g: log("backward", g) or g[0]).apply(x)
    log("outputs", outputs, [y.output_nr for y in outputs[:3]])
    outputs[0].sum().backward()


@scenario
def function_gradient_slots_left_undefined(m, log):
    def forward(ctx, x):
        ctx._materialize_non_diff_grads = False
        marked = x * 5
        ctx.mark_non_differentiable(marked)
        return x * 2, marked
    x = leaf(m, 1., 2.)
    y, _ = function(m, forward, lambda ctx, *g: log("backward", g) or g[0]).apply(x)
    y.sum().backward()


@scenario
def function_marks_twice(m, log):
    """function/X-18: the last call counts."""
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(y)
        ctx.mark_non_differentiable(z)
        return y, z
    log("outputs", function(m, forward, lambda ctx, g, h: g).apply(leaf(m, 1.)))


@scenario
def function_marks_no_output_as_constant(m, log):
    def forward(ctx, x):
        other = x * 3
        ctx.mark_non_differentiable(other, x)
        return x * 2
    log("output", function(m, forward, lambda ctx, g: g).apply(leaf(m, 1.)))


@scenario
def function_of_a_captured_tensor(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.) * 1
    y = function(m, lambda ctx, x: x * w, lambda ctx, g: g).apply(x)
    log("edges", [node for node, _ in y.grad_fn.next_functions])
    y.backward()
    log("gradients", x.grad)


# ---- written inputs ---------------------------------------------------------------------------------------------------------


def dirty(what):
    """function/O-30, function/O-31, function/O-33, function/O-34, function/O-36, function/O-37, function/F-54."""
    def run(m, log):
        def forward(ctx, x, w):
            x.mul_(2)
            if what == "another tensor":
                ctx.mark_dirty(w * 1)
            else:
                ctx.mark_dirty(*{"twice": (x, x), "both": (x, w)}.get(what, (x,)))
            return {"not returned": w * 3, "and another": (x, w * 3), "both": (x, w.add_(1)), "a view of it": x[:1],
                    "in a list": [x], "second": (w * 3, x)}.get(what, x)
        a = leaf(m, 1., 2., 3.)
        x = {"a leaf": lambda: a, "a view": lambda: (a * 1)[:2], "a view and another": lambda: (a * 1)[:2],
             "a constant": lambda: m.tensor([1., 2., 3.])}.get(what, lambda: a * 1)()
        w = leaf(m, 1.) * 1
        if what == "a view and another":
            mine = function(m, lambda ctx, x, w: (forward(ctx, x, w), w * 3), lambda ctx, g, h: (g * 2, h * 3))
        else:
            mine = function(m, forward, lambda ctx, *g: log("backward", g) or (g[0].sum() * m.ones(*x.shape), g[0].sum()))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = mine.apply(x, w)
            except RuntimeError as error:
                return log("apply", error, x, x._version)
        log("warned", [log.error(Warning(one.message))[1:] for one in caught])
        for y in found if type(found) is tuple else (found,):
            if isinstance(y, m.Tensor):
                described(m, log, "output", y, x)
        log("input", x, x.grad_fn, x._version)
        if isinstance(found, m.Tensor):
            log.attempt("backward", found.sum().backward)
            log("gradient", a.grad)
    return run


for _what in ("a result", "a leaf", "a view", "a view and another", "a constant", "another tensor", "twice", "both", "not returned",
              "and another", "a view of it", "in a list", "second"):
    SCENARIOS[f"function that writes to its input: {_what}"] = dirty(_what)


@scenario
def function_writes_to_a_view_and_its_base_is_read(m, log):
    """function/F-54: the base gets the new history."""
    a = leaf(m, 1., 2., 3.)
    base = a * 1
    part = base[:2]
    function(m, written, lambda ctx, g: log("backward", g) or g * 10).apply(part)
    log("histories", base.grad_fn, part.grad_fn, base._version)
    base.sum().backward()
    log("gradient", a.grad)


@scenario
def function_writes_and_hooks(m, log):
    """function/O-38."""
    a = leaf(m, 1., 2.)
    x = a * 1
    x.register_hook(heard(log, "before"))
    x.retain_grad()
    function(m, written, lambda ctx, g: g * 2).apply(x)
    x.register_hook(heard(log, "after"))
    (x * 3).sum().backward()
    log("retained", x.grad, a.grad)


@scenario
def function_writes_without_gradients(m, log):
    """function/O-39."""
    x = leaf(m, 1., 2.) * 1
    with m.no_grad():
        y = function(m, written, lambda ctx, g: g * 2).apply(x)
    described(m, log, "output", y, x)
    log("input", x, x.grad_fn, x._version)


@scenario
def function_writes_what_another_saved(m, log):
    """function/O-30: the version shows it."""
    a = leaf(m, 1., 2.)
    x = a * 1
    y = x.exp() * x
    function(m, written, lambda ctx, g: g * 2).apply(x)
    log.attempt("backward", y.sum().backward)


@scenario
def function_says_it_wrote_and_did_not(m, log):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x
    a = leaf(m, 1., 2.)
    x = a * 1
    y = function(m, forward, lambda ctx, g: g * 2).apply(x)
    described(m, log, "output", y, x)
    y.sum().backward()
    log("gradient", a.grad)


@scenario
def function_wrote_and_does_not_say(m, log):
    a = leaf(m, 1., 2.)
    x = a * 1
    y = function(m, lambda ctx, x: x.mul_(2), lambda ctx, g: g * 2).apply(x)
    described(m, log, "output", y, x)
    y.sum().backward()
    log("gradient", a.grad)


@scenario
def function_pure_view(m, log):
    """function/O-23."""
    def forward(ctx, x):
        ctx._is_pure_view = True
        return x[:2]
    a = leaf(m, 1., 2., 3.)
    x = a * 1
    y = function(m, forward, lambda ctx, g: m.cat([g, m.zeros(1)])).apply(x)
    log.attempt("write", lambda: y.mul_(2))
    log.attempt("base", lambda: x.grad_fn)
    log.attempt("backward", x.sum().backward)
    log("gradient", a.grad)
