"""func.grad and vjp: on trees, by argnums, with aux; nested; requires_grad of their results; every error."""

import collections

import pytest

from tests.core.engine_tools import ours, raises
from tests.func.tools import d, numbers

Point = collections.namedtuple("Point", "a b")


def square(x):
    return (x * x).sum()


def test_grad_on_a_tensor(m):
    found = m.func.grad(square)(d(m, 1.0, 2.0))
    assert found.tolist() == [2, 4] and not found.requires_grad and found.is_leaf


def test_grad_on_trees(m):
    """A tree like the argument; zeros where nothing depends on a tensor."""
    tree = {"p": d(m, 2.0), "l": [d(m, 3.0)], "n": Point(d(m, 4.0), (d(m, 5.0, 6.0),))}
    found = m.func.grad(lambda t: t["p"] * t["l"][0] * t["n"].a)(tree)
    assert numbers(found) == {"p": 12, "l": [8], "n": Point(6, ([0, 0],))}
    assert type(found["n"]) is Point


def test_grad_by_argnums(m):
    x, y = d(m, 2.0), d(m, 3.0)

    def f(x, y):
        return x * x * y

    for argnums, expected in ((0, 12), (1, 4), (-1, 4), ((0, 1), (12, 4)), ((1, 0), (4, 12)), ((1,), (4,)), ((-2,), (12,))):
        assert numbers(m.func.grad(f, argnums=argnums)(x, y)) == expected


def test_other_arguments_may_be_anything(m):
    found = m.func.grad(lambda x, how, scale=1: square(x) * scale if how == "squared" else None)(d(m, 1.0, 2.0), "squared", scale=10)
    assert found.tolist() == [20, 40]


def test_grad_and_value(m):
    found, value = m.func.grad_and_value(square)(d(m, 1.0, 2.0))
    assert (found.tolist(), value.tolist()) == ([2, 4], 5)
    found, (value, aux) = m.func.grad_and_value(lambda x: (square(x), {"x": x, "twice": 2 * x}), has_aux=True)(d(m, 1.0, 2.0))
    assert numbers((found, value, aux)) == ([2, 4], 5, {"x": [1, 2], "twice": [2, 4]})
    assert not value.requires_grad and not aux["x"].requires_grad and not aux["twice"].requires_grad


@ours
def test_value_and_grad(m):
    value, found = m.func.value_and_grad(square)(d(m, 1.0, 2.0))
    assert (value.tolist(), found.tolist()) == (5, [2, 4])
    (value, aux), found = m.func.value_and_grad(lambda x: (square(x), 2 * x), has_aux=True)(d(m, 1.0, 2.0))
    assert numbers((value, aux, found)) == (5, [2, 4], [2, 4])


def test_aux_of_grad(m):
    found, aux = m.func.grad(lambda x: (square(x), x + 1), has_aux=True)(d(m, 1.0, 2.0))
    assert (found.tolist(), aux.tolist()) == ([2, 4], [2, 3])


def test_grad_keeps_the_name_of_the_function(m):
    assert m.func.grad(square).__name__ == "square"


# ---- nesting ----------------------------------------------------------------------------------------------


def test_grad_of_grad(m):
    """The inner function captures the outer variable: d/dx [d/dy x y² at y = x] = d/dx 2 x² = 4 x."""
    grad = m.func.grad
    found = grad(lambda x: grad(lambda y: x * y * y)(x))(d(m, 2.0))
    assert found.tolist() == 8 and not found.requires_grad
    assert grad(grad(grad(lambda x: x ** 4)))(d(m, 2.0)).tolist() == 48


def test_the_levels_are_not_confused(m):
    """The inner derivative is that by the inner variable alone, whatever it captures."""
    grad = m.func.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(d(m, 1.0)))(d(m, 2.0)).tolist() == 1
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(d(m, 3.0)).tolist() == 6
    assert grad(lambda x: x * grad(lambda y: x * y)(d(m, 1.0)))(d(m, 3.0)).tolist() == 6
    assert grad(lambda x: grad(lambda y: grad(lambda z: x * y * z * z)(y))(x))(d(m, 2.0)).tolist() == 16


def test_an_outer_derivative_of_value_and_aux(m):
    def outer(x):
        _, (value, aux) = m.func.grad_and_value(lambda y: (y ** 3, x * y), has_aux=True)(x)
        return value + aux
    assert m.func.grad(outer)(d(m, 2.0)).tolist() == 3 * 4 + 2 * 2


def test_vjp_in_grad_and_grad_in_vjp(m):
    def outer(x):
        output, pull = m.func.vjp(lambda y: x * y ** 2, x)
        return output + pull(x)[0]                          # x³ + x * 2 x²
    assert m.func.grad(outer)(d(m, 2.0)).tolist() == 9 * 4
    output, pull = m.func.vjp(m.func.grad(lambda x: (x ** 3).sum()), d(m, 1.0, 2.0))
    assert (output.tolist(), pull(d(m, 1.0, 10.0))[0].tolist()) == ([3, 12], [6, 120])


# ---- graphs outside ----------------------------------------------------------------------------------------


def test_results_go_on_in_the_graph_around(m):
    x = d(m, 1.0, 2.0).requires_grad_()
    found = m.func.grad(lambda x: (x ** 3).sum())(x)
    assert found.requires_grad and x.grad is None
    found.sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_a_captured_tensor_is_constant_here_and_variable_outside(m):
    w, x = d(m, 3.0).requires_grad_(), d(m, 1.0, 2.0)
    found, value = m.func.grad_and_value(lambda x: (w ** 2 * x ** 2).sum())(x)
    assert found.tolist() == [18, 36] and found.requires_grad and value.requires_grad
    assert m.autograd.grad(found.sum(), w, retain_graph=True)[0].tolist() == 2 * 3 * 2 * (1 + 2)
    assert m.autograd.grad(value, w)[0].tolist() == 2 * 3 * 5


def test_results_require_a_gradient_only_if_they_depend(m):
    """Additive: the value depends on w, and the gradient does not."""
    w, x = d(m, 3.0).requires_grad_(), d(m, 1.0, 2.0)
    found, value = m.func.grad_and_value(lambda x: (x ** 2).sum() + w)(x)
    assert value.requires_grad and not found.requires_grad
    assert not m.func.grad(lambda x: (x ** 2).sum() + w.detach())(x).requires_grad
    same = m.func.grad(lambda x: (x * w).sum())(w)
    assert same.tolist() == 3 and m.autograd.grad(same, w)[0].tolist() == 1


def test_an_ended_level_is_not_the_graph_around(m):
    """A result that depends on an outer variable also leads to the inner one: the outer result still comes out without history."""
    found = m.func.grad(lambda x: m.func.grad(lambda y: (x * y) ** 2)(d(m, 5.0)))(d(m, 2.0))
    assert found.tolist() == 4 * 2 * 5 and not found.requires_grad
    _, aux = m.func.grad(lambda x: (x * x, m.func.grad(lambda y: (x * y) ** 2)(d(m, 5.0))), has_aux=True)(d(m, 2.0))
    assert not aux.requires_grad


def test_no_grad_around_and_inside(m):
    x = d(m, 1.0, 2.0).requires_grad_()
    with m.no_grad():
        found, value = m.func.grad_and_value(square)(x)
        assert not m.is_grad_enabled()
    assert found.tolist() == [2, 4] and not found.requires_grad and not value.requires_grad

    def inside(x):
        with m.no_grad():
            constant = x ** 2
        return (x - constant).sum()
    assert m.func.grad(inside)(d(m, 1.0, 2.0)).tolist() == [1, 1]


def test_inference_mode_around(m):
    with m.inference_mode():
        assert m.func.grad(square)(d(m, 1.0, 2.0)).tolist() == [2, 4]
        assert m.func.vjp(square, d(m, 1.0, 2.0))[1](d(m, 10.0))[0].tolist() == [20, 40]


def test_hooks_inside(m):
    def f(x):
        x.register_hook(lambda g: 10 * g)
        return square(x)
    assert m.func.grad(f)(d(m, 1.0, 2.0)).tolist() == [20, 40]


def test_writes_inside(m):
    def f(x):
        y = m.zeros(2, dtype=m.float64)
        y = y + 0 * x
        y.add_(x).mul_(x)
        return y.sum()
    assert m.func.grad(f)(d(m, 1.0, 2.0)).tolist() == [2, 4]
    with raises(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
        m.func.grad(lambda x: x.mul_(2).sum())(d(m, 1.0, 2.0))
    computed = d(m, 1.0, 2.0).requires_grad_() * 1
    for run in (m.func.grad(lambda x: x.mul_(2).sum()), m.func.jacrev(lambda x: x.mul_(2)), lambda x: m.func.vjp(lambda x: x.mul_(2), x)):
        with raises(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
            run(computed)


def test_the_original_is_not_touched(m):
    x = d(m, 1.0, 2.0)
    m.func.grad(square)(x)
    assert not x.requires_grad and x.grad is None and x._version == 0


# ---- vjp ---------------------------------------------------------------------------------------------------


def test_vjp(m):
    output, pull = m.func.vjp(lambda x: x * x, d(m, 1.0, 2.0))
    assert output.tolist() == [1, 4] and not output.requires_grad
    for scale in (1.0, 10.0):           # as often as one likes
        found = pull(d(m, scale, scale))
        assert isinstance(found, tuple) and found[0].tolist() == [2 * scale, 4 * scale] and not found[0].requires_grad


def test_vjp_on_trees(m):
    output, pull = m.func.vjp(lambda t, s: {"o": [t["x"] * s], "s": s * s}, {"x": d(m, 1.0, 2.0), "unused": d(m, 0.0)}, d(m, 3.0))
    assert numbers(output) == {"o": [[3, 6]], "s": 9}
    found = pull({"o": [d(m, 1.0, 10.0)], "s": d(m, 1.0)})
    assert numbers(found) == ({"x": [3, 30], "unused": 0}, 27)


def test_vjp_with_aux(m):
    output, pull, aux = m.func.vjp(lambda x: (x * x, [x, x.sum()]), d(m, 1.0, 2.0), has_aux=True)
    assert numbers((output, pull(d(m, 1.0, 1.0)), aux)) == ([1, 4], ([2, 4],), [[1, 2], 3])
    assert not aux[0].requires_grad


def test_vjp_goes_on_in_the_graph_around(m):
    x, u = d(m, 1.0, 2.0).requires_grad_(), d(m, 1.0, 1.0).requires_grad_()
    output, pull = m.func.vjp(lambda x: x ** 3, x)
    assert output.requires_grad and pull(u)[0].requires_grad
    assert m.autograd.grad(pull(u)[0].sum(), [x, u])[0].tolist() == [6, 12]
    with m.no_grad():
        assert not pull(u)[0].requires_grad
    _, pull = m.func.vjp(lambda x: x ** 3, x.detach())
    assert m.autograd.grad(pull(u)[0].sum(), u)[0].tolist() == [3, 12]


def test_cotangent_of_one_number(m):
    _, pull = m.func.vjp(square, d(m, 1.0, 2.0))
    assert pull(None)[0].tolist() == [2, 4]


# ---- errors ------------------------------------------------------------------------------------------------


def test_arguments_are_tensors(m):
    for wrong in (3.0, None, [d(m, 1.0), 2]):
        with raises(ValueError, "Thing passed to transform API must be Tensor, got <class"):
            m.func.grad(lambda x: x)(wrong)
        with raises(ValueError, "Thing passed to transform API must be Tensor, got <class"):
            m.func.vjp(lambda x: x, wrong)
    with raises(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        m.func.grad(lambda x: x)(m.tensor(3))


@pytest.mark.parametrize("argnums, key", [
    (2, "Got argnum=2, but only 2 positional inputs"), (-3, "Got argnum=-3, but only 2 positional inputs"),
    ((0, 2), "Got argnum=2, but only 2 positional inputs"), ((), "argnums must be non-empty"),
    ((0, 0), "argnums elements must be unique, got (0, 0)"), ((0, -2), "argnums elements must be unique, got (0, 0)"),
    ([0], "argnums must be int or Tuple[int, ...], got: <class 'list'>"), ("x", "argnums must be int or Tuple[int, ...]")])
@pytest.mark.parametrize("name", ["grad", "grad_and_value", "jacrev", "jacfwd", "hessian"])
def test_argnums(m, name, argnums, key):
    with raises(RuntimeError, key):
        getattr(m.func, name)(lambda x, y: x * y, argnums=argnums)(d(m, 1.0), d(m, 2.0))


def test_what_is_passed_by_keyword_is_not_differentiated(m):
    with raises(RuntimeError, "Got argnum=0, but only 0 positional inputs"):
        m.func.grad(square)(x=d(m, 1.0))


@pytest.mark.parametrize("output, key", [
    (lambda x: x, "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims. Maybe you wanted to use the vjp or jacrev APIs"),
    (lambda x: x.sum().reshape(1), "to return a scalar Tensor, got tensor with 1 dims"),
    (lambda x: [x.sum()], "Expected f(*args) to return a Tensor, got <class 'list'>"),
    (lambda x: None, "to return a Tensor, got <class 'NoneType'>"), (lambda x: 1.0, "to return a Tensor, got <class 'float'>"),
    (lambda x: (x * 1j).sum(), "grad can be implicitly created only for real scalar outputs")])
def test_grad_is_of_one_number(m, output, key):
    with raises(RuntimeError, key):
        m.func.grad(output)(d(m, 1.0, 2.0))


@pytest.mark.parametrize("name, call", [("grad", "grad_and_value(f)(*args)"), ("vjp", "vjp(f, *primals)"), ("jvp", "jvp(f, primals"),
                                        ("jacrev", "vjp(f, *primals)"), ("jacfwd", "jvp(f, primals")])
def test_aux_is_half_of_a_pair_of_tensors(m, name, call):
    x = d(m, 1.0, 2.0)

    def run(f):
        if name == "vjp":
            m.func.vjp(f, x, has_aux=True)
        elif name == "jvp":
            m.func.jvp(f, (x,), (x,), has_aux=True)
        else:
            getattr(m.func, name)(f, has_aux=True)(x)

    for f in (square, lambda x: [square(x), x], lambda x: (square(x), x, x)):
        with raises(RuntimeError, "output of function f should be a tuple: (output, aux) if has_aux is True") as caught:
            run(f)
        assert call in str(caught.value)
    with raises(RuntimeError, "Expected tensors, got unsupported type <class 'str'>"):
        run(lambda x: (square(x), "text"))


@pytest.mark.parametrize("output, key", [
    (lambda x: 3.0, "to return only tensors, got unsupported type <class 'float'>"),
    (lambda x: (x, 3.0), "to return only tensors, got unsupported type <class 'float'>"),
    (lambda x: None, "Expected f to be a function that has non-empty output (got output = [None])"),
    (lambda x: (), "Expected f to be a function that has non-empty output (got output = [])")])
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacrev", "jacfwd"])
def test_outputs_are_tensors(m, name, output, key):
    x = d(m, 1.0, 2.0)
    with raises(RuntimeError, key):
        if name == "vjp":
            m.func.vjp(output, x)
        elif name == "jvp":
            m.func.jvp(output, (x,), (x,))
        else:
            getattr(m.func, name)(output)(x)


@pytest.mark.parametrize("name", ["vjp", "jacrev"])
def test_rows_begin_at_floating_point_outputs(m, name):
    x = d(m, 1.0)
    with raises(RuntimeError, "All outputs of f must be floating-point or complex Tensors, got Tensor with dtype"):
        m.func.vjp(lambda x: x.long(), x) if name == "vjp" else m.func.jacrev(lambda x: x.long())(x)


def test_cotangents_go_with_the_outputs(m):
    x = d(m, 1.0, 2.0)
    for f, wrong in ((lambda x: [x], (x,)), (lambda x: x, (x,)), (lambda x: (x, x), x), (lambda x: {"a": x}, {"b": x})):
        _, pull = m.func.vjp(f, x)
        with raises(RuntimeError, "Expected pytree structure of cotangents to be the same as pytree structure of outputs"):
            pull(wrong)
    _, pull = m.func.vjp(lambda x: x, x)
    with raises(RuntimeError, "Mismatch in shape: grad_output[0] has a shape of"):
        pull(d(m, 1.0))
    with raises(TypeError, "gradients can be either Tensors or None, but got float"):
        m.func.vjp(square, x)[1](1.0)


def test_an_error_inside_leaves_everything_usable(m):
    def f(x):
        raise KeyError("mine")

    with m.no_grad():
        with pytest.raises(KeyError, match="mine"):
            m.func.grad(f)(d(m, 1.0))
        assert not m.is_grad_enabled()
    assert m.func.grad(square)(d(m, 1.0, 2.0)).tolist() == [2, 4]


@ours
def test_deep(m, shallow_stack):
    """Neither the walk over the graph nor the backward recurses."""
    w = d(m, 1.0).requires_grad_()

    def deep(x):
        for _ in range(5000):
            x = x * w
        return x
    assert m.func.grad(deep)(d(m, 2.0)).tolist() == 1
    assert m.func.grad(lambda x: deep(x.detach()) + x)(d(m, 2.0)).tolist() == 1


@ours
def test_nothing_is_kept(m):
    """The leaves of ended levels are remembered only as long as they live."""
    from minigrad.func import _levels
    before = len(_levels._ended)
    w = d(m, 3.0).requires_grad_()
    found = m.func.grad(lambda x: (w * x * x).sum())(d(m, 1.0, 2.0))
    assert len(_levels._ended) == before + 1
    del found
    assert len(_levels._ended) == before
