"""The kernels of the device "meta": they compute shapes, dtypes and strides, and no numbers.

    array.py        `MetaArray`: an array without memory
    layout.py       creation, copies, and all views
    shapes.py       the shape of each other result

So the shapes of a model, and of its gradients, cost neither memory nor time, however large they are. Nothing here is imported
before a program asks for the device. Read next: ``array.py``.
"""

from minigrad.kernels.contract import Kernels
from minigrad.kernels.meta import layout, shapes

__all__ = ["kernels_of"]


def kernels_of(device):
    """The table of kernels for `device`, the only one of its kind."""
    return Kernels(str(device), layout.Creation(device), layout, shapes.Shapes)
