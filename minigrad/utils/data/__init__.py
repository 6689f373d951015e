"""Data sets, and loaders that return them in batches. Mirrors ``torch.utils.data``.

    Dataset             sample i is dataset[i]                  IterableDataset     iter(dataset) gives the samples
    Sampler             the order of the samples                BatchSampler        the samples of each batch
    default_collate     makes a batch from a list of samples    DataLoader          iterates over the batches; may prefetch them
"""

from minigrad.utils.data._collate import default_collate, default_convert
from minigrad.utils.data._worker import get_worker_info
from minigrad.utils.data.dataloader import DataLoader
from minigrad.utils.data.dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset,
                                         random_split)
from minigrad.utils.data.distributed import DistributedSampler
from minigrad.utils.data.sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                                         WeightedRandomSampler)

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split"]
