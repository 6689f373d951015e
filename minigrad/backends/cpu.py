"""The CPU. Mirrors ``torch/backends/cpu/__init__.py``."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The vector instructions for which the kernels were chosen: ``"DEFAULT"``. Mirrors ``torch.backends.cpu.get_cpu_capability``.

    >>> mg.backends.cpu.get_cpu_capability()
    'DEFAULT'
    """
    return "DEFAULT"
