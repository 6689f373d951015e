"""The wrapper of programs for several GPUs. Mirrors ``torch/nn/parallel/data_parallel.py``."""

from minigrad._arguments import callable_argument, instance
from minigrad.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that calls `module`, as PyTorch's does on a CPU or one GPU. Mirrors ``torch.nn.DataParallel``.

    The keys of its state dict begin with ``module.``, as in PyTorch.

    Args:
        module (Module): the module, which is the attribute `module`.
        device_ids, output_device, dim: accepted as in PyTorch. minigrad computes where the parameters are.

    >>> model = nn.DataParallel(nn.Linear(2, 1))
    >>> model(mg.ones(3, 2)).shape, list(model.state_dict())
    (minigrad.Size([3, 1]), ['module.weight', 'module.bias'])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = instance(module, Module, "module", "DataParallel")
        self.device_ids = []
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Return ``module(*inputs, **module_kwargs)``. Mirrors ``torch.nn.parallel.data_parallel``.

    >>> nn.parallel.data_parallel(nn.ReLU(), mg.ones(2))
    tensor([1., 1.])
    """
    callable_argument(module, "module", "data_parallel")
    module_kwargs = instance(module_kwargs or {}, dict, "module_kwargs", "data_parallel")
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **module_kwargs)
