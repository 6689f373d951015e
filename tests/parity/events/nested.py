"""Scenarios of runs within runs, callbacks, threads, and queries inside a run."""

import itertools
import threading

from tests.parity.events.log import SCENARIOS, leaf, scenario, watch

# ---- runs within runs ----------------------------------------------------------------------------------------------------


def inner_run(kind, where):
    """A run of its own graph, started by a hook of a given kind."""
    def run(m, log):
        x, w = leaf(m, 1.), leaf(m, 2.)
        inner = (w * w).exp()
        y, ready = x.sin(), x.cos()
        root = y * ready
        watch(log, root)
        watch(log, inner)

        def start(*_):
            log("begin", log.state())
            if where == "backward":
                inner.backward(m.ones(1), retain_graph=True)
            else:
                log("inner", m.autograd.grad(inner, w, m.ones(1), retain_graph=True))
            log("end", log.state())
        if kind == "tensor":
            y.register_hook(start)
        elif kind == "accumulate":
            x.register_post_accumulate_grad_hook(start)
        else:
            (y.grad_fn.register_prehook if kind == "pre" else y.grad_fn.register_hook)(start)
        root.backward(m.ones(1))
        log("gradients", x.grad, w.grad)
    return run


for _kind, _where in itertools.product(("tensor", "pre", "post", "accumulate"), ("backward", "grad")):
    SCENARIOS[f"{_where} within a {_kind} hook"] = inner_run(_kind, _where)


@scenario
def run_through_the_same_nodes(m, log):
    x = leaf(m, 1.)
    a = x * 2
    b, c = a * 3, a * 5
    z = b + c
    first = []

    def hook(g):
        log("c", g)
        if not first:
            first.append(True)
            log("inner", m.autograd.grad(z, [a, x], m.ones(1), retain_graph=True))
            z.backward(m.ones(1), retain_graph=True)
    c.register_hook(hook)
    watch(log, z)
    z.backward(m.ones(1))
    log("gradient", x.grad)


@scenario
def recursion(m, log):
    def run(n):
        with m.enable_grad():
            x = leaf(m, float(n))
            y = x * n

            def hook(g):
                log("depth", n, g, log.state())
                return g + run(n - 1) if n > 1 else None
            y.register_hook(hook)
        y.backward(m.ones(1))
        log("done", n, x.grad)
        return x.grad
    run(6)


@scenario
def run_within_a_function(m, log):
    class Checkpoint(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            with m.enable_grad():
                inner = x.detach().requires_grad_()
                y = inner * inner
            watch(log, y)
            y.backward(g)
            log("inner done", inner.grad, log.state())
            return inner.grad
    x = leaf(m, 1., 2.)
    y = Checkpoint.apply(Checkpoint.apply(x))
    watch(log, y)
    y.sum().backward()
    log("gradient", x.grad)


@scenario
def error_in_an_inner_run(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    inner = w * 2

    def fail(g):
        raise ValueError("on purpose")
    inner.register_hook(fail)
    y = x * 2

    def hook(g):
        log.attempt("inner", inner.backward, m.ones(1))
        log("after", log.state())
    y.register_hook(hook)
    watch(log, y)
    y.backward(m.ones(1))
    log("gradients", x.grad, w.grad)


# ---- callbacks -----------------------------------------------------------------------------------------------------------


@scenario
def callbacks(m, log):
    x = leaf(m, 1.)
    y = x * 2
    watch(log, y)

    def first():
        log("first", x.grad, log.state())
        log.callback(lambda: log("third", log.state()))

    def hook(g):
        log.callback(first)
        log.callback(lambda: log("second"))
    y.register_hook(hook)
    y.backward(m.ones(1))
    log("outside", log.state())
    log.attempt("no run", log.callback, first)


@scenario
def callbacks_of_an_inner_run(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    y, z = x * 2, w * 2

    def hook(g):
        log.callback(lambda: log("outer callback", log.state()))
        z.backward(m.ones(1))
        log("after inner")
    z.register_hook(lambda g: log.callback(lambda: log("inner callback", w.grad)))
    y.register_hook(hook)
    y.backward(m.ones(1))


@scenario
def callback_that_starts_a_run(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    y, z = x * 2, w * 2
    watch(log, y)
    watch(log, z)
    y.register_hook(lambda g: log.callback(lambda: z.backward(m.ones(1))))
    y.backward(m.ones(1))
    log("gradients", x.grad, w.grad)


def callback_error(where):
    def run(m, log):
        x = leaf(m, 1.)
        y = x * 2
        z = y * 3

        def fail(*_):
            raise ValueError("on purpose")
        z.register_hook(lambda g: log.callback(fail if where == "callback" else lambda: log("ran")))
        z.register_hook(lambda g: log.callback(lambda: log("later")))
        if where == "node":
            y.register_hook(fail)
        log.attempt("backward", z.backward, m.ones(1), retain_graph=True)
        log("gradient", x.grad, log.state())
    return run


SCENARIOS["callbacks_of_a_run_that_fails"] = callback_error("node")
SCENARIOS["callback_that_fails"] = callback_error("callback")


# ---- queries in a run ----------------------------------------------------------------------------------------------------


def asking(call):
    """The nodes that will run, queried at the root."""
    def run(m, log):
        x, w = leaf(m, 1.), leaf(m, 2.)
        a = x * 2
        b = a * w
        unused = w.exp()
        root = b + unused
        nodes = {"a": a.grad_fn, "b": b.grad_fn, "unused": unused.grad_fn}
        root.register_hook(lambda g: log("will run", [(n, log.inside._will_engine_execute_node(node)) for n, node in nodes.items()]))
        watch(log, root)
        runs = {"backward": lambda: root.backward(m.ones(1)), "into x": lambda: root.backward(m.ones(1), inputs=[x]),
                "into a": lambda: root.backward(m.ones(1), inputs=[a]), "grad of a": lambda: m.autograd.grad(root, a, m.ones(1)),
                "grad of a and w": lambda: m.autograd.grad(root, (a, w), m.ones(1))}
        log.attempt("run", runs[call])
        log("gradients", x.grad, w.grad)
    return run


for _call in ("backward", "into x", "into a", "grad of a", "grad of a and w"):
    SCENARIOS[f"which nodes run, {_call}"] = asking(_call)


@scenario
def execution_order(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    a, b = x.exp(), w.sin()
    root = a * b + a
    order = []
    root.register_hook(lambda g: order.extend(log.inside._current_graph_task_execution_order()))
    watch(log, root)
    with m.autograd.set_multithreading_enabled(False):
        root.backward(m.ones(1))
    log("order", order)


@scenario
def multithreading_enabled(m, log):
    x = leaf(m, 1.)
    y = x * 2
    y.register_hook(lambda g: log("inside", m.autograd.is_multithreading_enabled(), log.state()))
    with m.autograd.set_multithreading_enabled(False):
        y.backward(m.ones(1), retain_graph=True)
        with m.autograd.set_multithreading_enabled(True):
            y.backward(m.ones(1), retain_graph=True)
        log("left", m.autograd.is_multithreading_enabled())
    y.backward(m.ones(1))


# ---- threads -------------------------------------------------------------------------------------------------------------


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@scenario
def backward_in_another_thread(m, log):
    x = leaf(m, 1.)
    with m.no_grad():
        before = x * 1
    y = x.exp() * 2
    watch(log, y)
    main = threading.current_thread()
    x.register_hook(lambda g: log("thread", threading.current_thread() is main, log.state()))
    with m.no_grad():
        in_a_thread(lambda: (log("state", log.state()), y.backward(m.ones(1), retain_graph=True)))
        log("state", log.state(), before.requires_grad)
    y.backward(m.ones(1))
    log("gradient", x.grad)


@scenario
def graph_made_in_another_thread(m, log):
    x = leaf(m, 1.)
    for _ in range(5):
        x.exp()
    made = []
    in_a_thread(lambda: made.append(x.sin() * 2))
    y = made[0] + x.cos()
    watch(log, y)
    y.backward(m.ones(1))
    log("gradient", x.grad)


@scenario
def thread_within_a_hook(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    y, z = x * 2, w * 3
    watch(log, y)
    watch(log, z)

    def work():
        log("state", log.state())
        z.backward(m.ones(1))
    y.register_hook(lambda g: in_a_thread(work))
    y.backward(m.ones(1))
    log("gradients", x.grad, w.grad)
