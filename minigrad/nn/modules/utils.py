"""Small functions on the sizes of layers, and on the keys of a state dict. Mirrors ``torch/nn/modules/utils.py``."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from itertools import repeat
from typing import TYPE_CHECKING

from minigrad._arguments import instance

if TYPE_CHECKING:
    from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """Return a function that makes a tuple of its argument: a single value comes `n` times."""
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))
    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Return the values of `t` in reverse order, each `n` times, as `F.pad` takes the sizes of padding."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _list_with_default(out_size, defaults):
    """Return `out_size` as a list, in which the last values of `defaults` replace each None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [default if size is None else size for size, default in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove `prefix` from the keys of a state dict, in place. Keys without the prefix stay as they are.

    Args:
        state_dict (dict): from name to tensor.
        prefix (str): for example ``"module."``, which a wrapper around the model has added.

    Mirrors ``torch.nn.modules.utils.consume_prefix_in_state_dict_if_present``.

    >>> from minigrad.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    instance(state_dict, MutableMapping, "state_dict", "consume_prefix_in_state_dict_if_present", "dict")
    instance(prefix, str, "prefix", "consume_prefix_in_state_dict_if_present")
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key == prefix.removesuffix(".") and key:
                metadata[""] = metadata.pop(key)
            elif key.startswith(prefix):
                metadata[key[len(prefix):]] = metadata.pop(key)
