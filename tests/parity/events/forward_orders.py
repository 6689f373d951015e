"""Scenarios of forward over reverse and reverse over forward: tensor_surface/W-08; saved_and_versions/S-11."""

import itertools

from tests.core.function_tools import exponential, square
from tests.parity.events.forward_levels import dual, forward_ad, show, tangent
from tests.parity.events.log import SCENARIOS, heard, leaf, scenario

FUNCTIONS = {
    "square": lambda m, x: x * x, "exp": lambda m, x: x.exp(), "tanh": lambda m, x: x.tanh() * x, "sigmoid": lambda m, x: x.sigmoid(),
    "division": lambda m, x: x / (x * x + 1), "softmax": lambda m, x: x.softmax(0) * m.tensor([1., 2., 3.]), "prod": lambda m, x: x.prod(),
    "matrix": lambda m, x: x[:, None] @ x[None], "views": lambda m, x: x[1:] * x.view(3, 1)[:2, 0], "maximum": lambda m, x: m.maximum(x, x * x),
    "norm": lambda m, x: (x * x).sum().sqrt(), "written": lambda m, x: (x * 1).mul_(x).sin_(), "in part": lambda m, x: in_part(m, x),
    "cumsum": lambda m, x: x.cumsum(0) ** 2, "relu": lambda m, x: (x - 1).relu() ** 2, "log_softmax": lambda m, x: x.log_softmax(0)[1],
    "var": lambda m, x: x.var(), "cat": lambda m, x: m.cat([x, x * x]) ** 2, "index": lambda m, x: x[m.tensor([0, 0, 2])] ** 3,
    "stale view": lambda m, x: stale(m, x), "a Function": lambda m, x: square(m).apply(x), "linear": lambda m, x: x * 2,
}


def in_part(m, x):
    y = x * 1
    y[1:] = x[:2] * x[0]
    return y


def stale(m, x):
    y = x * 1
    view = y[1:]
    y.mul_(x)
    return view * view


def forward_over_reverse(what, create_graph):
    def run(m, log):
        p = leaf(m, 0.5, 1.5, 2.5)
        with forward_ad(m).dual_level():
            x = forward_ad(m).make_dual(p, m.tensor([1., 10., -3.]))
            y = FUNCTIONS[what](m, x)
            g, = m.autograd.grad(y.sum(), x, create_graph=create_graph)
            show(m, log, gradient=g)
            log("recorded", g.requires_grad)
    return run


def reverse_over_forward(what):
    def run(m, log):
        if what == "a Function":
            return log("has no jvp") or log("so no tangent")
        p, t = leaf(m, 0.5, 1.5, 2.5), leaf(m, 1., 10., -3.)
        with forward_ad(m).dual_level():
            y = FUNCTIONS[what](m, forward_ad(m).make_dual(p, t))
            s = tangent(m, y)
            log("tangent", s)
            try:
                grads = m.autograd.grad(s.sum(), (p, t), create_graph=True, allow_unused=True)
            except RuntimeError:
                return log("PyTorch's formula for softmax writes to what it has saved")
            log("gradients", [m.zeros(3) if g is None else g.detach() for g in grads])
        return None
    return run


for _what in FUNCTIONS:
    for _create in (False, True):
        if _what != "a Function":
            SCENARIOS[f"forward_over_reverse {_what}" + " recorded" * _create] = forward_over_reverse(_what, _create)
    if _what not in ("softmax", "log_softmax", "a Function"):
        SCENARIOS[f"forward_under_reverse {_what}"] = reverse_over_forward(_what)


def into_grad(accumulated, create_graph):
    def run(m, log):
        p = leaf(m, 2., 3.)
        if accumulated:
            p.grad = m.tensor([10., 20.])
        before = p.grad
        with forward_ad(m).dual_level():
            x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
            (x ** 3).sum().backward(create_graph=create_graph)
            show(m, log, grad=p.grad)
            log("same", p.grad is before, p.grad.requires_grad)
        log("after", p.grad)
    return run


for _accumulated, _create in itertools.product((False, True), (False, True)):
    SCENARIOS[f"forward_accumulated{' onto another' * _accumulated}{' recorded' * _create}"] = into_grad(_accumulated, _create)


@scenario
def forward_dual_gradient_given(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        y = p ** 3
        g, = m.autograd.grad(y, p, dual(m, [1., 1.], [1., 10.]))
        show(m, log, g=g)


@scenario
def forward_several_paths(m, log):
    p, w = leaf(m, 2., 3.), leaf(m, 5.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
        y = (x * w).sin() + x * x
        z = y * x + w
        gx, gw = m.autograd.grad(z.sum(), (x, w))
        show(m, log, gx=gx, gw=gw)


@scenario
def forward_hooks_see_duals(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
        y = x * x
        y.register_hook(lambda g: log("hook", g, tangent(m, g)))
        y.retain_grad()
        y.grad_fn.register_prehook(lambda grads: log("before", [tangent(m, g) for g in grads]))
        y.grad_fn.register_hook(lambda ins, outs: log("after", [tangent(m, g) for g in ins], [tangent(m, g) for g in outs]))
        p.register_hook(lambda g: log("leaf", g, tangent(m, g)) or g * 2)
        p.register_post_accumulate_grad_hook(lambda x: log("arrived", x.grad, tangent(m, x.grad)))
        (y * y).sum().backward()
        show(m, log, retained=y.grad, grad=p.grad)


@scenario
def forward_saved_tensors_hooks(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
        with m.autograd.graph.saved_tensors_hooks(lambda t: log("pack", tangent(m, t)) or t.detach(),
                                                  lambda t: log("unpack", tangent(m, t)) or t):
            y = x ** 3
        g, = m.autograd.grad(y.sum(), x)
        show(m, log, g=g)


@scenario
def forward_saved_values_are_dual(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1., 10.]))
        y, e = x * x, x.exp()
        log("input", tangent(m, y.grad_fn._saved_self))
        log("output", tangent(m, e.grad_fn._saved_result))


@scenario
def forward_backward_after_the_level(m, log):
    p = leaf(m, 2., 3.)
    with forward_ad(m).dual_level():
        y = forward_ad(m).make_dual(p, m.tensor([1., 10.])) ** 3
        s = tangent(m, y)
    y.sum().backward(retain_graph=True)
    log("gradient", p.grad)
    s.sum().backward()
    log("and of the tangent", p.grad)


@scenario
def forward_backward_of_a_graph_from_before_the_level(m, log):
    p = leaf(m, 2., 3.)
    y = p.exp() * p
    with forward_ad(m).dual_level():
        g, = m.autograd.grad(y, p, dual(m, [1., 1.], [5., 6.]))
        show(m, log, g=g)


@scenario
def forward_backward_without_forward_mode(m, log):
    fw = forward_ad(m)
    p = leaf(m, 2., 3.)
    with fw.dual_level():
        x = fw.make_dual(p, m.tensor([1., 10.]))
        y = x ** 3
        with fw._set_fwd_grad_enabled(False):
            g, = m.autograd.grad(y.sum(), x, retain_graph=True)
        show(m, log, off=g)
        g, = m.autograd.grad(y.sum(), x)
        show(m, log, on=g)


@scenario
def forward_jvp_by_double_backward(m, log):
    """Two ways to the same product."""
    p, t = leaf(m, .5, 1.5), m.tensor([1., 10.])

    def f(x):
        return (x.sin() * x).cumsum(0)
    with forward_ad(m).dual_level():
        forward = tangent(m, f(forward_ad(m).make_dual(p, t)))
    v = m.ones(2, requires_grad=True)
    g, = m.autograd.grad(f(p), p, v, create_graph=True)
    backward, = m.autograd.grad(g, v, t)
    log("both", forward, backward)


@scenario
def forward_hessian_of_a_sum(m, log):
    p = leaf(m, .5, 1.5, 2.5)
    rows = []
    for i in range(3):
        with forward_ad(m).dual_level():
            x = forward_ad(m).make_dual(p, m.tensor([float(i == j) for j in range(3)]))
            g, = m.autograd.grad((x.exp() * x.sum()).sum(), x)
            rows.append(tangent(m, g))
    log("hessian", m.stack(rows))


@scenario
def forward_node_hooks_of_functions(m, log):
    p = leaf(m, 2.)
    with forward_ad(m).dual_level():
        x = forward_ad(m).make_dual(p, m.tensor([1.]))
        log.attempt("no jvp", exponential(m).apply, x)
        y = x.exp()
        y.register_hook(heard(log, "hook"))
        y.backward()
    log("gradient", p.grad)
