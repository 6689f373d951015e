"""Data sets, and loading them batch by batch. Mirrors ``torch.utils.data``.

    Dataset             dataset[i]                              IterableDataset     iter(dataset)
    Sampler             in which order                          BatchSampler        in which batches
    default_collate     a list of samples as one batch          DataLoader          all of it, also ahead of time
"""

from minigrad.utils.data._collate import default_collate
from minigrad.utils.data.dataloader import DataLoader
from minigrad.utils.data.dataset import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from minigrad.utils.data.sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                                         WeightedRandomSampler)

__all__ = ["BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler",
           "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
           "random_split"]
