"""`get_worker_info`, where programs import it from. Mirrors ``torch/utils/data/_utils/worker.py``."""

from minigrad.utils.data._worker import get_worker_info

__all__ = ["get_worker_info"]
