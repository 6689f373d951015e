"""Methods that fill a tensor with random numbers: distributions, nodes, versions, and refused arguments."""

import pytest

from tests.core.engine_tools import leaf, ours, raises

# name -> (arguments, mean and median of the distribution)
DRAWN = {"exponential_": ((2.0,), 0.5, 0.3466), "geometric_": ((0.25,), 4.0, 3.0), "log_normal_": ((0.0, 0.5), 1.1331, 1.0),
         "cauchy_": ((2.0, 0.5), None, 2.0), "random_": ((), None, None), "random_ to": ((10,), 4.5, None), "random_ range": ((3, 6), 4.0, None)}


def drawn(x, name):
    return getattr(x, name.split()[0])(*DRAWN[name][0])


@pytest.mark.parametrize("name", DRAWN)
def test_distribution(m, name):
    m.manual_seed(3)
    x = drawn(m.empty(20000, dtype=m.float64), name)
    _, mean, median = DRAWN[name]
    if mean is not None:
        assert float(x.mean()) == pytest.approx(mean, rel=0.05)
    if median is not None:
        assert float(x.median()) == pytest.approx(median, rel=0.05)
    if name.startswith("random_") or name == "geometric_":
        assert bool((x == x.floor()).all())


@pytest.mark.parametrize("name, node", [
    ("exponential_", "ExponentialBackward0"), ("geometric_", "GeometricBackward0"), ("log_normal_", "LogNormalBackward0"),
    ("cauchy_", "CauchyBackward0"), ("random_", "RandomBackward2"), ("random_ to", "RandomBackward1"), ("random_ range", "RandomBackward0")])
def test_history(m, name, node):
    """saved_and_versions/T-02, saved_and_versions/V-02: the overwritten values get a gradient of 0."""
    x = leaf(m, 1., 2., 3.)
    z = x * 2
    assert drawn(z, name) is z and z._version == 1 and z.grad_fn.name() == node
    (z * 3 + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    z = x * 2
    drawn(z[1:], name)
    (z * 3 + x).sum().backward()
    assert x.grad.tolist() == [8, 2, 2] and z._version == 1
    with raises(RuntimeError, "a leaf Variable that requires grad"):
        drawn(x, name)


@pytest.mark.parametrize("write, key", [
    (lambda m, x: x.exponential_(0), "lambda > 0"), (lambda m, x: x.exponential_(-1), "lambda > 0"), (lambda m, x: x.geometric_(1.0), "p to be in"),
    (lambda m, x: x.log_normal_(0, 0), "std > 0"), (lambda m, x: x.cauchy_(0, 0), "sigma > 0"), (lambda m, x: x.random_(5, 5), "less than"),
    (lambda m, x: x.random_(0), "less than"), (lambda m, x: x.int().exponential_(), "floating point"), (lambda m, x: x.int().cauchy_(), "floating point")])
def test_refused(m, write, key):
    with raises(RuntimeError, key):
        write(m, m.ones(3))


def test_random_integers(m):
    """random_() draws from the whole range of the dtype."""
    for name, largest in (("uint8", 255), ("int8", 127), ("bool", 1), ("float16", 2 ** 11), ("float32", 2 ** 24)):
        x = m.empty(1000, dtype=getattr(m, name)).random_().long()
        assert int(x.min()) >= 0 and largest * 0.9 <= int(x.max()) <= largest
    assert int(m.empty(100, dtype=m.int64).random_(-5, -2).max()) == -3
    assert m.empty(3).random_(4, generator=m.Generator().manual_seed(1)).tolist() == m.empty(3).random_(4, generator=m.Generator().manual_seed(1)).tolist()


def test_renorm(m):
    """saved_and_versions/V-02."""
    x = m.tensor([[3., 4.], [0., 1.]], requires_grad=True)
    z = x * 1
    assert z.renorm_(2, 0, 1.0) is z and z._version == 1
    z.sum().backward()
    y = x.detach().requires_grad_()
    m.renorm(y, 2, 0, 1.0).sum().backward()
    assert x.grad.reshape(-1).tolist() == pytest.approx(y.grad.reshape(-1).tolist())
    assert z[0].tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("shape, wrap", [((3, 3), False), ((2, 4), False), ((4, 2), False), ((7, 3), True), ((4, 3), True), ((3, 3, 3), False), ((3, 7), True)])
def test_fill_diagonal(m, shape, wrap):
    x = m.zeros(shape, requires_grad=True)
    z = x * 1
    assert z.fill_diagonal_(5, wrap) is z
    places = [i for i, v in enumerate(z.reshape(-1).tolist()) if v == 5]
    step = sum(z.stride())
    if len(shape) == 2 and wrap and shape[0] > shape[1]:
        assert places == list(range(0, shape[0] * shape[1], shape[1] + 1))
    else:
        assert places == [i * step for i in range(min(shape))]
    z.sum().backward()
    assert [i for i, g in enumerate(x.grad.reshape(-1).tolist()) if g == 0] == places
    with raises(RuntimeError, "larger than 1"):
        m.zeros(3).fill_diagonal_(1)
    with raises(RuntimeError, "equal length"):
        m.zeros(2, 3, 3).fill_diagonal_(1)


def test_parts_of_complex_numbers(m):
    """saved_and_versions/V-02: x.real = v writes there, and the history knows."""
    x = m.tensor([1 + 2j, 3j])
    x.real = m.tensor([5., 6.])
    assert x.tolist() == [5 + 2j, 6 + 3j] and x._version == 1
    x.imag = 7.
    assert x.tolist() == [5 + 7j, 6 + 7j] and x._version == 2
    x = m.tensor([1 + 2j, 3j], requires_grad=True)
    z = x * 1
    z.real = m.tensor([5., 6.])
    z.imag.sum().backward()
    assert x.grad.tolist() == [1j, 1j]
    z = x * 1
    z.real = 0.
    z.real.sum().backward()
    assert x.grad.tolist() == [1j, 1j]
    with raises(RuntimeError, "leaf Variable"):
        x.real = 1.
    y = m.ones(2)
    y.real = m.zeros(2)
    assert y.tolist() == [0, 0]
    with raises(RuntimeError, "imag is not implemented"):
        y.imag = 3.


SEVERAL = {"sort": lambda m, x, **o: m.sort(x, 1, **o), "topk": lambda m, x, **o: m.topk(x, 2, **o), "max": lambda m, x, **o: m.max(x, 1, **o),
           "min": lambda m, x, **o: m.min(x, 0, keepdim=True, **o), "median": lambda m, x, **o: m.median(x, 1, **o),
           "nanmedian": lambda m, x, **o: m.nanmedian(x, 1, **o), "mode": lambda m, x, **o: m.mode(x, 1, **o),
           "kthvalue": lambda m, x, **o: m.kthvalue(x, 2, **o), "cummax": lambda m, x, **o: m.cummax(x, 1, **o),
           "cummin": lambda m, x, **o: m.cummin(x, 1, **o)}


@pytest.mark.parametrize("name", SEVERAL)
def test_out_of_several_results(m, name):
    """saved_and_versions/I-06: a tuple of tensors, each of the dtype of its result."""
    x = m.tensor([[3., 1., 2.], [4., 6., 5.]])
    expected = SEVERAL[name](m, x)
    outs = (m.empty(0), m.empty(0, dtype=m.int64))
    found = SEVERAL[name](m, x, out=outs)
    assert found.values is outs[0] and found.indices is outs[1]
    assert outs[0].tolist() == expected.values.tolist() and outs[1].tolist() == expected.indices.tolist()
    assert outs[0]._version == outs[1]._version == 1
    for bad in ((m.empty(0).double(), m.empty(0, dtype=m.int64)), (m.empty(0), m.empty(0))):
        with pytest.raises(RuntimeError, match=r"xpected|type"):
            SEVERAL[name](m, x, out=bad)
    for bad in ((m.empty(0),), m.empty(0)):
        with pytest.raises(TypeError):
            SEVERAL[name](m, x, out=bad)
    with raises(RuntimeError, "don't support automatic differentiation"):
        SEVERAL[name](m, x.requires_grad_(), out=outs)


def test_out_of_others(m):
    x = m.tensor([3, 0, 6])
    for name, call in {"bitwise_and": lambda **o: m.bitwise_and(x, 2, **o), "bitwise_not": lambda **o: m.bitwise_not(x, **o),
                       "bitwise_or": lambda **o: m.bitwise_or(x, x, **o), "bitwise_xor": lambda **o: m.bitwise_xor(x, 1, **o),
                       "masked_select": lambda **o: m.masked_select(x, x > 1, **o), "max": lambda **o: m.max(x, x * 2, **o)}.items():
        out = m.empty(0, dtype=m.int64)
        assert call(out=out) is out and out.tolist() == call().tolist(), name
    for call in (lambda **o: m.all(x, 0, **o), lambda **o: m.any(x, 0, **o), lambda **o: m.logical_not(x, **o)):
        out = m.empty(0, dtype=m.bool)
        assert call(out=out) is out and out.tolist() == call().tolist()
    low, high = m.aminmax(m.ones(2, 3), dim=1, out=(m.empty(0), m.empty(0)))
    assert low.tolist() == high.tolist() == [1, 1]
    out = m.empty(5, dtype=m.int64)
    assert m.randperm(5, out=out) is out and sorted(out.tolist()) == [0, 1, 2, 3, 4]
    assert m.randint(3, 4, (5,), out=out) is out and out.tolist() == [3] * 5
    out = m.empty(4)
    assert m.normal(2.0, 0.0, (4,), out=out).tolist() == [2.0] * 4 and m.bernoulli(m.ones(4), out=out).tolist() == [1.0] * 4


@ours
def test_a_number_for_imag(m):
    """Of any kind."""
    x = m.zeros(2, dtype=m.complex64)
    x.imag = 3
    assert x.tolist() == [3j, 3j]
