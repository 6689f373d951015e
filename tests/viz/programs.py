"""Records and graphs that the tests of `mg.viz` look at."""

import minigrad as mg
from minigrad.autograd import Function
from tests.core.engine_tools import leaf


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 + 0 * x


def diamond(keep=False, hook=None, twice=False):
    """exp, then two products of one value: forward and backward."""
    x, w = leaf(mg, 1., 2.), leaf(mg, 3., 4.)
    with mg.debug.record(x=x, w=w) as r:
        y = (x * w).exp()
        if hook is not None:
            y.register_hook(hook)
        z = (y * w).sum()
        z.backward(retain_graph=keep)
        if twice:
            try:
                z.backward()
            except RuntimeError:
                pass
    return r


def overwritten():
    """A backward that fails in the middle: a tensor that `mul` saved was written to."""
    x = leaf(mg, 1., 2.)
    with mg.debug.record(x=x) as r:
        y = x.exp()
        z = y * y
        y.mul_(2)
        try:
            z.sum().backward()
        except RuntimeError:
            pass
    return r


def nested():
    """A backward in a hook of another."""
    x = leaf(mg, 1., 2.)
    inner = (x * 5).sum()
    y = x * 3

    def again(g):
        inner.backward()
    y.register_hook(again)
    with mg.debug.record(x=x) as r:
        y.sum().backward()
    return r


def everything():
    """Functions, packing, views, selective runs, several outputs, several backwards, hooks of all kinds."""
    x = leaf(mg, 1., 2.)
    with mg.debug.record(x=x) as r:
        with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x * x
        y.retain_grad()
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_prehook(lambda g: None)
        y.grad_fn.register_hook(lambda *g: None)
        (y + mg.ones(3, 2)).sum().backward(retain_graph=True)
        mg.autograd.grad(Double.apply(x).exp().sum(), x)
        g, = mg.autograd.grad((x * x * x).sum(), x, create_graph=True)
        g.sum().backward()
        base = x * 1
        base[0].mul_(2)
        a, b = base.split(1)
        mg.autograd.backward([a, b], [mg.ones(1), mg.ones(1)])
    return r


def writes_to_a_view():
    """A write to a slice: nodes without edges beside the graph."""
    x, w = leaf(mg, 1., 2., 3., 4.), leaf(mg, 10., 20.)
    with mg.debug.record(x=x, w=w) as r:
        a = x * 1
        v = a[1:3]
        v.mul_(w)
        (a * mg.ones(4)).sum().backward()
    return r


RECORDS = {"diamond": diamond, "twice": lambda: diamond(twice=True), "overwritten": overwritten, "nested": nested,
           "everything": everything}
