"""Convolutions, poolings and interpolation with random arguments, compared with PyTorch; and special cases."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad import nn
from minigrad.kernels import resampling
from minigrad.nn import functional as F

MODES = {1: ("nearest", "nearest-exact", "linear", "area"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
         3: ("nearest", "nearest-exact", "trilinear", "area")}


def numbers(*shape):
    """Random numbers, no two of them the same."""
    return np.random.default_rng(sum(shape)).permutation(int(np.prod(shape))).reshape(shape) / 7 - 1


def outcome(m, function, arrays):
    """The result, its gradients, and the second ones: of the sum of their squares."""
    xs = [m.tensor(a).requires_grad_() for a in arrays]
    z = function(m, *xs)
    grads = m.autograd.grad(z, xs, m.tensor(np.cos(np.arange(z.numel(), dtype=float)).reshape(tuple(z.shape))), create_graph=True)
    wanted = [g for g in grads if g.requires_grad]
    seconds = m.autograd.grad(sum((g * g).sum() for g in wanted), xs, allow_unused=True) if wanted else [None] * len(xs)
    seconds = [m.zeros_like(x) if t is None else t for t, x in zip(seconds, xs)]     # undefined or zeros: the same
    return [t.detach().numpy() for t in (z, *grads, *seconds)]


def same(torch, function, *arrays):
    """Both refuse it, or both give the same numbers."""
    found = []
    for m in (mg, torch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(outcome(m, function, arrays))
        except (RuntimeError, ValueError) as error:
            found.append(error)
    ours, theirs = found
    assert isinstance(ours, Exception) == isinstance(theirs, Exception), found
    if isinstance(ours, list):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def sizes(draw, n, least, most):
    """A number, or one for each dimension."""
    size = st.integers(least, most)
    return draw(st.one_of(size, st.tuples(*[size] * n)))


@st.composite
def convolutions(draw, transposed=False):
    """(dimensions, shape of the input, of the weight, arguments)"""
    n, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    lead = draw(st.sampled_from([(), (1,), (2,)]))
    channels = [groups * draw(st.integers(1, 2)) for _ in range(2)]
    plane, kernel = (tuple([draw(st.integers(1, most)) for _ in range(n)]) for most in (5, 3))
    options = {"stride": sizes(draw, n, 1, 3), "padding": sizes(draw, n, 0, 2), "dilation": sizes(draw, n, 1, 2), "groups": groups}
    if transposed:
        options["output_padding"] = sizes(draw, n, 0, 1)
    elif draw(st.booleans()):
        options |= draw(st.sampled_from([{"padding": "valid"}, {"padding": "same", "stride": 1}]))
    return n, (*lead, channels[0], *plane), (channels[0 if transposed else 1], channels[1 if transposed else 0] // groups, *kernel), options


@settings(max_examples=60, deadline=None)
@given(convolutions())
def test_convolution(torch, case):
    n, x, w, options = case
    same(torch, lambda m, x, w, b: getattr(m.nn.functional, f"conv{n}d")(x, w, b, **options), numbers(*x), numbers(*w), numbers(w[0]))


@settings(max_examples=60, deadline=None)
@given(convolutions(transposed=True))
def test_transposed_convolution(torch, case):
    n, x, w, options = case
    same(torch, lambda m, x, w, b: getattr(m.nn.functional, f"conv_transpose{n}d")(x, w, b, **options),
         numbers(*x), numbers(*w), numbers(w[1] * options["groups"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_pooling(torch, data):
    n, kind = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["max", "avg"]))
    x = data.draw(st.sampled_from([(2,), (1, 2), (0, 1)])) + tuple(data.draw(st.lists(st.integers(1, 6), min_size=n, max_size=n)))
    size = sizes(data.draw, n, 1, 3)
    options = {"padding": sizes(data.draw, n, 0, 1), "ceil_mode": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        options["stride"] = sizes(data.draw, n, 1, 3)
    if kind == "avg":
        options["count_include_pad"] = data.draw(st.booleans())
    elif not np.any(options["padding"]):        # with both, PyTorch writes outside of the memory of a small image
        options["dilation"] = sizes(data.draw, n, 1, 2)
    same(torch, lambda m, x: getattr(m.nn.functional, f"{kind}_pool{n}d")(x, size, **options), numbers(*x))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_adaptive_pooling(torch, data):
    n, kind = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["max", "avg"]))
    x = data.draw(st.sampled_from([(2,), (1, 2)])) + tuple(data.draw(st.lists(st.integers(1, 6), min_size=n, max_size=n)))
    size = sizes(data.draw, n, 1, 8)
    same(torch, lambda m, x: getattr(m.nn.functional, f"adaptive_{kind}_pool{n}d")(x, size), numbers(*x))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_interpolation(torch, data):
    n = data.draw(st.integers(1, 3))
    x = (data.draw(st.integers(0, 2)), 1, *data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)))
    mode = data.draw(st.sampled_from(MODES[n]))
    if mode == "area" or data.draw(st.booleans()):      # PyTorch has no gradient of an area of size 0
        options = {"size": sizes(data.draw, n, 1, 12)}
    else:
        factor = st.floats(0.3, 3)
        options = {"scale_factor": data.draw(st.one_of(factor, st.tuples(*[factor] * n)))}
        # PyTorch's gradient of mode nearest takes other numbers than its forward, if the factor is nearly 1 or 2
        options["recompute_scale_factor"] = True if mode == "nearest" else data.draw(st.booleans())
        if mode == "bicubic" and not options["recompute_scale_factor"]:     # nor is that of bicubic right, where no size changes
            factors = options["scale_factor"] if isinstance(options["scale_factor"], tuple) else (options["scale_factor"],) * n
            assume(any(int(size * f) != size for size, f in zip(x[2:], factors)))
    if "linear" in mode or mode == "bicubic":
        options["align_corners"] = data.draw(st.booleans())
    same(torch, lambda m, x: m.nn.functional.interpolate(x, mode=mode, **options), numbers(*x))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_fold_and_unfold(torch, data):
    x = data.draw(st.sampled_from([(2,), (1, 2), (0, 1)])) + data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    options = {"kernel_size": sizes(data.draw, 2, 1, 3), "dilation": sizes(data.draw, 2, 1, 2), "padding": sizes(data.draw, 2, 0, 2),
               "stride": sizes(data.draw, 2, 1, 3)}
    same(torch, lambda m, x: m.nn.functional.unfold(x, **options), numbers(*x))
    try:
        columns = F.unfold(mg.tensor(numbers(*x)), **options).shape
    except RuntimeError:
        assume(False)
    same(torch, lambda m, y: m.nn.functional.fold(y, x[-2:], **options), numbers(*columns))


def test_transposed_is_the_adjoint():
    """<conv(x), y> = <x, conv_transpose(y)>"""
    x, w, y = mg.tensor(numbers(1, 2, 7)), mg.tensor(numbers(3, 2, 3)), mg.tensor(numbers(1, 3, 3))
    left = (F.conv1d(x, w, stride=2) * y).sum()
    assert left.item() == pytest.approx((x * F.conv_transpose1d(y, w, stride=2)).sum().item())


def test_transposed_convolution_with_windows_in_the_output_padding():
    """A wide dilation allows for an output padding that more windows would fit into than there are: the gradient has the input's shape."""
    inputs = [mg.tensor(numbers(*shape), requires_grad=True) for shape in ((1, 2, 3), (2, 1, 2))]
    assert mg.autograd.gradcheck(lambda x, w: F.conv_transpose1d(x, w, output_padding=2, dilation=3), inputs, check_forward_ad=True)
    assert mg.autograd.gradgradcheck(lambda x, w: F.conv_transpose1d(x, w, output_padding=2, dilation=3), inputs)


def test_complex_convolution(torch):
    z = [numbers(*shape) + 1j * numbers(*shape[::-1]).reshape(shape) for shape in ((1, 2, 5), (3, 2, 2))]
    t = [numbers(*shape) + 1j * numbers(*shape[::-1]).reshape(shape) for shape in ((1, 2, 5), (2, 3, 2))]
    for name, arrays in (("conv1d", z), ("conv_transpose1d", t)):
        found = []
        for m in (mg, torch):
            xs = [m.tensor(a).requires_grad_() for a in arrays]
            out = getattr(m.nn.functional, name)(*xs)
            found.append([a.detach().resolve_conj().numpy() if m is torch else a.detach().numpy()
                          for a in (out, *m.autograd.grad((out * out).real.sum(), xs))])
        for a, b in zip(*found):
            np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=name)


LONG = [((2, 150, 6, 40), (5, 150, 3, 3), 1, 1), ((20, 150, 5, 6), (7, 150, 3, 3), 1, 1), ((3, 2, 40, 70), (5, 2, 7, 3), 2, 3), ((40, 3, 16, 16), (3, 3, 5, 5), 1, 2)]


@pytest.mark.parametrize("x, w, stride, padding", LONG, ids=[f"{x} {w}" for x, w, *_ in LONG])
def test_a_long_sum_in_float32_keeps_its_digits(x, w, stride, padding):
    """Compared with float64, whatever the sizes of the numbers around: an error of at most 16 roundings of the sum of all sizes."""
    rng = np.random.default_rng(0)

    def wide(shape):
        return (rng.uniform(-1, 1, shape) * 10.0 ** rng.uniform(-4, 4, shape)).astype(np.float32)

    x, w = wide(x), wide(w)
    g = wide(F.conv2d(mg.tensor(x), mg.tensor(w), stride=stride, padding=padding).shape)
    found = {}
    for kind, change in (("float32", lambda a: a), ("float64", np.float64), ("sizes", lambda a: np.abs(np.float64(a)))):
        a, b = [mg.tensor(change(v)).requires_grad_() for v in (x, w)]
        z = F.conv2d(a, b, stride=stride, padding=padding)
        found[kind] = [t.detach().numpy() for t in (z, *mg.autograd.grad(z, (a, b), mg.tensor(change(g))))]
    for short, long, sizes in zip(*found.values()):
        assert (np.abs(short - long) <= 16 * 2**-24 * sizes).all()


@pytest.mark.parametrize("pool", [lambda x: F.max_pool1d(x, 2, 1), lambda x: F.avg_pool1d(x, 2, 1), lambda x: F.adaptive_avg_pool1d(x, 3)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_stays_in_its_windows(pool, bad):
    z = pool(mg.tensor([[[bad, 1.0, 2.0, 3.0]]])).numpy()
    assert not np.isfinite(z[0, 0, 0]) and np.isfinite(z[0, 0, 2:]).all()


def test_the_first_maximum_gets_the_gradient(torch):
    for m in (mg, torch):
        x = m.ones(1, 3, 3, requires_grad=True)
        m.nn.functional.max_pool2d(x, 2, stride=1).sum().backward()
        assert x.grad.tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]


@pytest.mark.differs(
    what="`max_pool2d`, where a window holds nothing but padding",
    there="The result is -inf, and its position lies outside of the image.",
    here="RuntimeError.")
def test_a_window_of_padding_is_refused():
    """PyTorch returns minus infinity, and a position outside of the image."""
    with pytest.raises(RuntimeError, match="no element of a window lies in the input"):
        F.max_pool2d(mg.ones(1, 2, 2), 2, padding=1, dilation=3)


def test_unfold_is_what_a_convolution_multiplies():
    x, w = mg.tensor(numbers(2, 3, 5, 4)), mg.tensor(numbers(4, 3, 2, 3))
    z = (w.reshape(4, -1) @ F.unfold(x, (2, 3))).reshape(2, 4, 4, 2)
    np.testing.assert_allclose(z.numpy(), F.conv2d(x, w).numpy(), rtol=1e-12)


def test_tables_are_made_once_and_their_adjoints_too():
    table = resampling.averages(9, 3, 2, 0, False, True, None)
    assert resampling.averages(9, 3, 2, 0, False, True, None) is table
    assert table.adjoint() is table.adjoint()
    dense, back = (np.zeros((len(t), t.length)) for t in (table, table.adjoint()))
    for t, matrix in ((table, dense), (table.adjoint(), back)):
        np.add.at(matrix, (np.repeat(np.arange(len(t)), np.diff(t.starts)), t.columns), t.weights)
    np.testing.assert_array_equal(dense.T, back)


@pytest.mark.parametrize("name", ["upsample", "upsample_nearest", "upsample_bilinear"])
def test_old_names_warn(name):
    with pytest.warns(UserWarning, match=f"`nn.functional.{name}` is deprecated"):
        assert getattr(F, name)(mg.ones(1, 1, 2, 2), 4).shape == (1, 1, 4, 4)


def test_saved_values_are_called_as_in_torch(torch):
    for m in (mg, torch):
        x, w = m.tensor(numbers(1, 1, 4, 4), requires_grad=True), m.tensor(numbers(1, 1, 2, 2), requires_grad=True)
        z, index = m.nn.functional.max_pool2d(x, 2, return_indices=True)
        assert z.grad_fn._saved_result1.tolist() == index.tolist()
        for node in (m.nn.functional.conv2d(x, w).grad_fn, m.nn.functional.conv_transpose2d(x, w).grad_fn):
            assert node.name() == "ConvolutionBackward0"
            assert node._saved_input is x and node._saved_weight is w


def test_of_no_channels_there_come_none(torch):
    """differences/A-14"""
    for m in (mg, torch):
        x, w, b = (m.ones(*shape).requires_grad_() for shape in ((1, 0, 3), (2, 0, 2), (2,)))
        z = m.nn.functional.conv1d(x, w, b)
        assert z.shape == (1, 0, 2)
        z.sum().backward()
        assert x.grad.shape == x.shape and w.grad.shape == w.shape and b.grad.tolist() == [0, 0]


def test_pooling_layers_return_indices(torch):
    for m in (mg, torch):
        x = m.tensor([[[1.0, 5.0, 2.0, 0.0]]])
        z, index = m.nn.MaxPool1d(2, return_indices=True)(x)
        assert index.tolist() == m.nn.AdaptiveMaxPool1d(2, return_indices=True)(x)[1].tolist() == [[[1, 2]]]
        assert m.nn.MaxUnpool1d(2)(z, index, output_size=(5,)).tolist() == [[[0, 5, 2, 0, 0]]]


@pytest.mark.parametrize("size", [(9, 10), (1, 3, 10, 9), None])
def test_output_size_of_a_transposed_convolution(size, torch):
    shapes = {tuple(m.nn.ConvTranspose2d(2, 3, 3, stride=2)(m.ones(1, 2, 4, 4), output_size=size).shape) for m in (mg, torch)}
    assert shapes == {(1, 3, *(size or (9, 9))[-2:])}


@pytest.mark.parametrize("make", [lambda n: n.Conv1d(4, 6, 3), lambda n: n.Conv3d(4, 2, 2, groups=2), lambda n: n.ConvTranspose2d(4, 6, 3)])
def test_initial_parameters(make, torch):
    """Uniform in ±1/√(numbers in a window), as PyTorch's."""
    for library in (mg, torch):
        library.manual_seed(0)
        layers = [make(library.nn) for _ in range(30)]
        bound = 1 / np.sqrt(np.prod(layers[0].weight.shape[1:]))
        for name in ("weight", "bias"):
            largest = max(abs(getattr(layer, name).detach().numpy()).max() for layer in layers)
            assert 0.9 * bound < largest <= bound
    assert nn.Conv1d(2, 2, 1, dtype=mg.float64).weight.dtype is mg.float64
