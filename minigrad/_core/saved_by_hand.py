"""Tensors that are saved by hand, outside of any op, under the same rules as those that an op saves.

    kept = KeptTensors([x, w], "checkpoint")        the version of each is noted; or the pack hook gets it
    kept.unpack()                                   [x, w], checked; or what the unpack hook makes of it

A node that nothing leads to, so that what saved tensors need an owner for (its name in messages) is there.

Mirrors ``torch._C._autograd._make_saved_tensor``.
"""

import cython

from minigrad._core.node import Node
from minigrad._core.packed import PackedTensor
from minigrad._core.saved import SavedTensor
from minigrad._core.state import State
from minigrad._core.tensor import TensorBase

if not cython.compiled:
    from minigrad._core.node import start
    from minigrad._core.packed import packed
    from minigrad._core.saved import save
    from minigrad._core.state import current

NOT_AN_OUTPUT = cython.declare(cython.int, -1)


@cython.binding(False)
@cython.cclass
class KeptTensors(Node):
    """Saved tensors in a list. `owner` is whom an error names if one of them has been written to."""

    def __init__(self, tensors, owner):
        start(self)
        state: State = current()
        self.owner = owner
        self.kept = []
        for x in tensors:
            tensor = cython.cast(TensorBase, x, typecheck=True)
            if state.saved_hooks:
                pack, unpack = state.saved_hooks[-1]
                self.kept.append(packed(tensor, pack, unpack, NOT_AN_OUTPUT, state))
            else:
                self.kept.append(save(tensor, "input", NOT_AN_OUTPUT, state))

    def name(self):
        return self.owner

    def unpack(self):
        """The tensors. Raises `RuntimeError` if one has been modified since it was saved."""
        return [cython.cast(PackedTensor, x).value(self) if isinstance(x, PackedTensor)
                else cython.cast(SavedTensor, x).value(self, True) for x in self.kept]
