"""The pool of kernels/cpu/pool.pyx reuses freed arrays. It must never return an array that something still refers to.

A random program makes tensors, views, exports and graphs, and drops them. For each object that it still holds, it has a copy of the
numbers. If the pool reuses an array too early, the numbers of an object change.
"""

import ctypes
import gc
import random
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad._build import pure as _pure
from tests.internals import needs

try:
    from minigrad.kernels.cpu import pool
except ImportError:     # interpreted: Python frees arrays itself. The programs below run all the same.
    pool = None



def recycle(array):
    """Hand an array over, as the core does when a tensor dies. Python code cannot: the function's address is in a capsule."""
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(address(pool.RECYCLE, b"minigrad.recycle"))(array)


compiled = pytest.mark.skipif(pool is None, reason="interpreted, there is no pool")
SHAPES = [(), (3,), (8,), (2, 4), (4, 2), (16, 16), (130, 70), (0, 3)]


class Program:
    """Random steps on a heap of things, each with a copy of its numbers taken when it was made."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.held = []      # (description, thing, its numbers)

    def keep(self, what, thing, numbers=None):
        array = thing.detach().numpy() if isinstance(thing, mg.Tensor) else np.asarray(thing)
        self.held.append((what, thing, np.array(array if numbers is None else numbers)))

    def tensors(self):
        return [thing for _, thing, _ in self.held if isinstance(thing, mg.Tensor)]

    def some(self):
        return self.random.choice(self.tensors() or [mg.ones(3)])

    def make(self):
        shape = self.random.choice(SHAPES)
        numbers = np.full(shape, self.random.random(), self.random.choice([np.float32, np.float64]))
        self.keep("made", mg.tensor(numbers) + 0, numbers)

    def compute(self):
        x = self.some()
        self.keep("computed", (x * 2 + 1).tanh() * x)

    def view(self):
        x = self.some() * 1        # the owner dies immediately: only the view refers to the memory
        views = [x.reshape(-1), x.detach(), x[...]] + ([x[:1], x.unsqueeze(0), x.transpose(0, -1)] if x.ndim else [])
        self.keep("view", self.random.choice(views))

    def export(self):
        x = self.some() * 3
        array = x.detach().numpy()
        self.keep("export", self.random.choice([array, memoryview(array), array[..., None], array.T]))

    def adopt(self):
        array = np.full(self.random.choice(SHAPES), self.random.random(), np.float32)
        x = mg.from_numpy(array) if array.flags.writeable else mg.tensor(array)
        self.keep("array behind a tensor", array)
        self.keep("tensor on an array", x)

    def weak(self):
        array = (self.some() * 5).detach().numpy()
        self.held.append(("weakly held", weakref.ref(array), None))

    def differentiate(self):
        x = mg.tensor(np.full(self.random.choice(SHAPES), self.random.random())).requires_grad_()
        y = (x * x).exp() * 0.5
        if self.random.random() < 0.5:
            self.keep("saved by a graph", y)
        y.sum().backward()
        self.keep("grad", x.grad)
        self.keep("leaf", x)

    def drop(self):
        self.random.shuffle(self.held)
        del self.held[len(self.held) // 2:]

    def check(self):
        for what, thing, numbers in self.held:
            if numbers is not None:
                found = thing.detach().numpy() if isinstance(thing, mg.Tensor) else np.asarray(thing)
                np.testing.assert_array_equal(found, numbers, err_msg=f"{what}: its memory has been reused")


STEPS = ("make", "compute", "view", "export", "adopt", "weak", "differentiate", "drop")


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed):
    program = Program(seed)
    for _ in range(120):
        getattr(program, program.random.choice(STEPS))()
        program.check()


def churn(shape=(8,), dtype=mg.float32):
    """Fill whatever the pool would hand out for this shape."""
    return [mg.full(shape, 7.0, dtype=dtype) * 11 for _ in range(6)]


@pytest.mark.parametrize("hold", [
    lambda x: x.numpy(), lambda x: memoryview(x.numpy()), lambda x: x.numpy()[2:], lambda x: x[2:], lambda x: x.detach(),
    lambda x: x.data,
    lambda x: x.view(2, 4), lambda x: np.frombuffer(x.numpy(), np.float32), lambda x: [x.numpy()], lambda x: (x * 1).numpy().T,
    lambda x: np.asarray(x), lambda x: x.__array__(),
], ids=["numpy", "memoryview", "slice", "view", "detach", "data", "reshaped", "frombuffer", "list", "transposed", "asarray",
        "__array__"])
def test_what_is_still_seen_is_not_used_again(hold):
    x = mg.ones(8) * 3
    kept = hold(x)
    del x
    gc.collect()
    others = churn()
    numbers = kept[0] if isinstance(kept, list) else kept.numpy() if isinstance(kept, mg.Tensor) else np.asarray(kept)
    assert (numbers == 3).all()
    assert all((o.numpy() == 77).all() for o in others)


def test_one_array_is_not_given_to_two():
    for shape in SHAPES:
        many = [mg.full(shape, float(i)) * 1 for i in range(50)]
        del many[::2]
        many += [mg.full(shape, float(100 + i)) * 1 for i in range(50)]
        owners = [t.numpy() for t in many if t.numel()]
        addresses = {a.__array_interface__["data"][0] for a in owners}
        assert len(addresses) == len(owners)


OBJECT = 128        # of pool.pyx: the bytes of an array besides its numbers


@pytest.fixture
def empty():
    pool.empty_pool()
    yield
    pool.empty_pool()


@needs("arrays")
@compiled
def test_a_dead_array_comes_back(empty):
    x = mg.ones(1000) * 2
    address = x.data_ptr()
    del x
    assert pool.pool_bytes() >= 4000
    assert mg.ones(1000).data_ptr() == address


@needs("arrays")
@compiled
def test_what_nobody_asks_for_does_not_pile_up(empty):
    held = [mg.ones(7, 3) * 1 for _ in range(10)]
    for _ in range(1000):
        recycle(np.ones((7, 3), np.float32))
    assert pool.pool_bytes() >= 10 * (7 * 3 * 4 + OBJECT)
    del held
    for _ in range(1000):
        recycle(np.ones((7, 3), np.float32))
    assert pool.pool_bytes() < 100 * (7 * 3 * 4 + OBJECT)


@needs("arrays")
@compiled
def test_every_array_of_a_large_graph_comes_back(empty):
    n = 100_000
    addresses = {x.data_ptr() for x in [mg.ones(5) * 1 for _ in range(n)]}
    assert len(addresses & {x.data_ptr() for x in [mg.ones(5) * 1 for _ in range(n)]}) >= n - 1


@compiled
def test_the_pool_is_bounded(empty):
    held = [mg.ones(1 << 20) * i for i in range(80)]
    del held
    assert pool.pool_bytes() <= pool.LIMIT
    many = [mg.ones(4) * i for i in range(5000)]
    del many
    assert pool.pool_bytes() <= 5000 * (16 + OBJECT) + 18 * (4 << 20)
    pool.empty_pool()
    assert pool.pool_bytes() == 0


@compiled
@pytest.mark.parametrize("make, size", [
    (lambda x: x > 0, 1), (lambda x: x.argmax(1), 8), (lambda x: x.sort(1)[1], 8), (lambda x: x.long(), 8), (lambda x: mg.randint(0, 9, (4, 4)), 8),
], ids=["bools", "argmax", "sort", "long", "randint"])
def test_bools_and_whole_numbers_come_back(empty, make, size):
    x = mg.ones(4, 4)
    y = make(x)
    before, taken = pool.pool_bytes(), size * y.numel() + OBJECT
    del y
    full = pool.pool_bytes()
    assert full >= before + taken
    y = make(x)
    assert y.numel() and pool.pool_bytes() <= full - taken


@compiled
@pytest.mark.parametrize("array", [
    np.ones(8, np.int32), np.ones(8, np.float16), "no array", None, [1.0], np.frombuffer(b"\0" * 16, np.float32), np.ones(8, np.int64)[::2],
], ids=["int32", "float16", "str", "None", "list", "read-only", "strided int64"])
def test_what_the_pool_refuses(empty, array):
    """Read-only memory and other dtypes are left to Python. It may take the object of a view."""
    recycle(array)
    assert pool.pool_bytes() <= OBJECT


@needs("arrays")
@compiled
@pytest.mark.parametrize("view", [lambda a: a.T[1:], lambda a: a[::2], lambda a: np.broadcast_to(a[:1], a.shape), lambda a: a[1:][1:]],
                         ids=["transposed part", "strided", "broadcast", "view of a view"])
def test_the_last_view_brings_its_base_back(empty, view):
    held = [mg.ones(4, 4) * 1 for _ in range(3)]
    held += [x[1:] for x in held]       # a bin takes as many as were made for it
    before = pool.pool_bytes()
    recycle(view(np.ones((4, 4), np.float32)))
    assert pool.pool_bytes() - before == 64 + 2 * OBJECT
    base = np.ones((4, 4), np.float32)
    first, last = view(base), view(base)
    recycle(first)
    assert pool.pool_bytes() - before == 64 + 3 * OBJECT, "another view and a name still hold the base"
    del base
    recycle(last)
    assert pool.pool_bytes() - before == 128 + 5 * OBJECT


@compiled
def test_a_weakly_held_array_stays_away(empty):
    array = np.ones(8, np.float32)
    watcher = weakref.ref(array)
    recycle(array)
    assert pool.pool_bytes() == 0 and watcher() is array


@compiled
def test_an_array_with_other_strides_is_not_used_again(empty):
    """NumPy does not look at the stride of a dimension with one element, and so takes this array for a row-major one."""
    held = [mg.ones(1, 1, 2) * 1 for _ in range(3)]
    recycle(np.empty((1, 1, 2), np.float32, order="F"))
    assert {x.stride() for x in [mg.ones(1, 1, 2) for _ in range(4)]} == {(2, 2, 1)}
    del held


@compiled
def test_shapes_do_not_mix(empty):
    """A bin may hold several shapes of one size; each kernel gets its own."""
    for shape in ((2, 4), (4, 2), (8,), (1, 8), (2, 2, 2)):
        x = mg.ones(*shape) * 2
        assert x.numpy().shape == shape and x.numpy().strides == np.ones(shape, np.float32).strides
        del x


def test_mode_is_known():
    assert (pool is None) == (_pure.mode() == "interpreted")
