"""``out=``: a result written to a tensor that is there already, without a history."""

import warnings

import pytest

from tests.core.engine_tools import leaf, ours, raises

# name -> (the call, arguments; the shape of the result)
CALLS = {
    "add": (lambda m, x, **o: m.add(x, x, alpha=2, **o), (2, 2)), "sub": (lambda m, x, **o: m.sub(x, 1, **o), (2, 2)),
    "mul": (lambda m, x, **o: m.mul(x, x, **o), (2, 2)), "div": (lambda m, x, **o: m.div(x, x, **o), (2, 2)),
    "pow": (lambda m, x, **o: m.pow(x, 2, **o), (2, 2)), "exp": (lambda m, x, **o: m.exp(x, **o), (2, 2)),
    "log": (lambda m, x, **o: m.log(x, **o), (2, 2)), "tanh": (lambda m, x, **o: m.tanh(x, **o), (2, 2)),
    "maximum": (lambda m, x, **o: m.maximum(x, -x, **o), (2, 2)), "clamp": (lambda m, x, **o: m.clamp(x, 1, 2, **o), (2, 2)),
    "where": (lambda m, x, **o: m.where(x > 2, x, -x, **o), (2, 2)), "gt": (lambda m, x, **o: m.gt(x, 2, **o), (2, 2)),
    "logical_and": (lambda m, x, **o: m.logical_and(x, x, **o), (2, 2)), "floor": (lambda m, x, **o: m.floor(x, **o), (2, 2)),
    "addcmul": (lambda m, x, **o: m.addcmul(x, x, x, value=2, **o), (2, 2)), "cumsum": (lambda m, x, **o: m.cumsum(x, 0, **o), (2, 2)),
    "tril": (lambda m, x, **o: m.tril(x, **o), (2, 2)), "matmul": (lambda m, x, **o: m.matmul(x, x, **o), (2, 2)),
    "mm": (lambda m, x, **o: m.mm(x, x, **o), (2, 2)), "mv": (lambda m, x, **o: m.mv(x, x[0], **o), (2,)),
    "addmm": (lambda m, x, **o: m.addmm(x, x, x, beta=2, **o), (2, 2)), "dot": (lambda m, x, **o: m.dot(x[0], x[1], **o), ()),
    "sum": (lambda m, x, **o: m.sum(x, 0, **o), (2,)), "mean": (lambda m, x, **o: m.mean(x, 1, **o), (2,)),
    "amax": (lambda m, x, **o: m.amax(x, 0, **o), (2,)), "cat": (lambda m, x, **o: m.cat([x, x], **o), (4, 2)),
    "stack": (lambda m, x, **o: m.stack([x, x], 1, **o), (2, 2, 2)), "gather": (lambda m, x, **o: m.gather(x, 0, m.tensor([[1, 0]]), **o), (1, 2)),
    "index_select": (lambda m, x, **o: m.index_select(x, 0, m.tensor([1]), **o), (1, 2)),
    "softmax": (lambda m, x, **o: m.softmax(x, 0, **o), (2, 2)),
}
FACTORIES = {
    "zeros": lambda m, **o: m.zeros(2, 3, **o), "ones": lambda m, **o: m.ones((2, 3), **o), "full": lambda m, **o: m.full((2, 3), 7.0, **o),
    "arange": lambda m, **o: m.arange(1, 4, **o), "linspace": lambda m, **o: m.linspace(0, 1, 3, **o), "eye": lambda m, **o: m.eye(3, **o),
}


def numbers(m, requires_grad=False):
    return m.tensor([[1., 2.], [3., 4.]], requires_grad=requires_grad)


@pytest.mark.parametrize("name", CALLS)
def test_written(m, name):
    """saved_and_versions/V-02, saved_and_versions/I-06: into the memory that is there, once."""
    call, shape = CALLS[name]
    x = numbers(m)
    expected = call(m, x).tolist()
    out = m.zeros(shape)
    where = out.data_ptr()
    assert call(m, x, out=out) is out and out._version == 1 and out.data_ptr() == where
    assert out.tolist() == [float(v) for v in expected] if out.ndim == 1 else out.tolist() == expected
    assert out.dtype is m.float32 and out.is_leaf and not out.requires_grad
    part = m.zeros((2, *shape))
    call(m, x, out=part[1])
    assert part[1].tolist() == out.tolist() and not part[0].any() and part._version == 1


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_refused(m, name):
    """saved_and_versions/I-06, saved_and_versions/T-10: of an argument, and of the target."""
    call, shape = CALLS[name]
    for x, out in ((numbers(m, True), m.zeros(shape)), (numbers(m), m.zeros(shape).requires_grad_())):
        if name in ("gt", "logical_and", "softmax"):
            continue        # torch does not check ops without a derivative, and composes softmax(out=) from other ops
        with raises(RuntimeError, "don't support automatic differentiation"):
            call(m, x, out=out)
        assert out._version == 0 and not out.any()
        with m.no_grad():
            assert call(m, x, out=out) is out
        assert out._version == 1 and out.is_leaf


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(m, name):
    call = FACTORIES[name]
    expected = call(m).tolist()
    out = m.full(tuple(call(m).shape), 5.0)
    assert call(m, out=out) is out and out.tolist() == expected and out.dtype is m.float32 and out._version == 1
    with raises(RuntimeError, "don't support automatic differentiation"):
        call(m, out=m.ones(3, requires_grad=True))


def test_factory_dtype(m):
    out = m.zeros(3).int()
    assert m.ones(3, out=out).dtype is m.int32 and out.tolist() == [1, 1, 1]
    with raises(RuntimeError, "does not match dtype of out parameter"):
        m.ones(3, dtype=m.float64, out=out)


def test_shape(m):
    """An empty `out` takes the shape of the result; another shape is changed too, with a warning."""
    x = numbers(m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = m.zeros(0)
        m.exp(x, out=out)
    assert tuple(out.shape) == (2, 2) and out._version == 1
    for shape in ((3,), (4, 5), (4,), (1, 2, 2)):
        out = m.zeros(shape)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
            assert m.add(x, 1, out=out) is out
        assert out.tolist() == [[2, 3], [4, 5]] and out._version == 1


def test_dtype(m):
    x = numbers(m)
    assert m.add(x, 1, out=m.zeros(2, 2).double()).dtype is m.float64
    assert m.add(x.int(), 1, out=m.zeros(2, 2)).tolist() == [[2, 3], [4, 5]]
    out = m.zeros(2, 2).int()
    with raises(RuntimeError, "can't be cast to the desired output type"):
        m.add(x, 1, out=out)
    assert out._version == 0 and not out.any()


def test_memory(m):
    """saved_and_versions/I-07."""
    x = numbers(m)
    with raises(RuntimeError, "refers to a single memory location"):
        m.add(x, 1, out=m.zeros(1).expand(2, 2))
    assert m.add(x, 1, out=x) is x and x.tolist() == [[2, 3], [4, 5]]
    columns = m.zeros(2, 2).t()
    assert m.add(x, 1, out=columns).tolist() == [[3, 4], [5, 6]] and columns.stride() == (1, 2)
    assert m.add(x, 1, out=None).tolist() == [[3, 4], [5, 6]]


def test_a_saved_target(m):
    """saved_and_versions/V-02: the write is counted."""
    w, x = leaf(m, 1., 2.), m.ones(2)
    y = w * x
    m.exp(m.zeros(2), out=x)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.differs(
    what="`mm(x, x, out=x)`",
    there="The result is all zeros: `out` is written while it is still read.",
    here="The result is right. So is a sum whose `out` overlaps an operand.")
@ours
def test_what_torch_gets_wrong(m):
    """An operand as the target of a product, or partly in its memory: the result is right."""
    x = numbers(m)
    expected = (x @ x).tolist()
    assert m.mm(x, x, out=x).tolist() == expected
    y = m.arange(3.)
    assert m.add(y[:2], 1, out=y[1:]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="argument 'out' must be Tensor"):
        m.add(y, y, out=3)
    z = leaf(m, 1., 2.) * 1
    with raises(RuntimeError, "don't support automatic differentiation"):
        m.zeros(2, out=z)


def test_sizes_by_keyword(m):
    """The names that torch gives to a shape."""
    assert m.zeros(size=(2, 3)).shape == m.ones(size=(2, 3)).shape == m.rand(size=(2, 3)).shape == m.empty(size=(2, 3)).shape == (2, 3)
    x = m.arange(6)
    assert x.view(size=(2, 3)).shape == x.reshape(shape=(2, 3)).shape == (2, 3)
    assert m.reshape(x, shape=(3, 2)).permute(dims=(1, 0)).shape == (2, 3) and x.expand(size=(2, 6)).shape == (2, 6)
