"""Scenarios of errors: in hooks, in the results of a Function, at every place of a graph; and anomaly mode."""

import itertools

from tests.parity.events.log import SCENARIOS, accumulator, heard, leaf, nodes_of, scenario, watch

# ---- errors --------------------------------------------------------------------------------------------------------------


def function_returning(m, result):
    class Returns(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            return result(m, g)
    return Returns


WRONG = {
    "too few": lambda m, g: g, "too many": lambda m, g: (g, g, g), "nothing": lambda m, g: None, "Nones": lambda m, g: (None, None),
    "another shape": lambda m, g: (g, g.sum()), "more dimensions": lambda m, g: (m.stack([g, g]), g),
    "float64": lambda m, g: (g.double(), g.double()), "trailing None": lambda m, g: (g, g, None),
}


def function_results(what):
    def run(m, log):
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        y = function_returning(m, WRONG[what]).apply(x, w)
        for name, t in (("x", x), ("w", w), ("y", y)):
            t.register_hook(heard(log, name))
        watch(log, y)
        log.attempt("backward", y.sum().backward)
        log("gradients", x.grad, w.grad, log.state())
    return run


for _what in WRONG:
    SCENARIOS[f"function returning {_what}"] = function_results(_what)


def error_at(where):
    def run(m, log):
        x, w = leaf(m, 1.), leaf(m, 2.)
        a = x.exp()
        b = (w * 3).sin()
        c = a * b
        root = c + w
        watch(log, root)

        def fail(*_):
            raise ValueError("on purpose")
        places = {"root": root, "middle": c, "branch": b, "other branch": a, "leaf": x}
        node = accumulator(x) if where == "leaf" else places[where].grad_fn
        handle = node.register_prehook(fail)
        log.attempt("backward", root.backward, m.ones(1), retain_graph=True)
        log("gradients", x.grad, w.grad, log.state())
        handle.remove()
        log.attempt("again", root.backward, m.ones(1))
        log("gradients", x.grad, w.grad)
        log.attempt("a third time", root.backward, m.ones(1))
    return run


for _where in ("root", "middle", "branch", "other branch", "leaf"):
    SCENARIOS[f"error at the {_where}"] = error_at(_where)


@scenario
def error_frees_what_has_run(m, log):
    x = leaf(m, 1.)
    y = x.exp()
    z = y.sin()

    def fail(g):
        raise ValueError("on purpose")
    handle = y.register_hook(fail)
    log.attempt("first", z.backward, m.ones(1))
    handle.remove()
    log.attempt("freed", z.backward, m.ones(1))
    log.attempt("what lies behind", y.backward, m.ones(1))
    log("gradient", x.grad)


@scenario
def interrupt_in_a_hook(m, log):
    x = leaf(m, 1.)
    y = x * 2

    def interrupt(g):
        raise KeyboardInterrupt("on purpose")
    y.register_hook(interrupt)
    try:
        y.backward(m.ones(1))
    except KeyboardInterrupt as error:
        log("interrupted", error, log.state())
    (x * 3).backward(m.ones(1))
    log("gradient", x.grad)


@scenario
def second_backward(m, log):
    x = leaf(m, 1.)
    y = x.exp() + x * 2
    watch(log, y)
    y.backward(m.ones(1))
    log.attempt("again", y.backward, m.ones(1))
    log("gradient", x.grad)


@scenario
def roots_without_a_graph(m, log):
    x = leaf(m, 1.)
    x.register_hook(heard(log, "x"))
    log.attempt("constant", m.ones(1).backward)
    log.attempt("both", m.autograd.backward, [x * 2, m.ones(1)])
    x.backward(m.ones(1))
    log("gradient", x.grad)


# ---- anomaly mode --------------------------------------------------------------------------------------------------------


def anomaly(what, forward, backward):
    def run(m, log):
        try:
            m.autograd.set_detect_anomaly(forward)
            x = leaf(m, 0.)
            y = x * x
            z = y.sqrt() if what == "nan" else y.exp()
            watch(log, z)
            if what == "error":
                def fail(grads):
                    raise ValueError("on purpose")
                y.grad_fn.register_prehook(fail)
            log("traced", "traceback_" in y.grad_fn.metadata)
            m.autograd.set_detect_anomaly(backward)
            log.attempt("backward", z.backward, m.zeros(1) if what == "nan" else m.ones(1))
            log("gradient", x.grad is None, m.is_anomaly_enabled())
        finally:
            m.autograd.set_detect_anomaly(False)
    return run


for _what, _forward, _backward in itertools.product(("nan", "error"), (True, False), (True, False)):
    if _what == "error" or _backward:
        SCENARIOS[f"anomaly mode, {_what}, forward {_forward}, backward {_backward}"] = anomaly(_what, _forward, _backward)


@scenario
def anomaly_of_a_second_derivative(m, log):
    try:
        m.autograd.set_detect_anomaly(True)
        x = leaf(m, 1.)
        y = x * x * x
        g, = m.autograd.grad(y, x, m.ones(1), create_graph=True)
        parents = [node.metadata.get("parent_") for node in nodes_of(g)]
        log("parents", parents)

        def fail(grads):
            raise ValueError("on purpose")
        nodes_of(g)[-2].register_prehook(fail)
        log.attempt("backward", g.backward, m.ones(1))
    finally:
        m.autograd.set_detect_anomaly(False)
