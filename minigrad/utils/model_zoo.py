"""The old name of `minigrad.hub.load_state_dict_from_url`. Mirrors ``torch/utils/model_zoo.py``."""

from minigrad.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
