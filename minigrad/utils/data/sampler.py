"""Samplers: iterables of sample numbers, which give the order of the samples. Mirrors ``torch/utils/data/sampler.py``."""

from itertools import islice

from minigrad._arguments import listed
from minigrad.creation import as_tensor, empty
from minigrad.dtypes import int64
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import real
from minigrad.random import Generator, multinomial, randint, randperm
from minigrad.tensor import Tensor

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]


class Sampler:
    """Base class of samplers: a subclass defines ``__iter__``, and usually ``__len__``. Mirrors ``torch.utils.data.Sampler``.

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
    """The numbers 0, 1, 2, ... in order. Mirrors ``torch.utils.data.SequentialSampler``.

    Args:
        data_source (Dataset): any object with a length.

    >>> list(mg.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def check_positive(name, value):
    """Raise unless `value` is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise TensorValueError("MG-E333", f"{name} should be a positive integer value, but got {name}={value}")


def check_bool(name, value):
    """Raise unless `value` is a bool."""
    if not isinstance(value, bool):
        raise TensorValueError("MG-E333", f"{name} should be a boolean value, but got {name}={value}")


def draw_seed(generator=None):
    """Draw a seed of 63 bits, an int."""
    return empty((), dtype=int64).random_(generator=generator).item()


class RandomSampler(Sampler):
    """The numbers of all samples in random order. Mirrors ``torch.utils.data.RandomSampler``.

    Args:
        data_source (Dataset): any object with a length.
        replacement (bool): draw with replacement: a number may occur several times.
        num_samples (int, optional): how many numbers to draw. The default is the number of samples.
        generator (Generator, optional): the generator of the random numbers.

    Raises:
        ValueError: `num_samples` is not a positive int, or there are no samples.
        TypeError: `replacement` is not a bool.

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
        check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, count = len(self.data_source), self.num_samples
        generator = Generator().manual_seed(draw_seed()) if self.generator is None else self.generator
        if n and self.replacement:
            for start in range(0, count, 32):
                yield from randint(n, (min(32, count - start),), generator=generator).tolist()
        elif n:         # as in PyTorch, a last order is drawn even if no number of it is needed
            for start in range(0, count + 1, n):
                yield from randperm(n, generator=generator).tolist()[:count - start]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The numbers in `indices`, in random order. Mirrors ``torch.utils.data.SubsetRandomSampler``.

    Args:
        indices (sequence of int): the numbers.
        generator (Generator, optional): the generator of the random order.

    >>> sorted(mg.utils.data.SubsetRandomSampler([5, 3]))
    [3, 5]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Random numbers with probabilities proportional to `weights`. Mirrors ``torch.utils.data.WeightedRandomSampler``.

    Args:
        weights (sequence of float, or Tensor): the weight of each number. The sum need not be 1.
        num_samples (int): how many numbers to draw.
        replacement (bool): draw with replacement: a number may occur several times.
        generator (Generator, optional): the generator of the random numbers.

    Raises:
        ValueError: `num_samples` is not a positive int, `replacement` is not a bool, or the weights have another number of
            dimensions than 1.

    >>> list(mg.utils.data.WeightedRandomSampler([0., 1.], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        check_positive("num_samples", num_samples)
        check_bool("replacement", replacement)
        if not isinstance(weights, Tensor):
            weights = as_tensor([real(weight, "weights", "WeightedRandomSampler")
                                 for weight in listed(weights, "weights", "WeightedRandomSampler")])
        self.weights = weights.double()
        if self.weights.ndim != 1:
            raise TensorValueError("MG-E333", "weights should be a 1d sequence", found=f"shape {list(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """The numbers of another sampler, in lists: one list for each batch. Mirrors ``torch.utils.data.BatchSampler``.

    Args:
        sampler (iterable of int): the numbers.
        batch_size (int): the length of a list.
        drop_last (bool): leave out the last list if it is shorter.

    Raises:
        ValueError: `batch_size` is not a positive int, or `drop_last` is not a bool.

    >>> list(mg.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        check_positive("batch_size", batch_size)
        check_bool("drop_last", drop_last)
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
