"""Worker processes of a DataLoader: the same batches as without, errors with the worker's traceback, and no hang."""

import gc
import math
import multiprocessing
import os
import pickle
import signal
import time
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad.utils import data

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
FORK = "fork" in multiprocessing.get_all_start_methods()


def context():
    return "fork" if FORK else None


class Squares(data.Dataset):
    """Samples that are tuples of a tensor, a number and a text."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return mg.tensor([float(i * i)]), i, str(i)


class Numbers(data.IterableDataset):
    """The numbers below n; with workers, each has its part."""

    def __init__(self, n, shard=True):
        self.n, self.shard = n, shard

    def __iter__(self):
        info = data.get_worker_info()
        if info is None or not self.shard:
            return iter(range(self.n))
        size = math.ceil(self.n / info.num_workers)
        return iter(range(info.id * size, min(self.n, (info.id + 1) * size)))

    def __len__(self):
        return self.n


class Acts(data.Dataset):
    """A data set that calls a function for each sample."""

    def __init__(self, act, n=6):
        self.act, self.n = act, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.act(i)


def plain(batch):
    if isinstance(batch, mg.Tensor):
        return str(batch.dtype), batch.tolist()
    return [plain(part) for part in batch] if isinstance(batch, (list, tuple)) else batch


def batches(dataset, **options):
    return [plain(batch) for batch in data.DataLoader(dataset, multiprocessing_context=context() if options.get("num_workers") else None, **options)]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("options", [dict(batch_size=2), dict(batch_size=3, drop_last=True), dict(batch_size=None), dict(batch_sampler=[[4, 0], [2], []][:2]),
                                     dict(batch_size=4, prefetch_factor=1), dict(batch_size=2, sampler=[5, 1, 1]), dict(batch_size=7, collate_fn=len)], ids=str)
def test_the_same_batches(workers, options):
    expected = batches(Squares(7), **{k: v for k, v in options.items() if k != "prefetch_factor"})
    assert batches(Squares(7), num_workers=workers, **options) == expected


def test_the_same_random_order():
    found = [batches(Squares(20), shuffle=True, batch_size=3, num_workers=n, generator=mg.Generator().manual_seed(3)) for n in (0, 2)]
    assert found[0] == found[1] != batches(Squares(20), batch_size=3)


def test_iterable():
    for workers in (1, 2, 3):
        found = batches(Numbers(10), batch_size=2, num_workers=workers)
        assert sorted(n for _, batch in found for n in batch) == list(range(10))
        found = batches(Numbers(10), batch_size=None, num_workers=workers)
        assert sorted(found) == list(range(10))
    assert len(batches(Numbers(10, shard=False), batch_size=5, num_workers=2)) == 4
    assert len(batches(Numbers(10), batch_size=4, num_workers=2, drop_last=True)) == 2
    assert batches(Numbers(0), batch_size=4, num_workers=2) == []
    assert len(data.DataLoader(Numbers(10), batch_size=4)) == 3
    assert [b.tolist() for b in data.DataLoader(Numbers(5), batch_size=2)] == [[0, 1], [2, 3], [4]]


def test_each_worker_knows_itself():
    def look(i):
        info = data.get_worker_info()
        return info.id, info.num_workers, info.seed, len(info.dataset), os.getpid(), mg.get_num_threads()
    found = batches(Acts(look), batch_size=None, num_workers=2)
    assert [row[0] for row in found] == [0, 1] * 3 and {row[1] for row in found} == {2} and {row[3] for row in found} == {6}
    assert found[1][2] == found[0][2] + 1 and len({row[4] for row in found} - {os.getpid()}) == 2 and {row[5] for row in found} == {1}
    assert data.get_worker_info() is None


def test_workers_have_random_numbers_of_their_own():
    def draw(i):
        return mg.rand(1).item(), float(np.random.rand())

    def epochs(seed):
        loader = data.DataLoader(Acts(draw, 4), batch_size=None, num_workers=2, multiprocessing_context=context(), generator=mg.Generator().manual_seed(seed))
        return [[tuple(row) for row in loader] for _ in range(2)]
    first, second = epochs(0)
    assert len(set(first + second)) == 8
    assert epochs(0) == [first, second] != epochs(1)


def test_worker_init_fn():
    seen = []

    def begin(worker):
        seen.append(worker)
    assert [row for row in batches(Acts(lambda i: list(seen)), batch_size=None, num_workers=2, worker_init_fn=begin)] == [[0], [1]] * 3
    assert seen == []

    def fail(worker):
        raise ValueError("cannot begin")
    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0(.|\n)*in fail(.|\n)*cannot begin"):
        batches(Squares(3), num_workers=1, worker_init_fn=fail)


class NeedsTwo(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def raise_(i):
    if i == 3:
        raise KeyError("three")
    if i == 4:
        raise NeedsTwo(1, 2)
    if i == 5:
        return mg.ones(2) + mg.ones(3)
    return i


def test_an_error_has_the_traceback_of_the_worker():
    iterator = iter(data.DataLoader(Acts(raise_, 7), batch_size=None, num_workers=2, multiprocessing_context=context()))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker process 1\.\nOriginal Traceback(.|\n)*in raise_(.|\n)*KeyError: 'three'"):
        next(iterator)
    with pytest.raises(RuntimeError, match="Caught NeedsTwo"):
        next(iterator)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match"):
        next(iterator)
    assert next(iterator) == 6
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_error_of_an_iterable_and_of_a_batch_that_cannot_be_sent():
    class Breaks(data.IterableDataset):
        def __iter__(self):
            yield 1
            raise OSError("no disk")
    with pytest.raises(OSError, match="no disk"):
        batches(Breaks(), batch_size=None, num_workers=1)
    with pytest.raises((AttributeError, TypeError, RuntimeError, pickle.PicklingError), match=r"DataLoader worker process 0(.|\n)*pickle"):
        batches(Acts(lambda i: (lambda: i)), batch_size=None, num_workers=1)
    with pytest.raises(RuntimeError, match="StopIteration"):
        batches(Acts(lambda i: next(iter(()))), batch_size=None)


def test_a_killed_worker_is_an_error():
    def die(i):
        if i == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return i
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly(.|\n)*exit code -9") as caught:
        batches(Acts(die), batch_size=None, num_workers=2)
    assert caught.value.code == "MG-E334"
    with pytest.raises(RuntimeError, match=r"exited unexpectedly(.|\n)*exit code 3"):
        batches(Acts(lambda i: os._exit(3)), batch_size=None, num_workers=1)
    assert time.monotonic() - began < 60


def test_timeout():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        batches(Acts(lambda i: time.sleep(60)), batch_size=None, num_workers=1, timeout=0.2)


def children():
    return {process.pid for process in multiprocessing.active_children()}


def test_workers_end():
    gc.collect()
    before = children()
    loader = data.DataLoader(Squares(100), num_workers=2, multiprocessing_context=context())
    for _ in loader:
        break
    assert not children() - before
    list(loader)
    assert not children() - before
    iterator = iter(loader)
    next(iterator)
    assert len(iterator) == 100 and len(children() - before) == 2
    del iterator
    assert not children() - before


def test_large_messages_both_ways():
    """The lists of numbers and the batches are larger than the buffer of a pipe."""
    sampler = [list(range(100_000)) for _ in range(6)]
    loader = data.DataLoader(range(100_000), batch_sampler=sampler, num_workers=2, collate_fn=lambda batch: np.zeros(300_000), multiprocessing_context=context(),
                             prefetch_factor=3)
    assert len(list(loader)) == 6


def test_persistent_workers():
    gc.collect()
    before = children()
    loader = data.DataLoader(Acts(lambda i: os.getpid()), batch_size=None, num_workers=2, persistent_workers=True, multiprocessing_context=context())
    first = set(loader)
    for _ in loader:        # leave an iteration; what it left in the pipes is ignored
        break
    assert set(loader) == first and len(first) == 2
    numbers = data.DataLoader(Numbers(6), batch_size=None, num_workers=2, persistent_workers=True, multiprocessing_context=context())
    assert sorted(numbers) == sorted(numbers) == list(range(6))
    del loader, numbers
    assert not children() - before


def test_any_order(tmp_path):
    """Sample 0 waits until the program has got another one."""
    def wait(i):
        while i == 0 and not (tmp_path / "go").exists():
            time.sleep(0.01)
        return i
    found = []
    for i in data.DataLoader(Acts(wait, 8), batch_size=None, num_workers=2, in_order=False, multiprocessing_context=context()):
        found.append(i)
        (tmp_path / "go").touch()
    assert sorted(found) == list(range(8)) and found[0] != 0


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(method)
    for given in (method, multiprocessing.get_context(method)):
        loader = data.DataLoader(Squares(5), batch_size=2, num_workers=1, multiprocessing_context=given)
        assert [plain(batch) for batch in loader] == batches(Squares(5), batch_size=2)
        if method == "forkserver":
            break


@pytest.mark.parametrize("library", ["minigrad", "torch"])
@pytest.mark.parametrize("options, error, words", [
    (dict(multiprocessing_context="fork"), ValueError, "can only be used with multi-process loading"),
    (dict(num_workers=1, multiprocessing_context="x"), ValueError, "should specify a valid start method in"),
    (dict(num_workers=1, multiprocessing_context=3), TypeError, "should be a valid context object or a string"),
    (dict(persistent_workers=True), ValueError, "persistent_workers option needs num_workers > 0"),
])
def test_mistakes(library, options, error, words):
    m = pytest.importorskip(library)
    with pytest.raises(error, match=words):
        m.utils.data.DataLoader([1], **options)


@pytest.mark.parametrize("library", ["minigrad", "torch"])
def test_chains_and_stacks(library):
    D = pytest.importorskip(library).utils.data

    class Count(D.IterableDataset):
        def __iter__(self):
            return iter(range(2))

        def __len__(self):
            return 2
    chain = Count() + Count()
    assert isinstance(chain, D.ChainDataset) and list(chain) == [0, 1, 0, 1] and len(chain) == 4
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(D.ChainDataset([[1]]))
    assert D.StackDataset([1, 2], "ab")[1] == (2, "b") and D.StackDataset(a=[1, 2])[0] == {"a": 1} and len(D.StackDataset([1, 2])) == 2
    for call, words in ((lambda: D.StackDataset(), "At least one dataset"), (lambda: D.StackDataset([1], [1, 2]), "Size mismatch between datasets"),
                        (lambda: D.StackDataset([1], a=[1]), "both types are given")):
        with pytest.raises(ValueError, match=words):
            call()
    assert D.Subset("abc", [2, 0]).__getitems__([1, 0]) == ["a", "c"]
    assert D.get_worker_info() is None and D.default_convert("a") == "a"


def test_pin_memory_is_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(data.DataLoader(Squares(3), pin_memory=True))) == 3
