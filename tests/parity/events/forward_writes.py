"""Scenarios of forward-mode AD through views and writes: tensor_surface/W-07."""

import itertools

from tests.parity.events.forward_levels import dual, forward_ad, show, tangent
from tests.parity.events.log import SCENARIOS, leaf, scenario

# ---- dual operands, targets and values of writes ----------------------------------------------------------------------------------

VIEWS = {
    "a row": lambda x: x[0], "a column": lambda x: x[:, 1], "every other": lambda x: x[:, ::2], "transposed": lambda x: x.t(),
    "flat": lambda x: x.view(-1), "all of it": lambda x: x.view_as(x), "diagonal": lambda x: x.diagonal(), "a view of a view": lambda x: x.t()[1:],
    "one number": lambda x: x[1, 2], "unbound": lambda x: x.unbind()[1], "split": lambda x: x.split(2, 1)[0], "unsqueezed": lambda x: x.unsqueeze(0),
    "detached": lambda x: x.detach()[1], "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
}
WRITES = {
    "add_ dual": lambda m, x, d: x.add_(d), "mul_ dual": lambda m, x, d: x.mul_(d), "copy_ dual": lambda m, x, d: x.copy_(d),
    "mul_ number": lambda m, x, d: x.mul_(3), "zero_": lambda m, x, d: x.zero_(), "copy_ plain": lambda m, x, d: x.copy_(m.tensor(7.)),
    "fill_ dual": lambda m, x, d: x.fill_(d), "exp_": lambda m, x, d: x.exp_(), "item": lambda m, x, d: x.__setitem__(..., d),
}


def matrix(m):
    return m.tensor([[1., 2., 3.], [4., 5., 6.]])


def written(view, write, is_dual, to):
    """An older view, the base and a new view of it, all after a write to one of them."""
    def run(m, log):
        fw = forward_ad(m)
        with fw.dual_level():
            x = matrix(m)
            if is_dual:
                x = fw.make_dual(x, m.tensor([[.1, .2, .3], [.4, .5, .6]]))
            x = x.clone()
            v, older = VIEWS[view](x), x[:, 0]
            d = fw.make_dual(m.tensor(10.), m.tensor(100.))
            log.attempt("write", lambda: WRITES[write](m, v if to == "view" else x, d) is None)
            show(m, log, x=x, v=v, older=older, newer=x[1:], product=v * v)
    return run


for _view, _write, _dual, _to in itertools.product(VIEWS, WRITES, (False, True), ("view", "base")):
    if _write in ("add_ dual", "copy_ dual", "zero_") or _view in ("a row", "transposed", "one number"):
        SCENARIOS[f"forward_{_write} to {'a dual' if _dual else 'a plain'} tensor's {_to}: {_view}"] = \
            written(_view, _write, _dual, _to)


@scenario
def forward_view_made_before_the_tangent(m, log):
    fw = forward_ad(m)
    base = m.zeros(3)
    view = base[1:]
    with fw.dual_level():
        base.copy_(dual(m, [1., 2., 3.], [4., 5., 6.]))
        show(m, log, base=base, view=view)
        view.mul_(10)
        show(m, log, base=base, view=view)
        log("shared", tangent(m, view).data_ptr() - tangent(m, base).data_ptr())
    show(m, log, base=base, view=view)


@scenario
def forward_write_to_one_element(m, log):
    fw = forward_ad(m)
    base = m.tensor([1., 2., 3.])
    with fw.dual_level():
        base[1] = dual(m, 5., 7.)
        show(m, log, base=base, element=base[1], other=base[0])
        base[0] = 9.
        show(m, log, base=base)
        base[1] *= 2
        show(m, log, base=base)
        base[base > 8] = dual(m, 1., 2.)
        show(m, log, base=base)


@scenario
def forward_two_views_of_one_base(m, log):
    fw = forward_ad(m)
    base = m.tensor([1., 2., 3., 4.])
    left, right = base[:3], base[1:]
    with fw.dual_level():
        left.mul_(dual(m, [1., 1., 1.], [1., 2., 3.]))
        show(m, log, base=base, left=left, right=right)
        right.add_(dual(m, [0., 0., 0.], [10., 20., 30.]))
        show(m, log, base=base, left=left, right=right)


@scenario
def forward_write_to_the_primal(m, log):
    """The dual tensor shares its numbers with its primal, but not its tangent."""
    fw = forward_ad(m)
    p, t = m.tensor([1., 2.]), m.tensor([3., 4.])
    with fw.dual_level():
        x = fw.make_dual(p, t)
        p.mul_(10)
        show(m, log, p=p, x=x)
        x.mul_(2)
        show(m, log, p=p, x=x)
        log("given", t, tangent(m, x) is t, p._version, t._version)
        p.mul_(dual(m, [1., 1.], [5., 5.]))
        show(m, log, p=p, x=x)


@scenario
def forward_write_to_the_tangent(m, log):
    fw = forward_ad(m)
    t = m.tensor([3., 4.])
    with fw.dual_level():
        x = fw.make_dual(m.tensor([1., 2.]), t)
        y = x * 2
        t.mul_(10)
        show(m, log, x=x, y=y)
        tangent(m, y).zero_()
        show(m, log, y=y, z=y * 2)
        t.requires_grad_()
        show(m, log, z=x * 2)


@scenario
def forward_tangent_of_another_layout(m, log):
    """Written to in place, a tangent stays in its own layout, or takes that of its tensor."""
    fw = forward_ad(m)
    with fw.dual_level():
        t = m.tensor([[1., 2.], [3., 4.]]).t()
        x = fw.make_dual(m.ones(2, 2), t)
        log("strides", tangent(m, x).stride() == x.stride(), tangent(m, x) is t)
        x.t()[0].mul_(10)
        show(m, log, x=x, view=x.view(-1))
        log("given", t)


@scenario
def forward_write_of_another_dtype(m, log):
    with forward_ad(m).dual_level():
        x = m.ones(2)
        x.copy_(dual(m, [1., 2.], [3., 4.], dtype=m.float64))
        show(m, log, x=x)
        x.add_(dual(m, [1., 2.], [3., 4.], dtype=m.float64))
        show(m, log, x=x)
        n = m.ones(2, dtype=m.int64)
        n.copy_(x)
        show(m, log, n=n)


def shaped(what):
    def run(m, log):
        with forward_ad(m).dual_level():
            x = dual(m, [[1., 2., 3.]], [[4., 5., 6.]]).clone()
            y = {"t_": lambda: x.t_(), "squeeze_": lambda: x.squeeze_(), "unsqueeze_": lambda: x.unsqueeze_(0),
                 "transpose_": lambda: x.transpose_(0, 1), "as_strided_": lambda: x.as_strided_((2,), (1,), 1),
                 "detach_": lambda: x.detach_(), "resize_": lambda: x.resize_(4)}[what]
            log.attempt("called", lambda: y() is x)
            show(m, log, x=x)
            log.attempt("written", lambda: x.mul_(2) is x)
            show(m, log, x=x)
    return run


for _what in ("t_", "squeeze_", "unsqueeze_", "transpose_", "as_strided_", "detach_", "resize_"):
    SCENARIOS[f"forward_{_what}"] = shaped(_what)


@scenario
def forward_data_of_a_dual(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1., 2.], [3., 4.])
        x.data.mul_(10)
        show(m, log, x=x, product=x * x)
        with m.no_grad():
            x.mul_(2)
        show(m, log, x=x)


@scenario
def forward_out(m, log):
    with forward_ad(m).dual_level():
        x, y = dual(m, [1., 2.], [3., 4.]), m.zeros(2)
        log.attempt("of duals", lambda: m.mul(x, 2, out=y))
        log.attempt("into a dual", lambda: m.mul(m.ones(2), 2, out=x.clone()))
        show(m, log, y=y)


@scenario
def forward_write_and_history(m, log):
    """Both kinds of AD through the same writes."""
    fw = forward_ad(m)
    a = leaf(m, 1., 2., 3.)
    with fw.dual_level():
        x = fw.make_dual(a, m.tensor([1., 10., 100.])) * 1
        view = x[1:]
        view.mul_(x[0].detach() + 1)
        x[0] = view.sum()
        show(m, log, x=x, view=view)
        log("histories", x.grad_fn, view.grad_fn)
        x.sum().backward()
    log("gradient", a.grad)


@scenario
def forward_write_to_a_leaf(m, log):
    a = leaf(m, 1., 2.)
    with forward_ad(m).dual_level():
        log.attempt("write", a.mul_, dual(m, [1., 1.], [1., 1.]))
        with m.no_grad():
            a.mul_(dual(m, [1., 1.], [1., 1.]))
        show(m, log, a=a)


@scenario
def forward_write_that_fails(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1., 2.], [3., 4.])
        log.attempt("shape", x.add_, m.ones(3))
        log.attempt("dtype", m.ones(2, dtype=m.int64).add_, x)
        show(m, log, x=x)


@scenario
def forward_expanded(m, log):
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        wide = x.expand(3)
        log.attempt("write", wide.mul_, 2)
        x.mul_(5)
        show(m, log, wide=wide, x=x)


@scenario
def forward_complex_parts(m, log):
    with forward_ad(m).dual_level():
        z = m.zeros(2) * 1j
        z.real.copy_(dual(m, [1., 2.], [3., 4.]))
        show(m, log, z=z)
        z.mul_(1j)
        show(m, log, z=z, real=z.real)
