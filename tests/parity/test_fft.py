"""``mg.fft``: values, gradients, second derivatives and errors as PyTorch's; formulas by finite differences."""

import numpy as np
import pytest

import minigrad as mg

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
REAL, COMPLEX = RNG.standard_normal((3, 4, 5)), RNG.standard_normal((3, 4, 5)) + 1j * RNG.standard_normal((3, 4, 5))
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn")
NORMS = (None, "backward", "ortho", "forward")
CASES = [(name, options) for name in ONE for options in (
    {}, {"n": 3}, {"n": 8}, {"dim": 0}, {"n": 7, "dim": 1}, {"n": 1}, *({"norm": norm} for norm in NORMS))]
CASES += [(name, options) for name in SEVERAL for options in (
    {}, {"s": (3, 6)}, {"s": (2, 9), "dim": (0, 2)}, {"dim": (1, 0)}, {"dim": (2, 1)}, {"s": (-1, 4), "dim": (-1, 0)},
    *({"norm": norm} for norm in NORMS))]
CASES += [(name, options) for name in SEVERAL[6:] for options in ({"dim": 1}, {"s": 3, "dim": 1}, {"s": (2, 3, 4)}, {"s": [6]}, {"dim": (-2,)})]


def inputs(name):
    """The inputs that a function takes."""
    return (REAL,) if name in OF_REAL else (REAL, COMPLEX)


def computed(m, name, data, options):
    """The result, its node, the gradient and the second derivative."""
    x = m.tensor(data, requires_grad=True)
    z = getattr(m.fft, name)(x, **options)
    with m.no_grad():
        v = m.tensor(np.random.default_rng(1).standard_normal(tuple(z.shape)), dtype=z.dtype)
    u = v.clone().requires_grad_()
    g, = m.autograd.grad(z, x, u, create_graph=True)
    second, = m.autograd.grad(g, u, m.tensor(data).to(g.dtype))
    return [t.detach().resolve_conj().numpy() for t in (z, g, second)] + [z.grad_fn.name()]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_values_and_derivatives(name, options):
    for data in inputs(name):
        *ours, node = computed(mg, name, data, options)
        *theirs, expected = computed(torch, name, data, options)
        for mine, other in zip(ours, theirs):
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
            assert mine.dtype == other.dtype
        assert node == expected or "Conj" in expected        # PyTorch's conj is a view, see resolve_conj


@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_gradcheck(name):
    for data in inputs(name):
        x = mg.tensor(data[:2, :3, :4], requires_grad=True)
        assert mg.autograd.gradcheck(lambda x: getattr(mg.fft, name)(x, norm="ortho"), x, check_forward_ad=True)
        assert mg.autograd.gradgradcheck(lambda x: getattr(mg.fft, name)(x), x)


@pytest.mark.parametrize("name", ONE + SEVERAL)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "bool", "uint8", "float64", "complex128", "float16"])
def test_dtypes(name, dtype):
    outcomes = []
    for m in (mg, torch):
        x = m.ones(3, 4, dtype=getattr(m, dtype))
        try:
            z = getattr(m.fft, name)(x)
            outcomes.append((str(z.dtype).rpartition(".")[2], tuple(z.shape), np.round(z.resolve_conj().numpy(), 5).tolist()))
        except RuntimeError:
            outcomes.append("RuntimeError")
    assert outcomes[0] == outcomes[1]


def test_long_lines_in_float32():
    x = np.random.default_rng(2).standard_normal(100_003).astype(np.float32)
    exact = np.fft.rfft(x.astype(np.float64))
    error = np.abs(mg.fft.rfft(mg.tensor(x)).numpy() - exact).max()
    assert error < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("call", [
    "fft(x, 0)", "fft(x, -2)", "fft(x, norm='no')", "fft(x, dim=3)", "rfft(c)", "ihfft(c)", "fftn(x, (2, 2), (0,))", "fftn(x, (1, 2, 3))", "fftn(x, dim=(0, 0))",
    "rfftn(x, dim=())", "irfftn(x, dim=())", "fft2(x[0])", "rfft2(c)", "irfft(x[:, :1])", "fft(x[:, :0])", "fft(3)", "fft(x, 2.5)", "fft(x, norm=1)", "fftn(x, (0, 2))",
    "fftfreq(4, dtype=m.int64)", "fftshift(x, 5)", "fftshift(m.tensor(1))", "hfftn(x, dim=())", "fft(x[0, 0])", "rfftn(x[0, 0], dim=0)",
    "fftn(x[0, 0], dim=(-1,))"])
def test_refusals(call):
    for m in (mg, torch):
        with pytest.raises((RuntimeError, TypeError, IndexError)):
            eval(f"m.fft.{call}", {"m": m, "x": m.ones(2, 4), "c": m.ones(2, 4) * 1j})


@pytest.mark.parametrize("call", [
    "fftfreq(5)", "fftfreq(6, 0.5)", "fftfreq(1)", "rfftfreq(5)", "rfftfreq(6, d=2.0)", "fftfreq(4, dtype=m.float64)", "fftfreq(4, requires_grad=True).requires_grad",
    "rfftfreq(4, dtype=m.float64, requires_grad=True).requires_grad", "fftshift(x)", "ifftshift(x)", "fftshift(x, 1)", "ifftshift(x, (0,))", "fftshift(m.arange(5))",
    "fftn(x, dim=())", "fft(x, out=m.empty(2, 5, dtype=m.complex64))", "rfft(input=x, n=3, dim=0, norm='ortho')", "ifft2(input=x, s=None, dim=(0, 1))",
    "fftfreq(3, out=m.empty(3))"])
def test_values(call):
    found = []
    for m in (mg, torch):
        z = eval(f"m.fft.{call}", {"m": m, "x": m.arange(10.).reshape(2, 5)})
        found.append((z, None) if isinstance(z, bool) else (z.detach().resolve_conj().numpy(), str(z.dtype).rpartition(".")[2]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-5)
    assert found[0][1] == found[1][1]


def test_no_lines():
    """PyTorch's MKL raises for an empty batch, and its other library returns an empty tensor."""
    x = mg.ones(2, 0, 3, requires_grad=True)
    for name, size in (("fft", 3), ("rfft", 2), ("irfft", 4), ("ihfft", 2), ("fft2", None)):
        if size is None:
            assert mg.fft.fftn(x, (2, 3), (0, 2)).shape == (2, 0, 3)
        else:
            z = getattr(mg.fft, name)(x)
            assert z.shape == (2, 0, size) and mg.autograd.grad(z.abs().sum(), x)[0].shape == (2, 0, 3)


def test_a_filter_is_trained():
    """A convolution by the convolution theorem: the gradient of the kernel is the same as that of a sum."""
    x, w = mg.randn(8, dtype=mg.float64), mg.randn(8, dtype=mg.float64, requires_grad=True)
    circular = mg.stack([(x * w.flip(0).roll(k + 1)).sum() for k in range(8)])
    by_fft = mg.fft.irfft(mg.fft.rfft(x) * mg.fft.rfft(w), 8)
    assert mg.allclose(circular, by_fft)
    g, = mg.autograd.grad((circular ** 3).sum(), w)
    h, = mg.autograd.grad((by_fft ** 3).sum(), w)
    assert mg.allclose(g, h)


def test_shapes_on_meta():
    for name in ONE + SEVERAL:
        for data in inputs(name):
            x = mg.tensor(data)
            assert getattr(mg.fft, name)(x.to("meta")).shape == getattr(mg.fft, name)(x).shape
    assert mg.fft.fftfreq(5, device="meta").is_meta
