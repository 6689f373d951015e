"""Looking at the memory of a GPU differently. See Note [A layout is an array that nobody reads] in array.py."""

import numpy as np

from minigrad.kernels import CPU
from minigrad.kernels.cuda.runtime.memory import Described
from minigrad.kernels.numpy_ref.layout import dense

__all__ = ["by_columns", "contiguous", "diagonal", "expand", "geometry", "imag", "obeys_layout", "owns", "permute", "real",
           "select", "slice", "storage", "transpose", "unsqueeze", "view", "view_as_complex", "view_as_real"]


def through(name):
    """The CPU's kernel for a view, of a CudaArray."""
    of_layout = getattr(CPU, name)

    def kernel(x, *args):
        found = of_layout(x.layout, *args)
        return None if found is None else x.seen_as(found)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = of_layout.__doc__
    return kernel


view = through("view")
permute = through("permute")
transpose = through("transpose")
expand = through("expand")
unsqueeze = through("unsqueeze")
select = through("select")
slice = through("slice")
diagonal = through("diagonal")
real = through("real")
imag = through("imag")
view_as_real = through("view_as_real")
view_as_complex = through("view_as_complex")


def by_columns(x):
    return CPU.by_columns(x.layout)


def contiguous(x):
    return CPU.contiguous(x.layout)


def owns(x):
    return x.base is None and dense(x.layout)


def obeys_layout(g, x):
    return CPU.obeys_layout(g.layout, x.layout)


def storage(x):
    return x.seen_as(np.asarray(Described(x.block.address, (x.block.nbytes // x.dtype.itemsize,), x.dtype)))


def geometry(x, base):
    return CPU.geometry(x.layout, base.layout)
