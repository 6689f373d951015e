"""Split a batch among devices, and join the results. Mirrors ``torch/nn/parallel/scatter_gather.py``."""

from minigrad._absent import absent
from minigrad._arguments import callable_argument, listed, sized
from minigrad.errors import ArgumentError, AutogradAssertionError, TensorValueError
from minigrad.ops import cat, chunk, stack
from minigrad.ops.base.arguments import integer, tensor_argument, wrong_type
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
    target_gpus = listed(target_gpus, "target_gpus", "scatter", "list of devices")
    return split_tensors(inputs, target_gpus, integer(dim, "dim", "scatter"))


def split_tensors(inputs, target_gpus, dim):
    """`scatter`, of checked arguments and at any depth."""
    if isinstance(inputs, Tensor):
        parts = chunk(inputs, len(target_gpus), dim)
        return tuple([part.to(f"cuda:{d}" if isinstance(d, int) else d) for part, d in zip(parts, target_gpus)])
    if isinstance(inputs, (tuple, list)) and inputs:
        return [type(inputs)(parts) for parts in zip(*[split_tensors(value, target_gpus, dim) for value in inputs])]
    if isinstance(inputs, dict) and inputs:
        return [dict(zip(inputs, parts)) for parts in zip(*[split_tensors(value, target_gpus, dim) for value in inputs.values()])]
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
    if not len(sized(outputs, "outputs", "gather")):
        raise ArgumentError("MG-E302", "gather(): argument 'outputs' is empty", expected="a result for each device")
    return join(listed(outputs, "outputs", "gather"), target_device, integer(dim, "dim", "gather"))


def join(outputs, target_device, dim):
    """`gather`, of checked arguments and at any depth."""
    first = outputs[0]
    if isinstance(first, Tensor):
        where = f"cuda:{target_device}" if isinstance(target_device, int) else target_device
        parts = [tensor_argument("gather", part, "outputs").to(where) for part in outputs]
        return cat(parts, dim) if first.ndim else stack(parts)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(not isinstance(out, dict) or len(out) != len(first) for out in outputs):
            raise TensorValueError("MG-E302", "All dicts must have the same number of keys")
        return type(first)((key, join([out[key] for out in outputs], target_device, dim)) for key in first)
    if not isinstance(first, (tuple, list)):
        raise wrong_type("gather", "outputs", "Tensors, or tuples, lists and dicts of them", first)
    return type(first)([join(parts, target_device, dim) for parts in zip(*outputs)])


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Call each module with its inputs, one after the other. Mirrors ``torch.nn.parallel.parallel_apply``.

    >>> nn.parallel.parallel_apply([nn.ReLU(), nn.Tanh()], [mg.ones(1), mg.zeros(1)])
    [tensor([1.]), tensor([0.])]
    """
    modules = [callable_argument(module, "modules", "parallel_apply") for module in listed(modules, "modules", "parallel_apply")]
    inputs = listed(inputs, "inputs", "parallel_apply")
    if len(modules) != len(inputs):
        raise AutogradAssertionError("MG-E302", "The number of modules is not equal to the number of inputs",
                                     found=f"{len(modules)} and {len(inputs)}")
    kwargs_tup = listed(kwargs_tup or [{}] * len(modules), "kwargs_tup", "parallel_apply")
    return [module(*(given if isinstance(given, (tuple, list)) else (given,)), **kwargs)
            for module, given, kwargs in zip(modules, inputs, kwargs_tup)]


def replicate(network, devices, detach=False):
    """Raise `NotImplementedError`: minigrad computes on one device. Mirrors ``torch.nn.parallel.replicate``.

    >>> nn.parallel.replicate(nn.ReLU(), [0, 1])
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.nn.parallel.replicate
      fix:      compute on one device: network(inputs)
      help:     mg.explain("MG-E510")
    """
    raise absent("torch.nn.parallel.replicate", "compute on one device: network(inputs)")
