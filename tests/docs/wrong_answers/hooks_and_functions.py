"""Tutorials 10 to 15: see __init__.py."""

# A solution with one change.
AGAIN = """
class wrong(More):
    def __mul__(self, other):
        return again(super().__mul__(other))
    def __truediv__(self, other):
        return again(super().__truediv__(other))
    def exp(self):
        return again(super().exp())
    def __pow__(self, k):
        return again(super().__pow__(k))
def again(z):
    return wrong(z.value, z.tangent)
"""

WRONG = {
    "10": {
        "check_positions": ["wrong = lambda view: list(range(view.numel()))",
                            "wrong = lambda view: list(range(view.storage_offset(), view.storage_offset() + view.numel()))",
                            "wrong = lambda view: sorted(positions(view))"],
        "check_gradient": ["""
def wrong(g, writes):
    whole = list(g)
    for name, part, number in reversed(writes):
        whole[part] = [number * entry for entry in whole[part]]
    return whole""", """
def wrong(g, writes):
    whole = list(g)
    for name, part, number in reversed(writes):
        if name == "mul":
            whole[part] = [number * entry for entry in whole[part]]
    return whole""", """
def wrong(g, writes):
    return [0.0] * 4 if "fill" in str(writes) else gradient(g, writes)""", """
def wrong(g, writes):
    whole = list(g)
    for name, part, number in writes:
        whole[part] = [(entry / number if name == "mul" else 0.0) for entry in whole[part]]
    return whole"""],
        "check_mended": ["wrong = running_product", "wrong = lambda x: running_product(x.detach())", """
def wrong(x):
    out = [x[0]]
    for i in range(1, 4):
        out.append(out[-1] * x[i])
    return out""", """
def wrong(x):
    out = [x[0]]
    for i in range(1, 4):
        out.append(out[-1].detach() * x[i])
    return mg.stack(out)"""]},
    "11": {
        "check_halves": ["wrong = lambda n, h: layers(n)(h)", "wrong = lambda n, h: real(layers(n), h)", """
def wrong(n, h):
    return layer(h) if n == 1 else real(lambda h: wrong(n // 2, h), real(lambda h: wrong(n // 2, h), h))""", """
def wrong(n, h):
    return layers(n // 2)(real(layers(n // 2), h))"""],
        "check_repeated": ["wrong = by_hand", """
def wrong(f, x):
    state = mg.get_rng_state()
    def run(h):
        mg.set_rng_state(state)
        return f(h)
    return by_hand(run, x)"""],
        "check_policy": ["wrong = lambda ctx, op, *args: str(op) == 'mm'",
                         "wrong = lambda ctx, op, *args: not policy(ctx, op, *args)",
                         "wrong = lambda ctx, op, *args: True"]},
    "12": {
        "check_reverse": ["""
def wrong(x):
    if x.requires_grad:
        x.register_hook(lambda g: -g)
    return x""", "wrong = lambda x: -x", """
def wrong(x):
    y = x.clone()
    y.register_hook(lambda g: -g)
    return y""", """
def wrong(x):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: None)
    return y""", "wrong = lambda x: x.detach()"],
        "check_grad_norms": ["""
class wrong(grad_norms):
    def __exit__(self, *exc_info):
        pass""", """
import contextlib
@contextlib.contextmanager
def wrong(**tensors):
    inside = grad_norms(**tensors)
    yield inside.__enter__()
    inside.__exit__()""", """
class wrong(grad_norms):
    def __enter__(self):
        norms = {}
        for name, tensor in self.tensors.items():
            self.handles.append(tensor.register_hook(lambda g: norms.update({name: g.norm().item()})))
        return norms""", """
class wrong(grad_norms):
    def __enter__(self):
        norms = {}
        for name, tensor in self.tensors.items():
            norms[name] = tensor.norm().item()
        return norms"""],
        "check_blame": ["wrong = lambda y: None", """
def wrong(y):
    def pre(node):
        def hook(grads):
            if any([g.isnan().any().item() for g in grads if g is not None]):
                raise ArithmeticError(node.name())
        return hook
    for node in nodes(y):
        node.register_prehook(pre(node))
def nodes(y):
    found = [y.grad_fn]
    for node in found:
        found += [n for n, _ in node.next_functions if n is not None and n not in found]
    return found""", """
def wrong(y):
    def hook(inputs, outputs):
        if any([g.isnan().any().item() for g in inputs]):
            raise ArithmeticError(y.grad_fn.name())
    y.grad_fn.register_hook(hook)"""]},
    "13": {
        "check_attach": ["""
def wrong(weights, lr, momentum):
    return [w.register_post_accumulate_grad_hook(lambda w: descend(w, lr)) for w in weights]""", """
def wrong(weights, lr, momentum):
    velocity = {}
    def step(w):
        with mg.no_grad():
            velocity[w] = momentum * velocity.get(w, 0) + (1 - momentum) * w.grad
            w.sub_(velocity[w], alpha=lr)
        w.grad = None
    return [w.register_post_accumulate_grad_hook(step) for w in weights]""", """
def wrong(weights, lr, momentum):
    velocity = {}
    def step(w):
        with mg.no_grad():
            velocity[w] = momentum * velocity.get(w, 0) + w.grad
            w.sub_(velocity[w], alpha=lr)
    return [w.register_post_accumulate_grad_hook(step) for w in weights]""", """
def wrong(weights, lr, momentum):
    return [w.register_hook(lambda g, w=w: descend(w, lr)) for w in weights]""", """
def wrong(weights, lr, momentum):
    return (attach(weights, lr, momentum), [])[1]"""],
        "check_attach_every": ["""
def wrong(weights, k):
    count = []
    def hook(w):
        count.append(1)
        if len(count) == k:
            count.clear()
            descend(w)
    for w in weights:
        w.register_post_accumulate_grad_hook(hook)""", """
def wrong(weights, k):
    for w in weights:
        w.register_post_accumulate_grad_hook(descend)""", """
def wrong(weights, k):
    pass""", """
def wrong(weights, k):
    def hook(count, w):
        count.append(1)
        if len(count) % k:
            w.grad = None
        else:
            descend(w)
    for w in weights:
        w.register_post_accumulate_grad_hook(functools.partial(hook, []))""", """
def wrong(weights, k):
    def hook(count, w):
        count.append(1)
        if len(count) > k:
            count.clear()
            descend(w)
    for w in weights:
        w.register_post_accumulate_grad_hook(functools.partial(hook, []))"""],
        "check_halves": ["""
def wrong(loss, edge, upper, lower):
    return list(mg.autograd.grad(loss, [*upper, *lower]))""", """
def wrong(loss, edge, upper, lower):
    return [*mg.autograd.grad(loss, upper), *mg.autograd.grad(loss, lower)]""", """
def wrong(loss, edge, upper, lower):
    return [*mg.autograd.grad(loss, upper, retain_graph=True), *mg.autograd.grad(loss, lower)]""", """
def wrong(loss, edge, upper, lower):
    found = halves(loss, edge, upper, lower)
    return [*found[2:], *found[:2]]""", """
def wrong(loss, edge, upper, lower):
    at_edge, *of_upper = mg.autograd.grad(loss, [edge, *upper])
    return [*of_upper, *mg.autograd.grad(edge, lower)]""", """
def wrong(loss, edge, upper, lower):
    at_edge, *of_upper = mg.autograd.grad(loss, [edge, *upper])
    return [*of_upper, *mg.autograd.grad(edge, lower, mg.ones_like(at_edge))]"""]},
    "14": {
        "check_hypot": ["""
class wrong(Hypot):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x * x + y * y).sqrt()
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        r = (x * x + y * y).sqrt()
        return g * x / r, g * y / r""", """
class wrong(Hypot):
    @staticmethod
    def forward(ctx, x, y):
        r = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y)
        ctx.r = r
        return r
    @staticmethod
    def backward(ctx, g):
        (x, y), r = ctx.saved_tensors, ctx.r
        return g * x / r, g * y / r""", """
class wrong(Hypot):
    @staticmethod
    def forward(ctx, x, y):
        r = (x * x + y * y).sqrt()
        ctx.save_for_backward(x / r, y / r)
        return r
    @staticmethod
    def backward(ctx, g):
        slope_x, slope_y = ctx.saved_tensors
        return g * slope_x, g * slope_y""", """
class wrong(Hypot):
    @staticmethod
    def backward(ctx, g):
        x, y, r = ctx.saved_tensors
        return x / r, y / r""", """
class wrong(Hypot):
    @staticmethod
    def backward(ctx, g):
        return Hypot.backward(ctx, g)[0]"""],
        "check_mended": ["""
class wrong(Mended):
    @staticmethod
    def forward(ctx, x, factor, limit):
        x.mul_(factor)
        ctx.save_for_backward(x)
        ctx.factor, ctx.limit = factor, limit
        return x.clamp(max=limit)""", """
class wrong(Mended):
    @staticmethod
    def backward(ctx, g):
        return Mended.backward(ctx, g)[0]""", """
class wrong(Mended):
    @staticmethod
    def backward(ctx, g):
        g[ctx.saved_tensors[0] * ctx.factor > ctx.limit] = 0
        return g * ctx.factor, None, None""", """
class wrong(Mended):
    @staticmethod
    def forward(ctx, x, factor, limit):
        ctx.x, ctx.factor, ctx.limit = x, factor, limit
        return (x * factor).clamp(max=limit)
    @staticmethod
    def backward(ctx, g):
        return g * (ctx.x * ctx.factor <= ctx.limit).to(g.dtype) * ctx.factor, None, None""", """
class wrong(Mended):
    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] <= ctx.limit).to(g.dtype) * ctx.factor, None, None"""],
        "check_relu": ["""
class wrong(Relu_):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y""", """
class wrong(Relu_):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(min=0)
        ctx.save_for_backward(x)
        return x""", """
class wrong(Relu_):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.clone())
        return x.clamp_(min=0)
    @staticmethod
    def backward(ctx, g):
        return g.clamp(min=0)""", """
class wrong(Relu_):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]""", """
class wrong(Relu_):
    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] >= 0).to(g.dtype)"""]},
    "15": {
        "check_more": [
            "class wrong(More):\n    __mul__ = Dual.__mul__",
            AGAIN + "wrong.__truediv__ = lambda self, other: wrong(self.value / other.value, self.tangent / other.tangent)",
            AGAIN + "wrong.exp = lambda self: wrong(math.exp(self.value), math.exp(self.value))",
            AGAIN + "wrong.__pow__ = lambda self, k: wrong(self.value ** k, k * self.value ** (k - 1))"],
        "check_push": ["wrong = lambda f, x, v: mg.func.jvp(f, (x,), (v,))[1]", """
def wrong(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    return mg.autograd.grad(mg.autograd.grad(y, x, mg.ones_like(y, requires_grad=True))[0], x, v)[0]""", """
def wrong(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    u = mg.ones_like(y, requires_grad=True)
    return mg.autograd.grad(mg.autograd.grad(y, x, u, create_graph=True)[0], x, v)[0]""", """
def wrong(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    u = mg.zeros_like(y)
    return mg.autograd.grad(mg.autograd.grad(y, x, u, create_graph=True)[0], u, v)[0]"""],
        "check_band": ["wrong = lambda f, x: band(f, x).T", """
def wrong(f, x):
    J = mg.zeros(len(x), len(x))
    for j in range(len(x)):
        J[:, j] = mg.func.jvp(f, (x,), (unit(x, j),))[1]
    return J""", """
def wrong(f, x):
    J = mg.zeros(len(x), len(x))
    for first in range(3):
        v = mg.zeros(len(x))
        v[first::3] = 1.0
        J[:, first::3] = mg.func.jvp(f, (x,), (v,))[1].unsqueeze(1).expand_as(J[:, first::3])
    return J"""]},
}
