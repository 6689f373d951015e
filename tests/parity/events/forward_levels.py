"""Scenarios of forward-mode AD: levels, dual tensors and their parts, modes, and the end of tangents."""

import itertools
import threading

from tests.parity.events.log import SCENARIOS, leaf, scenario


def forward_ad(m):
    return m.autograd.forward_ad


def tangent(m, x):
    return m.autograd.forward_ad.unpack_dual(x).tangent


def dual(m, values, tangents, **options):
    """A dual tensor of these numbers."""
    return m.autograd.forward_ad.make_dual(m.tensor(values, **options), m.tensor(tangents, **options))


def show(m, log, **tensors):
    """Write down numbers and tangents.

    It does not note requires_grad: PyTorch replaces a missing tangent by a product with zeros, and this product has a history.
    """
    for name, x in tensors.items():
        t = tangent(m, x)
        log(name, x, t if t is None else t.detach())


# ---- levels: tensor_surface/W-01, W-06 ------------------------------------------------------------------------------------------


@scenario
def forward_levels(m, log):
    fw = forward_ad(m)
    for _ in range(2):
        with fw.dual_level() as level:
            log("level", level)
    log("entered", fw.enter_dual_level())
    log.attempt("again", fw.enter_dual_level)
    log.attempt("as a context", fw.dual_level().__enter__)
    x = dual(m, [1.], [2.])
    log("still there", tangent(m, x))
    log.attempt("exit", fw.exit_dual_level)
    log.attempt("exit again", fw.exit_dual_level)
    log("after", tangent(m, x))


def exit_with(level):
    def run(m, log):
        fw = forward_ad(m)
        fw.enter_dual_level()
        x = dual(m, [1.], [2.])
        try:
            log.attempt("exit", fw.exit_dual_level, level=level)
            log("tangent", tangent(m, x))
        finally:
            log.attempt("once more", fw.exit_dual_level)
    return run


for _level in (0, 1, 5, -1, None):
    SCENARIOS[f"forward_exit of level {_level}"] = exit_with(_level)


@scenario
def forward_exit_without_a_level(m, log):
    log.attempt("exit", forward_ad(m).exit_dual_level)
    log.attempt("exit of one", forward_ad(m).exit_dual_level, level=0)


@scenario
def forward_level_ended_by_an_error(m, log):
    fw = forward_ad(m)
    try:
        with fw.dual_level():
            x = dual(m, [1.], [2.])
            raise KeyError("on purpose")
    except KeyError as error:
        log("caught", error)
    log("after", tangent(m, x))
    with fw.dual_level():
        show(m, log, x=x, y=dual(m, [1.], [2.]) * 3)


@scenario
def forward_level_as_decorator(m, log):
    fw = forward_ad(m)

    @fw.dual_level()
    def inside(value):
        """Its text."""
        return tangent(m, dual(m, [value], [1.]) ** 2)
    log("called", inside(3.), inside(4.), inside.__name__, inside.__doc__)
    log.attempt("no level", fw.make_dual, m.ones(1), m.ones(1))


@scenario
def forward_tangents_end_with_their_level(m, log):
    """tensor_surface/W-05."""
    fw = forward_ad(m)
    with fw.dual_level():
        x = dual(m, [1., 2.], [3., 4.])
        y, view = x * 2, x[:1]
        show(m, log, x=x, y=y, view=view)
    show(m, log, x=x, y=y, view=view)
    with fw.dual_level():
        show(m, log, x=x, y=y, view=view, z=x * y)
        show(m, log, again=fw.make_dual(x, m.ones(2)))


@scenario
def forward_tangent_outlives_its_level(m, log):
    fw = forward_ad(m)
    t = m.tensor([3., 4.])
    with fw.dual_level():
        x = fw.make_dual(m.tensor([1., 2.]), t)
        kept = tangent(m, x * x)
    log("kept", kept, t)


# ---- make_dual: tensor_surface/W-02, W-03 ---------------------------------------------------------------------------------------


def made(what, level=True):
    def run(m, log):
        fw = forward_ad(m)
        x, t = MADE[what](m) if what in MADE else (m.ones(2), m.ones(2))
        if not level:
            return log.attempt("make_dual", lambda: fw.make_dual(x, t) is None)
        with fw.dual_level():
            if what in DUAL:
                x, t = DUAL[what](m)
            try:
                y = fw.make_dual(x, t)
            except (RuntimeError, ValueError, TypeError, AttributeError) as error:
                return log("make_dual", error, m.is_grad_enabled())
            log("made", y, tangent(m, y), y is x, tangent(m, y) is t or x.numel() == 0, tangent(m, x), y.requires_grad, y.is_leaf)
            log("shape", y._is_view(), x.numel() == 0 or y.data_ptr() == x.data_ptr(), y.stride() == x.stride())
            show(m, log, product=y * y, x=x)
    return run


MADE = {
    "plain": lambda m: (m.tensor([1., 2.]), m.tensor([3., 4.])), "of a leaf": lambda m: (leaf(m, 1., 2.), m.tensor([3., 4.])),
    "of a result": lambda m: (leaf(m, 1., 2.) * 2, m.tensor([3., 4.])), "a leaf as tangent": lambda m: (m.tensor([1., 2.]), leaf(m, 3., 4.)),
    "integers": lambda m: (m.tensor([1, 2]), m.tensor([3., 4.])), "integers as tangent": lambda m: (m.tensor([1., 2.]), m.tensor([3, 4])),
    "bool": lambda m: (m.tensor([True]), m.tensor([True])),
    "another size": lambda m: (m.ones(2), m.ones(3)), "a size that broadcasts": lambda m: (m.ones(2), m.ones(1)),
    "another number of dimensions": lambda m: (m.ones(2), m.ones(2, 1)), "no dimensions": lambda m: (m.tensor(2.), m.tensor(3.)),
    "no elements": lambda m: (m.ones(0, 2), m.ones(0, 2)), "float64 as tangent": lambda m: (m.ones(2), m.ones(2, dtype=m.float64)),
    "float32 as tangent": lambda m: (m.ones(2, dtype=m.float64), m.ones(2)),
    "complex": lambda m: (m.tensor([1 + 2j]), m.tensor([3 + 4j])), "complex as tangent": lambda m: (m.ones(2), m.tensor([1j, 2.])),
    "real as tangent of complex": lambda m: (m.tensor([1j, 2.]), m.ones(2)), "a view": lambda m: (m.ones(3)[1:], m.ones(2)),
    "a view as tangent": lambda m: (m.ones(2), m.ones(3)[1:]), "transposed": lambda m: (m.ones(2, 3).t(), m.ones(3, 2)),
    "transposed as tangent": lambda m: (m.ones(2, 3), m.ones(3, 2).t()), "both transposed": lambda m: (m.ones(2, 3).t(), m.ones(2, 3).t()),
    "expanded": lambda m: (m.ones(1).expand(3), m.tensor([1., 2., 3.])), "expanded as tangent": lambda m: (m.ones(3), m.tensor([2.]).expand(3)),
    "itself as tangent": lambda m: (lambda x: (x, x))(m.tensor([1., 2.])), "a number": lambda m: (m.ones(2), 5),
    "of a number": lambda m: (5, m.ones(2)), "None": lambda m: (m.ones(2), None),
}
DUAL = {
    "of a dual": lambda m: (dual(m, [1., 2.], [3., 4.]), m.ones(2)), "a dual as tangent": lambda m: (m.ones(2), dual(m, [1., 2.], [3., 4.])),
    "of the result of a dual": lambda m: (dual(m, [1., 2.], [3., 4.]) * 2, m.ones(2)),
    "of a view of a dual": lambda m: (dual(m, [1., 2., 3.], [3., 4., 5.])[1:], m.ones(2)),
    "of the primal of a dual": lambda m: (forward_ad(m).unpack_dual(dual(m, [1., 2.], [3., 4.])).primal, m.ones(2)),
    "of a detached dual": lambda m: (dual(m, [1., 2.], [3., 4.]).detach(), m.ones(2)),
    "the tangent of another": lambda m: (m.ones(2), tangent(m, dual(m, [1., 2.], [3., 4.]) * 2)),
}

for _what in (*MADE, *DUAL):
    SCENARIOS[f"forward_make_dual {_what}"] = made(_what)
for _what in ("plain", "integers", "a number"):
    SCENARIOS[f"forward_make_dual {_what} without a level"] = made(_what, False)


@scenario
def forward_make_dual_twice_of_one_tensor(m, log):
    fw = forward_ad(m)
    p = m.tensor([1., 2.])
    with fw.dual_level():
        x, y = fw.make_dual(p, m.ones(2)), fw.make_dual(p, m.zeros(2))
        show(m, log, x=x, y=y, p=p, product=x * y, other=x * p)
        x.mul_(3)
        show(m, log, x=x, y=y, p=p)
        p.mul_(2)
        show(m, log, x=x, y=y, p=p)


@scenario
def forward_make_dual_and_backward(m, log):
    fw = forward_ad(m)
    p, t = leaf(m, 1., 2.), leaf(m, 3., 4.)
    with fw.dual_level():
        x = fw.make_dual(p, t)
        log("grad_fn", x.grad_fn, x.requires_grad, tangent(m, x) is t)
        y = x * x
        y.sum().backward(retain_graph=True)
        log("gradient", p.grad, t.grad)
        tangent(m, y).sum().backward()
        log("gradient", p.grad, t.grad)


# ---- unpack_dual: tensor_surface/W-04 -----------------------------------------------------------------------------------------


@scenario
def forward_unpack_dual(m, log):
    fw = forward_ad(m)
    p = m.tensor([1., 2.])
    log("outside", fw.unpack_dual(p)[0] is p, fw.unpack_dual(p)[1], type(fw.unpack_dual(p)).__name__, fw.unpack_dual(p)._fields)
    with fw.dual_level():
        x = fw.make_dual(p, m.ones(2))
        primal, t = fw.unpack_dual(x)
        log("inside", primal, primal is x, primal is p, t, primal.data_ptr() == p.data_ptr(), primal._is_view())
        log("of the primal", fw.unpack_dual(primal).tangent, tangent(m, primal * 2))
        log("plain", fw.unpack_dual(p).tangent, fw.unpack_dual(p).primal is p)
        log("again", tangent(m, x) is t)
        log.attempt("level", lambda: fw.unpack_dual(x, level=0).tangent)
        log.attempt("no tensor", fw.unpack_dual, 5)
        log.attempt("integers", fw.unpack_dual, m.tensor([1, 2]))
        primal.mul_(10)
        show(m, log, x=x, p=p)


# ---- where tangents go ----------------------------------------------------------------------------------------------------------

ENDS = {
    "detach": lambda m, x: x.detach(), "data": lambda m, x: x.data, "clone": lambda m, x: x.clone(), "view_as": lambda m, x: x.view_as(x),
    "float64": lambda m, x: x.double(), "integers": lambda m, x: x.long(), "comparison": lambda m, x: x > 1, "float of it": lambda m, x: (x > 1).float(),
    "zeros_like": lambda m, x: m.zeros_like(x), "new_tensor": lambda m, x: m.ones_like(x) * x.detach(), "a list": lambda m, x: m.tensor(x.tolist()),
    "times 0": lambda m, x: x * 0, "sign": lambda m, x: x.sign(), "floor": lambda m, x: x.floor(), "argmax": lambda m, x: x.argmax(),
    "index": lambda m, x: x[m.tensor([1, 0, 1])], "as an index": lambda m, x: m.ones(3)[x.long()], "where": lambda m, x: m.where(x > 1, x, 5.),
    "the other side": lambda m, x: m.where(x > 1, 5., x), "requires_grad_": lambda m, x: x.requires_grad_(), "contiguous": lambda m, x: x.contiguous(),
    "to itself": lambda m, x: x.to(m.float32), "reshape": lambda m, x: x.reshape(2), "flatten": lambda m, x: x.flatten(),
    "expand": lambda m, x: x.expand(3, 2), "unbind": lambda m, x: x.unbind()[1], "split": lambda m, x: x.split(1)[0], "max": lambda m, x: x.max(0)[0],
    "indices of max": lambda m, x: x.max(0)[1], "cat": lambda m, x: m.cat([m.ones(1), x]), "stack": lambda m, x: m.stack([m.ones(2), x]),
    "detached and back": lambda m, x: x.detach() * x, "sum": lambda m, x: x.sum(), "in a matrix": lambda m, x: m.outer(x, x) if hasattr(m, "outer") else x[:, None] * x,
    "complex": lambda m, x: x + 1j, "complex and back": lambda m, x: (x * (1 + 2j)).real, "power": lambda m, x: x ** x, "abs": lambda m, x: (-x).abs(),
}


def ending(what):
    """tensor_surface/W-08."""
    def run(m, log):
        with forward_ad(m).dual_level():
            x = dual(m, [1., 2.], [3., 4.])
            y = ENDS[what](m, x)
            show(m, log, y=y, x=x)
            log("same", y is x, y.data_ptr() == x.data_ptr())
            if y.is_floating_point():
                show(m, log, after=y * 2)
    return run


for _what in ENDS:
    SCENARIOS[f"forward_through {_what}"] = ending(_what)

# ---- modes ----------------------------------------------------------------------------------------------------------------------

MODES = {
    "no_grad": lambda m: m.no_grad(), "enable_grad": lambda m: m.enable_grad(), "inference_mode": lambda m: m.inference_mode(),
    "forward off": lambda m: forward_ad(m)._set_fwd_grad_enabled(False), "forward on": lambda m: forward_ad(m)._set_fwd_grad_enabled(True),
}


def in_modes(outer, inner):
    def run(m, log):
        fw = forward_ad(m)
        with fw.dual_level():
            x = fw.make_dual(leaf(m, 1., 2.), m.tensor([3., 4.]))
            v = x[:1]
            with MODES[outer](m), MODES[inner](m):
                show(m, log, x=x, v=v)
                y = x * x
                show(m, log, y=y, view=x[1:])
                log.attempt("make_dual", lambda: tangent(m, fw.make_dual(m.ones(2), m.ones(2))))
                log.attempt("write", lambda: tangent(m, (x * 1).mul_(x)))
                log("modes", m.is_inference_mode_enabled(), y.requires_grad)
            show(m, log, x=x, v=v)
            log.attempt("afterwards", lambda: tangent(m, y * 2))
            show(m, log, x=x * 2)
    return run


for _outer, _inner in itertools.product(MODES, MODES):
    if _outer != _inner:
        SCENARIOS[f"forward_in {_outer}, {_inner}"] = in_modes(_outer, _inner)


@scenario
def forward_enabled_as_a_function(m, log):
    fw = forward_ad(m)
    with fw.dual_level():
        x = dual(m, [1.], [2.])
        switch = fw._set_fwd_grad_enabled(False)
        y = x * 2
        fw._set_fwd_grad_enabled(True)
        show(m, log, x=x, y=y, z=x * 2)
        log("before", switch.prev)


@scenario
def forward_enabled_outside_of_a_level(m, log):
    fw = forward_ad(m)
    with fw._set_fwd_grad_enabled(False):
        with fw.dual_level():
            log.attempt("make_dual", lambda: tangent(m, dual(m, [1.], [2.])))
    with fw.dual_level():
        show(m, log, x=dual(m, [1.], [2.]))


@scenario
def forward_in_other_threads(m, log):
    fw = forward_ad(m)

    def other():
        try:
            show(m, log, there=x * 2)
            log.attempt("enter", fw.enter_dual_level)
            kept.append(dual(m, [5.], [6.]) * 2)
        except Exception as error:
            log("failed", error)
    kept = []
    with fw.dual_level():
        x = dual(m, [1.], [2.])
        with fw._set_fwd_grad_enabled(False):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        show(m, log, here=x, made_there=kept[0])
    show(m, log, here=x, made_there=kept[0])


@scenario
def forward_and_pickles_of_the_tensor(m, log):
    import copy
    with forward_ad(m).dual_level():
        x = dual(m, [1.], [2.])
        log.attempt("copied", lambda: tangent(m, copy.deepcopy(x)))
        log.attempt("shallow", lambda: tangent(m, copy.copy(x)))
        log("numbers", x.item(), x.tolist(), float(x))
        log.attempt("numpy", lambda: x.numpy().tolist())
        log.attempt("print", lambda: "tangent=" in repr(x))
