"""The version counter: how many times a storage has been written to.

    a = tensor([1., 2.])        storage S, version 0        a ──┐
    b = a[0]                    a view: the same counter    b ──┼──> VersionCounter(value=0)
    c = a.detach()              the same counter            c ──┘
    a.mul_(2)                   value=1, seen through all three

A tensor that nobody has viewed, detached or written to has no counter object at all: it stands for
version 0, and most tensors of a forward pass live and die so. The counter is made when somebody
first shares it (`TensorBase.shared_counter`).

Invariant: every tensor on one storage holds the *same* counter, except those made by ``.data``,
whose point is to escape it.

Mirrors ``c10::VariableVersion`` (c10/core/TensorImpl.h).
Read next: ``saved.py``, where versions are compared.
"""

import cython


@cython.freelist(64)
@cython.cclass
class VersionCounter:
    """The number of in-place writes to one storage."""

    def __init__(self):
        self.value = 0
