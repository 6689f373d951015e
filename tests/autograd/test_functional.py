"""autograd.functional: products, Jacobians and Hessians against closed forms, constant functions, and every error.

Contract: tensor_surface/U-01 to U-07, Z-03.
"""

import numpy as np
import pytest

from tests.core.engine_tools import ours, raises

BOTH = pytest.mark.parametrize("both", [False, True], ids=["plain", "graph"])
STRICT = pytest.mark.parametrize("strict", [False, True], ids=["zeros", "strict"])
PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
ALL = (*PRODUCTS, "jacobian", "hessian")

X = np.array([1.0, 2.0, -0.5])
Y = np.array(1.5)
ONE = np.ones(3)


def d(m, value):
    """A tensor of float64."""
    return m.tensor(np.asarray(value).tolist(), dtype=m.float64)


def tensors(m, values, requires_grad=False):
    return tuple(d(m, v).requires_grad_(requires_grad) for v in values)


def plain(x):
    """The numbers of a tensor, or of tuples of them."""
    return tuple(map(plain, x)) if isinstance(x, tuple) else np.array(x.tolist())


def same(found, expected):
    """Whether nested tuples of arrays have the same structure and numbers."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    else:
        a, b = plain(found), np.asarray(expected)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def given(tree, single):
    """As the user would write it: without a tuple where there is one."""
    return tree[0] if single else tree


# name: (function, inputs, outputs, Jacobian blocks by output and input, gradient of the sum of all blocks by input)
CASES = {
    "1 to 1": (lambda x: x ** 3, (X,), (X ** 3,), ((np.diag(3 * X ** 2),),), (6 * X,)),
    "1 to 2": (lambda x: (x ** 2, (x ** 3).sum()), (X,), (X ** 2, (X ** 3).sum()), ((np.diag(2 * X),), (3 * X ** 2,)), (2 + 6 * X,)),
    "2 to 1": (lambda x, y: x * y ** 2, (X, Y), (X * Y ** 2,), ((np.eye(3) * Y ** 2, 2 * X * Y),), (2 * Y * ONE, 6 * Y + 2 * X.sum())),
    "2 to 2": (lambda x, y: (x * y, (x * x).sum() * y ** 2), (X, Y), (X * Y, (X * X).sum() * Y ** 2),
               ((np.eye(3) * Y, X), (2 * X * Y ** 2, 2 * (X * X).sum() * Y)),
               (ONE + 2 * Y ** 2 + 4 * X * Y, 3 + 4 * Y * X.sum() + 2 * (X * X).sum())),
}
CASE = pytest.mark.parametrize("case", CASES)


@CASE
@BOTH
@STRICT
def test_jacobian(m, case, both, strict):
    """tensor_surface/Z-03, tensor_surface/U-03: blocks of shape out.shape + in.shape, tuples where the user has them."""
    f, at, _, blocks, second = CASES[case]
    inputs = tensors(m, at, requires_grad=both)
    found = m.autograd.functional.jacobian(f, given(inputs, len(at) == 1), create_graph=both, strict=strict)
    same(found, given(tuple(given(row, len(at) == 1) for row in blocks), len(blocks) == 1))
    rows = (found,) if len(blocks) == 1 else found
    flat = [g for row in rows for g in (row if len(at) > 1 else (row,))]
    assert all(g.requires_grad is both for g in flat)
    if both:
        same(m.autograd.grad(sum(g.sum() for g in flat), inputs), second)


@CASE
@BOTH
@STRICT
def test_vjp(m, case, both, strict):
    """tensor_surface/Z-03, tensor_surface/U-01: (outputs, vᵀ J), the product in the form of the inputs."""
    f, at, outputs, blocks, second = CASES[case]
    inputs = tensors(m, at, requires_grad=both)
    v = tensors(m, [np.ones_like(y) for y in outputs])
    value, product = m.autograd.functional.vjp(f, given(inputs, len(at) == 1), given(v, len(v) == 1), create_graph=both, strict=strict)
    same(value, given(outputs, len(outputs) == 1))
    expected = tuple(sum(np.tensordot(np.ones_like(y), row[k], y.ndim) for y, row in zip(outputs, blocks)) for k in range(len(at)))
    same(product, given(expected, len(at) == 1))
    product = product if isinstance(product, tuple) else (product,)
    assert all(g.requires_grad is both for g in product)
    if both:
        same(m.autograd.grad(sum(g.sum() for g in product), inputs), second)


@CASE
@BOTH
@STRICT
def test_jvp(m, case, both, strict):
    """tensor_surface/Z-03, tensor_surface/U-02: (outputs, J v), the product in the form of the outputs."""
    f, at, outputs, blocks, second = CASES[case]
    inputs = tensors(m, at, requires_grad=both)
    v = tensors(m, [np.ones_like(x) for x in at])
    value, product = m.autograd.functional.jvp(f, given(inputs, len(at) == 1), given(v, len(v) == 1), create_graph=both, strict=strict)
    same(value, given(outputs, len(outputs) == 1))
    expected = tuple(sum(np.tensordot(block, np.ones_like(x), x.ndim) for block, x in zip(row, at)) for row in blocks)
    same(product, given(expected, len(outputs) == 1))
    product = product if isinstance(product, tuple) else (product,)
    assert all(g.requires_grad is both for g in product)
    if both:
        same(m.autograd.grad(sum(g.sum() for g in product), inputs), second)


# name: (function, inputs, value, Hessian blocks, gradient of the sum of all blocks)
SECOND = {
    "1": (lambda x: (x ** 3).sum(), (X,), (X ** 3).sum(), ((np.diag(6 * X),),), (6 * ONE,)),
    "2": (lambda x, y: (x ** 3).sum() * y ** 2, (X, Y), (X ** 3).sum() * Y ** 2,
          ((np.diag(6 * X) * Y ** 2, 6 * X ** 2 * Y), (6 * X ** 2 * Y, 2 * (X ** 3).sum())),
          (6 * Y ** 2 + 24 * X * Y + 6 * X ** 2, 12 * Y * X.sum() + 12 * (X ** 2).sum())),
}


@pytest.mark.parametrize("case", SECOND)
@BOTH
@STRICT
def test_hessian(m, case, both, strict):
    """tensor_surface/Z-03, tensor_surface/U-04"""
    f, at, _, blocks, third = SECOND[case]
    inputs = tensors(m, at, requires_grad=both)
    found = m.autograd.functional.hessian(f, given(inputs, len(at) == 1), create_graph=both, strict=strict and not both)
    same(found, blocks if len(at) > 1 else blocks[0][0])
    flat = [g for row in found for g in row] if len(at) > 1 else [found]
    if both:
        same(m.autograd.grad(sum(g.sum() for g in flat), inputs), third)
    assert both or not any(g.requires_grad for g in flat)


@pytest.mark.parametrize("case", SECOND)
@pytest.mark.parametrize("name", ["vhp", "hvp"])
@BOTH
@STRICT
def test_hessian_products(m, case, name, both, strict):
    """tensor_surface/Z-03, tensor_surface/U-05: the Hessian is symmetric, so both are the same."""
    f, at, value, blocks, third = SECOND[case]
    inputs = tensors(m, at, requires_grad=both)
    v = tensors(m, [np.ones_like(x) for x in at])
    single = len(at) == 1
    found, product = getattr(m.autograd.functional, name)(f, given(inputs, single), given(v, single), create_graph=both, strict=strict)
    same(found, value)
    expected = tuple(sum(np.tensordot(block, np.ones_like(x), x.ndim) for block, x in zip(row, at)) for row in blocks)
    same(product, given(expected, single))
    product = (product,) if single else product
    assert all(g.requires_grad is both for g in product)
    if both:
        same(m.autograd.grad(sum(g.sum() for g in product), inputs), third)


def run(m, name, f, inputs, v=None, **options):
    """Any of the six, with ones for v."""
    if name in ("jacobian", "hessian"):
        return getattr(m.autograd.functional, name)(f, inputs, **options)
    if v is None and name != "vjp":
        v = tuple(m.ones_like(x) for x in inputs) if isinstance(inputs, tuple) else m.ones_like(inputs)
    return getattr(m.autograd.functional, name)(f, inputs, v, **options)


@pytest.mark.parametrize("name", ALL)
def test_tuples_only_where_the_user_has_them(m, name):
    """tensor_surface/U-03"""
    x = d(m, X)
    plain_one = run(m, name, lambda x: (x * x).sum(), x)
    in_tuple = run(m, name, lambda x: (x * x).sum(), (x,))
    if name == "jacobian":
        assert isinstance(plain_one, m.Tensor) and isinstance(in_tuple, tuple)
        nested = run(m, name, lambda x: (x * x,), (x,))
        assert isinstance(nested, tuple) and isinstance(nested[0], tuple) and nested[0][0].shape == (3, 3)
    elif name == "hessian":
        assert isinstance(plain_one, m.Tensor) and in_tuple[0][0].shape == (3, 3)
    elif name == "jvp":
        assert isinstance(plain_one[1], m.Tensor) and isinstance(in_tuple[1], m.Tensor)
        assert isinstance(run(m, name, lambda x: (x,), x)[1], tuple)
    else:
        assert isinstance(plain_one[1], m.Tensor) and isinstance(in_tuple[1], tuple)


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_enabled_inside(m, name):
    """tensor_surface/§4: also under no_grad."""
    x = d(m, X)
    with m.no_grad():
        quiet = run(m, name, lambda x: (x ** 3).sum(), x)
        assert not m.is_grad_enabled()
    same(quiet, plain(run(m, name, lambda x: (x ** 3).sum(), x)))


@pytest.mark.differs(
    what="`functional.jacobian` and its like in inference mode",
    there="The result is zeros.",
    here="The result is right: inference mode is left while it is computed.")
@ours
@pytest.mark.parametrize("name", ALL)
def test_inference_mode_is_left_for_the_while(m, name):
    """[better] PyTorch returns zeros there, in silence."""
    expected = plain(run(m, name, lambda x: (x ** 3).sum(), d(m, X)))
    with m.inference_mode():
        same(run(m, name, lambda x: (x ** 3).sum(), d(m, X)), expected)
        assert m.is_inference_mode_enabled()


@pytest.mark.parametrize("name", ALL)
def test_a_captured_input_is_constant(m, name):
    """tensor_surface/§4: the function is called on fresh tensors."""
    x = d(m, X).requires_grad_()
    got = []

    def f(z):
        got.append(z)
        return (z * z * x.detach()).sum() if name != "jacobian" else z * x

    found = run(m, name, f, x)
    assert got[0] is not x and x.grad is None
    if name == "jacobian":
        same(found, np.diag(X))
    if name == "hessian":
        same(found, np.diag(2 * X))


@pytest.mark.parametrize("name", ALL)
def test_results_are_detached(m, name):
    """tensor_surface/§4: unless create_graph."""
    x = d(m, X).requires_grad_()
    flat = run(m, name, lambda x: (x ** 3).sum(), x)
    assert not any(g.requires_grad for g in (flat if isinstance(flat, tuple) else (flat,)))
    flat = run(m, name, lambda x: (x ** 3).sum(), x, create_graph=True)
    assert all(g.requires_grad for g in (flat if isinstance(flat, tuple) else (flat,)))


@pytest.mark.parametrize("name", ALL)
def test_zeros_where_nothing_depends(m, name):
    """tensor_surface/§4, U-04: independent inputs and outputs, linear functions."""
    x, y = d(m, X), d(m, Y)
    elsewhere = d(m, 3.0).requires_grad_()
    for f in (lambda x, y: (x ** 3).sum(), lambda x, y: m.ones((), dtype=m.float64), lambda x, y: elsewhere * 1):
        found = run(m, name, f, (x, y))
        if name == "hessian":
            same((found[0][1], found[1][0], found[1][1]), (np.zeros(3), np.zeros(3), np.zeros(())))
        elif name == "jacobian":
            same(found[1], np.zeros(()))
        elif name != "jvp":
            same(found[1][1], np.zeros(()))
    if name in ("hessian", "hvp", "vhp"):
        found = run(m, name, lambda x: (3 * x).sum(), x)
        same(found if name == "hessian" else found[1], np.zeros((3, 3)) if name == "hessian" else np.zeros(3))


def test_default_vectors(m):
    """tensor_surface/U-01, U-02: one number needs no v."""
    functional = m.autograd.functional
    x = d(m, 2.0)
    for name in ("vjp", "jvp"):
        same(getattr(functional, name)(lambda x: x ** 3, x), (8.0, 12.0))
    for name in ("vhp", "hvp"):
        same(getattr(functional, name)(lambda x: x ** 3, x), (8.0, 12.0))
    same(functional.vjp(lambda x: ((x ** 3).sum(),), d(m, X))[1], 3 * X ** 2)
    same(functional.jvp(lambda x: (x, x), d(m, [2.0]))[1], ([1.0], [1.0]))


def test_v_takes_part_with_create_graph(m):
    """tensor_surface/U-01, U-02: the results can be differentiated with respect to v."""
    x, v = d(m, X), d(m, ONE).requires_grad_()
    for name in ("vjp", "jvp"):
        _, product = getattr(m.autograd.functional, name)(lambda x: x ** 3, x, v, create_graph=True)
        same(m.autograd.grad(product.sum(), v)[0], 3 * X ** 2)
        assert not getattr(m.autograd.functional, name)(lambda x: x ** 3, x, v)[1].requires_grad
    for name in ("vhp", "hvp"):
        _, product = getattr(m.autograd.functional, name)(lambda x: (x ** 3).sum(), x, v, create_graph=True)
        same(m.autograd.grad(product.sum(), v)[0], 6 * X)


# ---- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_tensors_or_tuples_of_tensors(m, name):
    """tensor_surface/§4: a list is refused, for inputs, outputs and v."""
    x = d(m, X)

    def f(x, y=None):
        return (x * x).sum()

    key = f"The inputs given to {name} must be either a Tensor or a tuple of Tensors"
    for inputs, found in (([x], "the given inputs has type <class 'list'>"), (3.0, "has type <class 'float'>"),
                          ((x, 3.0), "the value at index 1 has type <class 'float'>")):
        with raises(TypeError, key) as caught:
            run(m, name, f, inputs, v=x)
        assert found in str(caught.value)
    key = f"The outputs of the user-provided function given to {name} must be either a Tensor or a tuple of Tensors"
    for output, found in (([x], "has type <class 'list'>"), (None, "has type <class 'NoneType'>"),
                          ((x, 1), "the value at index 1 has type <class 'int'>")):
        with raises(TypeError, key) as caught:
            run(m, name, lambda x, output=output: output, x)
        assert found in str(caught.value)
    if name in PRODUCTS:
        for v in ([x], 1.0):
            with raises(TypeError, f"The v given to {name} must be either a Tensor or a tuple of Tensors"):
                run(m, name, f, x, v=v)


@pytest.mark.parametrize("name", ALL)
def test_integers_cannot_move(m, name):
    with raises(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        run(m, name, lambda x: (x * x).sum(), m.tensor([1, 2]))


@pytest.mark.parametrize("name", PRODUCTS)
def test_v_goes_with_what_it_multiplies(m, name):
    """tensor_surface/U-01, tensor_surface/U-02, tensor_surface/U-05"""
    x = d(m, X)

    def square(*x):
        return x[0] * x[0] if name == "vjp" else (x[0] * x[0]).sum()

    function = getattr(m.autograd.functional, name)
    where = "the user-provided function returns" if name == "vjp" else "the input to the user-provided function is"
    with raises(RuntimeError, f"The vector v can only be None if {where} a single Tensor with a single element."):
        function(square, x)
    with raises(RuntimeError, "The given v should contain a single Tensor."):
        function(square, x, (x, x))
    with raises(RuntimeError, "v has invalid size: should be"):
        function(square, x, d(m, [1.0, 2.0]))
    f = (lambda x: (x, x)) if name == "vjp" else (lambda x, y: (x * y).sum())
    inputs = x if name == "vjp" else (x, x)
    with raises(RuntimeError, "The vector v can only be None if"):
        function(f, inputs)
    with raises(RuntimeError, "v is a tuple of invalid length: should be 2 but got 1."):
        function(f, inputs, (x,))
    with raises(RuntimeError, "Entry 1 in v has invalid size"):
        function(f, inputs, (x, d(m, 1.0)))


@pytest.mark.parametrize("name", ["hessian", "hvp", "vhp"])
def test_a_hessian_is_of_one_number(m, name):
    """tensor_surface/U-04"""
    x = d(m, X)
    with raises(RuntimeError, f"The Tensor returned by the function given to {name} should contain a single element"):
        run(m, name, lambda x: x * x, x)
    with raises(RuntimeError, f"The function given to {name} should return a single Tensor"):
        run(m, name, lambda x: (x.sum(),), x)
    single = run(m, name, lambda x: (x ** 2).sum().reshape(1, 1), x)
    same(single if name == "hessian" else single[1], np.diag(2 * ONE) if name == "hessian" else 2 * ONE)


@pytest.mark.parametrize("name", ALL)
def test_strict(m, name):
    """tensor_surface/U-06"""
    x, y = d(m, X), d(m, Y)
    elsewhere = d(m, 3.0).requires_grad_()
    with raises(RuntimeError, "Output 0 of the user-provided function does not require gradients. The outputs must be computed in a "
                              "differentiable manner"):
        run(m, name, lambda x: x.detach().sum(), x, strict=True)
    hessian = name == "hessian"
    independent = "is independent of the input" if hessian else "is independent of input 1. This is not allowed in strict mode"
    with raises(RuntimeError, independent):
        run(m, name, lambda x, y: (x ** 3).sum(), (x, y), strict=True)
    with raises(RuntimeError, "independent of"):
        run(m, name, lambda x: elsewhere * 1, x, strict=True)
    if name in ("hessian", "hvp", "vhp"):
        with raises(RuntimeError, "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                                  "input 0 is independent of the input"):
            run(m, name, lambda x: (2 * x).sum(), x, strict=True)
        what = "jacobian" if hessian else "hessian"
        with raises(RuntimeError, f"The {what} of the user-provided function is independent of input 0. This is not allowed in strict "
                                  "mode when create_graph=True"):
            run(m, name, lambda x: (x * x).sum(), x, strict=True, create_graph=True)
    else:
        with raises(RuntimeError, "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict "
                                  "mode when create_graph=True"):
            run(m, name, lambda x: (2 * x).sum(), x, strict=True, create_graph=True)


def test_strict_asks_for_a_path_not_for_each_element(m):
    """tensor_surface/U-06: a row of zeros is fine if the output as a whole depends on the input."""
    found = m.autograd.functional.jacobian(lambda x: m.stack([x[0], d(m, 1.0)]), d(m, X), strict=True)
    same(found, [[1, 0, 0], [0, 0, 0]])


# ---- options of the Jacobian ------------------------------------------------------------------------------


@pytest.mark.parametrize("name, option", [("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")])
def test_options_that_do_not_go_together(m, name, option):
    """tensor_surface/U-07"""
    x = d(m, X)

    def call(**options):
        run(m, name, lambda x: (x * x).sum(), x, **options)

    with raises(RuntimeError, "are not supported together"):
        call(vectorize=True, strict=True)
    with raises(NotImplementedError, "Computing Jacobian using forward-AD"):
        call(**{option: "forward-mode"})
    with raises(NotImplementedError, '`create_graph=True` and `strategy="forward-mode"` are not supported together'):
        call(**{option: "forward-mode"}, vectorize=True, create_graph=True)
    with raises(RuntimeError, '`strict=True` and `strategy="forward-mode"` are not supported together'):
        call(**{option: "forward-mode"}, vectorize=True, strict=True)
    with raises(AssertionError, 'Expected strategy to be either "forward-mode" or "reverse-mode"'):
        call(**{option: "sideways"})


@CASE
def test_rows_and_columns_agree(m, case):
    """tensor_surface/U-07: vectorized or not, by rows or by columns."""
    f, at, _, blocks, _ = CASES[case]
    single = len(at) == 1
    expected = given(tuple(given(row, single) for row in blocks), len(blocks) == 1)
    inputs = given(tensors(m, at), single)

    def tuples(x):      # by columns PyTorch returns lists, against its documentation
        return tuple(map(tuples, x)) if isinstance(x, (list, tuple)) else x

    for options in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        same(tuples(m.autograd.functional.jacobian(f, inputs, **options)), expected)


@pytest.mark.parametrize("case", SECOND)
def test_hessian_by_columns(m, case):
    """tensor_surface/U-07"""
    f, at, _, blocks, _ = SECOND[case]
    single = len(at) == 1
    for options in ({"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        found = m.autograd.functional.hessian(f, given(tensors(m, at), single), **options)
        if single:
            same(found, blocks[0][0])
        else:
            same(tuple(tuple(row) for row in found), blocks)


@pytest.mark.differs(
    what='`functional.hessian(f, inputs, vectorize=True, outer_jacobian_strategy="forward-mode")`',
    there="The result has lists, not tuples, and requires a gradient.",
    here="The result has tuples, and requires none, as with other options.")
@ours
def test_columns_come_in_tuples_and_detached(m):
    """[better] PyTorch returns lists, and a Hessian by columns that requires a gradient."""
    options = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    found = m.autograd.functional.hessian(lambda x, y: (x * x).sum() * y, tensors(m, (X, Y)), **options)
    assert isinstance(found, tuple) and isinstance(found[0], tuple) and not found[0][0].requires_grad


@pytest.mark.differs(
    what="`functional.jacobian(f, x, vectorize=True)`, where `x` is empty",
    there="IndexError.",
    here="The result is an empty Jacobian.")
@ours
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_empty(m, strategy):
    """[better] PyTorch fails where there is nothing to stack."""
    x = m.ones(0, dtype=m.float64)
    assert m.autograd.functional.jacobian(lambda x: x * x, x, vectorize=True, strategy=strategy).shape == (0, 0)
    assert m.autograd.functional.jacobian(lambda x: (x * x).sum(), x, vectorize=True, strategy=strategy).shape == (0,)


def test_complex(m):
    """A row is the gradient of a real number. With `vectorize` PyTorch does not check that; minigrad does."""
    with raises(RuntimeError, "grad can be implicitly created only for real scalar outputs"):
        m.autograd.functional.jacobian(lambda x: x * 1j, d(m, X))
    found = m.autograd.functional.jacobian(lambda x: x * 1j, d(m, X), vectorize=True, strategy="forward-mode")
    assert found.tolist() == (np.eye(3) * 1j).tolist()
    z = m.tensor([1 + 2j, 3], dtype=m.complex128)
    found = m.autograd.functional.jacobian(lambda z: z * z, z, vectorize=True, strategy="forward-mode")
    assert found.tolist() == [[2 + 4j, 0], [0, 6]]
    found = m.autograd.functional.jacobian(lambda z: z.abs() ** 2, z)
    np.testing.assert_allclose(plain(found), np.diag([2 + 4j, 6]))


def test_integer_outputs_do_not_move(m):
    found = m.autograd.functional.jacobian(lambda x: (x.long(), x), d(m, X))
    same(found, (np.zeros((3, 3)), np.eye(3)))


@pytest.mark.differs(
    what="`functional.jvp` of a function with an integer output",
    there="RuntimeError.",
    here="That output has a product of zeros.")
@ours
def test_integer_outputs_do_not_move_forwards_either(m):
    """[better] PyTorch's jvp fails."""
    _, product = m.autograd.functional.jvp(lambda x: (x.long(), x), d(m, X), d(m, ONE))
    assert product[0].tolist() == [0, 0, 0] and product[0].dtype is m.int64 and product[1].tolist() == [1, 1, 1]


def test_the_function_is_called_once(m):
    calls = []

    def f(x):
        calls.append(1)
        return (x * x).sum()

    for name in ALL:
        calls.clear()
        run(m, name, f, d(m, X))
        assert len(calls) == 1, name


def test_an_error_inside_leaves_everything_usable(m):
    def f(x):
        raise KeyError("mine")

    with m.no_grad():
        for name in ALL:
            with pytest.raises(KeyError, match="mine"):
                run(m, name, f, d(m, X))
            assert not m.is_grad_enabled()
