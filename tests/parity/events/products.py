"""Scenarios by products.

    SUBJECTS     the tensors with hooks (subjects.py)
    CALLS        the calls of the engine: backward, grad, inputs=, edges, retain_graph, create_graph ...
    KINDS        of hooks, and BEHAVIOURS of them: replacing, failing, removing itself, returning what does not fit ...

    all hooks at once      SUBJECTS x CALLS
    one that misbehaves    SUBJECTS x KINDS x BEHAVIOURS
"""

import itertools

from tests.parity.events.log import SCENARIOS, accumulator, leaf, nodes_of, watch
from tests.parity.events.subjects import SUBJECTS, Graph, a_leaf, a_nonleaf, an_output_of_two

# ---- how the engine is run -----------------------------------------------------------------------------------------------


def backward(m, g):
    return g.root.backward()


def backward_twice(m, g):
    g.root.backward(retain_graph=True)
    return g.root.backward()


def backward_with_graph(m, g):
    g.root.backward(create_graph=True)
    grads = g.x.grad
    g.x.grad = g.w.grad = None
    return grads


def backward_into_a_leaf(m, g):
    return g.root.backward(inputs=[g.w if g.w.requires_grad and g.w.grad_fn is None and reaches(g, g.w) else g.x])


def backward_into_the_subject(m, g):
    return g.root.backward(inputs=[g.t])


def grad_of_the_leaf(m, g):
    return m.autograd.grad(g.root, g.x)


def grad_of_the_subject(m, g):
    return m.autograd.grad(g.root, g.t)


def grad_of_both(m, g):
    return m.autograd.grad(g.root, (g.t, g.x))


def grad_with_graph(m, g):
    first, = m.autograd.grad(g.root, g.x, create_graph=True)
    return first, m.autograd.grad(first.sum(), g.x, allow_unused=True)


def grad_of_an_edge(m, g):
    edge = m.autograd.graph.get_gradient_edge
    return m.autograd.grad(edge(g.root), (edge(g.t), edge(g.x)), m.tensor(2.))


def backward_from_an_edge(m, g):
    edge = m.autograd.graph.get_gradient_edge
    return m.autograd.backward(edge(g.used), m.ones_like(g.used.detach()), inputs=[edge(g.x)])


def backward_from_two_roots(m, g):
    return m.autograd.backward([g.used, g.root, g.t], [m.ones_like(g.used.detach()), None, m.ones_like(g.t.detach())])


def unused_and_failing(m, g):
    """An input that is not reached: an error, when all has been run."""
    other = leaf(m, 1.)
    return m.autograd.grad(g.root, (g.x, other * 2))


def reaches(g, x):
    return any(getattr(node, "variable", None) is x for node in nodes_of(g.root))


CALLS = (backward, backward_twice, backward_with_graph, backward_into_a_leaf, backward_into_the_subject, grad_of_the_leaf,
         grad_of_the_subject, grad_of_both, grad_with_graph, grad_of_an_edge, backward_from_an_edge, backward_from_two_roots,
         unused_and_failing)


def all_hooks(subject, call):
    """Hooks of every kind at once, on the subject and on all nodes: the full order."""
    def run(m, log):
        g = Graph(m, subject)
        g.t.register_hook(lambda grad: log("tensor hook", grad, log.state()))
        if not g.t.is_leaf:
            g.t.retain_grad()
        watch(log, g.root)
        g.t.register_hook(lambda grad: log("second tensor hook", grad))
        for name, x in (("x", g.x), ("w", g.w)):
            x.register_hook(lambda grad, name=name: log(f"hook of {name}", grad, log.state()))
            x.register_post_accumulate_grad_hook(lambda x, name=name: log(f"{name} has accumulated", x, x.grad, log.state()))
        log("versions", g.t._version, g.x._version)
        log.attempt(call.__name__, call, m, g)
        log("gradients", *g.grads())
        log("outside", log.state())
    return run


for _subject, _call in itertools.product(SUBJECTS, CALLS):
    SCENARIOS[f"{_subject.__name__}, {_call.__name__}"] = all_hooks(_subject, _call)


# ---- actions of a hook ---------------------------------------------------------------------------------------------------


def hang(m, g, kind, act):
    """Register ``act(gradients) -> gradients or None`` as a hook of that kind. Returns the handle."""
    if kind == "tensor":
        return g.t.register_hook(lambda grad: first_of(act((grad,))))
    if kind == "accumulate":
        return g.t.register_post_accumulate_grad_hook(lambda x: first_of(act((x.grad,))))
    node = accumulator(g.t) if g.t.is_leaf else g.t.grad_fn
    if kind == "pre":
        return node.register_prehook(act)
    return node.register_hook(lambda ins, outs: act(ins))


def first_of(grads):
    return grads[0] if isinstance(grads, (tuple, list)) else grads


def changed(grads, change):
    return tuple([None if grad is None else change(grad) for grad in grads])


def replaces(g, log, state, grads):
    return changed(grads, lambda grad: grad * 10)


def drops(g, log, state, grads):
    return changed(grads, lambda grad: None)


def returns_the_same(g, log, state, grads):
    return grads


def fails(g, log, state, grads):
    raise ValueError("on purpose")


def removes_itself(g, log, state, grads):
    state["handles"][0].remove()


def removes_the_next(g, log, state, grads):
    state["handles"][1].remove()


def adds_another(g, log, state, grads):
    state["handles"].append(hang(g.m, g, state["kind"], lambda grads: log("added", grads)))


def returns_another_shape(g, log, state, grads):
    return changed(grads, lambda grad: grad.sum())


def returns_another_dtype(g, log, state, grads):
    return changed(grads, lambda grad: grad.double())


def returns_a_number(g, log, state, grads):
    return changed(grads, lambda grad: 1.5)


def returns_too_many(g, log, state, grads):
    return (*grads, *grads)


def returns_a_list(g, log, state, grads):
    return list(grads)


def writes(g, log, state, grads):
    for grad in grads:
        if grad is not None:
            before = grad._version      # how often the engine has written to it is the engine's affair
            grad.mul_(2)
            log("version", grad._version - before)


def asks_for_a_gradient(g, log, state, grads):
    with g.m.enable_grad():
        y = leaf(g.m, 2.)
        log("inner", g.m.autograd.grad((y * y).sum(), y), log.state())


BEHAVIOURS = (replaces, drops, returns_the_same, fails, removes_itself, removes_the_next, adds_another, returns_another_shape,
              returns_another_dtype, returns_a_number, returns_too_many, returns_a_list, writes, asks_for_a_gradient)
KINDS = ("tensor", "pre", "post", "accumulate")


def behaviour(subject, kind, act, create_graph=False):
    """Two hooks of a kind on the subject; the first one misbehaves. Then everything must still be usable."""
    def run(m, log):
        g = Graph(m, subject)
        state = {"handles": [], "kind": kind}

        def first(grads):
            log("first", grads, log.state())
            return act(g, log, state, grads)
        state["handles"].append(hang(m, g, kind, first))
        state["handles"].append(hang(m, g, kind, lambda grads: log("second", grads)))
        g.w.register_hook(lambda grad: log("hook of w", grad))
        g.x.register_hook(lambda grad: log("hook of x", grad))
        for _ in range(2):
            log.attempt("run", g.root.backward, retain_graph=True, create_graph=create_graph)
            log("gradients", *g.grads())
            log("outside", log.state())
        for handle in state["handles"]:
            handle.remove()
        g.x.grad = g.w.grad = None
        log.attempt("without", g.root.backward)
        log("gradients", *g.grads())
        g.x.grad = g.w.grad = None
    return run


for _subject, _kind, _act in itertools.product(SUBJECTS, KINDS, BEHAVIOURS):
    if _kind == "accumulate" and (_subject is not a_leaf or _act in (returns_the_same, returns_too_many, returns_a_list)):
        continue        # there is one leaf, and nothing that it may return
    # Which slot of a Function's or op's results holds a gradient is the same everywhere, so a few subjects do for what is checked.
    if _act.__name__.startswith("returns_a") and _subject not in (a_leaf, a_nonleaf, an_output_of_two):
        continue
    SCENARIOS[f"{_kind} hook on {_subject.__name__} {_act.__name__}"] = behaviour(_subject, _kind, _act)
for _kind, _act in itertools.product(KINDS[:3], (replaces, drops, fails, adds_another, writes)):
    SCENARIOS[f"{_kind} hook {_act.__name__}, create_graph"] = behaviour(a_nonleaf, _kind, _act, create_graph=True)
