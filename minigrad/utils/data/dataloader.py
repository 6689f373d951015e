"""A data set, batch by batch.

    sampler -> numbers -> batch_sampler -> lists of numbers -> dataset[i] for each -> collate_fn -> batch

With workers, background threads fetch the batches that come next, `prefetch_factor` for each worker, while the caller works on this
one; they come in the same order. Threads share memory, so nothing is copied; they help where fetching waits (files, the network) or
runs in C (NumPy), which both let go of Python's lock.

Mirrors ``torch/utils/data/dataloader.py``, whose workers are processes.
"""

import contextlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minigrad.errors import TensorValueError
from minigrad.utils.data._collate import default_collate, default_convert
from minigrad.utils.data.dataset import IterableDataset
from minigrad.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader"]


def check(condition, what):
    """Raise `ValueError` unless the arguments make sense together."""
    if not condition:
        raise TensorValueError("MG-E333", what)


class DataLoader:
    """The batches of a data set. Mirrors ``torch.utils.data.DataLoader``.

    Args:
        dataset (Dataset or IterableDataset): what has ``[i]`` and ``len``, or can be iterated over.
        batch_size (int or None): how many samples in a batch; None for single samples.
        shuffle (bool): a new random order each time.
        sampler, batch_sampler (iterable, optional): the numbers of the samples, or lists of these, instead of the above.
        num_workers (int): how many threads fetch ahead; 0 for none.
        collate_fn (callable, optional): makes a batch of a list of samples; `default_collate`.
        drop_last (bool): leave out the last batch if it is smaller.
        generator (Generator, optional): from which the order is drawn.
        prefetch_factor (int, optional): how many batches each worker fetches ahead; 2.
        pin_memory, timeout, worker_init_fn, multiprocessing_context, persistent_workers, pin_memory_device, in_order: accepted
            as in PyTorch. `worker_init_fn` is called with 0, 1, ... in each thread.

    Raises:
        ValueError: arguments exclude each other, or have no sense.

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
            samples = len(dataset)      # TypeError, as that of the data set, if it has none
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self):
        if isinstance(self.dataset, IterableDataset):
            source, fetch = self._batches_of_iterable(), self.collate_fn
        elif self.batch_sampler is None:
            source, fetch = iter(self.sampler), self._sample
        else:
            source, fetch = iter(self.batch_sampler), self._batch
        return self._ahead(source, fetch) if self.num_workers else map(fetch, source)

    def _sample(self, number):
        return self.collate_fn(self.dataset[number])

    def _batch(self, numbers):
        if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
            return self.collate_fn(self.dataset.__getitems__(numbers))
        return self.collate_fn([self.dataset[i] for i in numbers])

    def _batches_of_iterable(self):
        if self.batch_size is None:
            return iter(self.dataset)
        return iter(BatchSampler(self.dataset, self.batch_size, self.drop_last))

    def _ahead(self, source, fetch):
        """Batches in order, with some of the next ones being fetched. An error is raised where its batch would have come."""
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
    """Threads that are told to stop, and not waited for, when the caller goes no further."""

    def __init__(self, workers, begin):
        super().__init__(workers, "DataLoader", begin)

    def close(self):
        """Forget what has not been begun."""
        self.shutdown(wait=False, cancel_futures=True)
