"""Tutorials 21 to 24: see __init__.py."""

# A solution with one change.
KEPT = """
def kept(net, x, keep=lambda output: output.detach().clone(), chosen=lambda module: not list(module.children()), removed=True):
    found, handles = {}, []
    for name, module in net.named_modules():
        if chosen(module):
            handles.append(module.register_forward_hook(lambda m, args, output, name=name: found.update({name: keep(output)})))
    net(x)
    for handle in handles if removed else ():
        handle.remove()
    return found
"""
GROUPED = """
def grouped(net, norms, total=lambda squares: sum(squares) ** 0.5, recurse=False):
    def store(name):
        return lambda grads: norms.update({name: total([(g * g).sum().item() for g in grads if g is not None])})
    return [mg.autograd.graph.register_multi_grad_hook(own, store(name)) for name, module in net.named_modules()
            if (own := list(module.parameters(recurse=recurse)))]
"""
SOLVE = """
def solve_like(name, turned=lambda A: A.t(), sign=-1, needed=False, inner=None):
    @custom_op(f"tutorial::wrong_{name}", mutates_args=())
    def solve(A: mg.Tensor, b: mg.Tensor) -> mg.Tensor:
        return mg.from_numpy(np.linalg.solve(A.numpy(), b.numpy()))
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
    def backward(ctx, g):
        A, x = ctx.saved_tensors
        of_b = (inner or solve)(turned(A), g)
        return sign * mg.outer(of_b, x) if needed or ctx.needs_input_grad[0] else None, of_b
    solve.register_autograd(backward, setup_context=setup_context)
    return solve
"""

WRONG = {
    "21": {
        "check_running": ["""
def wrong(ctx, g, of_places):
    (places,) = ctx.saved_tensors
    out = mg.zeros_like(g)
    out[places] = g
    return out""", "wrong = lambda ctx, g, of_places: g", """
def wrong(ctx, g, of_places):
    (places,) = ctx.saved_tensors
    out = np.zeros_like(g.detach().numpy())
    np.add.at(out, places.numpy(), g.detach().numpy())
    return mg.from_numpy(out)"""],
        "check_solve": [
            SOLVE + "wrong = lambda: solve_like('turned', turned=lambda A: A)",
            SOLVE + "wrong = lambda: solve_like('sign', sign=1)", SOLVE + "wrong = lambda: solve_like('needed', needed=True)", SOLVE + """
wrong = lambda: solve_like("inner", inner=lambda A, g: mg.from_numpy(np.linalg.solve(A.numpy(), g.numpy())))"""]},
    "22": {
        "check_entropy": ["wrong = lambda p: -(p * p.log()).sum()", "wrong = lambda p: -mg.where(p > 0, p * p.log(), 0.0).sum()",
                          "wrong = lambda p: -(p * p.clamp(min=1e-15).log()).sum()"],
        "check_line": ["wrong = lambda program: ''", """
def wrong(program):
    try:
        with mg.autograd.set_detect_anomaly(True):
            program()
    except RuntimeError as error:
        return str(error)
    return ''""", """
def wrong(program):
    mg.autograd.set_detect_anomaly(True)
    return line_of_nan(program)""", """
def wrong(program):
    found = line_of_nan(program)
    mg.autograd.set_detect_anomaly(False)
    return found""", """
def wrong(program):
    return line_of_nan(program) or 'no nan'"""]},
    "23": {
        "check_order": ["wrong = list('CDBFAE')", "wrong = list('DCFBAE')", "wrong = list('DCBFEA')", "wrong = list('BFDCAE')",
                        "wrong = list('DCBAFE')"],
        "check_activations": [
            KEPT + "wrong = lambda net, x: kept(net, x, keep=lambda output: output.detach())",
            KEPT + "wrong = lambda net, x: kept(net, x, keep=lambda output: output.clone())",
            KEPT + "wrong = lambda net, x: kept(net, x, chosen=lambda module: True)",
            KEPT + "wrong = lambda net, x: kept(net, x, removed=False)", KEPT + "wrong = kept"],
        "check_norms": [
            GROUPED + "wrong = lambda net, norms: grouped(net, norms, lambda squares: sum([s ** 0.5 for s in squares]))",
            GROUPED + "wrong = lambda net, norms: grouped(net, norms, sum)",
            GROUPED + "wrong = lambda net, norms: grouped(net, norms, recurse=True)",
            "wrong = lambda net, norms: (watch_norms(net, norms), [])[1]", """
def wrong(net, norms):
    def store(name):
        return lambda g: norms.update({name: g.norm().item()})
    return [p.register_hook(store(name)) for name, module in net.named_modules() for p in module.parameters(recurse=False)]""", """
def wrong(net, norms):
    def store(name, own):
        return lambda grads: norms.update({name: sum([(p.grad * p.grad).sum().item() for p in own if p.grad is not None]) ** 0.5})
    return [mg.autograd.graph.register_multi_grad_hook(own, store(name, own)) for name, module in net.named_modules()
            if (own := list(module.parameters(recurse=False)))]"""]},
    "24": {
        "check_curvature": ["wrong = lambda f, p, v: functional.hvp(f, p, v)[1]", "wrong = lambda f, p, v: curvature(f, p, v).item()",
                            "wrong = lambda f, p, v: functional.hvp(f, p, v)[1].sum()", "wrong = lambda f, p, v: (func.grad(f)(p) * v).sum()",
                            "wrong = lambda f, p, v: functional.hvp(f, p, v)[0]"],
        "check_influence": ["""
def wrong(net, loss_fn, X, target):
    found = []
    for x, t in zip(X, target):
        loss_fn(net(x.unsqueeze(0)), t.unsqueeze(0)).backward()
        found.append(sum([(q.grad * q.grad).sum().item() for q in net.parameters()]) ** 0.5)
    return mg.tensor(found)""", "wrong = lambda net, loss_fn, X, target: influence(net, loss_fn, X, target) ** 2", """
def wrong(net, loss_fn, X, target):
    grads = mg.autograd.grad(loss_fn(net(X), target), net.parameters())
    return sum([(g * g).sum() for g in grads]).sqrt()""",
                            """
def wrong(net, loss_fn, X, target):
    params = {name: q.detach() for name, q in net.named_parameters()}
    def loss(params, x, t):
        return loss_fn(func.functional_call(net, params, (x.unsqueeze(0),)), t.unsqueeze(0))
    grads = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, X, target)
    return sum([g.flatten(1).norm(dim=1) for g in grads.values()])"""]},
}
