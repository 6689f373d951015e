"""Kernels of numba.cuda on the memory of tensors: for operators of your own (`minigrad.library.custom_op`).

    @cuda.jit
    def scaled(x, factor, y): ...

    y = mg.empty_like(x)
    scaled[blocks, threads, mg.cuda.numba_stream()](mg.cuda.as_numba(x), 2.0, mg.cuda.as_numba(y))

On a GPU ``numba.cuda.as_cuda_array(x)`` gives the same array, as for any object with ``__cuda_array_interface__``. Numba's
simulator has no such function, since its "GPU" has no addresses; `as_numba` works there too.
"""

import numpy as np

from minigrad._arguments import instance
from minigrad.tensor import Tensor

__all__ = ["as_numba", "numba_stream"]


def as_numba(tensor):
    """The memory of a tensor on a GPU as an array that kernels of numba.cuda take, with its shape and strides. Nothing is copied.

    What a kernel writes there is seen in the tensor, and not by autograd: write to tensors that you have made.

    Args:
        tensor (Tensor): on a GPU; it does not require a gradient, or gradients are disabled, as they are inside a custom operator.

    Raises:
        AttributeError: it lies on the CPU.
        RuntimeError: it requires a gradient, and gradients are enabled.

    PyTorch has ``numba.cuda.as_cuda_array(tensor)``; so has minigrad, except on numba's simulator.

    >>> if mg.cuda.is_available():
    ...     array = mg.cuda.as_numba(mg.zeros(2, 3, device="cuda"))
    """
    _ = instance(tensor, Tensor, "tensor", "as_numba").__cuda_array_interface__     # raises what there is to be raised
    from minigrad.kernels.cuda.runtime.streams import SIMULATED
    if not SIMULATED:
        from numba import cuda
        return cuda.as_cuda_array(tensor)
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
    array = tensor._array
    offset = array.address - array.block.address
    return FakeCUDAArray(np.ndarray(array.shape, array.dtype, array.block.owner, offset, array.strides))


def numba_stream(device=None):
    """The stream into which this thread's work goes, as numba takes it: a kernel runs after what was put there before.

    PyTorch has ``numba.cuda.external_stream(torch.cuda.current_stream().cuda_stream)``.

    Args:
        device (optional): the GPU.

    >>> if mg.cuda.is_available():
    ...     stream = mg.cuda.numba_stream()
    """
    from minigrad.cuda import current_stream
    return current_stream(device)._stream.numba
