"""Iterate over a data set in batches.

    sampler -> numbers -> batch_sampler -> lists of numbers -> dataset[i] for each -> collate_fn -> batch

With workers, other processes fetch the next batches while the program uses the present one: `prefetch_factor` batches for each
worker. The order of the batches is the same. Each worker has its own copy of the data set, and its batches are copied to the
program. So workers save time if a sample takes longer to make than to copy.

Mirrors ``torch/utils/data/dataloader.py``. Read next: ``_processes.py``.
"""

import multiprocessing
from itertools import repeat
from multiprocessing.context import BaseContext
from typing import Any

from minigrad._arguments import callable_argument, instance
from minigrad.errors import TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import integer, real
from minigrad.random import Generator
from minigrad.utils.data._collate import default_collate, default_convert
from minigrad.utils.data._fetch import Fetcher
from minigrad.utils.data._processes import WorkerIterator
from minigrad.utils.data.dataset import IterableDataset
from minigrad.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader"]


def check(condition, what):
    """Raise `ValueError` with the message `what` unless `condition` is true."""
    if not condition:
        raise TensorValueError("MG-E333", what)


def find_context(context, num_workers):
    """Return the context of multiprocessing for the argument `multiprocessing_context`, or None."""
    if context is None:
        return None
    check(num_workers > 0, "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
          f"num_workers={num_workers}")
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        check(context in methods, f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
              f"multiprocessing_context={context!r}")
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TensorTypeError("MG-E333", "multiprocessing_context option should be a valid context object or a string specifying "
                              f"the start method, but got multiprocessing_context={context}")
    return context


class DataLoader:
    """An iterable of the batches of a data set. Mirrors ``torch.utils.data.DataLoader``.

    Args:
        dataset (Dataset or IterableDataset): an object with ``[i]`` and ``len``, or an iterable data set.
        batch_size (int or None): the number of samples in a batch; None for single samples.
        shuffle (bool): use a new random order for each iteration.
        sampler (iterable, optional): the numbers of the samples, instead of `shuffle`.
        batch_sampler (iterable, optional): a list of sample numbers for each batch, instead of `batch_size`, `shuffle`, `sampler`
            and `drop_last`.
        num_workers (int): the number of processes that fetch batches in advance; 0 for none.
        collate_fn (Callable, optional): makes a batch from a list of samples. The default is `default_collate`.
        drop_last (bool): leave out the last batch if it is smaller than the others.
        timeout (float): the largest number of seconds to wait for a batch from a worker; 0 for no limit.
        worker_init_fn (Callable, optional): called in each worker, with its number 0, 1, ...
        multiprocessing_context (str or context, optional): how workers start: "fork", "spawn" or "forkserver". The default is
            Python's. With "spawn" and "forkserver", the data set and the functions are pickled: define them in a module.
        generator (Generator, optional): the generator of the random order, and of the seeds of the workers.
        prefetch_factor (int, optional): the number of batches that each worker fetches in advance. The default is 2.
        persistent_workers (bool): keep the workers for the next iteration. Otherwise they end with the iteration.
        in_order (bool): False to return batches as they come from the workers.
        pin_memory, pin_memory_device: accepted as in PyTorch, and ignored.

    Raises:
        ValueError: two arguments exclude each other, or a value is not allowed.
        TypeError: an argument has the wrong type.
        RuntimeError: while iterating: a worker was killed, or took longer than `timeout`.

    An error of the data set in a worker is raised where its batch is due. It has the same class, and the traceback of the worker.

    >>> data = mg.utils.data.TensorDataset(mg.arange(5))
    >>> [x.tolist() for x, in mg.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __class_getitem__(cls, item):
        """``DataLoader[int]`` in an annotation is `DataLoader`."""
        return cls

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None,
                 *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        num_workers = integer(num_workers, "num_workers", "DataLoader")
        timeout = real(timeout, "timeout", "DataLoader")
        if prefetch_factor is not None:
            prefetch_factor = integer(prefetch_factor, "prefetch_factor", "DataLoader")
        for name, function in (("collate_fn", collate_fn), ("worker_init_fn", worker_init_fn)):
            if function is not None:
                callable_argument(function, name, "DataLoader")
        if generator is not None:
            instance(generator, Generator, "generator", "DataLoader")
        check(num_workers >= 0, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        check(timeout >= 0, "timeout option should be non-negative")
        check(num_workers > 0 or prefetch_factor is None,
              "prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to enable multiprocessing.")
        check(prefetch_factor is None or prefetch_factor >= 0, "prefetch_factor option should be non-negative")
        check(num_workers > 0 or not persistent_workers, "persistent_workers option needs num_workers > 0")
        self.multiprocessing_context = find_context(multiprocessing_context, num_workers)
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            check(not shuffle, f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}")
            check(sampler is None, "DataLoader with IterableDataset: expected unspecified sampler option, but got "
                  f"sampler={sampler}")
            check(batch_sampler is None, "DataLoader with IterableDataset: expected unspecified batch_sampler option, but got "
                  f"batch_sampler={batch_sampler}")
        check(sampler is None or not shuffle, "sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            check(batch_size == 1 and not shuffle and sampler is None and not drop_last,
                  "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None:
            check(not drop_last, "batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset: Any = dataset
        self.batch_size = batch_size
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_size is None and batch_sampler is None else default_collate)
        self.pin_memory, self.pin_memory_device, self.timeout = pin_memory, pin_memory_device, timeout
        self.drop_last = drop_last
        self.worker_init_fn = worker_init_fn
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.generator = generator
        self.prefetch_factor: Any = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self._iterator = None       # with persistent_workers: the iterator that has them

    def __len__(self):
        dataset: Any = self.dataset
        if isinstance(self.dataset, IterableDataset):
            samples = len(dataset)      # raises TypeError if the data set has no length
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self):
        iterable = isinstance(self.dataset, IterableDataset)
        batched = self.batch_size is not None or self.batch_sampler is not None
        options = (iterable, batched, self.collate_fn, self.drop_last)
        if iterable:
            source = repeat(self.batch_size)        # the data set says when it ends
        else:
            source = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        if self._iterator is not None:
            return self._iterator.begin(source)
        seed = draw_seed(self.generator)        # without workers too: the numbers after it are to be the same, as in PyTorch
        if not self.num_workers:
            return iterate(Fetcher(self.dataset, *options), source)
        iterator = WorkerIterator(self, options, seed)
        if self.persistent_workers:
            self._iterator = iterator
        return iterator.begin(source)


def iterate(fetcher, source):
    """Yield a batch for each work in `source`."""
    for work in source:
        try:
            batch = fetcher.fetch(work)
        except StopIteration:
            if fetcher.samples is None:
                raise RuntimeError("the data set raised StopIteration") from None
            return
        yield batch
