"""What no CUDA kernel does yet: it says so, instead of copying to the CPU behind your back."""

from minigrad.kernels.contract import CONTRACT

__all__ = ["Missing", "missing"]


def missing(name, dtype=None):
    """The error for a kernel that is not there, or not for a NumPy `dtype`."""
    what = f'"{name}" not implemented for \'cuda\'' if dtype is None else f'"{name}" not implemented for {dtype} on \'cuda\''
    return NotImplementedError(f"{what}: compute it on the CPU, x.cpu(), and move the result back with .cuda()")


def raising(name):
    def kernel(*args):
        raise missing(name)
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


class Missing:
    """The last source of the kernels of a GPU: a function for every name of the contract, which raises `NotImplementedError`."""

    __name__ = "minigrad.kernels.cuda.runtime.missing"


for _name in CONTRACT:
    setattr(Missing, _name, staticmethod(raising(_name)))
