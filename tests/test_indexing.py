"""``x[...]``: random basic and advanced indices read, assigned and differentiated, against NumPy; and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
many = settings(max_examples=300, deadline=None)


@st.composite
def basic_index(draw, shape):
    """A tuple of ints, slices, None and at most one Ellipsis that is legal for `shape`."""
    taken = draw(st.integers(0, len(shape)))
    front = draw(st.integers(0, taken)) if draw(st.booleans()) else taken
    dims = [*range(front), *range(len(shape) - (taken - front), len(shape))]
    items = []
    for d in dims:
        n = shape[d]
        if n and draw(st.booleans()):
            items.append(draw(st.integers(-n, n - 1)))
        else:
            bound = st.one_of(st.none(), st.integers(-6, 6))
            items.append(slice(draw(bound), draw(bound), draw(st.one_of(st.none(), st.integers(1, 4)))))
    if front != taken or draw(st.booleans()):
        items.insert(front, Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def advanced_index(draw, shape):
    """A tuple with int arrays that broadcast, masks, slices and ints, legal for `shape`: NumPy and torch agree on all of them."""
    common = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    items, d = [], 0
    while d < len(shape):
        n = shape[d]
        kind = draw(st.sampled_from(["slice", "array", "mask", "int", "list", "stop"]))
        if kind == "stop":
            break
        if kind in ("array", "list", "int") and (n == 0 or common == ()):     # a 0-d index is an int for torch, an array for NumPy
            kind = "slice"
        if kind == "array":
            small = tuple([1 if draw(st.booleans()) else size for size in common])
            values = draw(st.lists(st.integers(-n, n - 1), min_size=int(np.prod(small)), max_size=int(np.prod(small))))
            items.append(np.array(values, dtype=draw(st.sampled_from([np.int64, np.int32]))).reshape(small))
        elif kind == "list" and common in ((3,), (1,)):
            items.append(draw(st.lists(st.integers(-n, n - 1), min_size=common[0], max_size=common[0])))
        elif kind == "mask" and common == ():
            width = draw(st.integers(1, 2)) if d + 1 < len(shape) else 1
            size = int(np.prod(shape[d:d + width]))
            items.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape[d:d + width]))
            d += width
            break
        else:
            items.append(slice(None, None, draw(st.sampled_from([None, 2]))))
        d += 1
    return tuple(items)


@st.composite
def array_and_index(draw, index):
    shape = draw(SHAPES)
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape), draw(index(shape))


def tensors(index):
    """The index with tensors for its arrays."""
    return tuple([mg.tensor(i) if isinstance(i, np.ndarray) else i for i in index])


def check_read(array, index):
    x = mg.tensor(array)
    expected = array[index]
    for ours in (x[tensors(index)], x[index]):
        assert tuple(ours.shape) == expected.shape
        np.testing.assert_array_equal(ours.numpy(), expected)


def check_write(array, index, value):
    expected, x = array.copy(), mg.tensor(array)
    expected[index] = value
    x[tensors(index)] = mg.tensor(value) if isinstance(value, np.ndarray) else value
    np.testing.assert_array_equal(x.numpy(), expected)


def check_gradient(array, index):
    """Each element's gradient is the sum of the weights of its copies."""
    x = mg.tensor(array, requires_grad=True)
    z = x[tensors(index)]
    weights = np.cos(np.arange(z.numel())).reshape(tuple(z.shape))
    z.backward(mg.tensor(weights))
    expected = np.zeros(array.size)
    np.add.at(expected, np.arange(array.size).reshape(array.shape)[index], weights)
    np.testing.assert_allclose(x.grad.numpy(), expected.reshape(array.shape), atol=1e-12)


@many
@given(array_and_index(basic_index))
def test_basic_read(case):
    check_read(*case)
    x = mg.tensor(case[0])
    view = x[case[1]]
    assert view._is_view() and view._base is x, "a basic index gives a view"


@many
@given(array_and_index(basic_index), st.booleans())
def test_basic_write(case, whole):
    array, index = case
    shape = array[index].shape
    check_write(array, index, -np.arange(1.0, np.prod(shape) + 1).reshape(shape) if whole else -7.0)


@many
@given(array_and_index(basic_index))
def test_basic_gradient(case):
    check_gradient(*case)


@many
@given(array_and_index(advanced_index))
def test_advanced_read(case):
    check_read(*case)


@many
@given(array_and_index(advanced_index))
def test_advanced_write(case):
    """One value, so that it does not matter which of several writes to one place comes last."""
    check_write(*case, -7.0)
    array, index = case
    check_write(*case, np.full(array[index].shape[-1:], -3.0))


@many
@given(array_and_index(advanced_index))
def test_advanced_gradient(case):
    check_gradient(*case)


@settings(max_examples=100, deadline=None)
@given(array_and_index(basic_index))
def test_gradient_through_a_write(case):
    """Overwritten values get a gradient of 0; the new values get the gradient of their place."""
    array, index = case
    shape = array[index].shape
    x, y = mg.tensor(array, requires_grad=True), mg.tensor(np.ones(shape), requires_grad=True)
    z = x * 2
    z[index] = y
    weights = np.cos(np.arange(array.size)).reshape(array.shape)
    z.backward(mg.tensor(weights))
    kept = np.ones(array.shape)
    kept[index] = 0
    np.testing.assert_allclose(x.grad.numpy(), 2 * weights * kept)
    np.testing.assert_allclose(y.grad.numpy(), weights[index])


@many
@given(array_and_index(basic_index), array_and_index(advanced_index))
def test_like_torch(basic, advanced):
    """Value, strides of views, and the shape of the result."""
    torch = pytest.importorskip("torch")
    for array, index in (basic, advanced):
        theirs = torch.tensor(array)[tuple([torch.tensor(i) if isinstance(i, np.ndarray) else i for i in index])]
        ours = mg.tensor(array)[tensors(index)]
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
        assert ours._is_view() == theirs._is_view()


INDICES = {
    "too many": (0, 0, 0), "out of range": 5, "out of range below": -3, "in second": (0, 3), "float": 1.5, "str": "a",
    "float tensor": [0.0, 1.0],
    "negative step": slice(None, None, -1), "step 0": slice(None, None, 0), "two ellipses": (..., ...),
    "tensor out of range": ([0, 2],),
    "tensor below": ([-3],), "mask of wrong size": ([True, False, True],), "mask too deep": ([[[True]]],),
    "shapes apart": ([0, 1], [0, 1, 0]),
    "object": object(), "none in list": ([None],), "dict": {}, "float slice": slice(0.5, None), "set": {1}, "complex": 1j,
    "empty tuple": (),
    "True": True, "False": False, "True and 0": (True, 0), "None": None, "list": [1, 0], "nested list": [[0, 1], [1, 0]],
    "range": range(2),
    "empty list": [], "bool list": [True, False], "tuple of lists": ([0, 1], [2, 0]), "np int": np.int64(1), "np bool": np.True_,
    "uint8": np.array([0, 1], np.uint8), "int16": np.array([0, 1], np.int16), "0-d array": np.array(1), "0-d mask": np.array(True),
    "bool matrix": np.array([[True, False, True], [False, False, True]]), "slice and list": (slice(None), [2, 0]), "far": 2**40,
    "apart": ([0, 1], None, [0, 1]), "ellipsis and list": (..., [0, 0]),
}


# torch follows NumPy before 1.23 here, or fails; minigrad follows current NumPy. The error, or None for a result.
NUMPYS_RULE = {"float tensor": IndexError, "two ellipses": IndexError, "np bool": None, "uint8": None}


def outcome(m, index, write, as_tensors):
    import warnings
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x = np.array(rows, np.float32) if m is np else m.tensor(rows)
    if m is np and isinstance(index, np.ndarray):
        index = index.astype(bool)      # bytes as an index were masks once, and still are in torch

    def convert(i):
        if isinstance(i, tuple):
            return tuple([convert(j) for j in i])
        listed = isinstance(i, list) and as_tensors and i and None not in i
        return m.tensor(i) if m is not np and (listed or isinstance(i, np.ndarray)) else i
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if write:
                x[convert(index)] = -1.0
                return np.asarray(x)
            return np.asarray(x[convert(index)])
        except Exception as error:
            assert str(error)
            return next(c for c in (TypeError, IndexError, ValueError, OverflowError, RuntimeError) if isinstance(error, c))


@pytest.mark.differs(
    what="`x[..., ...]`, `x[np.True_]`",
    there="Two ellipses count as one. A bool of NumPy is refused.",
    here="The rules are NumPy's: IndexError, and a new dimension.")
@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("as_tensors", [False, True], ids=["lists", "tensors"])
@pytest.mark.parametrize("name", INDICES)
def test_unusual_index(name, write, as_tensors):
    """The result or the class of error of torch; without torch, an error that says something."""
    ours = outcome(mg, INDICES[name], write, as_tensors)
    torch = pytest.importorskip("torch")
    theirs = outcome(torch, INDICES[name], write, as_tensors)
    if name in NUMPYS_RULE and not (as_tensors and name in ("float tensor", "mask too deep", "mask of wrong size")):
        theirs = NUMPYS_RULE[name] or outcome(np, INDICES[name], write, as_tensors)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_messages():
    x = mg.zeros(2, 3)
    for index, words in [((0, 0, 0), "too many indices"), (5, "index 5 is out of bounds for dimension 0 with size 2"),
                         ((..., ...), "single ellipsis"), (1.5, "only integers, slices"),
                         (mg.tensor([0.5]), "long, int, byte or bool")]:
        with pytest.raises(IndexError, match=words):
            x[index]
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        mg.tensor(1.0)[0]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]


VALUES = {"number": 5, "float": 0.5, "bool": True, "row": [1.0, 2.0, 3.0], "column": [[1.0], [2.0]], "wrong": [1.0, 2.0],
          "too deep": [[[1.0, 2.0, 3.0]]],
          "complex": 1j, "None": None, "str": "a", "array": np.ones(3), "whole": np.arange(6).reshape(2, 3), "empty": [],
          "int list": [1, 2, 3]}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("index", [slice(None), 0, [0, 1], (slice(None), [0, 1, 2])], ids=str)
def test_assigned_values(name, dtype, index):
    """The values that may be on the right of ``x[i] =``, as in torch."""
    def assign(m):
        x = m.zeros(2, 3, dtype=getattr(m, dtype))
        value = VALUES[name]
        try:
            x[index] = m.tensor(value) if isinstance(value, (list, np.ndarray)) else value
        except Exception as error:
            assert str(error)
            return next(c for c in (TypeError, IndexError, ValueError, RuntimeError) if isinstance(error, c))
        return x.numpy()
    ours = assign(mg)
    torch = pytest.importorskip("torch")
    theirs = assign(torch)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_write_counts_versions():
    """saved_and_versions: each assignment is one write, seen by the base and all its views."""
    x = mg.zeros(2, 3)
    x[0] = 1.0
    assert x._version == 1
    x[mg.tensor([0, 1])] = 2.0
    view = x[1]
    view[0] = 3.0
    assert x._version == view._version == 3
    assert x.tolist() == [[2.0, 2.0, 2.0], [3.0, 2.0, 2.0]]


WHERE = [[True, False], [[True, False, True], [False, False, True]], [[False] * 3] * 2, True]


@pytest.mark.parametrize("mask", WHERE)
@pytest.mark.parametrize("value", [2.0, 3, True, [5.0], [[7]], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
def test_write_by_mask(mask, value, dtype):
    """One number is written without a search for the places; it may have another dtype, as in PyTorch."""
    torch = pytest.importorskip("torch")

    def run(m):
        x = m.arange(6).reshape(2, 3).to(getattr(m, dtype))
        by_columns = x.t().contiguous().t()
        for target in (x, by_columns):
            try:
                target[m.tensor(mask)] = value if type(value) is not list else m.tensor(value)
            except (RuntimeError, IndexError) as error:
                return IndexError if isinstance(error, IndexError) else RuntimeError
        return x.tolist(), by_columns.tolist()
    assert run(mg) == run(torch)


def test_graph_of_a_write_by_mask():
    torch = pytest.importorskip("torch")

    def run(m):
        x, value = m.ones(2, 3, requires_grad=True), m.full((1, 1), 4.0, requires_grad=True)
        z = x * 1
        z[m.tensor([[True, False, True], [False, False, True]])] = value
        version, names = z._version, [z.grad_fn.name().split("::")[-1], z.grad_fn.next_functions[0][0].name().split("::")[-1]]
        (z * m.arange(6).reshape(2, 3)).sum().backward()
        return version, names, x.grad.tolist(), value.grad.tolist()
    assert run(mg) == run(torch)


def test_written_values_from_the_same_storage():
    """The index, the mask or the values are in the memory that is written to: all are read first."""
    x = mg.arange(6)
    x[x] = x.flip(0) * 10
    assert x.tolist() == [50, 40, 30, 20, 10, 0]
    x = mg.tensor([3, 2, 1, 0])
    x[x[1:]] = x[:-1]
    assert x.tolist() == [1, 2, 3, 0]
    x = mg.tensor([2, 1, 0])
    x[x] = mg.tensor([7, 8, 9])
    assert x.tolist() == [9, 8, 7]
    mask = mg.tensor([True, False, True])
    mask[mask] = False
    assert not mask.any()
    base = np.array([4, 3, 2, 1, 0])
    x, index = mg.from_numpy(base), mg.from_numpy(base)         # two storages, one memory
    x[index] = mg.tensor([10, 11, 12, 13, 14])
    assert x.tolist() == [14, 13, 12, 11, 10]


@pytest.mark.parametrize("index", [slice(0, 2), 1, [0, 1], ...])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (1, 1, 3), (2, 3)])
def test_graph_of_an_assignment(shape, index):
    """A value loses its leading dimensions of size 1 and is then expanded, by the nodes that PyTorch has for it."""
    torch = pytest.importorskip("torch")

    def run(m):
        x, value = m.zeros(2, 3), m.ones(shape, requires_grad=True)
        try:
            x[index] = value
        except RuntimeError:
            return None
        names, node = [], x.grad_fn
        while node is not None:
            names.append(node.name().split("::")[-1])
            node = node.next_functions[-1][0] if node.next_functions else None
        x.sum().backward()
        return names, value.grad.tolist()
    assert run(mg) == run(torch)


def test_index_must_be_a_tensor():
    with pytest.raises(TypeError, match=r"index_add.*must be Tensor"):
        mg.zeros(3).index_add_(0, [0, 1], mg.ones(2))
