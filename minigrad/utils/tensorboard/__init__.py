"""Curves and pictures for TensorBoard, written by the package tensorboardX. Mirrors ``torch/utils/tensorboard``."""

import numpy as np

try:
    import tensorboardX as _writers
except ImportError:
    raise ModuleNotFoundError("minigrad.utils.tensorboard needs the package tensorboardX: pip install tensorboardX",
                              name="tensorboardX") from None

from minigrad.tensor import Tensor

__all__ = ["SummaryWriter"]


def to_numpy(value):
    """`value` with arrays instead of tensors; in dicts, lists and tuples too."""
    if isinstance(value, Tensor):
        return np.asarray(value.detach().cpu().numpy())
    if isinstance(value, dict):
        return {key: to_numpy(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)([to_numpy(each) for each in value])
    return value


class SummaryWriter(_writers.SummaryWriter):
    """The `SummaryWriter` of tensorboardX, whose ``add_...`` methods take tensors of minigrad. It cannot draw graphs of models.

    Mirrors ``torch.utils.tensorboard.SummaryWriter``.
    """

    def add_graph(self, model, input_to_model=None, verbose=False, **kwargs):
        """Raise `NotImplementedError`: `minigrad.viz.draw` draws a graph."""
        from minigrad._absent import absent
        raise absent("SummaryWriter.add_graph", "minigrad.viz.draw(model(input)) draws the graph of a result")

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if not name.startswith("add_") or name == "add_graph":
            return found

        def add(*args, **kwargs):
            return found(*map(to_numpy, args), **{key: to_numpy(value) for key, value in kwargs.items()})
        return add
