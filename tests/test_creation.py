"""Making tensors: `tensor` from all sorts of data, filled ones, ranges; dtypes, shapes and sharing, against torch."""

import itertools

import numpy as np
import pytest

import minigrad as mg

# Data, and the dtype and shape that it becomes.
DATA = [
    (3, "int64", ()), (2.5, "float32", ()), (True, "bool", ()), (1j, "complex64", ()), ([], "float32", (0,)),
    ([[]], "float32", (1, 0)),
    ([[], []], "float32", (2, 0)), ([1, 2], "int64", (2,)), ([1, 2.5], "float32", (2,)), ([True, 2], "int64", (2,)),
    ([True, False], "bool", (2,)),
    ([1, 2j], "complex64", (2,)), ([[1, 2], [3, 4]], "int64", (2, 2)), (((1.0,), (2.0,)), "float32", (2, 1)),
    (range(3), "int64", (3,)),
    ([range(2), range(2)], "int64", (2, 2)), (np.float32(1), "float32", ()), (np.float64(1), "float64", ()),
    (np.int8([1, 2]), "int8", (2,)),
    ([np.float64(1), np.float64(2)], "float64", (2,)), ([np.ones(2), np.zeros(2)], "float64", (2, 2)),
    (float("nan"), "float32", ()),
    (1e400, "float32", ()), (2**63 - 1, "int64", ()), (-2**63, "int64", ()), ([[[1]]], "int64", (1, 1, 1)),
]


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy")
@pytest.mark.parametrize("data, dtype, shape", DATA, ids=lambda v: repr(v)[:25])
def test_tensor(data, dtype, shape):
    """dtype, shape and numbers, compared with torch."""
    x = mg.tensor(data)
    assert (x.dtype.name, tuple(x.shape)) == (dtype, shape)
    np.testing.assert_array_equal(x.numpy(),
                                  np.array(data if not isinstance(data, range) else list(data)).reshape(shape).astype(dtype))
    torch = pytest.importorskip("torch")
    theirs = torch.tensor(data)
    assert str(theirs.dtype) == f"torch.{dtype}" and tuple(theirs.shape) == shape


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64", "complex128"])
@pytest.mark.parametrize("data", [[0, 1, 2], [0.0, 1.5], [True, False], 3, [[1.0], [0.0]]], ids=str)
def test_tensor_with_dtype(data, dtype):
    x = mg.tensor(data, dtype=getattr(mg, dtype))
    assert x.dtype.name == dtype
    np.testing.assert_array_equal(x.numpy(), np.array(data).astype(dtype))


BAD_DATA = [([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1"),
            ([1, [2]], TypeError, "not a sequence of numbers"),
            ([[1], 2], TypeError, "not a sequence"), (None, RuntimeError, "Could not infer dtype of NoneType"),
            ("abc", TypeError, "invalid data type 'str'"),
            ([1, None], RuntimeError, "Could not infer dtype"), (["a"], ValueError, "too many dimensions 'str'"),
            ({}, RuntimeError, "Could not infer dtype"),
            (2**63, ValueError, "Overflow"), (object(), RuntimeError, "Could not infer dtype of object"),
            ((i for i in range(2)), RuntimeError, "infer dtype")]


@pytest.mark.parametrize("data, error, words", BAD_DATA, ids=lambda v: type(v).__name__ if " at 0x" in repr(v) else repr(v)[:25])
def test_bad_data(data, error, words):
    with pytest.raises(error, match=words):
        mg.tensor(data)


def test_tensor_copies():
    a = np.zeros(2)
    x = mg.tensor(a)
    a[0] = 1
    assert x.tolist() == [0.0, 0.0]
    y = mg.as_tensor(a)
    a[1] = 2
    assert y.tolist() == [1.0, 2.0]
    assert mg.as_tensor(a, dtype=mg.float32).tolist() == [1.0, 2.0] and mg.as_tensor([1, 2]).dtype is mg.int64


def test_tensors_in_lists():
    x = mg.tensor(2.0, requires_grad=True)
    y = mg.tensor([x, mg.tensor(3)])
    assert y.tolist() == [2.0, 3.0] and y.dtype is mg.float32 and not y.requires_grad
    assert mg.tensor([[mg.tensor(1), 2], [3, mg.tensor(4)]]).tolist() == [[1, 2], [3, 4]]
    assert mg.tensor([mg.ones(1), mg.zeros(1, 1)]).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="only one element tensors"):
        mg.tensor([mg.ones(2), mg.zeros(2)])


# name -> (function, the number that fills it)
FILLED = {"zeros": 0, "ones": 1, "full": 7}
SIZES = [(), (0,), (3,), (2, 3), (2, 0, 3)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", FILLED)
def test_filled(name, size):
    """Sizes as a tuple, a list, one by one; dtypes; and the *_like of each."""
    value = FILLED[name]
    make = getattr(mg, name)
    if name == "full":
        found = [make(size, value), make(list(size), value), mg.full_like(mg.zeros(size, dtype=mg.int64), value)]
    else:
        found = [make(size), make(list(size)), make(*size), getattr(mg, name + "_like")(mg.empty(size))]
    for x in found:
        assert tuple(x.shape) == size and (x.numpy() == value).all() and x.is_contiguous() and x.is_leaf
    assert found[0].dtype is (mg.int64 if name == "full" else mg.float32)
    assert mg.empty(size).shape == size and mg.empty_like(mg.zeros(size)).shape == size


@pytest.mark.parametrize("value, dtype", [(1, "int64"), (1.0, "float32"), (True, "bool"), (1j, "complex64")])
def test_full_infers(value, dtype):
    assert mg.full((2,), value).dtype.name == dtype
    assert mg.full((2,), value, dtype=mg.complex128).dtype is mg.complex128


def test_like_takes_over():
    x = mg.zeros(2, 3, dtype=mg.float64, requires_grad=True)
    for make in (mg.zeros_like, mg.ones_like, mg.empty_like, lambda t, **o: mg.full_like(t, 2, **o)):
        assert make(x).dtype is mg.float64 and not make(x).requires_grad and make(x, requires_grad=True).requires_grad
        assert make(x, dtype=mg.int64).dtype is mg.int64
        with pytest.raises(TypeError, match="must be Tensor"):
            make([1.0])


def test_results_do_not_share():
    a, b = mg.zeros(3), mg.zeros(3)
    a.add_(1)
    assert b.tolist() == [0.0] * 3


@pytest.mark.parametrize("size, error", [((-1,), RuntimeError), ((2, -3), RuntimeError), ((1.5,), TypeError), (("x",), TypeError),
                                         ((None,), TypeError)])
@pytest.mark.parametrize("make", [mg.zeros, mg.ones, mg.empty, mg.rand, lambda s: mg.full(s, 1),
                                  lambda s: mg.zeros(1).new_zeros(s)])
def test_bad_sizes(make, size, error):
    with pytest.raises(error, match=r"size|negative"):
        make(size)


RANGES = list(itertools.product([0, 1, -3, 0.5], [0, 5, -4, 2.5, 10], [1, 2, -1, 0.3, -0.7]))


def test_arange_like_torch():
    torch = pytest.importorskip("torch")
    for start, end, step in RANGES:
        try:
            theirs = torch.arange(start, end, step)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="step"):
                mg.arange(start, end, step)
            continue
        ours = mg.arange(start, end, step)
        assert str(theirs.dtype) == f"torch.{ours.dtype.name}"
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6, err_msg=f"{start}, {end}, {step}")


def test_arange():
    assert mg.arange(3).tolist() == [0, 1, 2] and mg.arange(1, 2, 0.25).tolist() == [1.0, 1.25, 1.5, 1.75]
    assert mg.arange(5, 0, -2).tolist() == [5, 3, 1] and mg.arange(0).shape == (0,)
    assert mg.arange(3, dtype=mg.float64).dtype is mg.float64 and mg.arange(3.0).dtype is mg.float32
    assert mg.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert mg.arange(end=3).tolist() == [0, 1, 2]
    assert mg.arange(mg.tensor(3)).tolist() == [0, 1, 2]
    for arguments, error in (((0, 5, 0), RuntimeError), ((0, 5, -1), RuntimeError), ((0, float("inf")), RuntimeError),
                             ((0, float("nan")), RuntimeError),
                             (("x",), TypeError), ((None,), TypeError)):
        with pytest.raises(error):
            mg.arange(*arguments)


@pytest.mark.parametrize("arguments", [(0, 1, 5), (3, 10, 8), (5, -5, 11), (1, 2, 1), (1, 2, 0), (2.5, 2.5, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_linspace_like_torch(arguments, dtype):
    x = mg.linspace(*arguments, dtype=getattr(mg, dtype))
    assert x.shape == (arguments[2],) and x.dtype.name == dtype
    if arguments[2] > 1:
        assert x[0].item() == (int(arguments[0]) if dtype == "int64" else arguments[0])
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(x.numpy(), torch.linspace(*arguments, dtype=getattr(torch, dtype)).numpy(), rtol=1e-6)


def test_eye():
    for n, m in ((0, 0), (3, 3), (2, 4), (4, 2), (0, 3)):
        np.testing.assert_array_equal(mg.eye(n, m).numpy(), np.eye(n, m))
    assert mg.eye(2, dtype=mg.bool).tolist() == [[True, False], [False, True]]
    with pytest.raises(RuntimeError):
        mg.eye(-1)


def test_scalar_tensor():
    assert mg.scalar_tensor(2).dtype is mg.float32 and mg.scalar_tensor(2, dtype=mg.int8).dtype is mg.int8


@pytest.mark.parametrize("make", [lambda **o: mg.zeros(2, **o), lambda **o: mg.tensor([1.0], **o), lambda **o: mg.arange(3.0, **o),
                                  lambda **o: mg.eye(2, **o), lambda **o: mg.full((2,), 1.0, **o),
                                  lambda **o: mg.linspace(0, 1, 3, **o)])
def test_requires_grad_under_no_grad(make):
    """tensor_surface/R-09"""
    with mg.no_grad():
        assert make(requires_grad=True).requires_grad
        assert not make().requires_grad


@pytest.mark.parametrize("device", ["cpu", mg.device("cpu"), None])
def test_device(device):
    assert mg.zeros(1, device=device).device == mg.device("cpu")


@pytest.mark.parametrize("device, error", [("nonsense", RuntimeError), (3.5, TypeError), ([], TypeError)])
def test_bad_device(device, error):
    with pytest.raises(error, match="device"):
        mg.zeros(1, device=device)
