"""In which order the samples of a data set come: iterables of numbers. Mirrors ``torch/utils/data/sampler.py``."""

from bisect import bisect_right
from itertools import islice

from minigrad.creation import as_tensor
from minigrad.errors import TensorValueError
from minigrad.random import rand, randint, randperm
from minigrad.tensor import Tensor

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]


class Sampler:
    """Base class: a subclass has ``__iter__``, and mostly ``__len__``. Mirrors ``torch.utils.data.Sampler``.

    >>> class Backwards(mg.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(mg.utils.data.DataLoader("abc", sampler=Backwards(), batch_size=None))
    ['c', 'b', 'a']
    """

    def __class_getitem__(cls, item):
        return cls

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """0, 1, 2, ... Mirrors ``torch.utils.data.SequentialSampler``.

    >>> list(mg.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def positive(name, value):
    """Raise unless `value` is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise TensorValueError("MG-E333", f"{name} should be a positive integer value, but got {name}={value}")


def boolean(name, value):
    """Raise unless `value` is a bool."""
    if not isinstance(value, bool):
        raise TensorValueError("MG-E333", f"{name} should be a boolean value, but got {name}={value}")


class RandomSampler(Sampler):
    """All numbers in random order; with `replacement`, drawn one by one. Mirrors ``torch.utils.data.RandomSampler``.

    Args:
        data_source (Dataset): what has a length.
        replacement (bool): whether a number may come again.
        num_samples (int, optional): how many; all, if not given.
        generator (Generator, optional): from which they are drawn.

    Raises:
        ValueError: `num_samples` is not positive, or `replacement` no bool.

    >>> sorted(mg.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if num_samples is not None:
            positive("num_samples", num_samples)

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        while left > 0 and n > 0:
            drawn = randint(n, (left,), generator=self.generator) if self.replacement else randperm(n, generator=self.generator)
            yield from drawn.tolist()[:left]
            left -= drawn.numel()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These numbers in random order. Mirrors ``torch.utils.data.SubsetRandomSampler``.

    >>> sorted(mg.utils.data.SubsetRandomSampler([5, 3]))
    [3, 5]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        return iter([self.indices[i] for i in randperm(len(self.indices), generator=self.generator).tolist()])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers drawn with these probabilities, which need not sum to 1. Mirrors ``torch.utils.data.WeightedRandomSampler``.

    Args:
        weights (sequence): one for each number.
        num_samples (int): how many are drawn.
        replacement (bool): whether a number may come again.
        generator (Generator, optional): from which they are drawn.

    Raises:
        ValueError: `num_samples` is not positive, `replacement` no bool, or the weights are no vector.

    >>> list(mg.utils.data.WeightedRandomSampler([0., 1.], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        positive("num_samples", num_samples)
        boolean("replacement", replacement)
        self.weights = weights.double() if isinstance(weights, Tensor) else as_tensor([float(w) for w in weights]).double()
        if self.weights.ndim != 1:
            raise TensorValueError("MG-E333", "weights should be a 1d sequence", found=f"shape {list(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        if not self.replacement:        # the largest of u^(1/w) (Efraimidis & Spirakis, 2006)
            keys = rand(self.weights.numel(), generator=self.generator).double().log() / self.weights
            order = sorted(range(keys.numel()), key=keys.tolist().__getitem__, reverse=True)
            return iter(order[:self.num_samples])
        ends = self.weights.cumsum(0).tolist()
        drawn = (rand(self.num_samples, generator=self.generator).double() * ends[-1]).tolist()
        return iter([min(bisect_right(ends, x), len(ends) - 1) for x in drawn])

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """The numbers of another sampler in lists. Mirrors ``torch.utils.data.BatchSampler``.

    Args:
        sampler (iterable): of numbers.
        batch_size (int): how many in a list.
        drop_last (bool): leave out the last one if it is shorter.

    Raises:
        ValueError: `batch_size` is not positive, or `drop_last` no bool.

    >>> list(mg.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        positive("batch_size", batch_size)
        boolean("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(islice(numbers, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self):
        return len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)
