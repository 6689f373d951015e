"""Switches of cuDNN, which minigrad does not use. Mirrors ``torch/backends/cudnn/__init__.py``.

A program may set `enabled`, `benchmark`, `deterministic`, `benchmark_limit` and `allow_tf32`. They keep their values, and change
nothing: see ``backends/__init__.py``.
"""

import contextlib

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
benchmark_limit = 10
allow_tf32 = True


def version():
    """None: minigrad does not use cuDNN. Mirrors ``torch.backends.cudnn.version``.

    >>> mg.backends.cudnn.version() is None
    True
    """


def is_available():
    """False: minigrad does not use cuDNN. Mirrors ``torch.backends.cudnn.is_available``.

    >>> mg.backends.cudnn.is_available()
    False
    """
    return False


def is_acceptable(tensor):
    """False: cuDNN computes on no tensor. Mirrors ``torch.backends.cudnn.is_acceptable``.

    >>> mg.backends.cudnn.is_acceptable(mg.ones(2))
    False
    """
    return False


@contextlib.contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """Context manager: set the switches, and restore them. Mirrors ``torch.backends.cudnn.flags``.

    >>> with mg.backends.cudnn.flags(enabled=True, benchmark=True):
    ...     mg.backends.cudnn.benchmark
    True
    """
    switches = dict(enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
                    allow_tf32=allow_tf32)
    before = {name: globals()[name] for name in switches}
    globals().update(switches)
    try:
        yield
    finally:
        globals().update(before)
