"""Iterate over a data set in batches.

    sampler -> numbers -> batch_sampler -> lists of numbers -> dataset[i] for each -> collate_fn -> batch

With workers, background threads fetch the next batches while the program uses the present one: `prefetch_factor` batches for each
worker. The order of the batches is the same. Threads share memory, so nothing is copied. They save time if fetching waits for
files or the network, or runs in C (NumPy): both release the lock of Python.

Mirrors ``torch/utils/data/dataloader.py``, whose workers are processes.
"""

import contextlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minigrad.errors import TensorValueError
from minigrad.utils.data._collate import default_collate, default_convert
from minigrad.utils.data.dataset import IterableDataset
from minigrad.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader"]


def check(condition, what):
    """Raise `ValueError` with the message `what` unless `condition` is true."""
    if not condition:
        raise TensorValueError("MG-E333", what)


class DataLoader:
    """An iterable of the batches of a data set. Mirrors ``torch.utils.data.DataLoader``.

    Args:
        dataset (Dataset or IterableDataset): an object with ``[i]`` and ``len``, or an iterable data set.
        batch_size (int or None): the number of samples in a batch; None for single samples.
        shuffle (bool): use a new random order for each iteration.
        sampler (iterable, optional): the numbers of the samples, instead of `shuffle`.
        batch_sampler (iterable, optional): a list of sample numbers for each batch, instead of `batch_size`, `shuffle`, `sampler`
            and `drop_last`.
        num_workers (int): the number of threads that fetch batches in advance; 0 for none.
        collate_fn (Callable, optional): makes a batch from a list of samples. The default is `default_collate`.
        drop_last (bool): leave out the last batch if it is smaller than the others.
        timeout (float): the largest number of seconds to wait for a batch from a worker; 0 for no limit.
        worker_init_fn (Callable, optional): called in each thread, with its number 0, 1, ...
        generator (Generator, optional): the generator of the random order.
        prefetch_factor (int, optional): the number of batches that each worker fetches in advance. The default is 2.
        pin_memory, multiprocessing_context, persistent_workers, pin_memory_device, in_order: accepted as in PyTorch, and ignored.

    Raises:
        ValueError: two arguments exclude each other, or a value is not allowed.

    >>> data = mg.utils.data.TensorDataset(mg.arange(5))
    >>> [x.tolist() for x, in mg.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None,
                 *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        check(num_workers >= 0, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        check(timeout >= 0, "timeout option should be non-negative")
        check(num_workers > 0 or prefetch_factor is None,
              "prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to enable multiprocessing.")
        check(prefetch_factor is None or prefetch_factor >= 0, "prefetch_factor option should be non-negative")
        check(num_workers > 0 or not persistent_workers, "persistent_workers option needs num_workers > 0")
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
        self.multiprocessing_context, self.persistent_workers, self.in_order = multiprocessing_context, persistent_workers, in_order
        self.generator = generator
        self.prefetch_factor: Any = 2 if num_workers and prefetch_factor is None else prefetch_factor

    def __len__(self):
        dataset: Any = self.dataset
        if isinstance(self.dataset, IterableDataset):
            samples = len(dataset)      # raises TypeError if the data set has no length
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self):
        draw_seed(self.generator)       # PyTorch draws the seed of its workers here: the numbers after it are to be the same
        if isinstance(self.dataset, IterableDataset):
            source, fetch = self._group_samples(), self.collate_fn
        elif self.batch_sampler is None:
            source, fetch = iter(self.sampler), self._fetch_sample
        else:
            source, fetch = iter(self.batch_sampler), self._fetch_batch
        return self._prefetch(source, fetch) if self.num_workers else map(fetch, source)

    def _fetch_sample(self, number):
        """Return one sample, without a batch."""
        return self.collate_fn(self.dataset[number])

    def _fetch_batch(self, numbers):
        """Return the batch of the samples with these numbers."""
        if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
            return self.collate_fn(self.dataset.__getitems__(numbers))
        return self.collate_fn([self.dataset[i] for i in numbers])

    def _group_samples(self):
        """Iterate over the samples of an iterable data set, or over lists of them."""
        if self.batch_size is None:
            return iter(self.dataset)
        return iter(BatchSampler(self.dataset, self.batch_size, self.drop_last))

    def _prefetch(self, source, fetch):
        """Yield the batches in order, while threads fetch the next ones. An error is raised when its batch is due."""
        names = iter(range(self.num_workers))

        def begin():
            if self.worker_init_fn is not None:
                self.worker_init_fn(next(names))

        waiting = deque()
        with contextlib.closing(_Pool(self.num_workers, begin)) as pool:
            for _ in range(max(1, self.num_workers * self.prefetch_factor)):
                for work in source:
                    waiting.append(pool.submit(fetch, work))
                    break
            while waiting:
                batch = waiting.popleft().result(self.timeout or None)
                for work in source:
                    waiting.append(pool.submit(fetch, work))
                    break
                yield batch


class _Pool(ThreadPoolExecutor):
    """A pool of threads. `close` does not wait for their work."""

    def __init__(self, workers, begin):
        super().__init__(workers, "DataLoader", begin)

    def close(self):
        """Cancel the work that has not begun, and return immediately."""
        self.shutdown(wait=False, cancel_futures=True)
