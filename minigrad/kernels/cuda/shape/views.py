"""Views of an array on a GPU. See Note [A layout is an array that nobody reads] in array.py. Read next: ``strided.py``."""

import numpy as np

from minigrad.kernels import CPU
from minigrad.kernels.cuda.runtime.memory import ArrayInterface
from minigrad.kernels.numpy_ref.layout import dense, on_layout

__all__ = ["by_columns", "contiguous", "diagonal", "expand", "geometry", "imag", "obeys_layout", "owns", "permute", "real",
           "select", "slice", "storage", "t", "transpose", "unsqueeze", "view", "view_as_complex", "view_as_real"]


def view_kernel(name):
    """Return the kernel of the CPU for a view as a kernel for a CudaArray: it is applied to the layout."""
    return on_layout(getattr(CPU, name), name)


view = view_kernel("view")
permute = view_kernel("permute")
transpose = view_kernel("transpose")
t = view_kernel("t")
expand = view_kernel("expand")
unsqueeze = view_kernel("unsqueeze")
select = view_kernel("select")
slice = view_kernel("slice")
diagonal = view_kernel("diagonal")
real = view_kernel("real")
imag = view_kernel("imag")
view_as_real = view_kernel("view_as_real")
view_as_complex = view_kernel("view_as_complex")


def by_columns(x):
    return CPU.by_columns(x.layout)


def contiguous(x):
    return CPU.contiguous(x.layout)


def owns(x):
    return x.base is None and dense(x.layout)


def obeys_layout(g, x):
    return CPU.obeys_layout(g.layout, x.layout)


def storage(x):
    return x.make_view(np.asarray(ArrayInterface(x.block.address, (x.block.nbytes // x.dtype.itemsize,), x.dtype)))


def geometry(x, base):
    return CPU.geometry(x.layout, base.layout)
