"""A view and its base: what an op writes down when its result shares the memory of its input.

    v = a[0:2]      v._view_base = a        v._counter is a._counter        v._base_version = a's version now
    w = v[1:]       w._view_base = a        the base of a view is never a view itself

A view made under no_grad has no node, but counts as requiring a gradient if its base does (`base_requires_grad`).

Mirrors ``as_view`` of ``torch/csrc/autograd/VariableTypeUtils.h``. Read next: ``mutation/views.py``.
"""

import cython

from minigrad._core.graph.tensor import TensorBase


class CreationMeta:
    """The values of `TensorBase._creation`: how a view was made. See Note [How a view was made] in views.py."""

    DEFAULT, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NO_GRAD_MODE, INFERENCE_MODE = range(5)


DEFAULT = cython.declare(cython.int, CreationMeta.DEFAULT)
NO_GRAD_MODE = cython.declare(cython.int, CreationMeta.NO_GRAD_MODE)
INFERENCE_MODE = cython.declare(cython.int, CreationMeta.INFERENCE_MODE)


@cython.nonecheck(False)
def make_view(view, source, creation, state):
    """Make `view` a view of `source`, or of the base of `source` if that is a view itself.

    `creation` is the `CreationMeta` to use if gradients are enabled: see Note [How a view was made] in views.py.
    """
    counter = source._counter if source._counter is not None else source.shared_counter()
    view._counter = counter
    if source._inference:       # an inference tensor is in no graph, so its view needs no base
        view._inference = True
        return None
    if state.inference:
        creation = INFERENCE_MODE
    elif not state.grad_enabled:
        creation = NO_GRAD_MODE
    if source._view_base is not None:
        view._view_base = source._view_base
        if creation == DEFAULT or source._creation == INFERENCE_MODE:
            creation = source._creation
        if source._extra is not None and (source._extra.primal or source._extra.root is not None):
            view.extras().root = source if source._extra.primal else source._extra.root
    else:
        view._view_base = source
    view._base_version = counter.value
    view._creation = creation
    return None


def requires_grad(x):
    """``x.requires_grad``, without regenerating the history of a stale view."""
    return x._node is not None or x._leaf_requires_grad or (x._view_base is not None and base_requires_grad(x))


def base_requires_grad(view):
    """Whether the base of `view` requires a gradient. Then the view counts as requiring one too, even without a history."""
    base: TensorBase = view._view_base
    return base._leaf_requires_grad or base._node is not None
