"""Split a batch among devices, and join the results. Mirrors ``torch/nn/parallel/scatter_gather.py``."""

from minigrad._absent import absent
from minigrad.ops import cat, chunk, stack
from minigrad.tensor import Tensor

__all__ = ["gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]


def scatter(inputs, target_gpus, dim=0):
    """Split the tensors in `inputs` into one part for each device, and copy each part there. Other values go to all.

    Args:
        inputs: a tensor, or a tuple, list or dict with tensors.
        target_gpus (list): the devices.
        dim (int): the dimension in which tensors are split.

    Returns:
        list or tuple: `inputs` with a part of the tensors, for each device.

    Mirrors ``torch.nn.parallel.scatter``.

    >>> nn.parallel.scatter(mg.arange(4), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2, 3]))
    """
    if isinstance(inputs, Tensor):
        parts = chunk(inputs, len(target_gpus), dim)
        return tuple([part.to(f"cuda:{d}" if isinstance(d, int) else d) for part, d in zip(parts, target_gpus)])
    if isinstance(inputs, (tuple, list)) and inputs:
        return [type(inputs)(parts) for parts in zip(*[scatter(value, target_gpus, dim) for value in inputs])]
    if isinstance(inputs, dict) and inputs:
        return [dict(zip(inputs, parts)) for parts in zip(*[scatter(value, target_gpus, dim) for value in inputs.values()])]
    return [inputs] * len(target_gpus)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """`scatter` for positional and keyword arguments: a pair of tuples.

    Mirrors ``torch.nn.parallel.scatter_gather.scatter_kwargs``.

    >>> nn.parallel.scatter_kwargs((mg.arange(2),), {}, ["cpu", "cpu"])
    (((tensor([0]),), (tensor([1]),)), ({}, {}))
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    keyword = scatter(kwargs, target_gpus, dim) if kwargs else []
    length = max(len(positional), len(keyword))
    return (tuple(positional) + ((),) * (length - len(positional)),
            tuple(keyword) + tuple({} for _ in range(length - len(keyword))))


def gather(outputs, target_device, dim=0):
    """Join results of several devices on one: tensors with `cat`, in tuples, lists and dicts too.

    Mirrors ``torch.nn.parallel.gather``.

    >>> nn.parallel.gather([mg.ones(1), mg.zeros(2)], "cpu")
    tensor([1., 0., 0.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        where = f"cuda:{target_device}" if isinstance(target_device, int) else target_device
        parts = [part.to(where) for part in outputs]
        return cat(parts, dim) if first.ndim else stack(parts)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((key, gather([out[key] for out in outputs], target_device, dim)) for key in first)
    return type(first)([gather(parts, target_device, dim) for parts in zip(*outputs)])


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Call each module with its inputs, one after the other. Mirrors ``torch.nn.parallel.parallel_apply``.

    >>> nn.parallel.parallel_apply([nn.ReLU(), nn.Tanh()], [mg.ones(1), mg.zeros(1)])
    [tensor([1.]), tensor([0.])]
    """
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    return [module(*(given if isinstance(given, (tuple, list)) else (given,)), **kwargs)
            for module, given, kwargs in zip(modules, inputs, kwargs_tup)]


def replicate(network, devices, detach=False):
    """Raise `NotImplementedError`: minigrad computes on one device. Mirrors ``torch.nn.parallel.replicate``.

    >>> nn.parallel.replicate(nn.ReLU(), [0, 1])
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.nn.parallel.replicate
      fix:      compute on one device: network(inputs)
      help:     minigrad.explain("MG-E510")
    """
    raise absent("torch.nn.parallel.replicate", "compute on one device: network(inputs)")
