"""Every method that ends in an underscore: values, gradients, version, node and errors, against torch and the out-of-place op.

One line of CASES is one call. The table is complete: `test_every_method_is_in_the_table` looks through `Tensor`.
"""

import pytest

import minigrad
from tests.core.engine_tools import leaf, ours, raises

X = [[0.7, 1.3, 0.4], [1.1, 0.9, 1.6]]
Y = [[1.2, 0.8, 0.5], [0.6, 1.9, 1.4]]
WEIGHTS = [[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]]
MASK = [[True, False, True], [False, False, True]]
INDEX = [[0, 2, 1], [1, 0, 0]]


def index(m, *numbers):
    return m.tensor(numbers)


# name of the case -> the call of the method `f`, in place or not, with y of x's shape
CASES = {
    "add_": lambda m, f, y: f(y, alpha=3), "sub_": lambda m, f, y: f(y), "mul_": lambda m, f, y: f(y), "div_": lambda m, f, y: f(y), "true_divide_": lambda m, f, y: f(y),
    "div_ floor": lambda m, f, y: f(y, rounding_mode="floor"), "pow_": lambda m, f, y: f(y), "pow_ number": lambda m, f, y: f(3),
    "addmm_": lambda m, f, y: f(y[:, :2], y, beta=2, alpha=3), "addmm_ plain": lambda m, f, y: f(y[:, :2], y),
    "addr_": lambda m, f, y: f(y[:, 0], y[0], alpha=2),
    "addcmul_": lambda m, f, y: f(y, y * 2, value=3), "addcdiv_": lambda m, f, y: f(y, y + 1, value=3),
    "lerp_": lambda m, f, y: f(y, y * 0.5), "lerp_ number": lambda m, f, y: f(y, 0.3), "atan2_": lambda m, f, y: f(y),
    "hypot_": lambda m, f, y: f(y), "fmod_": lambda m, f, y: f(y), "fmod_ number": lambda m, f, y: f(0.4),
    "remainder_": lambda m, f, y: f(y), "remainder_ number": lambda m, f, y: f(0.4),
    "round_ decimals": lambda m, f, y: f(decimals=1), "clamp_": lambda m, f, y: f(0.8, 1.2),
    "clamp_ tensor": lambda m, f, y: f(min=y),
    "clamp_min_": lambda m, f, y: f(0.8), "clamp_min_ tensor": lambda m, f, y: f(y), "clamp_max_": lambda m, f, y: f(0.8),
    "clamp_max_ tensor": lambda m, f, y: f(y), "nan_to_num_": lambda m, f, y: f(), "tril_": lambda m, f, y: f(),
    "triu_": lambda m, f, y: f(1), "cumsum_": lambda m, f, y: f(1), "cumprod_": lambda m, f, y: f(0),
    "masked_fill_": lambda m, f, y: f(m.tensor(MASK), 2.0), "masked_fill_ tensor": lambda m, f, y: f(m.tensor(MASK), y[0, 0]),
    "masked_scatter_": lambda m, f, y: f(m.tensor(MASK), y), "index_add_": lambda m, f, y: f(1, index(m, 2, 0, 2), y, alpha=2),
    "index_copy_": lambda m, f, y: f(1, index(m, 2, 0), y[:, :2]), "index_fill_": lambda m, f, y: f(1, index(m, 2, 0), 3.0),
    "index_fill_ tensor": lambda m, f, y: f(0, index(m, 1), y[0, 0]),
    "index_put_": lambda m, f, y: f((index(m, 1, 0), index(m, 0, 2)), y[0, :2]),
    "index_put_ add": lambda m, f, y: f((index(m, 0, 0),), y, accumulate=True),
    "scatter_": lambda m, f, y: f(0, index(m, [0, 1, 0]), y[:1]), "scatter_ number": lambda m, f, y: f(1, index(m, [0], [1]), 3.0),
    "scatter_add_": lambda m, f, y: f(1, m.tensor(INDEX), y),
    "xlogy_": lambda m, f, y: f(y), "xlogy_ number": lambda m, f, y: f(2.5), "copysign_": lambda m, f, y: f(y - 1),
    "copysign_ number": lambda m, f, y: f(-1.0), "logit_": lambda m, f, y: f(0.2), "float_power_": lambda m, f, y: f(y), "float_power_ number": lambda m, f, y: f(1.5),
    **{name: lambda m, f, y: f() for name in (
        "erf_", "erfc_", "lgamma_", "i0_", "sinc_", "rad2deg_", "deg2rad_",
        "neg_", "exp_", "exp2_", "expm1_", "log_", "log1p_", "log2_", "log10_", "sqrt_", "rsqrt_", "reciprocal_", "abs_", "sign_",
        "sin_", "cos_", "tan_", "sinh_", "cosh_", "tanh_", "atan_", "sigmoid_", "relu_", "square_", "floor_", "ceil_", "trunc_",
        "round_", "frac_")},
}
# Of these torch has no derivative in place, or no such method out of place: they have tests below.
ELSEWHERE = {"asin_", "acos_", "asinh_", "acosh_", "atanh_", "addbmm_", "addmv_", "baddbmm_", "erfinv_", "digamma_", "polygamma_", "mvlgamma_", "sgn_",
             "conj_physical_", "heaviside_", "floor_divide_", "put_", "scatter_reduce_", "logical_not_", "logical_and_", "logical_or_",
             "logical_xor_",
             "bitwise_and_", "bitwise_or_", "bitwise_xor_", "bitwise_not_", "bitwise_left_shift_", "bitwise_right_shift_", "gcd_", "lcm_", "ldexp_",
             "eq_", "ne_", "lt_", "le_", "gt_", "ge_",
             "t_", "transpose_", "swapaxes_", "squeeze_", "unsqueeze_", "as_strided_", "resize_", "resize_as_", "set_", "copy_", "fill_",
             "zero_", "uniform_", "normal_", "bernoulli_", "requires_grad_", "detach_", "exponential_", "geometric_", "log_normal_", "cauchy_",
             "random_", "renorm_", "fill_diagonal_", "igamma_", "igammac_", "nextafter_", "index_reduce_",
             "apply_", "map_", "map2_", "share_memory_"}
# what is written to, of a base of which it is x
PLACES = {"base": lambda z: z, "view": lambda z: z[::2], "view of a view": lambda z: z[:, :][::2], "transposed": lambda z: z.t()}


def result(m, name, in_place, place="base"):
    """(the whole, the node's name, the version, first gradients, second ones) of a call."""
    x = m.tensor(X, dtype=m.float64, requires_grad=True)
    y = m.tensor(Y, dtype=m.float64, requires_grad=True)
    part = PLACES[place]
    if place in ("view", "view of a view"):         # rows that are written to, and rows that are not
        z = m.stack([x, x * 2], 1).reshape(4, 3)
    else:
        z = x.t() * 1 if place == "transposed" else x * 1
    target = part(z)
    method = name.split()[0]
    if in_place:
        assert CASES[name](m, getattr(target, method), y) is target
    else:
        target = CASES[name](m, getattr(target, method[:-1]), y)
        z = target if place == "base" else target.t() if place == "transposed" else m.stack([target, x * 2], 1).reshape(4, 3)
    weights = m.tensor(WEIGHTS, dtype=m.float64)
    weights = weights if place == "base" else weights.t() if place == "transposed" else m.cat([weights, weights])
    total = (z * z * weights).sum()
    first = m.autograd.grad(total, (x, y), create_graph=True, allow_unused=True, materialize_grads=True)
    second = m.autograd.grad((first[0] * first[0]).sum() + first[1].sum() * 2 + (x * y * 0).sum(), (x, y), allow_unused=True, materialize_grads=True)
    numbers = [g.detach().reshape(-1).tolist() for g in (z, *first, *second)]
    return numbers, z.grad_fn.name() if place == "base" else None, z._version


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CASES)
def test_in_place_equals_out_of_place(m, name, place):
    """saved_and_versions/T-02, saved_and_versions/P-01, saved_and_versions/V-02: on a base and on views of it."""
    if place == "transposed" and name.split()[0] in ("addmm_", "addr_"):
        pytest.skip("covered by the others")
    written, node, version = result(m, name, True, place)
    computed, other, _ = result(m, name, False, place)
    for a, b in zip(written, computed):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
    assert version == 1
    if name.split()[0] not in ("clamp_min_", "clamp_max_"):
        assert node == other


@ours
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CASES)
def test_in_place_equals_torch(name, place):
    """saved_and_versions/T-02: values, gradients, second gradients, name of the node, version."""
    torch = pytest.importorskip("torch")
    mine, theirs = result(minigrad, name, True, place), result(torch, name, True, place)
    for a, b in zip(mine[0], theirs[0]):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
    assert mine[1] == theirs[1] and mine[2] == theirs[2] == 1


@ours
def test_every_method_is_in_the_table(m):
    """Every in-place method of Tensor is checked here or below; an alias counts with its method."""
    names = {getattr(m.Tensor, n).__name__ for n in dir(m.Tensor) if n.endswith("_") and not n.startswith("_")}
    assert names - {name.split()[0] for name in CASES} == ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_refused_on_a_leaf(m, name):
    """saved_and_versions/I-03, saved_and_versions/T-10: whatever the op, the numbers and the version stay."""
    x = m.tensor(X, dtype=m.float64, requires_grad=True)
    y = m.tensor(Y, dtype=m.float64)
    with raises(RuntimeError, "a leaf Variable that requires grad"):
        CASES[name](m, getattr(x, name.split()[0]), y)
    assert x.tolist() == X and x._version == 0 and x.is_leaf


@pytest.mark.parametrize("name", CASES)
def test_counted_under_no_grad(m, name):
    """saved_and_versions/I-04, saved_and_versions/V-02."""
    x = m.tensor(X, dtype=m.float64, requires_grad=True)
    with m.no_grad():
        CASES[name](m, getattr(x, name.split()[0]), m.tensor(Y, dtype=m.float64))
    assert x._version == 1 and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("write, key", [
    (lambda m, x: x.masked_fill_(m.tensor([[True]] * 4), 1.0), "size of tensor|broadcast"),
    (lambda m, x: x.masked_fill_(m.ones(2), 1.0), "boolean masks|bool"),
    (lambda m, x: x.masked_fill_(m.tensor([True]), m.ones(2)), "0-dim"),
    (lambda m, x: x.lerp_(m.ones(3, 2), 0.5), "doesn't match|broadcast"),
    (lambda m, x: x.addcmul_(m.ones(3, 2), m.ones(3, 2)), "shape|size"),
    (lambda m, x: x.index_fill_(0, m.tensor([0]), m.ones(2)), "0-dim"), (lambda m, x: m.ones(2).long().fmod_(x), "can't be cast"),
    (lambda m, x: m.ones(2).long().sinh_(), "can't be cast"),
    (lambda m, x: x.masked_scatter_(m.tensor([True, True]), m.ones(1)), "source|elements"),
    (lambda m, x: x.index_copy_(0, m.tensor([0]), m.ones(1).double()), "dtype"), (lambda m, x: x.tril_(), "2 dimensions"),
    (lambda m, x: x.scatter_(0, m.tensor([0]), m.ones(1).double()), "dtype"), (lambda m, x: x.resize_(3), "cannot resize variables"),
    (lambda m, x: x.addmm_(m.ones(2, 2), m.ones(2, 2)), "")])
def test_refused_operands(m, write, key):
    """saved_and_versions/T-10."""
    x = leaf(m, 1., 2.) * 1
    node = x.grad_fn
    with pytest.raises((RuntimeError, IndexError, TypeError), match=key):
        write(m, x)
    assert x.tolist() == [1, 2] and x._version == 0 and x.grad_fn is node


# ---- comparison and logic --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, expected", [("eq_", [0, 1, 0]), ("ne_", [1, 0, 1]), ("lt_", [1, 0, 0]), ("le_", [1, 1, 0]),
                                            ("gt_", [0, 0, 1]), ("ge_", [0, 1, 1])])
def test_comparison_is_written_in_the_dtype_of_the_target(m, name, expected):
    """saved_and_versions/T-02: the overwritten values get a gradient of 0."""
    for other, node in ((2.0, "Backward0"), (m.tensor([2.0, 2.0, 2.0]), "Backward1")):
        x = leaf(m, 1., 2., 3.)
        z = x * 1
        assert getattr(z, name)(other) is z
        assert z.tolist() == expected and z.dtype is m.float32 and z._version == 1
        assert z.grad_fn.name() == name[:-1].capitalize() + node
        (z * 3 + x).sum().backward()
        assert x.grad.tolist() == [1, 1, 1]
    counts = m.tensor([1, 2, 3])
    assert getattr(counts, name)(2.0).tolist() == expected and counts.dtype is m.int64


@pytest.mark.differs(
    what="`z.logical_not_()`, `z.logical_and_(y)` and their like",
    there="The gradient passes as if nothing had been written.",
    here="The new numbers do not depend on the old ones: the gradient is 0.")
@ours
@pytest.mark.parametrize("write", [lambda m, z: z.logical_not_(), lambda m, z: z.logical_and_(m.ones(3)),
                                   lambda m, z: z.logical_or_(m.ones(3)), lambda m, z: z.logical_xor_(m.ones(3))])
def test_logic_has_no_gradient(m, write):
    """torch has no formula for these and passes the gradient on as if nothing had been written."""
    x = leaf(m, 0., 2., 3.)
    z = x * 1
    write(m, z)
    (z * 3 + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and z._version == 1


def test_logic_and_bits(m):
    for name, expected in (("and", [0, 0, 1]), ("or", [0, 1, 1]), ("xor", [0, 1, 0])):
        x = m.tensor([0., 2., 2.])
        assert getattr(x, f"logical_{name}_")(m.tensor([0., 0., 1.])).tolist() == expected and x._version == 1
    x = m.tensor([6, 3])
    x &= 5
    assert x.tolist() == [4, 1]
    x |= m.tensor([1, 2])
    x ^= 1
    assert x.tolist() == [4, 2] and x._version == 3 and x.bitwise_not_().tolist() == [-5, -3]
    with pytest.raises((NotImplementedError, RuntimeError), match=r"not implemented for|can't be cast"):
        m.ones(2).bitwise_and_(1.0)


@pytest.mark.differs(
    what="`z.acosh_()`, `z.asinh_()`, `z.atanh_()`",
    there="The backward raises NotImplementedError.",
    here="The derivative is that of `acosh`, `asinh` and `atanh`.")
@ours
@pytest.mark.parametrize("name", ["asin_", "acos_", "asinh_", "acosh_", "atanh_"])
def test_inverse_functions(m, name):
    """torch has no derivative of three of them in place."""
    x = m.tensor([1.3, 1.7] if name == "acosh_" else [0.3, 0.7], dtype=m.float64, requires_grad=True)
    found = m.autograd.grad(getattr(x * 1, name)().sum(), x)[0]
    assert found.tolist() == m.autograd.grad(getattr(x, name[:-1])().sum(), x)[0].tolist()


def test_baddbmm_in_place(m):
    """saved_and_versions/T-02."""
    found = []
    for name in ("baddbmm_", "baddbmm"):
        x, y = m.tensor([X], requires_grad=True), m.tensor([[[1., 2.], [3., 4.]]], requires_grad=True)
        z = getattr(x * 1, name)(y, x * 2, beta=3, alpha=2)
        found.append([g.tolist() for g in m.autograd.grad((z * z).sum(), (x, y))])
    assert found[0] == found[1]


def test_addbmm_in_place(m):
    """differences/N-03"""
    found = []
    for name in ("addbmm_", "addbmm"):
        x, y = m.tensor([[5., 6.], [7., 8.]], requires_grad=True), m.tensor([[[1., 2.], [3., 4.]]], requires_grad=True)
        z = getattr(x * 1, name)(y, y * 2, beta=3, alpha=2)
        assert z.grad_fn.name() == "AddbmmBackward0"
        found.append([g.tolist() for g in m.autograd.grad((z * z).sum(), (x, y))])
    assert found[0] == found[1]


def test_addmv_in_place(m):
    """saved_and_versions/T-02."""
    found = []
    for name in ("addmv_", "addmv"):
        x, y = m.tensor([1., 2.], requires_grad=True), m.tensor(Y, requires_grad=True)
        z = getattr(x * 1, name)(y, y[0], beta=3, alpha=2)
        assert z.grad_fn.name() == "AddmvBackward0"
        found.append([g.tolist() for g in m.autograd.grad((z * z).sum(), (x, y))])
    assert found[0] == found[1]


def test_floor_divide_in_place(m):
    x = m.tensor([5., 7.])
    x //= 2
    x %= 2
    assert x.tolist() == [0, 1] and x._version == 2
    with raises(RuntimeError, "can't be cast"):
        m.ones(2).long().floor_divide_(1.5)
    with raises(RuntimeError, "ZeroDivisionError"):
        m.ones(2).long().remainder_(0)


@pytest.mark.parametrize("write", [lambda x: x.fill_(3.0), lambda x: x.zero_()])
def test_one_number_into_an_expanded_tensor(m, write):
    """saved_and_versions/I-07: all that refers to the one place gets the one number."""
    x = m.ones(2, 1)
    for y in (x.expand(2, 3), x.expand(4, 2, 3)[1:], x.detach().expand(2, 3).t()):
        version = x._version
        assert write(y) is y and x.tolist() == y[..., :1].reshape(-1, 1)[:2].tolist() and x._version == version + 1
    with raises(RuntimeError, "refers to a single memory location"):
        y.copy_(m.ones(3, 2))


@pytest.mark.differs(
    what="`z[:1].expand(3).fill_(5.0)`",
    there="The write succeeds, and the backward fails.",
    here="Both succeed.")
@ours
def test_one_number_into_an_expanded_tensor_with_a_history(m):
    """torch does it, and fails in the backward."""
    x = leaf(m, 1., 2.)
    z = x * 1
    z[:1].expand(3).fill_(5.0)
    z.sum().backward()
    assert z.tolist() == [5, 2] and x.grad.tolist() == [0, 1]
