"""Fetch one batch of a data set. Mirrors ``torch/utils/data/_utils/fetch.py``.

    Fetcher(dataset, ...).fetch([4, 2])     the batch of the samples 4 and 2
    Fetcher(iterable, ...).fetch(2)         the batch of the next 2 samples; StopIteration after the last
"""

from itertools import islice
from typing import Any

__all__ = ["Fetcher"]


class Fetcher:
    """Fetches batches, in the program itself or in a worker.

    Args:
        dataset (Dataset or IterableDataset): the data set.
        iterable (bool): whether it is iterated over, and has no numbers.
        batched (bool): whether a batch has several samples. Otherwise it is one sample.
        collate_fn (Callable): makes the batch.
        drop_last (bool): whether a last batch with fewer samples is left out.
    """

    def __init__(self, dataset, iterable, batched, collate_fn, drop_last):
        self.dataset: Any = dataset
        self.batched, self.collate_fn, self.drop_last = batched, collate_fn, drop_last
        self.samples = iter(dataset) if iterable else None

    def fetch(self, work):
        """Return a batch. `work` is a number or a list of numbers; for an iterable data set, the number of samples."""
        if self.samples is not None:
            return self.collate_fn(self._next_samples(work) if self.batched else next(self.samples))
        if not self.batched:
            return self.collate_fn(self.dataset[work])
        if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
            return self.collate_fn(self.dataset.__getitems__(work))
        return self.collate_fn([self.dataset[i] for i in work])

    def _next_samples(self, size):
        found = list(islice(self.samples, size))    # pyright: ignore[reportArgumentType]
        if not found or (self.drop_last and len(found) < size):
            raise StopIteration
        return found
