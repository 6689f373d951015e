"""The arithmetic of the contracts differences/A-01 to A-14, by their own examples. (`tests/accuracy` measures all ops.)

Each of these was wrong once: a total minus a part, a result plus a constant near its negative, a sum of float16, a number in float32
beside float64. These tests do not need PyTorch; the table at the end compares with it.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from tests.ops.alike import check_alike

NAN, INF = math.nan, math.inf
N = 3000


def F(m):
    return m.nn.functional


def gradients(m, run, *arrays, g=None, dtype="float32"):
    """The gradients of ``run(*arrays)`` with respect to each, as lists."""
    xs = [m.tensor(a, dtype=getattr(m, dtype)).requires_grad_() for a in arrays]
    z = run(*xs)
    return [d.tolist() for d in m.autograd.grad(z, xs, m.ones_like(z) if g is None else m.tensor(g, dtype=z.dtype))]


def off(found, right):
    """The largest relative error."""
    found, right = np.asarray(found, float), np.asarray(right, float)
    return float(np.max(np.abs(found - right) / np.abs(right)))


def single(array):
    """Numbers that float32 holds, as float64."""
    return np.asarray(array, np.float32).astype(float)


FALLING = single(10 ** np.linspace(0, -3, N))       # an incoming gradient that falls from 1 to 0.001
NUMBERS = single(np.random.default_rng(0).standard_normal(N))


# ---- scans -------------------------------------------------------------------------------------------------


def test_cumsum_is_summed_from_the_end():
    """differences/A-01"""
    def cumsum(x):
        return x.cumsum(0)
    assert gradients(mg, cumsum, [1., 2., 3., 4.], g=[1e8, 1., 2., 3.]) == [[single(1e8 + 6), 6., 5., 3.]]
    assert gradients(mg, cumsum, [1., 2., 3., 4.], g=[1., INF, 2., 3.]) == [[INF, INF, 5., 3.]]
    assert off(gradients(mg, cumsum, NUMBERS, g=FALLING)[0], np.cumsum(FALLING[::-1])[::-1]) < 3e-7


@pytest.mark.parametrize("run", [
    pytest.param(lambda x: mg.cumprod(1 + 0.01 * x, 0), id="cumprod"),
    pytest.param(lambda x: mg.cumulative_trapezoid(x, dim=0), id="cumulative_trapezoid"),
    pytest.param(lambda x: mg.logcumsumexp(x, 0), id="logcumsumexp"),
])
def test_derivatives_of_scans(run):
    """differences/A-02: with a falling gradient, and with an infinite one, which affects only the elements before it"""
    g = FALLING[:run(mg.zeros(N)).shape[0]].copy()
    right = gradients(mg, run, NUMBERS, g=g, dtype="float64")[0]
    assert off(gradients(mg, run, NUMBERS, g=g)[0], right) < 2e-5
    g[N // 2] = INF
    spoilt = ~np.isfinite(gradients(mg, run, NUMBERS, g=g)[0])
    assert spoilt[N // 2] and not spoilt[N // 2 + 2:].any()


def test_logcumsumexp_takes_linear_memory():
    """differences/A-03: 100,000 numbers: a matrix of all their differences would take 40 GB"""
    x = mg.linspace(-3, 3, 100_000).requires_grad_()
    z = mg.logcumsumexp(x, 0)
    dx, = mg.autograd.grad(z, x, mg.ones_like(z), create_graph=True)
    assert dx[-1].item() == pytest.approx(math.exp(x[-1].item() - z[-1].item()), rel=1e-5)
    assert mg.autograd.grad(dx.sum(), x)[0].isfinite().all()
    found = gradients(mg, lambda x: mg.logcumsumexp(x, 0), [0., 1., 2., 3.], g=[1., 1., INF, 1.])[0]
    assert found[:3] == [INF] * 3 and math.isfinite(found[3])


@pytest.mark.parametrize("scan, right, limit", [
    pytest.param(lambda x: mg.cumsum(x, 0), np.cumsum, 1.2e-7, id="cumsum"),
    pytest.param(lambda x: mg.cumulative_trapezoid(x, dim=0), lambda a: np.cumsum((a[1:] + a[:-1]) / 2), 2.4e-7, id="cumulative_trapezoid"),
    pytest.param(lambda x: mg.logcumsumexp(x, 0), np.logaddexp.accumulate, 2.4e-7, id="logcumsumexp"),
    pytest.param(lambda x: mg.cumprod(x, 0), np.cumprod, 2e-5, id="cumprod"),
])
def test_the_last_of_a_scan(scan, right, limit):
    """differences/A-04"""
    x = single(np.abs(NUMBERS) if limit < 1e-6 else 1 + NUMBERS / 1000)
    assert off(scan(mg.tensor(x, dtype=mg.float32))[-1].item(), right(x)[-1]) < limit


# ---- derivatives without cancellation ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
def test_elu_next_to_zero(name):
    """differences/A-05"""
    x = -single(10 ** np.linspace(-8, 0, 50))
    for run in (lambda x: getattr(F(mg), name)(x), lambda x: getattr(F(mg), name)(x * 1, inplace=True)):
        assert off(gradients(mg, run, x)[0], gradients(mg, run, x, dtype="float64")[0]) < 2.4e-7


def test_renorm_with_a_falling_gradient():
    """differences/A-06"""
    def run(x):
        return mg.renorm(x.reshape(2, N // 2), 2, 0, 1.0)
    g = FALLING.reshape(2, N // 2)
    wrong = np.abs(np.subtract(gradients(mg, run, NUMBERS, g=g)[0], right := gradients(mg, run, NUMBERS, g=g, dtype="float64")[0]))
    assert wrong.max() < 3e-7 * np.abs(right).max()


def naive_product(x, y, places):
    """`scatter_reduce` by single multiplications."""
    z = list(x)
    for place, factor in zip(places, y):
        z[place] = z[place] * factor
    return mg.stack(z)


@pytest.mark.differs(
    what='The second derivative of `scatter_reduce("prod")` with several zeros',
    there="RuntimeError: it is not supported.",
    here="Derivatives of all orders are right.")
@pytest.mark.parametrize("factors", [[0., 0., 3., 5., 0.], [0., 0., 0., 2., 7.], [1., 0., 3., 0., 0.], [0.] * 5, [1., 2., 3., 4., 5.]])
def test_products_of_several_zeros(factors):
    """differences/A-07: derivatives of the first three orders"""
    places, v = [0, 0, 0, 1, 1], mg.arange(1., 6., dtype=mg.float64)

    def derivatives(product):
        y = mg.tensor(factors, dtype=mg.float64, requires_grad=True)
        x = mg.tensor([2., 0.], dtype=mg.float64, requires_grad=True)
        found, total = [], (product(x, y) * v[:2]).sum()
        for order in range(3):
            of_x, of_y = mg.autograd.grad(total, (x, y), create_graph=order < 2)
            found += [of_x.tolist(), of_y.tolist()]
            total = of_x.sum() + (of_y * v ** (order + 1)).sum()
        return found
    assert derivatives(lambda x, y: x.scatter_reduce(0, mg.tensor(places), y, "prod")) == derivatives(
        lambda x, y: naive_product(x, y, places))


@pytest.mark.parametrize("product", [lambda x: x.prod(), lambda x: x.cumprod(0)])
def test_the_product_of_one_number_is_linear(product):
    """differences/A-07: no second derivative"""
    x = mg.ones((), dtype=mg.float64, requires_grad=True)
    dx, = mg.autograd.grad(product(x), x, create_graph=True)
    assert dx.item() == 1 and not dx.requires_grad


@pytest.mark.parametrize("base", [mg.tensor([-1.]).double(), mg.tensor([-1.]), mg.tensor([-1]), -1.])
def test_a_negative_base_to_a_complex_power(base):
    """differences/A-08"""
    exponent = mg.tensor([.5 + .3j], dtype=mg.complex128, requires_grad=True)
    d, = mg.autograd.grad(mg.pow(base, exponent).real.sum(), exponent)
    assert d.item().real == pytest.approx(-1.2242, abs=1e-4)
    with mg.autograd.forward_ad.dual_level():
        dual = mg.autograd.forward_ad.make_dual(exponent.detach(), mg.ones_like(exponent))
        tangent = mg.autograd.forward_ad.unpack_dual(mg.pow(base, dual)).tangent
    assert tangent.item().real == pytest.approx(-1.2242, abs=1e-4)


# ---- ties and kinks at nan ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "amax", "amin"])
def test_nan_counts_as_a_tie(name):
    """differences/A-09"""
    def run(x):
        return getattr(x, name)()
    assert gradients(mg, run, [NAN] * 3)[0] == pytest.approx([1 / 3] * 3)
    if name != "nanmedian":
        assert gradients(mg, run, [1., NAN, 2., NAN]) == [[0., .5, 0., .5]]


@pytest.mark.parametrize("name, slope", [("relu", 1), ("elu", 1), ("selu", 1.0507010), ("celu", 1), ("hardswish", 1), ("softshrink", 1),
                                         ("hardsigmoid", 1 / 6)])
def test_slopes_at_nan(name, slope):
    """differences/A-10"""
    assert gradients(mg, getattr(F(mg), name), [NAN] * 9)[0] == pytest.approx([slope] * 9)


def test_choices_at_nan():
    """differences/A-10"""
    for choice in (mg.maximum, mg.minimum):
        assert gradients(mg, choice, [NAN, 1., NAN], [1., NAN, NAN]) == [[1.] * 3, [1.] * 3]
    assert gradients(mg, lambda x: mg.linalg.vector_norm(x, INF), [NAN, 1.]) == [[0., 0.]]
    assert gradients(mg, lambda x: F(mg).max_pool1d(x, 3), [[[NAN, 1., NAN]]]) == [[[[0., 0., 1.]]]]


# ---- float16 -----------------------------------------------------------------------------------------------

HALVES = [
    pytest.param(lambda m, x: x.std(), id="std"),
    pytest.param(lambda m, x: x.var(), id="var"),
    pytest.param(lambda m, x: x.norm(), id="norm"),
    pytest.param(lambda m, x: x.mean(), id="mean"),
    pytest.param(lambda m, x: x.cumsum(0), id="cumsum"),
    pytest.param(lambda m, x: F(m).mse_loss(x, -x / 2), id="mse_loss"),
    pytest.param(lambda m, x: F(m).l1_loss(x, -x / 2), id="l1_loss"),
    pytest.param(lambda m, x: F(m).huber_loss(x, -x / 2), id="huber_loss"),
    pytest.param(lambda m, x: F(m).rms_norm(x, (64,)), id="rms_norm"),
    pytest.param(lambda m, x: F(m).layer_norm(x, (64,)), id="layer_norm"),
    pytest.param(lambda m, x: F(m).batch_norm(x.reshape(64, 1), None, None, training=True), id="batch_norm"),
    pytest.param(lambda m, x: F(m).avg_pool1d(x.reshape(1, 1, 64), 32), id="avg_pool"),
    pytest.param(lambda m, x: F(m).cosine_similarity(x, m.flip(x, (0,)), 0), id="cosine_similarity"),
    pytest.param(lambda m, x: F(m).binary_cross_entropy_with_logits(x / 16, m.sigmoid(x)), id="bce"),
    pytest.param(lambda m, x: m.softmax(x / 64, 0), id="softmax"),
]


@pytest.mark.parametrize("run", HALVES)
def test_float16_is_added_up_in_float32(run):
    """differences/A-11"""
    x = (np.arange(64) * 4 - 128).astype(float)
    value = run(mg, mg.tensor(x, dtype=mg.float16)).reshape(-1).tolist()
    right = run(mg, mg.tensor(x)).reshape(-1).tolist()
    assert value == pytest.approx(right, rel=2e-3, abs=2e-3)
    grads = [np.ravel(gradients(mg, lambda x: run(mg, x), x, dtype=dtype)[0]) for dtype in ("float16", "float64")]
    assert np.abs(grads[0] - grads[1]).max() <= 2e-3 * max(np.abs(grads[1]).max(), 1e-2)


def test_long_sums_of_float16():
    """differences/A-11: a row of 70,000 has a sum that float16 cannot hold, and a mean of 100s is 100"""
    assert mg.softmax(mg.zeros(70_000).half(), 0).sum().item() == pytest.approx(1, rel=2e-3)
    assert F(mg).avg_pool1d(mg.full((1, 1, 4096), 100.).half(), 4096).item() == 100
    assert mg.full((70_000,), 3.).half().mean().item() == 3


# ---- complex numbers, numbers beside float64, and the rest -------------------------------------------------


def test_acosh_to_the_left():
    """differences/A-12"""
    x = [-1 + 1j, -2 - 1j, -2 + 0j, 3 - 2j]
    assert mg.acosh(mg.tensor(x, dtype=mg.complex128)).tolist() == pytest.approx(np.arccosh(x).tolist())


@pytest.mark.parametrize("name", ["gelu", "elu", "selu", "celu", "glu", "dropout", "softplus", "mish", "hardswish", "leaky_relu"])
def test_what_is_not_for_complex_numbers(name):
    """differences/A-12: refused, instead of an imaginary part that is dropped"""
    with pytest.raises(RuntimeError, match="MG-E203"):
        getattr(F(mg), name)(mg.tensor([1 + 1j, 2 - 1j]))


def test_numbers_beside_float64():
    """differences/A-13"""
    x, c = mg.tensor([1., 2.], dtype=mg.float64), mg.tensor([True, False])
    assert mg.where(c, x, 0.1).tolist() == [1., 0.1] and x.where(c, 1e308).tolist() == [1., 1e308]
    edges = mg.tensor([.1], dtype=mg.float64)
    assert mg.searchsorted(edges, .1).item() == 0 and mg.bucketize(.1, edges).item() == 0
    for stack in (mg.hstack, mg.vstack, mg.column_stack):
        assert stack([mg.tensor(1., dtype=mg.float64), mg.tensor(2.)]).dtype is mg.float64


def test_no_slope_where_there_is_none():
    """differences/A-14"""
    assert gradients(mg, lambda x: x.std(), [2., 2., 2.]) == gradients(mg, lambda x: mg.std_mean(x)[0], [2., 2., 2.]) == [[0., 0., 0.]]
    assert gradients(mg, lambda x, w: F(mg).prelu(x, w), [INF, 1.], [.5]) == [[1., 1.], [0.]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_atan2_of_integers(dtype):
    """differences/A-14: 100² + 3² does not fit in int8"""
    x, y = mg.tensor([1, 1] if dtype == "bool" else [3, 4], dtype=getattr(mg, dtype)), mg.tensor([4., 100.], requires_grad=True)
    d, = mg.autograd.grad(mg.atan2(x, y).sum(), y)
    a, b = np.array(x.tolist(), float), np.array([4., 100.])
    assert d.tolist() == pytest.approx((-a / (a * a + b * b)).tolist())


def test_far_numbers():
    """differences/A-14"""
    x = mg.empty(1000)
    mg.nn.init.trunc_normal_(x, 0., 1., 5., 6.)
    assert x.min().item() >= 5 and x.max().item() <= 6 and 5.1 < x.mean().item() < 5.3
    assert mg.matrix_exp(mg.tensor([[0., 1e6], [0., 0.]])).tolist() == [[1., 1e6], [0., 1.]]
    assert mg.tensor([-2 ** 63]).div(-3, rounding_mode="trunc").tolist() == [3074457345618258602]
    assert mg.linspace(5., INF, 1).tolist() == [5.] and mg.linspace(-INF, INF, 1).tolist() == [-INF]


def test_zeta_of_near_and_far_numbers():
    """The derivative of digamma of numbers below -64 together with numbers above 64 once recursed without end."""
    x = [-1000.3, -70.25, 0.5, 70., 1000.]
    found = mg.polygamma(1, mg.tensor(x, dtype=mg.float64)).tolist()
    assert found == pytest.approx([15.0784145, 19.7250748, 4.9348022, 0.0143882410, 0.00100050017], rel=1e-7)


# ---- PyTorch -----------------------------------------------------------------------------------------------


def losses_of_mixed_dtypes(m):
    x, y = m.tensor([.5, .25]), m.tensor([.125, .75], dtype=m.float64)
    return [getattr(F(m), name)(x, y) for name in ("huber_loss", "smooth_l1_loss", "mse_loss", "l1_loss", "soft_margin_loss")]


def stacked(m):
    number, vector, single = m.tensor(1., dtype=m.float64), m.tensor([2.]), m.tensor(2.)
    return [m.hstack([number, vector]), m.vstack([number, single]), m.column_stack([number, vector]), m.dstack([number, single])]


@pytest.mark.parametrize("run", [
    pytest.param(lambda m: m.acosh(m.tensor([-1 + 1j, -2 - 1j, -2 + 0j])), id="differences/A-12 acosh"),
    pytest.param(lambda m: F(m).gelu(m.tensor([1j])), id="differences/A-12 gelu"),
    pytest.param(lambda m: F(m).elu(m.tensor([1j])), id="differences/A-12 elu"),
    pytest.param(lambda m: F(m).glu(m.tensor([1j, 2])), id="differences/A-12 glu"),
    pytest.param(stacked, id="differences/A-13 stacks"),
    pytest.param(lambda m: F(m).binary_cross_entropy_with_logits(m.tensor([.5, 2.]), m.tensor([3, 200], dtype=m.uint8)),
                 id="differences/A-14 targets of uint8"),
    pytest.param(losses_of_mixed_dtypes, id="differences/A-14 losses"),
    pytest.param(lambda m: F(m).conv1d(m.zeros(1, 0, 5), m.zeros(2, 0, 3)), id="differences/A-14 no channels"),
    pytest.param(lambda m: m.matrix_exp(m.tensor([[50., -3.], [2., 60.]], dtype=m.float64)) / 1e25, id="differences/A-14 matrix_exp"),
    pytest.param(lambda m: m.linspace(5., INF, 1), id="differences/A-14 linspace"),
    pytest.param(lambda m: [m.div(m.tensor([.9, 5.7]).half(), .3, rounding_mode=how) for how in ("trunc", "floor")], id="div of float16"),
    pytest.param(lambda m: m.round(m.tensor([.05, .55, .45]).half(), decimals=1), id="round of float16"),
])
def test_as_in_pytorch(run):
    check_alike(run)


@pytest.mark.parametrize("run", HALVES)
def test_float16_as_in_pytorch(run):
    """differences/A-11"""
    check_alike(lambda m: run(m, (m.arange(64.) * 4 - 128).half()).float() / 1000)
