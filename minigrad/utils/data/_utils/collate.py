"""`default_collate` and `default_convert`, where programs import them from. Mirrors ``torch/utils/data/_utils/collate.py``."""

from minigrad.utils.data._collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
