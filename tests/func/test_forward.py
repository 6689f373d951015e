"""func.jvp, linearize, jacrev, jacfwd, hessian: trees and shapes, nesting, requires_grad of the results; every error."""

import threading

import numpy as np
import pytest

from tests.core.engine_tools import ours, raises
from tests.func.tools import d, numbers

JACOBIANS = pytest.mark.parametrize("name", ["jacrev", "jacfwd"])


def cube(x):
    return x ** 3


# ---- jvp and linearize -------------------------------------------------------------------------------------


def test_jvp(m):
    value, moved = m.func.jvp(cube, (d(m, 1.0, 2.0),), (d(m, 1.0, 10.0),))
    assert (value.tolist(), moved.tolist()) == ([1, 8], [3, 120])
    assert not value.requires_grad and not moved.requires_grad


def test_jvp_on_trees(m):
    primals = {"x": d(m, 1.0, 2.0), "y": d(m, 3.0)}, [d(m, 4.0)]
    tangents = {"x": d(m, 1.0, 0.0), "y": d(m, 10.0)}, [d(m, 100.0)]
    value, moved = m.func.jvp(lambda t, l: {"o": [t["x"] * t["y"]], "l": l[0] * 2}, primals, tangents)
    assert numbers((value, moved)) == ({"o": [[3, 6]], "l": 8}, {"o": [[13, 20]], "l": 200})


def test_jvp_with_aux(m):
    value, moved, aux = m.func.jvp(lambda x: (x * x, [x]), (d(m, 1.0, 2.0),), (d(m, 1.0, 1.0),), has_aux=True)
    assert numbers((value, moved, aux)) == ([1, 4], [2, 4], [[1, 2]])


def test_jvp_of_what_does_not_move(m):
    value, moved = m.func.jvp(lambda x: (d(m, 5.0) * 1, x), (d(m, 1.0),), (d(m, 1.0),))
    assert numbers((value, moved)) == ((5, 1), (0, 1))
    with raises(RuntimeError, "The output of f is independent of the inputs. This is not allowed with strict=True."):
        m.func.jvp(lambda x: (d(m, 5.0) * 1, x), (d(m, 1.0),), (d(m, 1.0),), strict=True)
    _, moved = m.func.jvp(lambda x, y: x * 2, (d(m, 1.0), d(m, 2.0)), (d(m, 1.0), d(m, 1.0)), strict=True)
    assert moved.tolist() == 2
    value, moved = m.func.jvp(lambda x: (x.long(), x), (d(m, 2.0),), (d(m, 1.0),))
    assert moved[0].dtype == m.int64 and numbers((value, moved)) == ((2, 2), (0, 1))


def test_jvp_nested(m):
    x, v = d(m, 1.0, 2.0), d(m, 1.0, 1.0)
    assert m.func.jvp(lambda x: m.func.jvp(cube, (x,), (v,))[1], (x,), (v,))[1].tolist() == [6, 12]
    assert m.func.grad(lambda x: m.func.jvp(cube, (x,), (v,))[1].sum())(x).tolist() == [6, 12]
    assert m.func.jvp(m.func.grad(lambda x: cube(x).sum()), (x,), (v,))[1].tolist() == [6, 12]


def test_jvp_through_a_backward(m):
    """Forward over reverse: gradient, value, aux and products move, whether or not their history is dropped on the way out."""
    x, v = d(m, 1.0, 2.0), d(m, 1.0, 10.0)

    def f(x):
        found, (value, aux) = m.func.grad_and_value(lambda y: (cube(y).sum(), y * x), has_aux=True)(x)
        output, pull = m.func.vjp(cube, x)
        return found, value, aux, output, pull(x)[0]

    values, moved = m.func.jvp(f, (x,), (v,))
    assert numbers(values) == ([3, 12], 9, [1, 4], [1, 8], [3, 24])
    assert numbers(moved) == ([6, 120], 123, [2, 40], [3, 120], [9, 360])
    assert not any(y.requires_grad for y in (*values, *moved))


def test_jvp_through_a_backward_in_the_graph_around(m):
    x, v = d(m, 1.0, 2.0), d(m, 1.0, 1.0).requires_grad_()
    (value, found), (moved, turned) = m.func.jvp(lambda x: m.func.grad_and_value(lambda y: (y ** 4).sum())(x)[::-1], (x,), (v,))
    assert not value.requires_grad and not found.requires_grad
    assert m.autograd.grad(moved, v, retain_graph=True)[0].tolist() == [4, 32]
    assert m.autograd.grad(turned.sum(), v)[0].tolist() == [12, 48]


def test_thrice(m):
    x, v = d(m, 1.0, 2.0), d(m, 1.0, 1.0)
    jvp, grad = m.func.jvp, m.func.grad
    once = [lambda f: lambda x: jvp(f, (x,), (v,))[1], lambda f: lambda x: grad(lambda x: f(x).sum())(x)]
    for a in once:
        for b in once:
            for c in once:
                assert a(b(c(lambda x: x ** 4)))(x).tolist() == [24, 48]


def test_under_dual_tensors_of_the_user(m):
    fw = m.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(d(m, 1.0, 2.0), d(m, 1.0, 10.0))
        found, value = m.func.grad_and_value(lambda x: cube(x).sum())(x)
        assert numbers((fw.unpack_dual(found).tangent, fw.unpack_dual(value).tangent)) == ([6, 120], 123)


@pytest.mark.differs(
    what="`func.jvp` or `func.jacfwd` of a dual tensor",
    there="RuntimeError: nested forward mode is not supported.",
    here="It works: two backwards compute the inner derivative.")
@ours
def test_a_pass_in_the_level_of_the_user(m):
    """[better] PyTorch nests levels here only; ours has one, and takes two backwards within it."""
    fw = m.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(d(m, 1.0, 2.0), d(m, 1.0, 10.0))
        value, moved = m.func.jvp(cube, (x,), (d(m, 1.0, 1.0),))
        assert numbers((fw.unpack_dual(value).tangent, fw.unpack_dual(moved).tangent)) == ([3, 120], [6, 120])
        assert fw.unpack_dual(m.func.jacfwd(cube)(x)).tangent.tolist() == [[6, 0], [0, 120]]


def test_the_level_ends_with_an_error(m):
    def f(x):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        m.func.jvp(f, (d(m, 1.0),), (d(m, 1.0),))
    with m.autograd.forward_ad.dual_level():
        pass


@ours
def test_what_has_no_second_derivative(m):
    """One pass forward asks for no backward at all."""
    class Cube(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x ** 3

        @staticmethod
        def jvp(ctx, dx):
            return 3 * ctx.saved_tensors[0] ** 2 * dx

    assert m.func.jvp(Cube.apply, (d(m, 1.0, 2.0),), (d(m, 1.0, 1.0),))[1].tolist() == [3, 12]


@ours
def test_threads(m):
    """If several threads use forward mode, one at a time gets the level, and the others run two backwards."""
    x, found = d(m, 1.0, 2.0), []

    def many():
        for i in range(40):
            moved = m.func.jvp(lambda x: m.func.grad(lambda x: cube(x).sum())(x) * x, (x,), (d(m, float(i), 1.0),))[1]
            found.append(moved.tolist() == [9.0 * i, 36])

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160 and all(found)


def test_the_levels_of_jvp_are_not_confused(m):
    one = d(m, 1.0)
    _, moved = m.func.jvp(lambda x: x * m.func.jvp(lambda y: x + y, (one,), (one,))[1], (d(m, 2.0),), (one,))
    assert moved.tolist() == 1
    _, moved = m.func.jvp(lambda x: x * m.func.jvp(lambda y: x * y, (one,), (one,))[1], (d(m, 2.0),), (one,))
    assert moved.tolist() == 4


def test_jvp_goes_on_in_the_graph_around(m):
    x, v = d(m, 1.0, 2.0).requires_grad_(), d(m, 1.0, 1.0).requires_grad_()
    value, moved = m.func.jvp(cube, (x,), (v,))
    assert value.requires_grad
    assert numbers(m.autograd.grad(moved.sum(), (x, v))) == ([6, 12], [3, 12])
    value, moved = m.func.jvp(cube, (x.detach(),), (v,))
    assert not value.requires_grad and m.autograd.grad(moved.sum(), v)[0].tolist() == [3, 12]
    w = d(m, 5.0).requires_grad_()
    _, moved = m.func.jvp(lambda x: w * x * x, (x.detach(),), (v.detach(),))
    assert m.autograd.grad(moved.sum(), w)[0].tolist() == 6
    with m.no_grad():
        value, moved = m.func.jvp(cube, (x,), (v,))
        assert moved.tolist() == [3, 12] and not value.requires_grad and not moved.requires_grad
    with m.inference_mode():
        assert m.func.jvp(cube, (d(m, 1.0, 2.0),), (d(m, 1.0, 1.0),))[1].tolist() == [3, 12]


def test_tangents_of_another_precision(m):
    _, moved = m.func.jvp(cube, (d(m, 1.0, 2.0),), (m.ones(2),))
    assert moved.tolist() == [3, 12] and moved.dtype == m.float64


def test_linearize(m):
    calls = []

    def f(x, y):
        calls.append(1)
        return {"o": x * y}

    value, push = m.func.linearize(f, d(m, 1.0, 2.0), d(m, 3.0))
    before = len(calls)
    assert numbers(value) == {"o": [3, 6]}
    assert numbers(push(d(m, 1.0, 0.0), d(m, 0.0))) == {"o": [3, 0]}
    assert numbers(push(d(m, 0.0, 0.0), d(m, 10.0))) == {"o": [10, 20]}
    assert len(calls) == before


@pytest.mark.differs(
    what="`func.grad` of a function that calls `func.linearize`",
    there="The result is uninitialized memory.",
    here="The result is right.")
@ours
def test_linearize_nested(m):
    """[better] PyTorch returns uninitialized memory."""
    found = m.func.grad(lambda x: m.func.linearize(cube, x)[1](d(m, 1.0, 1.0)).sum())(d(m, 1.0, 2.0))
    assert found.tolist() == [6, 12]


# ---- Jacobians ---------------------------------------------------------------------------------------------


@JACOBIANS
def test_shapes(m, name):
    """output.shape + input.shape"""
    jacobian = getattr(m.func, name)
    found = jacobian(lambda x: x @ x.T)(m.ones(2, 3, dtype=m.float64))
    assert tuple(found.shape) == (2, 2, 2, 3) and found.sum().tolist() == 4 * 3 * 2
    assert jacobian(cube)(d(m, 1.0, 2.0)).tolist() == [[3, 0], [0, 12]]
    assert jacobian(lambda x: cube(x).sum())(d(m, 1.0, 2.0)).tolist() == [3, 12]
    assert jacobian(lambda x: x * m.ones(3, dtype=m.float64))(d(m, 2.0)).tolist() == [1, 1, 1]


@JACOBIANS
def test_trees(m, name):
    """A tree like the output, of trees like the argument."""
    jacobian = getattr(m.func, name)
    tree = {"x": d(m, 1.0, 2.0), "y": d(m, 3.0)}
    found = jacobian(lambda t: {"o": [t["x"] * t["y"]], "s": t["y"] ** 2})(tree)
    assert numbers(found) == {"o": [{"x": [[3, 0], [0, 3]], "y": [1, 2]}], "s": {"x": [0, 0], "y": 6}}


@JACOBIANS
def test_argnums(m, name):
    jacobian = getattr(m.func, name)
    x, y = d(m, 1.0, 2.0), d(m, 3.0)

    def f(x, y):
        return x * y, y

    blocks = (([[3, 0], [0, 3]], [1, 2]), ([0, 0], 1))
    assert numbers(jacobian(f, argnums=(0, 1))(x, y)) == blocks
    assert numbers(jacobian(f)(x, y)) == (blocks[0][0], blocks[1][0])
    assert numbers(jacobian(f, argnums=1)(x, y)) == (blocks[0][1], blocks[1][1])
    assert numbers(jacobian(f, argnums=(1,))(x, y)) == ((blocks[0][1],), (blocks[1][1],))


@pytest.mark.differs(
    what="`func.jacfwd(f, argnums=-1)`, `func.hessian(f, argnums=-1)`",
    there="The result is zeros.",
    here="A negative number counts from the end.")
@ours
def test_argnums_from_the_end(m):
    """[better] PyTorch's jacfwd and hessian return zeros."""
    x, y = d(m, 1.0, 2.0), d(m, 3.0)
    assert m.func.jacfwd(lambda x, y: x * y, argnums=-1)(x, y).tolist() == [1, 2]
    assert m.func.hessian(lambda x, y: (x * y * y).sum(), argnums=-1)(x, y).tolist() == 6


@JACOBIANS
def test_aux(m, name):
    found, aux = getattr(m.func, name)(lambda x: (cube(x), {"x": x}), has_aux=True)(d(m, 1.0, 2.0))
    assert numbers((found, aux)) == ([[3, 0], [0, 12]], {"x": [1, 2]}) and not aux["x"].requires_grad


@JACOBIANS
def test_what_does_not_depend(m, name):
    assert getattr(m.func, name)(lambda x: (d(m, 5.0, 6.0) * 1, x))(d(m, 1.0))[0].tolist() == [0, 0]
    assert tuple(getattr(m.func, name)(cube)(m.ones(0)).shape) == (0, 0)
    assert tuple(getattr(m.func, name)(lambda x: x.sum())(m.ones(0)).shape) == (0,)


@JACOBIANS
def test_in_the_graph_around(m, name):
    jacobian = getattr(m.func, name)
    x = d(m, 1.0, 2.0).requires_grad_()
    found = jacobian(cube)(x)
    assert m.autograd.grad(found.sum(), x)[0].tolist() == [6, 12]
    w = d(m, 5.0).requires_grad_()
    assert m.autograd.grad(jacobian(lambda x: w * x)(x.detach()).sum(), w)[0].tolist() == 2
    assert not jacobian(cube)(x.detach()).requires_grad
    with m.no_grad():
        assert not jacobian(cube)(x).requires_grad


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
def test_one_of_the_other(m, outer, inner):
    found = getattr(m.func, outer)(getattr(m.func, inner)(lambda x: (x ** 3).sum() + x[0] * x[1]))(d(m, 1.0, 2.0))
    assert found.tolist() == [[6, 1], [1, 12]] and not found.requires_grad


def test_hessian(m):
    assert m.func.hessian(lambda x: (x ** 3).sum() + x[0] * x[1])(d(m, 1.0, 2.0)).tolist() == [[6, 1], [1, 12]]
    assert tuple(m.func.hessian(cube)(m.ones(2, 3, dtype=m.float64)).shape) == (2, 3) * 3
    x, y = d(m, 1.0, 2.0), d(m, 3.0)
    found = m.func.hessian(lambda x, y: (x * y ** 2).sum(), argnums=(0, 1))(x, y)
    assert numbers(found) == (([[0, 0], [0, 0]], [6, 6]), ([6, 6], 6))
    found = m.func.hessian(lambda t: (t["x"] * t["y"] ** 2).sum())({"x": x, "y": y})
    assert numbers(found) == {"x": {"x": [[0, 0], [0, 0]], "y": [6, 6]}, "y": {"x": [6, 6], "y": 6}}


@pytest.mark.differs(
    what="`func.jacrev(f)(x, scale=3)`, `func.jacfwd(f)(x, scale=3)`",
    there="TypeError.",
    here="Keyword arguments go to `f`, as with `func.grad`.")
@ours
@JACOBIANS
def test_keywords_go_to_the_function(m, name):
    """[better] PyTorch refuses them."""
    assert getattr(m.func, name)(lambda x, scale: scale * x)(d(m, 1.0), scale=3).tolist() == 3


# ---- errors ------------------------------------------------------------------------------------------------


def test_primals_and_tangents(m):
    x, one = d(m, 1.0, 2.0), d(m, 1.0)
    jvp = m.func.jvp
    for primals in ([x], x):
        with raises(RuntimeError, "Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."):
            jvp(cube, primals, (x,))
    with raises(RuntimeError, "Expected primals to contain at least one Tensor."):
        jvp(lambda: x, (), ())
    for tangents in ((x, x), x, [x], ({"a": x},)):
        with raises(RuntimeError, "Expected primals and tangents to have the same python structure."):
            jvp(cube, (x,), tangents)
    with raises(RuntimeError, "Expected primals to only contain Tensors, got <class 'float'>"):
        jvp(cube, (1.0,), (1.0,))
    with raises(RuntimeError, "Expected tangents to only contain Tensors, got <class 'float'>"):
        jvp(cube, (one,), (1.0,))
    for tangent in (d(m, 1.0, 2.0, 3.0), one):
        with raises(RuntimeError, "Trying to set a forward gradient that has a different size than that of the original Tensor"):
            jvp(cube, (x,), (tangent,))
    with raises(ValueError, "Expected primal to be floating point or complex, but got: "):
        jvp(cube, (m.tensor(1),), (m.tensor(1),))
    with raises(ValueError, "Expected tangent to be floating point or complex, but got: "):
        jvp(cube, (one,), (m.tensor(1),))


def test_tangents_of_linearize(m):
    x = d(m, 1.0, 2.0)
    _, push = m.func.linearize(lambda x, y: x * y, x, d(m, 3.0))
    with raises(RuntimeError, "to have the same argspec as the primals"):
        push(x)
    with raises(RuntimeError, "in flattened pytree doesn't match the shape"):
        push(d(m, 1.0, 2.0, 3.0), d(m, 1.0))
    with raises(RuntimeError, "in flattened pytree doesn't match the dtype"):
        push(m.ones(2), d(m, 1.0))


@JACOBIANS
def test_jacobians_are_real(m, name):
    jacobian = getattr(m.func, name)
    with raises(RuntimeError, f"{name}: Expected all inputs to be real but received complex tensor at flattened input idx: 0"):
        jacobian(cube)(m.tensor([1 + 2j]))
    with raises(RuntimeError, f"{name}: Expected all outputs to be real but received complex tensor at flattened input idx: 0"):
        jacobian(lambda x: x * 1j)(d(m, 1.0))


def test_options(m):
    x = d(m, 1.0, 2.0)
    for size in (1, 2, 100, None):
        assert m.func.jacrev(cube, chunk_size=size)(x).tolist() == [[3, 0], [0, 12]]
    for size in (0, -1):
        with raises(ValueError, "jacrev: `chunk_size` should be greater than 0."):
            m.func.jacrev(cube, chunk_size=size)(x)
    for randomness in ("error", "same", "different"):
        assert m.func.jacfwd(cube, randomness=randomness)(x).tolist() == [[3, 0], [0, 12]]
    with raises(RuntimeError, "Only allowed values for randomness are 'error', 'different', or 'same'. Got none"):
        m.func.jacfwd(cube, randomness="none")(x)


@JACOBIANS
def test_jacobians_of_what_is_no_tensor(m, name):
    wrong = (ValueError, RuntimeError, AttributeError)
    with pytest.raises(wrong):
        getattr(m.func, name)(cube)(3.0)
    with pytest.raises(wrong, match="floating point"):
        getattr(m.func, name)(cube)(m.tensor(3))


def test_rounding(m):
    """Two backwards are as exact as one pass forward."""
    x = d(m, *np.linspace(0.1, 3, 7).tolist())
    _, moved = m.func.jvp(lambda x: x.sin() * x.exp(), (x,), (m.ones_like(x),))
    a = np.linspace(0.1, 3, 7)
    np.testing.assert_allclose(moved.tolist(), (np.cos(a) + np.sin(a)) * np.exp(a), rtol=1e-14)
