"""The kernels that minigrad does not have for CUDA yet: they raise, instead of copying to the CPU without your knowledge."""

from minigrad.kernels.contract import CONTRACT

__all__ = ["Missing", "missing"]


def missing(name, dtype=None):
    """The error for a kernel that does not exist for CUDA, or not for this NumPy `dtype`."""
    what = f'"{name}" not implemented for \'cuda\'' if dtype is None else f'"{name}" not implemented for {dtype} on \'cuda\''
    return NotImplementedError(f"{what}: compute it on the CPU, x.cpu(), and move the result back with .cuda()")


def make_raising(name):
    """Return a kernel of this name that raises `NotImplementedError`."""
    def kernel(*args):
        raise missing(name)
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


class Missing:
    """The last source of the kernels of a GPU: for every name of the contract, a function that raises `NotImplementedError`."""

    __name__ = "minigrad.kernels.cuda.runtime.missing"


for _name in CONTRACT:
    setattr(Missing, _name, staticmethod(make_raising(_name)))
