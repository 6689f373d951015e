"""Forward mode of every op: the tangent of each case is PyTorch's, and can itself be differentiated.

Against finite differences they are checked in `test_gradients.py`. Here each input is dual alone and all are together, in
float64 and complex, contiguous and not; and three ways to a second derivative agree: reverse over reverse, reverse over
forward, forward over reverse.
"""

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad._core.record.apply import call
from minigrad.ops import REGISTRY
from minigrad.ops.base import rule as op_rules
from minigrad.ops.base.rule import Elementwise, Linear, Op, op
from tests.ops.cases import CASES, COMPLEX, OURS

ALIKE = {"rtol": 1e-7, "atol": 1e-9}


def duals(m, arrays, directions, dual, leaves=False, strided=False):
    """Tensors of these numbers, dual where `dual` says so, and the primals and tangents that they are made from."""
    made = [[m.tensor(a) for a in arrays], [m.tensor(d) for d in directions]]
    if strided:
        made = [[m.stack([x, x], -1)[..., 0] for x in xs] for xs in made]
    if leaves:
        made = [[x.requires_grad_() for x in xs] for xs in made]
    xs = [m.autograd.forward_ad.make_dual(x.view_as(x), t) if d else x.view_as(x) for x, t, d in zip(*made, dual)]
    return xs, made[0], made[1]


def tangent(m, x):
    return m.autograd.forward_ad.unpack_dual(x).tangent


def numbers(x, shape=()):
    """The numbers of a tensor as an array; zeros for None."""
    if x is None:
        return np.zeros(shape)
    return np.array(x.detach().tolist()).reshape(tuple(x.shape)) if not getattr(x, "_is_zerotensor", bool)() else np.zeros(tuple(x.shape))


def directions_of(arrays, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(a.shape).astype(np.result_type(a.dtype, np.float32)) for a in arrays]


def each_and_all(n):
    """Which of n inputs are dual."""
    return [*[tuple(i == j for j in range(n)) for i in range(n)], *([(True,) * n] if n > 1 else [])]


# Tangents that differ from finite differences in PyTorch, and not here (test_gradients.py).
NOT_TORCHS = {"scatter_reduce prod": "a tangent of zeros", "cholesky_inverse": "a wrong tangent", "cholesky old": "none",
              **dict.fromkeys(("index_reduce", "igamma", "special_zeta", "pdist"), "none")}


def compared(case, arrays, directions, **options):
    """The tangents of the two libraries."""
    torch = pytest.importorskip("torch")
    for name, reason in NOT_TORCHS.items():
        if case.name.startswith(name):
            pytest.skip(f"PyTorch gives it {reason}")
    for dual in each_and_all(len(arrays)):
        found = []
        for m in (torch, mg):
            with m.autograd.forward_ad.dual_level():
                z = case.run(m, *duals(m, arrays, directions, dual, **options)[0])
                found.append((tangent(m, z), z))
        (theirs, _), (ours, z) = found
        np.testing.assert_allclose(numbers(ours, z.shape), numbers(theirs, z.shape), **ALIKE, err_msg=f"{case.name}, dual: {dual}")
        assert ours is None or (ours.shape == z.shape and ours.dtype == z.dtype)


@pytest.mark.parametrize("strided", [False, True], ids=["contiguous", "strided"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_tangents_are_torchs(case, strided):
    arrays = case.arrays()
    compared(case, arrays, directions_of(arrays), strided=strided)


# Cases with complex numbers that both libraries refuse, or only PyTorch.
@pytest.mark.parametrize("case", [c for c in CASES if not c.name.startswith(("round decimals", "frac", "mse", "avg_pool", "logcumsumexp", "silu"))], ids=lambda c: c.name)
def test_complex_tangents_are_torchs(case):
    torch = pytest.importorskip("torch")
    arrays = [a + 1j * d for a, d in zip(case.arrays(), directions_of(case.arrays(), 2))]
    directions = [d + 1j * e for d, e in zip(directions_of(arrays), directions_of(arrays, 3))]
    try:
        case.run(torch, *[torch.tensor(a) for a in arrays])
    except (RuntimeError, TypeError):
        pytest.skip("not for complex numbers")
    compared(case, arrays, directions)


def weights(z):
    return mg.tensor(np.cos(np.arange(z.numel(), dtype=float)).reshape(tuple(z.shape)))


@pytest.mark.parametrize("case", [c for c in CASES if c.double], ids=lambda c: c.name)
def test_three_ways_to_a_second_derivative(case):
    """d²/dx² of <w, f(x)> in the direction t: by Rop of the gradient, the gradient of Rop, and the gradient of <gradient, t>."""
    arrays = case.arrays()
    directions = directions_of(arrays)
    every = (True,) * len(arrays)

    def gradients(loss, xs, **options):
        return mg.autograd.grad(loss, xs, allow_unused=True, **options) if loss.requires_grad else [None] * len(xs)
    xs = [mg.tensor(a, requires_grad=True) for a in arrays]
    z = case.run(mg, *xs)
    first = gradients((z * weights(z)).sum(), xs, create_graph=True)
    product = sum([(g * mg.tensor(d)).sum() for g, d in zip(first, directions) if g is not None], mg.zeros((), dtype=mg.float64))
    expected = [numbers(g, a.shape) for g, a in zip(gradients(product, xs), arrays)]

    with mg.autograd.forward_ad.dual_level():
        given, xs, _ = duals(mg, arrays, directions, every, leaves=True)
        z = case.run(mg, *given)
        t = tangent(mg, z)
        under = gradients((t * weights(z)).sum(), xs) if t is not None else [None] * len(xs)
    with mg.autograd.forward_ad.dual_level():
        xs = duals(mg, arrays, directions, every, leaves=True)[0]
        z = case.run(mg, *xs)
        over = [g if g is None else tangent(mg, g) for g in gradients((z * weights(z)).sum(), xs)]
    for way, found in (("reverse over forward", under), ("forward over reverse", over)):
        for g, e in zip(found, expected):
            np.testing.assert_allclose(numbers(g, e.shape), e, rtol=1e-6, atol=1e-8, err_msg=way)


# ---- shapes that no case has --------------------------------------------------------------------------------------------------

SHAPES = {
    "add": (lambda m, x, y: x + y, [((), (3,)), ((0, 3), (1, 3)), ((2, 1), (1, 0)), ((), ())]),
    "mul": (lambda m, x, y: x * y, [((), (3,)), ((0, 3), (1, 3)), ((2, 1), (3,)), ((), ())]),
    "where": (lambda m, x, y: m.where(x > 0, x, y), [((), (3,)), ((0, 3), (3,))]),
    "mm": (lambda m, x, y: x @ y, [((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((2, 0), (0,))]),
    "cat": (lambda m, x, y: m.cat([x, y]), [((0,), (3,)), ((0, 2), (0, 2)), ((2, 0), (1, 0))]),
    "stack": (lambda m, x, y: m.stack([x, y]), [((), ()), ((0,), (0,))]),
    "sums": (lambda m, x, y: x.sum() * y.sum(), [((), ()), ((0,), (2, 0))]),
    "index_add": (lambda m, x, y: x.index_add(0, m.tensor([0, 0]), y), [((2, 0), (2, 0)), ((3,), (2,))]),
    "linear": (lambda m, x, y: m.nn.functional.linear(x, y), [((0, 3), (2, 3)), ((3,), (2, 3))]),
    "copy_": (lambda m, x, y: (x * 1).copy_(y), [((2, 3), ()), ((0,), (0,)), ((2, 3), (2, 1))]),
}


@pytest.mark.parametrize("name, shapes", [(name, shapes) for name in SHAPES for shapes in SHAPES[name][1]])
def test_tangents_of_odd_shapes(name, shapes):
    class Case:
        run = staticmethod(SHAPES[name][0])
    Case.name = name
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    compared(Case, arrays, directions_of(arrays))


# ---- several outputs, dtypes ------------------------------------------------------------------------------------------------------

SEVERAL = {
    "unbind": lambda x: x.unbind(1), "split": lambda x: x.split(2, 1), "split_with_sizes": lambda x: x.split([1, 2], 1), "chunk": lambda x: x.chunk(2),
    "max": lambda x: x.max(1), "min keepdim": lambda x: x.min(0, keepdim=True), "iteration": lambda x: tuple(x),
    "max of one": lambda x: x[0, 0].max(0), "unbind of none": lambda x: x[:, :0].unbind(0),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_outputs(name):
    """Each floating point output has its tangent; an integer output has no tangent."""
    torch = pytest.importorskip("torch")
    seen = []
    for m in (torch, mg):
        with m.autograd.forward_ad.dual_level():
            x = m.autograd.forward_ad.make_dual(m.tensor([[1., 5., 3.], [4., 2., 6.]]), m.tensor([[.1, .5, .3], [.4, .2, .6]]))
            seen.append([(y.tolist(), None if tangent(m, y) is None else tangent(m, y).tolist()) for y in SEVERAL[name](x)])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("left, right", list(itertools.permutations(["float32", "float64", "complex64", "complex128"], 2)))
@pytest.mark.parametrize("run", [lambda m, x, y: x + y, lambda m, x, y: x * y, lambda m, x, y: m.where(x.real > 0, x, y)], ids="+*?")
def test_mixed_dtypes(run, left, right):
    """A tangent has the dtype of its tensor, when operands are promoted."""
    torch = pytest.importorskip("torch")
    for dual in each_and_all(2):
        seen = []
        for m in (torch, mg):
            with m.autograd.forward_ad.dual_level():
                xs = [m.tensor([1.5, -2.], dtype=getattr(m, d)) for d in (left, right)]
                xs = [m.autograd.forward_ad.make_dual(x, x * 3) if d else x for x, d in zip(xs, dual)]
                t = tangent(m, run(m, *xs))
                seen.append((str(t.dtype).split(".")[-1], t.tolist()))
        assert seen[0] == seen[1]


# ---- all ops --------------------------------------------------------------------------------------------------------------------


def has_derivative(primitive):
    """Whether an op has one, or should have."""
    return primitive.differentiable and not primitive.rule.no_derivative


def has_jvp(rule, i):
    """Whether an op says how the tangent of its i-th input travels."""
    return (hasattr(rule, "jvp") or "jvp_of" in vars(rule) or any("jvp_of" in vars(c) for c in rule.__mro__ if c not in (Op, Elementwise, object))
            or hasattr(rule, "jvp_" + rule.op.params[i]) or issubclass(rule, Linear)
            or (issubclass(rule, Elementwise) and rule.op.formulas[i] is not None))


@pytest.mark.parametrize("name", [name for name, primitive in REGISTRY.items() if has_derivative(primitive)])
def test_every_op_has_a_jvp(name):
    """tensor_surface/W-09."""
    primitive = REGISTRY[name]
    for i in range(1 if primitive.variadic else primitive.inputs):
        assert has_jvp(primitive.rule, i), f"{name} has no jvp for its input {primitive.params[i]}"


# Their tangents change their shape as they do (tests/parity/events/forward_writes.py).
MOVED = {"as_strided_", "squeeze_", "squeeze_dim_", "squeeze_dims_", "t_", "transpose_", "transpose_0d_", "unsqueeze_"}


def test_every_jvp_is_reached_by_a_case(monkeypatch):
    """Every jvp runs in a case, or in the gradient of a case."""
    reached = set()
    originals = {name: primitive.rule.jvp_of for name, primitive in REGISTRY.items()}       # some ops inherit it from another op
    for name, jvp_of in originals.items():
        def counted(args, outs, tangents, name=name, jvp_of=jvp_of):
            reached.add(name)
            return jvp_of(args, outs, tangents)
        monkeypatch.setattr(REGISTRY[name].rule, "jvp_of", counted)
    for case in (*CASES, *COMPLEX, *OURS):
        arrays = case.arrays()
        with mg.autograd.forward_ad.dual_level():
            xs = duals(mg, arrays, directions_of(arrays), (True,) * len(arrays), leaves=True)[0]
            z = case.run(mg, *xs)
            if z.requires_grad:
                grads = mg.autograd.grad((z * weights(z)).real.sum(), xs, create_graph=True, allow_unused=True)
                total = sum([(g * g).real.sum() for g in grads if g is not None and g.requires_grad], mg.zeros(()))
                if total.requires_grad:
                    mg.autograd.grad(total, xs, allow_unused=True)
    with mg.autograd.forward_ad.dual_level():
        for name in SEVERAL:
            SEVERAL[name](mg.autograd.forward_ad.make_dual(mg.ones(2, 3), mg.ones(2, 3)))
    missing = {name for name, primitive in REGISTRY.items() if has_derivative(primitive)} - MOVED - reached
    assert not missing, f"no case reaches the jvp of {sorted(missing)}"


@pytest.mark.parametrize("name", ["uniform_", "normal_", "bernoulli_", "zero_"])
def test_what_is_drawn_has_no_tangent(name):
    with mg.autograd.forward_ad.dual_level():
        x = mg.autograd.forward_ad.make_dual(mg.ones(3), mg.ones(3)) * 2
        getattr(x, name)()
        assert tangent(mg, x).tolist() == [0, 0, 0]


@pytest.mark.differs(
    what="`x.logical_not_()` of a dual tensor, and its like",
    there="The tangent stays as it was.",
    here="The new numbers do not depend on the old ones: the tangent is 0.")
@pytest.mark.parametrize("name, others", [("logical_not_", 0), ("logical_and_", 1), ("logical_or_", 1), ("logical_xor_", 1)])
def test_logic_in_place_has_no_tangent(name, others):
    """PyTorch leaves the old one."""
    with mg.autograd.forward_ad.dual_level():
        x = mg.autograd.forward_ad.make_dual(mg.ones(3), mg.ones(3)) * 2
        getattr(x, name)(*[mg.ones(3)] * others)
        assert tangent(mg, x).tolist() == [0, 0, 0]


def test_an_op_without_jvp_refuses(monkeypatch):
    """tensor_surface/W-09: it does not drop the tangent. Nor does one with a formula for another input only."""
    monkeypatch.setattr(op_rules, "REGISTRY", dict(REGISTRY))

    @op("reversed")
    class Reversed(Op):
        def forward(k, x, y):
            return k.add(x[::-1], y)

        def vjp_x(g, y):
            return g

        def vjp_y(g):
            return g

        def jvp_y(t):
            return t

    @op("first")
    class First(Elementwise):
        inputs = 2

        def forward(k, x, y):
            return x.copy()

        def vjp_x(g):
            return g
    plain = mg.ones(2)
    with mg.autograd.forward_ad.dual_level():
        x = mg.autograd.forward_ad.make_dual(mg.ones(2), mg.ones(2))
        assert tangent(mg, call(Reversed.op, (plain, x))).tolist() == [1, 1]
        assert tangent(mg, call(First.op, (x, plain))).tolist() == [1, 1]
        for rule, args in ((Reversed, (x, plain)), (First, (plain, x))):
            with pytest.raises(NotImplementedError, match=f"Trying to use forward AD with {rule.op.name} that does not support it"):
                call(rule.op, args)
        assert tangent(mg, x * x).tolist() == [2, 2]        # all is as before
    assert call(Reversed.op, (plain, plain)).tolist() == [2, 2]
