"""Note [Lending a gradient] in ``_core/record/op_node.py``: a result in the memory of a gradient that only the engine holds."""

import ast
from pathlib import Path

import pytest

import minigrad as mg
import minigrad.ops as ops
from minigrad._build import pure as _pure
from minigrad._core.record.apply import call
from minigrad.ops import REGISTRY
from minigrad.ops.base.rule import Elementwise, op
from tests.internals import needs
from tests.ops.cases import CASES
from tests.ops.test_gradients import tensors, weights

# Functions of a formula that read a tensor once, or not at all
READ_ONCE = {"binary", "call", "deg2rad", "imag", "rad2deg", "real_part", "scale_gradient", "where", "zeros_like"}
compiled = pytest.mark.skipif(_pure.mode() != "compiled", reason="interpreted code does not lend")


# ---- the rule of the formulas -----------------------------------------------------------------------------


def formulas_that_lend():
    """The syntax trees of all formulas of the ops with `reads_g_once`, as (name, function)."""
    trees, found = {}, {}
    for primitive in REGISTRY.values():
        if not primitive.rule.reads_g_once:
            continue
        for cls in primitive.rule.__mro__:
            names = [name for name in vars(cls) if name.startswith("vjp_")]
            if names and cls.__module__ not in trees:
                path = Path(ops.__file__).parent.joinpath(*cls.__module__.split(".")[2:]).with_suffix(".py")
                trees[cls.__module__] = {c.name: c for c in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(c, ast.ClassDef)}
            if names and cls.__name__ in trees[cls.__module__]:
                for item in trees[cls.__module__][cls.__name__].body:
                    if isinstance(item, ast.FunctionDef) and item.name in names:
                        found[f"{cls.__name__}.{item.name}"] = item
    return found.items()


def reads(tree, g):
    """How often a part of a formula reads the numbers of `g`: on the longest way, if there are several."""
    if isinstance(tree, ast.Attribute):     # g.shape, g.new_zeros
        return 0 if isinstance(tree.value, ast.Name) else reads(tree.value, g)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id not in READ_ONCE:
        return sum(reads(x, g) + isinstance(x, ast.Name) * reads(x, g) for x in tree.args)      # it may read g itself twice
    if isinstance(tree, ast.IfExp):
        return reads(tree.test, g) + max(reads(tree.body, g), reads(tree.orelse, g))
    if isinstance(tree, ast.Name):
        return int(tree.id == g)
    return sum(reads(part, g) for part in ast.iter_child_nodes(tree))


@pytest.mark.parametrize(("name", "formula"), formulas_that_lend(), ids=lambda x: x if isinstance(x, str) else "")
def test_formulas_read_the_gradient_once(name, formula):
    """Otherwise the rule must not say so: the second read would see the result of the first."""
    g = formula.args.args[0].arg
    for statement in ast.walk(formula):
        if isinstance(statement, ast.Return):
            assert reads(statement, g) <= 1, ast.unparse(formula)
        elif isinstance(statement, ast.Assign):
            assert reads(statement, g) == 0, ast.unparse(formula)


@pytest.mark.parametrize("case", [c for c in CASES if not c.writes], ids=lambda c: c.name)
def test_the_same_gradients_as_without(case):
    """`* 1` makes a gradient that only the engine holds; a hook holds the other."""
    def gradients(hold):
        xs = tensors(case.arrays())
        z = case.run(mg, *xs)
        held = []
        if hold:
            z.register_hook(held.append)
        (z * 1).backward(weights(z), retain_graph=True)
        return [x.grad if x.grad is None else x.grad.numpy().tobytes() for x in xs]
    assert gradients(False) == gradients(True)


# ---- what is lent, and what is not ---------------------------------------------------------------------------


def leaf(*numbers):
    return mg.tensor(numbers, requires_grad=True)


@compiled
@needs("counts")
def test_a_chain_needs_no_new_memory():
    x, b = leaf(1.0, 2.0, 3.0), mg.tensor([2.0, 3.0, 4.0])
    addresses = []

    class Look(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            addresses.append(g.data_ptr())
            return g
    y = Look.apply(x) * b
    for _ in range(5):
        y = (-(y * b).tanh() * 0.5 / b).sigmoid()
    Look.apply(y * 1).backward(mg.ones(3))
    assert x.grad is not None
    assert addresses[-1] == x.grad.data_ptr()


def test_the_gradient_of_the_user_stays():
    x, g = leaf(1.0, 2.0), mg.ones(2)
    (x * 3).backward(g)
    assert g.tolist() == [1.0, 1.0]


def test_a_gradient_that_goes_to_two_nodes_stays():
    """x - y gives g to x and -g to y."""
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    ((x * 2 - y * 5) * 1).backward(mg.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad.tolist() == [-5.0, -5.0]


def test_both_operands():
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    (x * y * 1).backward(mg.ones(2))
    assert x.grad.tolist() == [5.0, 7.0]
    assert y.grad.tolist() == [2.0, 3.0]
    x, y = leaf(2.0, 3.0), leaf(4.0, 8.0)
    (x / y * 1).backward(mg.ones(2))
    assert x.grad.tolist() == [0.25, 0.125]
    assert y.grad.tolist() == [-0.125, -0.046875]


def test_hooks_keep_their_gradients():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * 3
    seen = []
    y.register_hook(seen.append)
    z.grad_fn.register_hook(lambda new, old: seen.extend([new[0], old[0]]))
    z.grad_fn.register_prehook(lambda grads: seen.extend(grads))
    y.retain_grad()
    z.retain_grad()
    (z * 5).backward(mg.ones(2))
    assert [g.tolist()[0] for g in seen] == [5.0, 15.0, 5.0, 15.0]
    assert y.grad.tolist() == [15.0, 15.0]
    assert z.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [30.0, 30.0]


def test_create_graph():
    x = leaf(2.0, 3.0)
    g, = mg.autograd.grad((x * x * x).sum(), x, create_graph=True)
    h, = mg.autograd.grad((g * 1).sum(), x)
    assert g.tolist() == [12.0, 27.0]
    assert h.tolist() == [12.0, 18.0]


def test_results_of_grad_stay():
    x = leaf(2.0, 3.0)
    y = x * 2
    z = y * 3
    dy, dx = mg.autograd.grad((z * 1).sum(), [y, x])
    assert dy.tolist() == [3.0, 3.0]
    assert dx.tolist() == [6.0, 6.0]


def test_broadcast():
    x, b = leaf(1.0, 2.0), mg.tensor([[1.0], [2.0], [3.0]])
    (x * b * 1).backward(mg.ones(3, 2))
    assert x.grad.tolist() == [6.0, 6.0]


def test_the_gradient_of_a_sum():
    """It repeats one number in memory."""
    x = mg.ones(3, 4).requires_grad_()
    (x * 2 * x).sum().backward()
    assert x.grad.tolist() == [[4.0] * 4] * 3


def test_after_an_error():
    """A gradient that was lent when the formula failed is not lent any more."""
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y * 1
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(mg.ones(2))
    assert (mg.ones(2) * 2).tolist() == [2.0, 2.0]


def test_no_result_survives_as_lent():
    """The gradient of x + 1 is g itself. What a program computes with it later does not change it."""
    x = leaf(1.0, 2.0)
    ((x + 1) * 3).backward(mg.ones(2))
    with mg.no_grad():
        assert (x.grad * 2).tolist() == [6.0, 6.0]
        assert (-x.grad).tolist() == [-3.0, -3.0]
        assert x.grad.exp().shape == (2,)
    assert x.grad.tolist() == [3.0, 3.0]


def test_dtypes_without_loops():
    for dtype in (mg.float16, mg.bfloat16, mg.float64, mg.complex64):
        x = mg.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        (-(x * 3) * 2 * 1).backward(mg.ones(2, dtype=dtype))
        assert x.grad.tolist() == [-6.0, -6.0]


def test_a_rule_that_says_nothing_may_read_the_gradient_twice():
    @op("read_twice")
    class ReadTwice(Elementwise):
        """z = x²"""

        def forward(k, x):
            return k.mul(x, x)

        def vjp_x(g, x):
            return g * x + g * x
    try:
        x = mg.tensor([1., 2., 3.], requires_grad=True)
        (call(ReadTwice.op, (x,)) * 1).sum().backward()
        assert x.grad.tolist() == [2.0, 4.0, 6.0]
    finally:
        del REGISTRY["read_twice"]
