"""Memory shared with NumPy, torch and other libraries through DLPack or the buffer protocol; and refused arrays."""

import warnings

import numpy as np
import pytest

import minigrad as mg

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3)]


def some(dtype, shape=(2, 3)):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


# ---- NumPy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory(dtype, shape):
    """In both directions, each library sees the writes of the other."""
    a = some(dtype, shape)
    x = mg.from_numpy(a)
    b = x.numpy()
    assert (x.dtype.name, tuple(x.shape), b.dtype, b.shape) == (dtype, shape, a.dtype, shape)
    np.testing.assert_array_equal(a, b)
    if a.size:
        assert np.shares_memory(a, b) and x.data_ptr() == a.__array_interface__["data"][0]
        a[...] = 1
        assert x.tolist() == a.tolist()
        x.zero_()
        assert not a.any() and not b.any()


def test_array_protocol():
    """``np.asarray`` shares, ``np.array`` copies, dtype converts, copy=False refuses to."""
    x = mg.tensor([1.5, 2.5])
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.dtype("float64"), copy=False)
    assert not np.shares_memory(x.__array__(copy=True), x.numpy())


def test_numpy_functions():
    """A ufunc gives a tensor; np.mean and its like numbers; an array before an operator makes way."""
    x = mg.tensor([0.0, 1.0])
    assert isinstance(np.exp(x), mg.Tensor) and np.exp(x).tolist() == pytest.approx([1.0, np.e])
    assert np.mean(x.numpy()) == 0.5
    assert isinstance(x + np.ones(2), mg.Tensor) and (x + np.ones(2)).dtype is mg.float64
    assert isinstance(np.ones(2) / mg.tensor([2.0, 4.0]), mg.Tensor)
    assert isinstance(np.float64(2) * x, mg.Tensor) and (np.float64(2) * x).dtype is mg.float32
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.exp(mg.ones(2, requires_grad=True))


ODD = {
    "transposed": lambda: some("float64").T, "fortran": lambda: np.asfortranarray(some("float64")),
    "stepped": lambda: some("int64", (6, 4))[::2, 1::2],
    "broadcast": lambda: np.broadcast_to(some("float32", (3,)), (2, 3)), "selected": lambda: some("float32", (4, 3))[:, 1],
    "0-d": lambda: np.array(2.0),
    "zero size": lambda: np.zeros((0, 3))[:, ::2], "matrix": lambda: np.matrix([[1.0, 2.0]]),
    "field": lambda: np.zeros(3, dtype=[("a", "f4"), ("b", "f4")])["b"],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_layouts(name):
    """from_numpy keeps any strides of an array, and ops on it give NumPy's results; tensor() copies to row-major order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = ODD[name]()
        x = mg.from_numpy(a)
        np.testing.assert_array_equal(x.numpy(), np.asarray(a))
        assert np.shares_memory(x.numpy(), a) or a.size == 0
        np.testing.assert_allclose((x * 2 + 1).numpy(), np.asarray(a) * 2 + 1)
        np.testing.assert_allclose(x.sum().numpy(), np.asarray(a).sum())
        assert x.contiguous().is_contiguous() and mg.tensor(a).is_contiguous()
        assert x.clone().tolist() == np.asarray(a).tolist()


def test_gradients_through_odd_layouts():
    a = np.asfortranarray(some("float64"))
    x = mg.from_numpy(a).requires_grad_()
    (x * mg.from_numpy(a.T.copy()).t()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), a)


REFUSED = {
    "negative stride": (lambda: np.arange(3.0)[::-1], ValueError, "stride"),
    "negative in 2-d": (lambda: some("f4")[:, ::-1], ValueError, "stride"),
    "big endian": (lambda: np.arange(3, dtype=">f8"), ValueError, "byte order"),
    "uint16": (lambda: np.ones(2, np.uint16), TypeError, "supported types are"),
    "uint64": (lambda: np.ones(2, np.uint64), TypeError, "supported types are"),
    "object": (lambda: np.array([None]), TypeError, "supported types are"),
    "str": (lambda: np.array(["a"]), TypeError, "supported types are"),
    "bytes": (lambda: np.array([b"a"]), TypeError, "supported types are"),
    "datetime": (lambda: np.array(["2020-01-01"], "M8[D]"), TypeError, "supported types are"),
    "longdouble": (lambda: np.ones(2, np.longdouble), TypeError, "supported types are"),
    "structured": (lambda: np.zeros(2, [("a", "f4")]), TypeError, "supported types are"),
}


@pytest.mark.parametrize("make", [mg.from_numpy, mg.tensor, mg.as_tensor, lambda a: mg.zeros(1).new_tensor(a)],
                         ids=["from_numpy", "tensor", "as_tensor", "new_tensor"])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_arrays(name, make):
    array, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        make(array())


@pytest.mark.parametrize("other", [[1.0], 1.0, None, "x", mg.ones(1)], ids=repr)
def test_from_numpy_of_no_array(other):
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        mg.from_numpy(other)


def test_read_only():
    """A warning, and an error on the first write instead of a crash."""
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = mg.from_numpy(a)
    assert (x + 1).tolist() == [1.0, 2.0, 3.0]
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 5.0), lambda: x.zero_(), lambda: x[1:].fill_(2)):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert a.tolist() == [0.0, 1.0, 2.0] and x._version == 0


def test_the_array_outlives_its_owner():
    x = mg.from_numpy(np.arange(1000.0))
    a = mg.arange(1000.0).numpy()
    trash = [np.ones(1000) for _ in range(20)]
    assert x.sum().item() == a.sum() == 499500.0 and len(trash) == 20


# ---- DLPack -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_dlpack_with_numpy(dtype):
    a = some(dtype)
    x = mg.from_dlpack(a)
    b = np.from_dlpack(x)
    assert x.dtype.name == dtype and np.shares_memory(a, b) and b.tolist() == a.tolist()
    assert x.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_torch(dtype, shape):
    """Both ways, on the same memory."""
    torch = pytest.importorskip("torch")
    theirs = torch.from_numpy(some(dtype, shape))
    ours = mg.from_dlpack(theirs)
    back = torch.from_dlpack(ours)
    assert (ours.dtype.name, tuple(ours.shape), tuple(back.shape)) == (dtype, shape, shape)
    assert ours.tolist() == theirs.tolist() == back.tolist()
    if theirs.numel():
        ours.zero_()
        assert not theirs.any() and not back.any()


def test_dlpack_of_strided():
    torch = pytest.importorskip("torch")
    x = mg.from_dlpack(torch.arange(6.0).reshape(2, 3).t())
    assert x.stride() == (1, 3) and x.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.from_dlpack(x[1:]).tolist() == [[1, 4], [2, 5]]


def test_dlpack_refusals():
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(mg.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match=r"with __dlpack__"):
        mg.from_dlpack([1.0])
    with pytest.raises(TypeError, match="supported types"):
        mg.from_dlpack(np.ones(2, np.uint16))


# ---- buffers ------------------------------------------------------------------------------------------


def test_frombuffer_shares():
    raw = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = mg.frombuffer(raw, dtype=mg.int32)
    x[0] = 7
    assert np.frombuffer(raw, np.int32).tolist() == [7, 1, 2, 3]
    assert mg.frombuffer(raw, dtype=mg.int32, count=2, offset=4).tolist() == [1, 2]
    assert mg.frombuffer(memoryview(raw), dtype=mg.uint8).shape == (16,)
    assert mg.frombuffer(bytearray(8), dtype=mg.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize("arguments, error", [
    (dict(dtype=mg.int32, offset=1), ValueError), (dict(dtype=mg.int32, count=9), ValueError),
    (dict(dtype=mg.int32, offset=99), ValueError),
    (dict(dtype=mg.int32, count=0), ValueError), (dict(dtype=mg.int32, offset=-1), ValueError), (dict(dtype="x"), TypeError)],
    ids=str)
def test_bad_frombuffer(arguments, error):
    with pytest.raises(error):
        mg.frombuffer(bytearray(15), **arguments)


def test_frombuffer_of_what_is_no_buffer():
    with pytest.raises(TypeError):
        mg.frombuffer(3, dtype=mg.int32)
    with pytest.raises(ValueError):
        mg.frombuffer(bytearray(), dtype=mg.int32)


def test_frombuffer_of_bytes_is_read_only():
    with pytest.warns(UserWarning, match="not writable"):
        x = mg.frombuffer(b"\x01\x02", dtype=mg.uint8)
    with pytest.raises(RuntimeError, match="read-only"):
        x.zero_()


def test_memoryview():
    """A tensor's array has the buffer protocol; array.array comes in through frombuffer."""
    import array
    assert memoryview(mg.tensor([1, 2]).numpy()).tolist() == [1, 2]
    assert mg.frombuffer(array.array("d", [1.5, 2.5]), dtype=mg.float64).tolist() == [1.5, 2.5]
