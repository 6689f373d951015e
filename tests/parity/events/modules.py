"""Scenarios of modules: their forward and backward hooks, and those of all modules."""

import importlib
import itertools

from tests.parity.events.log import SCENARIOS, leaf, scenario, watch


def full_hooks(log, module, name):
    """All four kinds of hook on a module, and one that comes before the others."""
    def heard(event):
        return lambda module, *args: log(f"{name}: {event}", *args, log.state())
    return [module.register_forward_pre_hook(heard("forward pre")), module.register_forward_hook(heard("forward")),
            module.register_full_backward_pre_hook(heard("backward pre")), module.register_full_backward_hook(heard("backward")),
            module.register_full_backward_hook(heard("backward first"), prepend=True),
            module.register_full_backward_pre_hook(heard("backward pre first"), prepend=True)]


def network(m):
    """Two linear layers with known numbers."""
    nn = m.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    with m.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_((m.arange(p.numel()).reshape(p.shape) - k) * 0.1)
    return model


def modules(m):
    return importlib.import_module(f"{m.__name__}.nn.modules.module")


def network_hooks(call):
    def run(m, log):
        model = network(m)
        x = m.tensor([[1., 2.], [3., 4.]], requires_grad=call != "constant input")
        for name, module in (("model", model), ("first", model[0]), ("tanh", model[1]), ("last", model[2])):
            full_hooks(log, module, name)
        for name, p in model.named_parameters():
            p.register_hook(lambda g, name=name: log(name, g))
        if call == "no_grad":
            with m.no_grad():
                log("output", model(x))
            return
        y = model(x)
        y.register_hook(lambda g: log("y", g))
        log("nodes", y.grad_fn, y.requires_grad, y.is_leaf)
        runs = {"backward": lambda: y.sum().backward(), "constant input": lambda: y.sum().backward(),
                "grad of the input": lambda: m.autograd.grad(y.sum(), x),
                "grad of a weight": lambda: m.autograd.grad(y.sum(), model[0].weight),
                "into the last layer": lambda: y.sum().backward(inputs=list(model[2].parameters())),
                "twice": lambda: (y.sum().backward(retain_graph=True), y.sum().backward()),
                "create_graph": lambda: m.autograd.grad(m.autograd.grad(y.sum(), x, create_graph=True)[0].sum(), x)}
        log.attempt(call, runs[call])
        log("gradients", x.grad, *[p.grad for p in model.parameters()])
    return run


for _call in ("backward", "constant input", "grad of the input", "grad of a weight", "into the last layer", "twice", "create_graph",
              "no_grad"):
    SCENARIOS[f"hooks of a network, {_call}"] = network_hooks(_call)


RESULTS = {
    "replaces": lambda m, grads: tuple(None if g is None else g * 10 for g in grads), "too many": lambda m, grads: (*grads, *grads),
    "none at all": lambda m, grads: (), "another shape": lambda m, grads: tuple(g.sum() for g in grads),
    "Nones": lambda m, grads: (None,) * len(grads), "the same": lambda m, grads: grads, "a number": lambda m, grads: (1.5,) * len(grads),
}


def hook_returning(kind, what, requires_grad):
    def run(m, log):
        layer = network(m)[0]
        x = m.tensor([[1., 2.]], requires_grad=requires_grad)
        full_hooks(log, layer, "before")
        if kind == "pre":
            handle = layer.register_full_backward_pre_hook(lambda module, grads: RESULTS[what](m, grads))
        else:
            handle = layer.register_full_backward_hook(lambda module, ins, outs: RESULTS[what](m, ins))
        full_hooks(log, layer, "after")
        log.attempt("backward", layer(x).sum().backward)
        log("gradients", x.grad, layer.weight.grad, log.state())
        handle.remove()
        layer.zero_grad()
        log.attempt("without", layer(x).sum().backward)
        log("gradients", x.grad, layer.weight.grad)
    return run


for _kind, _what, _requires in itertools.product(("pre", "post"), RESULTS, (True, False)):
    if _requires or _kind == "pre" or _what in ("replaces", "Nones"):
        SCENARIOS[f"module hook ({_kind}) returning {_what}, input requires a gradient: {_requires}"] = \
            hook_returning(_kind, _what, _requires)


def several(m):
    """Takes tensors and others, returns several."""
    class Several(m.nn.Module):
        def forward(self, x, n, w, flag=True):
            return (x * w, n, x + w, m.ones(1)) if flag else {"x": x * w}
    return Several()


@scenario
def module_of_several_inputs_and_outputs(m, log):
    x, w = leaf(m, 1., 2.), m.tensor([3., 4.])
    module = several(m)
    full_hooks(log, module, "several")
    y, n, z, one = module(x, 2, w)
    log("outputs", y, n, z, one, y.grad_fn)
    (y.sum() + z.sum() * 2).backward(retain_graph=True)
    log("gradient", x.grad)
    y.sum().backward()
    log("gradient", x.grad)


@scenario
def module_returning_a_dict(m, log):
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    module = several(m)
    full_hooks(log, module, "several")
    out = module(x, 2, w, flag=False)
    out["x"].sum().backward()
    log("gradients", x.grad, w.grad)


@scenario
def tensors_as_keyword_arguments_are_not_seen(m, log):
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    module = several(m)
    full_hooks(log, module, "several")
    y, _, _, _ = module(x, n=1, w=w)
    watch(log, y)
    y.sum().backward()
    log("gradients", x.grad, w.grad)


@scenario
def module_called_several_times(m, log):
    model = network(m)
    tanh = model[1]
    full_hooks(log, tanh, "tanh")
    x = leaf(m, 0.5)
    tanh(tanh(x) * tanh(x * 2)).backward(m.ones(1))
    log("gradient", x.grad)


@scenario
def output_of_a_hooked_module_written_to(m, log):
    layer = network(m)[1]
    handles = full_hooks(log, layer, "tanh")
    log.attempt("hooked", lambda: layer(leaf(m, 1.)).mul_(2))
    for handle in handles:
        handle.remove()
    log.attempt("not hooked", lambda: layer(leaf(m, 1.)).mul_(2))


@scenario
def hooks_of_all_modules(m, log):
    model = network(m)
    everywhere = modules(m)
    full_hooks(log, model[1], "own")

    def heard(event):
        return lambda module, *args: log(f"{event} of {type(module).__name__}", *args)
    handles = [everywhere.register_module_full_backward_hook(heard("backward")),
               everywhere.register_module_full_backward_pre_hook(heard("backward pre")),
               everywhere.register_module_forward_hook(heard("forward")),
               everywhere.register_module_forward_pre_hook(heard("forward pre"))]
    try:
        x = m.tensor([[1., 2.]], requires_grad=True)
        model(x).sum().backward()
        log("gradient", x.grad)
    finally:
        for handle in handles:
            handle.remove()
    log("removed")
    model(x).sum().backward()


def failing_module(m):
    class Broken(m.nn.Module):
        def forward(self, x):
            raise ValueError("on purpose")
    return Broken()


@scenario
def hooks_that_are_always_called(m, log):
    def heard(event):
        return lambda module, *args: log(event, *args)

    def fails(module, *args):
        log("fails")
        raise KeyError("second")
    broken = failing_module(m)
    broken.register_forward_hook(heard("usual"))
    broken.register_forward_hook(heard("always"), always_call=True)
    broken.register_forward_hook(fails, always_call=True)
    broken.register_forward_hook(heard("with kwargs"), with_kwargs=True)
    broken.register_forward_hook(heard("first of all"), prepend=True, always_call=True)
    log.attempt("call", broken, m.ones(1))
    identity = m.nn.Identity()
    identity.register_forward_hook(heard("before"), always_call=True)
    identity.register_forward_hook(fails)
    identity.register_forward_hook(heard("after"), always_call=True)
    log.attempt("call", identity, m.ones(1))


@scenario
def hooks_registered_while_a_module_runs(m, log):
    identity = m.nn.Identity()

    def heard(event):
        return lambda module, *args: log(event, *args)
    identity.register_forward_pre_hook(lambda module, args: [module.register_forward_hook(heard("forward")),
                                                             module.register_full_backward_hook(heard("backward"))][:0] or None)
    x = leaf(m, 1.)
    identity(x).backward(m.ones(1))
    log("again")
    identity(x).backward(m.ones(1))


@scenario
def error_in_a_module_hook(m, log):
    model = network(m)

    def fails(module, *args):
        raise ValueError("on purpose")
    x = m.tensor([[1., 2.]], requires_grad=True)
    for register in (model[1].register_full_backward_hook, model[1].register_full_backward_pre_hook):
        handle = register(fails)
        log.attempt("backward", model(x).sum().backward)
        log("gradients", x.grad, model[2].weight.grad, log.state())
        handle.remove()
    model.zero_grad()
    model(x).sum().backward()
    log("gradient", x.grad)
