"""Data sets, and loaders that return them in batches. Mirrors ``torch.utils.data``.

    Dataset             sample i is dataset[i]                  IterableDataset     iter(dataset) gives the samples
    Sampler             the order of the samples                BatchSampler        the samples of each batch
    default_collate     makes a batch from a list of samples    DataLoader          iterates over the batches; may prefetch them
"""

from minigrad.utils.data._collate import default_collate
from minigrad.utils.data.dataloader import DataLoader
from minigrad.utils.data.dataset import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from minigrad.utils.data.distributed import DistributedSampler
from minigrad.utils.data.sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                                         WeightedRandomSampler)

__all__ = ["BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler",
           "Sampler", "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler",
           "default_collate", "random_split"]
