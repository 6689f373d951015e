"""Reading a checkpoint. Mirrors ``torch/distributed/checkpoint/state_dict_loader.py``.

Each rank reads the one file that ``state_dict_saver.py`` has written, so there may be more or fewer ranks than before. The state
of an optimizer in it is that of all parameters; a `ZeroRedundancyOptimizer` keeps its part.
"""

from minigrad import serialization
from minigrad.autograd.grad_mode import no_grad
from minigrad.distributed.checkpoint.state_dict_saver import file_of
from minigrad.errors import AutogradError
from minigrad.optim.optimizer import UnsupportedOption
from minigrad.tensor import Tensor

__all__ = ["load"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Read a checkpoint into the values of a dict. Each rank calls it, and none waits for another.

    Args:
        state_dict (dict): as for `save`. Tensors are overwritten; what has a method ``load_state_dict`` loads its state; other
            values are replaced. What is in the checkpoint and not in here is left out.
        checkpoint_id (str or path): the folder.
        storage_reader, planner: None; minigrad reads files only.
        process_group, no_dist: of no use here.

    Raises:
        FileNotFoundError: there is no checkpoint.
        RuntimeError: it has no value of a name, or a tensor of another shape. Then nothing is loaded, except that a module or an
            optimizer may refuse its state after others were loaded.
        pickle.UnpicklingError: the file is damaged.
        TypeError: `state_dict` is no dict, or `checkpoint_id` is no path.
        NotImplementedError: an argument that is not supported.

    Mirrors ``torch.distributed.checkpoint.load``.

    >>> import tempfile
    >>> from minigrad.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> checkpoint.save({"w": mg.ones(2), "step": 7}, checkpoint_id=folder)
    >>> state = {"w": mg.zeros(2), "step": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'w': tensor([1., 1.]), 'step': 7}
    """
    for name, value in (("storage_reader", storage_reader), ("planner", planner)):
        if value is not None:
            raise UnsupportedOption("MG-E403", f"checkpoint.load() does not support {name}", fix="checkpoint_id=, a folder")
    path = file_of(state_dict, checkpoint_id, "load")
    found = serialization.load(path, map_location="cpu")
    check(state_dict, found, "", path)
    fill(state_dict, found)


def check(values, found, prefix, path):
    """Raise `RuntimeError` if a name is missing in what was `found`, or a tensor has another shape: before anything is written."""
    for key in keys_of(values):
        name, value = f"{prefix}{key}", values[key]
        try:
            new = found[key]
        except (KeyError, IndexError, TypeError):
            raise AutogradError("MG-E403", f"Missing key in checkpoint state_dict: {name}.", found=path,
                                fix="load into the same names as those that were saved") from None
        if hasattr(value, "load_state_dict"):
            continue
        if isinstance(value, (dict, list)):
            check(value, new, f"{name}.", path)
        elif isinstance(value, Tensor) and isinstance(new, Tensor) and value.shape != new.shape:
            raise AutogradError("MG-E403", f"Size mismatch between saved {tuple(new.shape)} and current: {tuple(value.shape)} "
                                f"for {name}", found=path, fix="build the model as it was when it was saved")


def fill(values, found):
    """Write what was `found` into a dict or list of values."""
    for key in keys_of(values):
        value, new = values[key], found[key]
        if hasattr(value, "load_state_dict"):
            value.load_state_dict(new)
        elif isinstance(value, (dict, list)):
            fill(value, new)
        elif isinstance(value, Tensor) and isinstance(new, Tensor):
            with no_grad():
                value.copy_(new)
        else:
            values[key] = new


def keys_of(values):
    """The keys of a dict, or the indices of a list."""
    return list(values) if isinstance(values, dict) else range(len(values))
