"""utils.data: the same data sets, samplers and loaders give the same batches on PyTorch, with and without workers."""

import collections
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.utils import data

Point = collections.namedtuple("Point", "x y")


def plain(value):
    """A batch as Python's own data, with the kind of each part."""
    if hasattr(value, "tolist"):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return (type(value).__name__, [plain(v) for v in value]) if isinstance(value, (list, tuple)) else value


def samples(m):
    return m.utils.data.TensorDataset(m.arange(10).reshape(5, 2), m.tensor([0.5, 1.0, 1.5, 2.0, 2.5]))


class Count:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


class CountDataset(Count, data.IterableDataset):
    """At the top of a module, so that Python 3.14 can send it to a worker."""


def count(m, n):
    return (CountDataset if m is mg else type("CountDataset", (Count, m.utils.data.IterableDataset), {}))(n)


LOADERS = {
    "batches": lambda m, D: D.DataLoader(samples(m), batch_size=2),
    "drop_last": lambda m, D: D.DataLoader(samples(m), batch_size=2, drop_last=True),
    "single": lambda m, D: D.DataLoader(samples(m), batch_size=None),
    "sampler": lambda m, D: D.DataLoader(samples(m), batch_size=2, sampler=[4, 0, 2]),
    "batch_sampler": lambda m, D: D.DataLoader(samples(m), batch_sampler=[[4, 0, 2], [1]]),
    "subset": lambda m, D: D.DataLoader(D.Subset(samples(m), [3, 1, 0]), batch_size=2),
    "concat": lambda m, D: D.DataLoader(samples(m) + samples(m), batch_size=3),
    "list": lambda m, D: D.DataLoader([1, 2, 3], batch_size=2),
    "collate_fn": lambda m, D: D.DataLoader(["ab", "c", "def"], batch_size=2, collate_fn="-".join),
    "iterable": lambda m, D: D.DataLoader(count(m, 5), batch_size=2),
    "iterable drop_last": lambda m, D: D.DataLoader(count(m, 5), batch_size=2, drop_last=True),
    "iterable single": lambda m, D: D.DataLoader(count(m, 3), batch_size=None),
    "empty": lambda m, D: D.DataLoader([], batch_size=2),
}


@pytest.mark.parametrize("case", LOADERS)
def test_loader_is_torchs(case):
    torch = pytest.importorskip("torch")
    ours, theirs = [LOADERS[case](m, m.utils.data) for m in (mg, torch)]
    assert [plain(b) for b in ours] == [plain(b) for b in theirs]
    if "iterable" not in case:
        assert len(ours) == len(theirs) == len(list(ours))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("case", LOADERS)
def test_workers_give_the_same_in_the_same_order(case, workers):
    if "iterable" in case and workers > 1:
        pytest.skip("each worker has all samples of an iterable data set that does not ask get_worker_info")
    make = LOADERS[case](mg, data)
    alone = [plain(b) for b in make]
    make.num_workers, make.prefetch_factor = workers, 2
    assert [plain(b) for b in make] == alone


BATCHES = [[1, 2], [1.5, 2.0], [True, False], ["a", "b"], [(1, 2.0), (3, 4.0)], [[1, "a"], [2, "b"]], [{"a": 1, "b": [1, 2]}] * 2,
           [Point(1, 2), Point(3, 4)], [np.ones(2), np.zeros(2)], [np.float32(1), np.float32(2)], [b"x", b"y"]]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_collate_is_torchs(batch):
    torch = pytest.importorskip("torch")
    assert plain(data.default_collate(batch)) == plain(torch.utils.data.default_collate(batch))


MISTAKES = [
    (lambda m, D: D.DataLoader([1], num_workers=-1), ValueError, "num_workers option should be non-negative"),
    (lambda m, D: D.DataLoader([1], timeout=-1), ValueError, "timeout option should be non-negative"),
    (lambda m, D: D.DataLoader([1], prefetch_factor=2), ValueError, "prefetch_factor option could only be specified"),
    (lambda m, D: D.DataLoader([1], persistent_workers=True), ValueError, "persistent_workers option needs num_workers > 0"),
    (lambda m, D: D.DataLoader(count(m, 3), shuffle=True), ValueError, "expected unspecified shuffle option, but got shuffle=True"),
    (lambda m, D: D.DataLoader(count(m, 3), sampler=[1]), ValueError, "expected unspecified sampler option"),
    (lambda m, D: D.DataLoader([1], sampler=[0], shuffle=True), ValueError, "sampler option is mutually exclusive with shuffle"),
    (lambda m, D: D.DataLoader([1], batch_sampler=[[0]], batch_size=2), ValueError, "batch_sampler option is mutually exclusive"),
    (lambda m, D: D.DataLoader([1], batch_size=None, drop_last=True), ValueError, "batch_size=None option disables auto-batching"),
    (lambda m, D: D.DataLoader([1], batch_size=0), ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
    (lambda m, D: D.BatchSampler([1], 2, 3), ValueError, "drop_last should be a boolean value, but got drop_last=3"),
    (lambda m, D: D.RandomSampler([1], num_samples=0), ValueError, "num_samples should be a positive integer value"),
    (lambda m, D: D.RandomSampler([1], replacement=3), TypeError, "replacement should be a boolean value, but got replacement=3"),
    (lambda m, D: D.TensorDataset(m.ones(2), m.ones(3)), AssertionError, "Size mismatch between tensors"),
    (lambda m, D: D.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
    (lambda m, D: D.ConcatDataset([count(m, 2)]), AssertionError, "ConcatDataset does not support IterableDataset"),
    (lambda m, D: D.ConcatDataset([[1]])[-2], ValueError, "absolute value of index should not exceed dataset length"),
    (lambda m, D: D.random_split([1, 2], [1, 2]), ValueError, "Sum of input lengths does not equal"),
    (lambda m, D: D.random_split([1, 2], [1.5, -0.5]), ValueError, "Fraction at index 0 is not between 0 and 1"),
    (lambda m, D: D.default_collate([object()]), TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists"),
    (lambda m, D: D.default_collate([[1], [1, 2]]), RuntimeError, "each element in list of batch should be of equal size"),
    (lambda m, D: D.Dataset()[0], NotImplementedError, "Subclasses of Dataset should implement __getitem__."),
]


@pytest.mark.parametrize("library", ["minigrad", "torch"])
@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words, library):
    m = pytest.importorskip(library)
    with pytest.raises(error, match=re.escape(words)):
        call(m, m.utils.data)


def test_shuffle_is_a_permutation_that_the_generator_determines():
    def order(seed):
        return [x.item() for x in data.DataLoader(range(20), shuffle=True, generator=mg.Generator().manual_seed(seed))]
    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(20))
    loader = data.DataLoader(range(20), shuffle=True)
    assert [x.item() for x in loader] != [x.item() for x in loader]


def test_samplers():
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=50))
    assert set(drawn) == {0, 1, 2} and len(drawn) == 50
    assert sorted(data.WeightedRandomSampler([0.1, 5.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    counts = np.bincount(list(data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=mg.Generator().manual_seed(0))))
    assert counts[1] == 0 and 0.7 < counts[2] / 4000 < 0.8


def test_random_split_has_every_sample_once():
    parts = data.random_split(range(10), [0.55, 0.3, 0.15], generator=mg.Generator().manual_seed(0))
    assert [len(p) for p in parts] == [6, 3, 1] and sorted(x for p in parts for x in p) == list(range(10))
    again = data.random_split(range(10), [6, 3, 1], generator=mg.Generator().manual_seed(0))
    assert [p.indices for p in parts] == [p.indices for p in again]


class Fails(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3:
            raise KeyError("three")
        return i


def test_an_error_comes_where_its_batch_would_have_come():
    for workers in (0, 2):
        seen = []
        with pytest.raises(KeyError, match="three"):
            for batch in data.DataLoader(Fails(), num_workers=workers):
                seen.append(batch.item())
        assert seen == [0, 1, 2]
