"""Anomaly mode: find the forward call that made a failing node, and the first node that returns NaN.

    with detect_anomaly(): ...      on inside the block
    set_detect_anomaly(flag)        on or off, as a call or as a context manager

The mode is the same for all threads. ``_core/graph/anomaly.py`` has the code that runs while it is on.

Mirrors ``torch/autograd/anomaly_mode.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad._core.graph.anomaly import anomaly

if TYPE_CHECKING:
    from typing import Any

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on. Mirrors ``torch.is_anomaly_enabled``.

    >>> mg.is_anomaly_enabled()
    False
    """
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode looks for NaN while it is on. Mirrors ``torch.is_anomaly_check_nan_enabled``.

    >>> mg.is_anomaly_check_nan_enabled()
    True
    """
    return anomaly.check_nan


class set_detect_anomaly:
    """Switch anomaly mode on or off: immediately, and as a context manager until the block ends.

    Args:
        mode (bool): whether anomaly mode is on.
        check_nan (bool): whether a NaN in a gradient raises an error.

    Mirrors ``torch.autograd.set_detect_anomaly``.

    >>> with mg.autograd.set_detect_anomaly(True):
    ...     mg.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = anomaly.enabled, anomaly.check_nan
        anomaly.switch(bool(mode), bool(check_nan))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: Any) -> None:
        anomaly.switch(*self.before)


class detect_anomaly:
    """Context manager: if a node fails in the backward, a warning shows the forward call that made the node.

    Run both the forward and the backward inside. Each node stores a traceback, which costs time: use it only to find a mistake.

    Args:
        check_nan (bool): whether a NaN in a gradient raises an error.

    Mirrors ``torch.autograd.detect_anomaly``.

    >>> x = mg.tensor(0., requires_grad=True)
    >>> with mg.autograd.detect_anomaly(check_nan=False):
    ...     y = x.sqrt()
    >>> print("".join(y.grad_fn.metadata["traceback_"]).splitlines()[-1].strip())
    y = x.sqrt()
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.before = anomaly.enabled, anomaly.check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                      "debugging.", UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        anomaly.switch(True, bool(self.check_nan))

    def __exit__(self, *exc_info: Any) -> None:
        anomaly.switch(*self.before)
