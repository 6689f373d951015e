"""One module on several GPUs, or in several processes. Mirrors ``torch/nn/parallel``.

minigrad computes on one device, so `DataParallel` calls its module. `DistributedDataParallel` is for several processes.
"""

from minigrad.nn.parallel.data_parallel import DataParallel, data_parallel
from minigrad.nn.parallel.distributed import DistributedDataParallel
from minigrad.nn.parallel.scatter_gather import gather, parallel_apply, replicate, scatter, scatter_kwargs

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
           "scatter_kwargs"]
