"""The private modules of PyTorch's data loader that programs import from. Mirrors ``torch/utils/data/_utils/__init__.py``."""

from minigrad.utils.data._utils import collate, worker

__all__ = ["collate", "worker"]
