"""Data sets: samples with numbers, or an iterable of samples. Mirrors ``torch/utils/data/dataset.py``."""

import math
import warnings
from bisect import bisect_right
from itertools import accumulate
from typing import Any

from minigrad._arguments import listed, sized
from minigrad.errors import AutogradAssertionError, TensorValueError
from minigrad.ops.base.arguments import real, tensor_argument
from minigrad.random import default_generator, randperm

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset", "random_split"]


class Dataset:
    """Base class of data sets: a subclass defines ``__getitem__``, and usually ``__len__``. Mirrors ``torch.utils.data.Dataset``.

    >>> class Squares(mg.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __class_getitem__(cls, item):
        return cls

    def __add__(self, other) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base class of iterables of samples: a subclass defines ``__iter__``. Mirrors ``torch.utils.data.IterableDataset``.

    >>> class Lines(mg.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(["a", "b"])
    >>> list(Lines())
    ['a', 'b']
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other) -> Any:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """The samples of several iterable data sets, one data set after the other. Mirrors ``torch.utils.data.ChainDataset``.

    Args:
        datasets (iterable of IterableDataset): the data sets.

    Raises:
        AssertionError: while iterating: one of them is no `IterableDataset`.

    >>> class Letters(mg.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter("ab")
    >>> list(mg.utils.data.ChainDataset([Letters(), Letters()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def _checked(self) -> Any:
        """The data sets, each of which must be iterable."""
        dataset: Any
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AutogradAssertionError("MG-E333", "ChainDataset only supports IterableDataset", found=type(dataset).__name__)
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(sized(dataset, "datasets", "ChainDataset", "iterable of data sets")) for dataset in self._checked())


class StackDataset(Dataset):
    """Several data sets side by side: sample i is the tuple, or the dict, of sample i of each.

    Args:
        *args (Dataset): data sets of one length, for tuples.
        **kwargs (Dataset): data sets of one length, for dicts.

    Raises:
        ValueError: there is no data set, the lengths differ, or there are `args` and `kwargs`.

    Mirrors ``torch.utils.data.StackDataset``.

    >>> mg.utils.data.StackDataset(image=[1, 2], text="ab")[1]
    {'image': 2, 'text': 'b'}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise TensorValueError("MG-E333", "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                                   "input/output, but both types are given.")
        if not args and not kwargs:
            raise TensorValueError("MG-E333", "At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(sized(d, "datasets", "StackDataset", "data set")) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise TensorValueError("MG-E333", "Size mismatch between datasets", found=", ".join(map(str, sorted(lengths))))
        self._length = lengths.pop()

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class TensorDataset(Dataset):
    """A data set of tensors: sample i is the tuple of row i of each tensor. Mirrors ``torch.utils.data.TensorDataset``.

    Args:
        *tensors (Tensor): of any dtype, with the same size in dimension 0.

    Raises:
        AssertionError: the sizes of the tensors differ in dimension 0.

    >>> mg.utils.data.TensorDataset(mg.zeros(2, 2), mg.tensor([5, 6]))[1]
    (tensor([0., 0.]), tensor(6))
    """

    def __init__(self, *tensors):
        if len({tensor_argument("TensorDataset", t, "tensors", i).size(0) for i, t in enumerate(tensors, 1)}) > 1:
            raise AutogradAssertionError("MG-E333", "Size mismatch between tensors", expected="one number of rows",
                                         found=", ".join(str(list(t.shape)) for t in tensors))
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset):
    """The samples of several data sets, one data set after the other. Mirrors ``torch.utils.data.ConcatDataset``.

    Args:
        datasets (iterable of Dataset): the data sets.

    Raises:
        AssertionError: `datasets` is empty, or one of them is an `IterableDataset`.

    >>> both = mg.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-3]
    (3, 3, 1)
    """

    def __init__(self, datasets):
        self.datasets = listed(datasets, "datasets", "ConcatDataset", "iterable of data sets")
        if not self.datasets:
            raise AutogradAssertionError("MG-E333", "datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AutogradAssertionError("MG-E333", "ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(len(sized(d, "datasets", "ConcatDataset", "iterable of data sets"))
                                                for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise TensorValueError("MG-E333", "absolute value of index should not exceed dataset length",
                                       expected=f"at most {len(self)}", found=str(idx))
            idx += len(self)
        i = bisect_right(self.cumulative_sizes, idx)
        if i == len(self.datasets):
            raise IndexError(f"index {idx} is out of range for {len(self)} samples")
        return self.datasets[i][idx - (self.cumulative_sizes[i - 1] if i else 0)]


class Subset(Dataset):
    """Some samples of a data set. Mirrors ``torch.utils.data.Subset``.

    Args:
        dataset (Dataset): the data set.
        indices (sequence of int): sample i of the subset is sample ``indices[i]`` of the data set.

    >>> mg.utils.data.Subset("abc", [2, 0])[0]
    'c'
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        numbers = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(numbers)
        return [self.dataset[i] for i in numbers]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=default_generator):
    """Split a data set at random into subsets without common samples.

    Args:
        dataset (Dataset): the data set.
        lengths (sequence): the lengths of the subsets: ints whose sum is the length of the data set, or fractions whose sum is 1.
            Lengths from fractions are rounded down. The remaining samples go to the first subsets, one to each.
        generator (Generator): the generator of the random order.

    Returns:
        list of Subset: the parts.

    Raises:
        ValueError: the sum of the lengths is wrong, or a fraction is outside of [0, 1].

    Mirrors ``torch.utils.data.random_split``.

    >>> [len(part) for part in mg.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    size = len(sized(dataset, "dataset", "random_split", "data set"))
    lengths = listed(lengths, "lengths", "random_split")
    for part in lengths:
        real(part, "lengths", "random_split")
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise TensorValueError("MG-E333", f"Fraction at index {i} is not between 0 and 1")
        fractions, lengths = lengths, [math.floor(size * part) for part in lengths]
        for i in range(size - sum(lengths)):
            lengths[i % len(fractions)] += 1
        for i, length in enumerate(lengths):
            if not length:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
    if sum(lengths) != size:
        raise TensorValueError("MG-E333", "Sum of input lengths does not equal the length of the input dataset!",
                               expected=str(size), found=str(sum(lengths)))
    order = randperm(size, generator=generator).tolist()
    ends = list(accumulate(lengths))
    return [Subset(dataset, order[end - length:end]) for end, length in zip(ends, lengths)]
