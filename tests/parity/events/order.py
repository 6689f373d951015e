"""Scenarios of order, of writes and of undefined gradients."""

import itertools

from tests.parity.events.log import SCENARIOS, accumulator, heard, leaf, scenario, watch
from tests.parity.events.subjects import both_ways

# ---- order ---------------------------------------------------------------------------------------------------------------


@scenario
def order_of_several_branches(m, log):
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    a, b = x.sin(), w.cos()
    c = a * b
    d = x.exp() + c
    e = (c - d).tanh()
    root = (e * a).sum() + b.sum()
    watch(log, root)
    for name, t in (("a", a), ("b", b), ("c", c), ("d", d), ("e", e)):
        t.register_hook(heard(log, name))
    root.backward()
    log("gradients", x.grad, w.grad)


@scenario
def order_changed_by_sequence_numbers(m, log):
    x = leaf(m, 1.)
    a, b, c = x.exp(), x.sin(), x.cos()
    a.grad_fn._set_sequence_nr(c.grad_fn._sequence_nr() + 1000)
    root = (a + b + c).sum()
    watch(log, root)
    root.backward()


@scenario
def hooks_of_several_outputs(m, log):
    x = leaf(m, 1., 2., 3.)
    a, b, c = x.split(1)
    for name, t in (("c", c), ("a", a), ("c again", c), ("b", b)):
        t.register_hook(heard(log, name))
    b.retain_grad()
    watch(log, a, b, c)
    (a * 2 + b * 3).sum().backward()        # c is not reached
    log("retained", b.grad, x.grad)


@scenario
def hooks_of_the_same_function_many_times(m, log):
    x = leaf(m, 1.)
    y = x * 2
    hook = heard(log, "same")
    handles = [y.register_hook(hook) for _ in range(3)]
    handles[1].remove()
    handles[1].remove()
    log("table", len(y._backward_hooks))
    y.backward()


@scenario
def retain_grad_twice_and_before_hooks(m, log):
    x = leaf(m, 1.)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    log("retains", y.retains_grad, x.retains_grad)
    y.register_hook(heard(log, "y"))
    y.register_hook(lambda g: g * 10)
    for _ in range(2):
        y.backward(retain_graph=True)
        log("retained", y.grad, x.grad)
    y.grad = None
    y.backward()
    log("retained", y.grad, x.grad)


@scenario
def handles_as_contexts(m, log):
    x = leaf(m, 1.)
    y = x * 2
    with y.register_hook(heard(log, "tensor")), y.grad_fn.register_prehook(heard(log, "pre")), \
            y.grad_fn.register_hook(heard(log, "post")), x.register_post_accumulate_grad_hook(heard(log, "accumulate")):
        y.backward(retain_graph=True)
    log("left")
    y.backward()


@scenario
def hooks_of_the_accumulator_die_with_the_graph(m, log):
    x = leaf(m, 1.)
    x.register_hook(heard(log, "tensor"))
    x.register_post_accumulate_grad_hook(heard(log, "accumulate"))
    y = x * 2
    accumulator(x).register_hook(heard(log, "node"))
    y.backward()
    del y
    (x * 2).backward()


@scenario
def hook_registered_by_a_prehook_of_the_same_node(m, log):
    x = leaf(m, 1.)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (y.grad_fn.register_hook(heard(log, "post")), None)[1])
    y.backward(retain_graph=True)
    y.backward()


@scenario
def hook_registered_by_a_tensor_hook_of_the_same_node(m, log):
    x = leaf(m, 1.)
    y = x * 2
    y.register_hook(lambda g: (y.grad_fn.register_prehook(heard(log, "pre")), None)[1])
    y.backward(retain_graph=True)
    y.backward()


@scenario
def hooks_registered_by_a_function_on_itself(m, log):
    class Registers(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.register_hook(heard(log, "post"))
            ctx.register_prehook(heard(log, "pre"))
            return g * 2
    x = leaf(m, 1.)
    y = Registers.apply(x)
    y.backward(m.ones(1), retain_graph=True)
    log("again")
    y.backward(m.ones(1))


@scenario
def hook_registered_on_a_node_further_on(m, log):
    x = leaf(m, 1.)
    y = x.exp()
    z = y * 3
    z.register_hook(lambda g: [y.register_hook(heard(log, "tensor")), y.grad_fn.register_prehook(heard(log, "pre")),
                               y.grad_fn.register_hook(heard(log, "post")), x.register_hook(heard(log, "leaf")),
                               x.register_post_accumulate_grad_hook(heard(log, "accumulate"))][:0] or None)
    z.backward()


@scenario
def hook_registered_on_a_node_that_has_run(m, log):
    x = leaf(m, 1.)
    y = x.exp()
    z = y * 3
    y.register_hook(lambda g: [z.register_hook(heard(log, "late"))][:0] or None)
    z.backward(retain_graph=True)
    log("again")
    z.backward()


@scenario
def post_accumulate_hook_steps(m, log):
    x = leaf(m, 1., 2.)

    def step(t):
        log("step", t, t.grad, t is x)
        t.sub_(t.grad)
        t.grad = None
    x.register_post_accumulate_grad_hook(step)
    x.register_post_accumulate_grad_hook(heard(log, "after"))
    for _ in range(2):
        (x * x).sum().backward()
        log("now", x, x._version, x.grad)


@scenario
def leaf_that_requires_no_gradient_any_more(m, log):
    x, w = leaf(m, 1.), leaf(m, 2.)
    x.register_hook(heard(log, "tensor"))
    x.register_post_accumulate_grad_hook(heard(log, "accumulate"))
    y = x * w
    x.requires_grad_(False)
    watch(log, y)
    y.backward(m.ones(1))
    log("gradients", x.grad, w.grad)


# ---- writes --------------------------------------------------------------------------------------------------------------


@scenario
def hooks_before_and_after_a_write(m, log):
    x = leaf(m, 1., 2.)
    y = x * 2
    y.retain_grad()
    old = y.register_hook(heard(log, "before"))
    y.grad_fn.register_prehook(heard(log, "pre before"))
    y.mul_(5)
    y.register_hook(heard(log, "after"))
    y.grad_fn.register_prehook(heard(log, "pre after"))
    y.add_(1)
    y.register_hook(heard(log, "last"))
    log("version", y._version, y.retains_grad)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
        log("retained", y.grad)
        old.remove()


@scenario
def hooks_of_a_base_and_its_view(m, log):
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    view = base[:2]
    base.register_hook(heard(log, "base"))
    view.register_hook(heard(log, "view"))
    view.mul_(5)
    base.register_hook(heard(log, "base after"))
    view.register_hook(heard(log, "view after"))
    (base * 3).sum().backward(retain_graph=True)
    log("and through the view", x.grad)
    view.sum().backward()
    log("gradient", x.grad)


@scenario
def retaining_view_of_a_written_base(m, log):
    x = leaf(m, 1., 2., 3.)
    base = x * 1
    view = base[:2]
    view.retain_grad()
    view.register_hook(heard(log, "view"))
    base.mul_(5)
    view.register_hook(heard(log, "view after"))
    (view * 3).sum().backward()
    log("gradients", view.grad, x.grad)


@scenario
def copyslices_with_hooks(m, log):
    x, w = leaf(m, 1., 2., 3.), leaf(m, 5.)
    base = x.clone()
    base[1:2] = w
    base.register_hook(heard(log, "base"))
    base.retain_grad()
    watch(log, base)
    base.sum().backward()
    log("gradients", x.grad, w.grad, base.grad)


@scenario
def leaf_written_to_under_no_grad(m, log):
    x = leaf(m, 1., 2.)
    x.register_hook(heard(log, "tensor"))
    with m.no_grad():
        x.mul_(3)
    log("version", x._version, x.is_leaf)
    (x * x).sum().backward()


@scenario
def saved_tensor_written_to(m, log):
    x = leaf(m, 1., 2.)
    y = x.exp()
    z = y.sum() * 2
    watch(log, z)
    y.mul_(2)
    log.attempt("backward", z.backward)
    log("gradient", x.grad)


# ---- undefined gradients -------------------------------------------------------------------------------------------------


def undefined(where):
    def run(m, log):
        x = leaf(m, 1.)
        y = x * 2
        z = y * 3
        x.register_post_accumulate_grad_hook(heard(log, "accumulate"))
        for name, t in (("x", x), ("y", y), ("z", z)):
            t.register_hook(heard(log, name))
        y.retain_grad()
        watch(log, z)
        if where == "pre":
            z.grad_fn.register_prehook(heard(log, "drop", (None,)))
        else:
            z.grad_fn.register_hook(heard(log, "drop", (None, None)))
        log.attempt("backward", z.backward, m.ones(1), retain_graph=True)
        log("gradients", x.grad, y.grad)
        log.attempt("grad", m.autograd.grad, z, x, m.ones(1), retain_graph=True)
        log.attempt("unused", m.autograd.grad, z, (x, y), m.ones(1), retain_graph=True, allow_unused=True)
        log.attempt("zeros", m.autograd.grad, z, x, m.ones(1), materialize_grads=True)
    return run


SCENARIOS["undefined_gradients_from_a_prehook"] = undefined("pre")
SCENARIOS["undefined_gradients_from_a_posthook"] = undefined("post")


def one_output_used(materialize, which):
    def run(m, log):
        x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
        outs = both_ways(m, materialize).apply(x, w)
        for i, out in enumerate(outs):
            out.register_hook(heard(log, f"output {i}"))
            out.retain_grad()
        watch(log, outs[which])
        log.attempt("backward", outs[which].sum().backward)
        log("gradients", x.grad, w.grad, outs[0].grad, outs[1].grad)
    return run


for _materialize, _which in itertools.product((True, False), (0, 1)):
    SCENARIOS[f"function, output {_which} used, materialize_grads={_materialize}"] = one_output_used(_materialize, _which)


@scenario
def replacing_a_none_gradient(m, log):
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    z.grad_fn.register_prehook(lambda grads: (None,))
    y.register_hook(lambda g: m.ones(1))
    log.attempt("backward", z.backward, m.ones(1))
