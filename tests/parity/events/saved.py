"""Scenarios of saved tensors, checkpoints and second derivatives."""

import importlib
import itertools

from tests.parity.events.log import SCENARIOS, heard, leaf, scenario, watch
from tests.parity.events.subjects import double

# ---- saved tensors and checkpoints ---------------------------------------------------------------------------------------


def packing(log, name):
    def pack(t):
        log(f"{name} packs", t, log.state())
        return t.detach()

    def unpack(t):
        log(f"{name} unpacks", t, log.state())
        return t
    return pack, unpack


@scenario
def saved_tensor_hooks(m, log):
    hooks = m.autograd.graph.saved_tensors_hooks
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    with hooks(*packing(log, "outer")):
        y = x * w
        with hooks(*packing(log, "inner")):
            y = y.exp()
        y = y * y
    root = y.sin().sum()
    watch(log, root)
    root.backward(retain_graph=True)
    log("again", x.grad)
    root.backward()
    log("gradients", x.grad, w.grad)


@scenario
def saved_tensor_hooks_under_create_graph(m, log):
    x = leaf(m, 2.)
    y = x * x
    with m.autograd.graph.saved_tensors_hooks(*packing(log, "backward")):
        g, = m.autograd.grad(y, x, m.ones(1), create_graph=True)
        log("first", g)
    z = g * g
    watch(log, z)
    log("second", m.autograd.grad(z, x, m.ones(1)))


def failing_pair(where):
    def run(m, log):
        x = leaf(m, 1.)

        def pack(t):
            log("packs", t)
            if where == "pack":
                raise ValueError("on purpose")
            return t.detach()

        def unpack(t):
            log("unpacks", t)
            if where == "unpack":
                raise ValueError("on purpose")
            return t
        try:
            with m.autograd.graph.saved_tensors_hooks(pack, unpack):
                y = x.exp()
        except ValueError as error:
            log("forward", error)
            y = x.exp()
        watch(log, y)
        log.attempt("backward", y.backward, m.ones(1), retain_graph=True)
        log("gradient", x.grad, log.state())
    return run


SCENARIOS["pack hook that fails"] = failing_pair("pack")
SCENARIOS["unpack hook that fails"] = failing_pair("unpack")


def checkpointed(reentrant, twice):
    def run(m, log):
        checkpoint = importlib.import_module(f"{m.__name__}.utils.checkpoint").checkpoint
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)

        def block(a):
            log("block", a, log.state())
            b = a * w
            if b.requires_grad:
                b.register_hook(heard(log, "b"))
            return b.sin() * a
        y = checkpoint(block, x * 1, use_reentrant=reentrant)
        if twice:
            y = checkpoint(block, y, use_reentrant=reentrant)
        y.register_hook(heard(log, "y"))
        w.register_hook(heard(log, "w"))
        w.register_post_accumulate_grad_hook(heard(log, "w has accumulated"))
        x.register_hook(heard(log, "x"))
        log.attempt("backward", y.sum().backward)
        log("gradients", x.grad, w.grad, log.state())
    return run


for _reentrant, _twice in itertools.product((True, False), (False, True)):
    SCENARIOS[f"checkpoint, reentrant {_reentrant}, twice {_twice}"] = checkpointed(_reentrant, _twice)


# ---- second derivatives --------------------------------------------------------------------------------------------------


@scenario
def hooks_under_create_graph(m, log):
    x = leaf(m, 2.)
    y = x * x * x
    y.register_hook(lambda g: log("y", g, g.requires_grad))
    x.register_hook(lambda g: log("x", g, g.requires_grad, log.state()))
    watch(log, y)
    g, = m.autograd.grad(y, x, m.ones(1), create_graph=True)
    log("first", g)
    watch(log, g)
    h, = m.autograd.grad(g, x, m.ones(1), create_graph=True)
    log("second", h)
    h.backward(m.ones(1))
    log("third", x.grad)


@scenario
def hook_that_makes_the_gradient_part_of_a_graph(m, log):
    x, w = leaf(m, 2.), leaf(m, 3.)
    y = double(m).apply(x)
    y.register_hook(lambda g: g * w)
    g, = m.autograd.grad(y, x, m.ones(1), create_graph=True)
    log("first", g)
    log("of the factor", m.autograd.grad(g, w, m.ones(1)))
    y.backward(m.ones(1))
    log("plain", x.grad)


# Which formula of an op runs first decides the order of the second backward. (Which ops the formulas consist of is our affair.)
FORMULAS = {
    "mul": lambda m, x, w: x * w, "div": lambda m, x, w: x / w, "pow": lambda m, x, w: x ** w,
    "mm": lambda m, x, w: x.reshape(1, 2) @ w.reshape(2, 1), "mv": lambda m, x, w: m.mv(x.reshape(1, 2), w),
    "dot": lambda m, x, w: m.dot(x, w), "bmm": lambda m, x, w: m.bmm(x.reshape(1, 1, 2), w.reshape(1, 2, 1)),
    "addmm": lambda m, x, w: m.addmm(x[:1] * w[1:], x.reshape(1, 2), w.reshape(2, 1)), "addcmul": lambda m, x, w: m.addcmul(x * w, x, w),
    "addcdiv": lambda m, x, w: m.addcdiv(x * w, x, w), "lerp": lambda m, x, w: m.lerp(x, w, x * w),
    "mse_loss": lambda m, x, w: m.nn.functional.mse_loss(x, w), "maximum": lambda m, x, w: m.maximum(x, w),
    "where": lambda m, x, w: m.where(x > 1, x * x, w * w),
}


def formulas(name):
    def run(m, log):
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        y = FORMULAS[name](m, x, w)
        made = []
        y.grad_fn.register_hook(lambda ins, outs: made.extend(g for g in ins if g is not None))
        y.backward(m.ones_like(y.detach()), create_graph=True)
        numbers = [g.grad_fn._sequence_nr() if g.grad_fn is not None else -1 for g in made]
        log("order", [sorted(numbers).index(n) for n in numbers])
        g = x.grad + w.grad
        x.grad = w.grad = None
        if g.grad_fn is not None:
            g.sum().backward()
            log("second", x.grad, w.grad)
    return run


for _name in FORMULAS:
    SCENARIOS[f"order of the formulas of {_name}"] = formulas(_name)
