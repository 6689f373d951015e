"""Anomaly mode: which forward call made the node that failed, and where the first NaN came from.

    with detect_anomaly(): ...      on inside the block
    set_detect_anomaly(flag)        on or off, as a call or as a context

The switch is one for all threads. What the core does while it is on is in ``_core/graph/anomaly.py``.

Mirrors ``torch/autograd/anomaly_mode.py``.
"""

import warnings

from minigrad._core.graph.anomaly import anomaly

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled():
    """Whether anomaly mode is on. Mirrors ``torch.is_anomaly_enabled``.

    >>> mg.is_anomaly_enabled()
    False
    """
    return anomaly.enabled


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode, when on, looks for NaN. Mirrors ``torch.is_anomaly_check_nan_enabled``.

    >>> mg.is_anomaly_check_nan_enabled()
    True
    """
    return anomaly.check_nan


class set_detect_anomaly:
    """Switch anomaly mode on or off: at once, and, as a context manager, until it is left.

    Args:
        mode (bool): on or off.
        check_nan (bool): whether a NaN in a gradient is an error.

    Mirrors ``torch.autograd.set_detect_anomaly``.

    >>> with mg.autograd.set_detect_anomaly(True):
    ...     mg.is_anomaly_enabled()
    True
    """

    def __init__(self, mode, check_nan=True):
        self.before = anomaly.enabled, anomaly.check_nan
        anomaly.switch(bool(mode), bool(check_nan))

    def __enter__(self):
        return None

    def __exit__(self, *exc_info):
        anomaly.switch(*self.before)


class detect_anomaly:
    """Context manager: a node that fails in backward is reported with the forward call that made it.

    Args:
        check_nan (bool): whether a NaN in a gradient is an error. The warning that comes before it, and each
            node made inside, cost time: this is for finding a mistake.

    Both the forward and the backward have to run inside. Mirrors ``torch.autograd.detect_anomaly``.

    >>> x = mg.tensor(0., requires_grad=True)
    >>> with mg.autograd.detect_anomaly(check_nan=False):
    ...     y = x.sqrt()
    >>> print("".join(y.grad_fn.metadata["traceback_"]).splitlines()[-1].strip())
    y = x.sqrt()
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        self.before = anomaly.enabled, anomaly.check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                      "debugging.", UserWarning, stacklevel=2)

    def __enter__(self):
        anomaly.switch(True, bool(self.check_nan))

    def __exit__(self, *exc_info):
        anomaly.switch(*self.before)
