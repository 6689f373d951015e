"""Running your own numba.cuda kernels on the memory of tensors, as in `minigrad.library.custom_op`.

    @cuda.jit
    def scale(x, factor, y): ...

    y = mg.empty_like(x)
    scale[blocks, threads, mg.cuda.numba_stream()](mg.cuda.as_numba(x), 2.0, mg.cuda.as_numba(y))

On a GPU ``numba.cuda.as_cuda_array(x)`` gives the same array, as for any object with ``__cuda_array_interface__``. Numba's
simulator has no such function, since the memory of its "GPU" has no addresses. `as_numba` works there too.
"""

import numpy as np

from minigrad._arguments import instance
from minigrad.cuda._devices import as_cuda
from minigrad.tensor import Tensor

__all__ = ["as_numba", "numba_stream"]


def as_numba(tensor):
    """Return the memory of a tensor on a GPU as an array for kernels of numba.cuda. Nothing is copied.

    If a kernel writes to the array, the tensor changes, but autograd does not know it. So write only to tensors that you have made.

    Args:
        tensor (Tensor): any shape, strides and dtype, on a GPU. It must not require a gradient, unless gradients are disabled (they
            are disabled inside a custom operator).

    Returns:
        an array of numba.cuda with the shape, the strides and the dtype of `tensor`.

    Raises:
        AttributeError: `tensor` is on the CPU.
        RuntimeError: `tensor` requires a gradient, and gradients are enabled.

    With PyTorch you call ``numba.cuda.as_cuda_array(tensor)``. This also works here, except in numba's simulator.

    >>> if mg.cuda.is_available():
    ...     array = mg.cuda.as_numba(mg.zeros(2, 3, device="cuda"))
    """
    _ = instance(tensor, Tensor, "tensor", "as_numba").__cuda_array_interface__     # raises the errors above
    from minigrad.kernels.cuda.runtime.streams import SIMULATED
    if not SIMULATED:
        from numba import cuda
        return cuda.as_cuda_array(tensor)
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
    array = tensor._array
    offset = array.address - array.block.address
    return FakeCUDAArray(np.ndarray(array.shape, array.dtype, array.block.owner, offset, array.strides))


def numba_stream(device=None):
    """The current stream of this thread as a stream of numba: your kernel runs after the ops that are in it already.

    With PyTorch you call ``numba.cuda.external_stream(torch.cuda.current_stream().cuda_stream)``.

    Args:
        device (device, str or int, optional): the GPU; by default `current_device`.

    >>> if mg.cuda.is_available():
    ...     stream = mg.cuda.numba_stream()
    """
    device = as_cuda(device)
    from minigrad.kernels.cuda.runtime.streams import current_stream
    return current_stream(device).numba
