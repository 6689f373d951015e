"""Random numbers: streams, seeds and states; ranges and moments of the draws; bad arguments."""

import copy
import math
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import minigrad as mg

# name -> draw(generator): every function that takes a generator.
DRAWS = {
    "rand": lambda g: mg.rand(50, generator=g), "randn": lambda g: mg.randn(50, generator=g),
    "randint": lambda g: mg.randint(0, 1000, (50,), generator=g),
    "randperm": lambda g: mg.randperm(50, generator=g), "normal": lambda g: mg.normal(1.0, 2.0, (50,), generator=g),
    "normal of tensors": lambda g: mg.normal(mg.zeros(50), mg.ones(50), generator=g),
    "bernoulli": lambda g: mg.bernoulli(mg.full((50,), 0.5), generator=g), "uniform_": lambda g: mg.empty(50).uniform_(generator=g),
    "normal_": lambda g: mg.empty(50).normal_(generator=g), "bernoulli_": lambda g: mg.empty(50).bernoulli_(0.5, generator=g),
    "rand_like": lambda g: mg.rand_like(mg.zeros(50), generator=g), "randn_like": lambda g: mg.randn_like(mg.zeros(50),
                                                                                                          generator=g),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@draws
def test_deterministic(draw):
    """The same seed gives the same numbers, from a new generator and from the default one; another seed gives others."""
    a = draw(mg.Generator().manual_seed(7)).tolist()
    assert draw(mg.Generator().manual_seed(7)).tolist() == a
    assert draw(mg.Generator().manual_seed(8)).tolist() != a
    mg.manual_seed(7)
    assert draw(None).tolist() == a
    assert draw(None).tolist() != a, "the stream goes on"


@draws
def test_own_generator_leaves_the_default_alone(draw):
    mg.manual_seed(3)
    expected = mg.rand(4).tolist()
    mg.manual_seed(3)
    draw(mg.Generator())
    assert mg.rand(4).tolist() == expected


@draws
def test_states(draw):
    """A state taken anywhere in the stream can be gone back to, as often as one likes."""
    g = mg.Generator().manual_seed(1)
    draw(g)
    state = g.get_state()
    a = draw(g).tolist()
    for _ in range(2):
        assert g.set_state(state) is g
        assert draw(g).tolist() == a
    mg.rand(3)
    state = mg.get_rng_state()
    a = draw(None).tolist()
    mg.set_rng_state(state)
    assert draw(None).tolist() == a


def test_fork_rng():
    mg.manual_seed(5)
    with mg.random.fork_rng():
        inside = mg.rand(3).tolist()
        mg.manual_seed(99)
    assert mg.rand(3).tolist() == inside
    with pytest.raises(KeyError), mg.random.fork_rng():
        mg.rand(3)
        raise KeyError
    with mg.random.fork_rng(enabled=False):
        mg.manual_seed(5)
    assert mg.rand(3).tolist() == inside


def test_seeds():
    g = mg.Generator()
    assert g.manual_seed(2**63 - 1) is g and g.initial_seed() == 2**63 - 1
    assert mg.manual_seed(-1).initial_seed() % (1 << 64) == (1 << 64) - 1
    assert g.seed() == g.initial_seed() != mg.Generator().seed()
    assert mg.seed() == mg.initial_seed()
    for bad in (1.5, "1", None):
        with pytest.raises(TypeError, match="manual_seed expected"):
            mg.manual_seed(bad)


@pytest.mark.parametrize("dtype", [mg.float16, mg.float32, mg.float64], ids=str)
def test_moments(dtype):
    """Mean and variance of many, within five standard errors; no number outside its range."""
    n = 20000
    u = mg.rand(n, dtype=dtype).double()
    assert u.min() >= 0 and u.max() <= (1 if dtype is mg.float16 else 1 - 1e-12)
    assert abs(u.mean().item() - 0.5) < 5 * math.sqrt(1 / 12 / n)
    z = mg.randn(n, dtype=dtype).double()
    assert abs(z.mean().item()) < 5 / math.sqrt(n) and abs(z.var().item() - 1) < 5 * math.sqrt(2 / n)
    w = mg.empty(n, dtype=dtype).normal_(3, 2).double()
    assert abs(w.mean().item() - 3) < 10 / math.sqrt(n) and abs(w.std().item() - 2) < 10 * math.sqrt(1 / n)
    v = mg.empty(n, dtype=dtype).uniform_(-2, 5).double()
    assert v.min() >= -2 and v.max() <= 5 and abs(v.mean().item() - 1.5) < 5 * 7 * math.sqrt(1 / 12 / n)
    b = mg.empty(n, dtype=dtype).bernoulli_(0.3).double()
    assert set(b.tolist()) == {0.0, 1.0} and abs(b.mean().item() - 0.3) < 5 * math.sqrt(0.21 / n)


def test_randint_and_randperm():
    x = mg.randint(-3, 4, (5000,))
    assert x.dtype is mg.int64 and set(x.tolist()) == set(range(-3, 4))
    counts = np.bincount(x.numpy() + 3)
    assert abs(counts - 5000 / 7).max() < 5 * math.sqrt(5000 * 6 / 49)
    assert sorted(mg.randperm(100).tolist()) == list(range(100)) != mg.randperm(100).tolist()
    assert mg.randperm(0).shape == (0,)
    assert mg.randint(5, (2, 3), dtype=mg.float32).dtype is mg.float32


def test_bernoulli_of_probabilities():
    many = mg.bernoulli(mg.tensor([0.0, 1.0, 0.25]).expand(4000, 3))
    mean = many.mean(0)
    assert mean[0] == 0 and mean[1] == 1 and abs(mean[2].item() - 0.25) < 5 * math.sqrt(0.1875 / 4000)


@pytest.mark.parametrize("make", [lambda: mg.rand(0), lambda: mg.randn(2, 0), lambda: mg.randint(3, (0,)), lambda: mg.rand(()),
                                  lambda: mg.randn([])])
def test_small_shapes(make):
    assert make().numel() in (0, 1)


def test_dtype_and_history():
    """Draws have the default dtype, `*_like` the dtype of the tensor; they are leaves, and require a gradient only on request."""
    assert mg.rand(1).dtype is mg.float32 and mg.rand_like(mg.zeros(1, dtype=mg.float64)).dtype is mg.float64
    assert mg.randn(2, requires_grad=True).requires_grad and not mg.rand(2).requires_grad
    assert not mg.rand_like(mg.zeros(2, requires_grad=True)).requires_grad


def test_in_place_draws_are_writes():
    """They count a version, cut the gradient, and are refused on a leaf that requires one."""
    x = mg.ones(3, requires_grad=True)
    y = x * 2
    y.normal_()
    assert y._version == 1 and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 3
    for fill in (x.uniform_, x.normal_, x.bernoulli_):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            fill()


BAD = [
    (lambda m: m.rand(-1), RuntimeError), (lambda m: m.rand("x"), TypeError), (lambda m: m.rand(2, dtype=m.int64), RuntimeError),
    (lambda m: m.randn(2, dtype=m.bool), RuntimeError), (lambda m: m.rand(2, generator=3), TypeError),
    (lambda m: m.randint(5, 5, (2,)), RuntimeError),
    (lambda m: m.randint(5, 3, (2,)), RuntimeError), (lambda m: m.randint(0, 5, 3), TypeError),
    (lambda m: m.randint("x", (2,)), TypeError),
    (lambda m: m.randperm(-1), RuntimeError), (lambda m: m.randperm(2.5), TypeError),
    (lambda m: m.normal(0.0, -1.0, (2,)), RuntimeError), (lambda m: m.normal(0.0, 1.0), TypeError),
    (lambda m: m.bernoulli(m.tensor([1.5])), RuntimeError), (lambda m: m.bernoulli(m.tensor([-0.5])), RuntimeError),
    (lambda m: m.bernoulli(m.tensor([float("nan")])), RuntimeError), (lambda m: m.bernoulli(0.5), TypeError),
    (lambda m: m.empty(2).uniform_(2, 1), RuntimeError), (lambda m: m.empty(2).normal_(0, -1), RuntimeError),
    (lambda m: m.empty(2).bernoulli_(2), RuntimeError), (lambda m: m.empty(2, dtype=m.int64).uniform_(), RuntimeError),
    (lambda m: m.rand_like(3), TypeError), (lambda m: m.rand_like(m.zeros(2, dtype=m.int64)), RuntimeError),
    (lambda m: m.normal(m.zeros(2), m.tensor([1.0, -1.0])), RuntimeError),
]


@pytest.mark.parametrize("call, error", BAD, ids=range(len(BAD)))
def test_bad_arguments(call, error):
    with pytest.raises(error) as found:
        call(mg)
    assert str(found.value)


@pytest.mark.parametrize("call, error", BAD, ids=range(len(BAD)))
def test_bad_arguments_in_torch(call, error):
    """The table above is torch's."""
    torch = pytest.importorskip("torch")
    with pytest.raises(error):
        call(torch)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    """A complex draw has two real parts; the standard deviation is of the complex number, as in PyTorch."""
    dtype = getattr(mg, dtype)
    x = mg.empty(20000, dtype=dtype).normal_(3 - 1j, 2)
    assert abs(complex(x.mean()) - (3 - 1j)) < 0.1 and abs(float(x.std()) - 2) < 0.05 and abs(float(x.imag.std()) - 2 ** 0.5) < 0.05
    y = mg.rand(2, 1000, dtype=dtype)
    assert y.dtype is dtype and 0 <= float(y.real.min()) < 0.05 < 0.95 < float(y.imag.max()) < 1
    assert mg.randn((), dtype=dtype).shape == () and mg.randn(0, dtype=dtype).shape == (0,)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))], ids=["deepcopy", "pickle"])
def test_a_copy_of_a_generator_goes_on_alone(copied):
    """Also after its state was saved and restored, which happens in the memory of NumPy's generator."""
    g = mg.Generator().manual_seed(5)
    g.set_state(g.get_state())
    mg.randn(3, generator=g)
    h = copied(g)
    assert h.initial_seed() == 5 and h.device == g.device
    expected = mg.randn(7, generator=g).tolist()
    state = g.get_state()
    assert mg.randn(7, generator=h).tolist() == expected
    h.manual_seed(9).set_state(state)
    assert mg.randn(4, generator=h).tolist() == mg.randn(4, generator=g).tolist()


def test_states_are_saved_and_restored_in_the_memory_of_numpys_generator():
    """If this fails, NumPy keeps the words in another way; then the slow way is taken, and nothing else changes."""
    stream = mg.Generator().manual_seed(3).stream
    stream.words(700)
    saved = stream.numpy.bit_generator.state["state"]
    assert stream.memory[:-1].tolist() == saved["key"].tolist() and stream.memory[-1] == saved["pos"]
    fast = stream.save_state(3)
    stream.memory = None            # as with such a NumPy
    assert stream.save_state(3).tobytes() == fast.tobytes()
    expected = stream.words(5).tolist()
    assert stream.load_state(fast) == 3 and stream.words(5).tolist() == expected


def test_vmap_notices_a_draw():
    with pytest.raises(RuntimeError, match="called random operation"):
        mg.func.vmap(lambda x: x + mg.rand(()))(mg.ones(2))
    assert mg.func.vmap(lambda x: (mg.get_rng_state(), x)[1])(mg.ones(2)).tolist() == [1.0, 1.0]     # that is no draw


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork")
@pytest.mark.filterwarnings("ignore:This process")        # from Python 3.12 on: it has several threads
def test_a_child_draws_though_a_thread_of_its_parent_was_drawing():
    """docs/notes/threads.md: after a fork, the child process has new locks."""
    holds, over = threading.Event(), threading.Event()

    def hold_the_lock():
        with mg.default_generator.stream.lock:
            holds.set()
            over.wait()

    thread = threading.Thread(target=hold_the_lock)
    thread.start()
    holds.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)        # ends a child that waits for the lock
        mg.rand(2)
        mg.randn(2)
        os._exit(0)
    over.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
