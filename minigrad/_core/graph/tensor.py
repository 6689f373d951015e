"""The tensor as the graph sees it: an array, its metadata, and its place in the graph.

    _array          the numbers: a NumPy array (or whatever the device's kernels understand)
    _meta           shape, dtype, device                                          metadata.py
    _node, _output_number
                    the op that produced it: `grad_fn`, `output_nr`               node.py
    _leaf_requires_grad
                    the flag that the user set
    _view           whether it is a view; of what is in `_extra`
    _inference      whether it was made in inference mode
    _counter        version counter of the storage; None stands for version 0     version.py
    _extra          what few tensors have, made on first use                      AutogradMeta

The public class `Tensor` is a Python subclass (``minigrad/tensor.py``) and is *given* to this file by
`use_tensor_class`; results of ops are made of it without calling its constructor. Between the two sits
`Variable` (``variable.py``), with the operators and the attributes that autograd defines.

Invariant: a tensor holds its node, and a node never holds a tensor that is its own output (it keeps an
alias without history, see Note [Saved outputs] in saved_tensor.py), so reference counting alone frees a graph.

Mirrors ``c10/core/TensorImpl.h`` and ``torch/csrc/autograd/variable.h`` (AutogradMeta).
Read next: ``node.py``.
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.capi import allocate, fill_new_instances, recycle, reference_count
from cython.cimports.minigrad._core.graph.metadata import meta_of

from minigrad._core.graph.metadata import CPU
from minigrad._core.graph.version import VersionCounter
from minigrad.errors import AutogradTypeError

if not cython.compiled:
    from minigrad._core.graph.method_checks import check_methods


@cython.binding(False)
@cython.cclass
class Dual:
    """Where the tangent of a tensor is: what a node has saved of the tensor shares this, and nothing else of it."""

    def __init__(self):
        self.tangent = None


@cython.binding(False)
@cython.freelist(64)
@cython.cclass
class AutogradMeta:
    """What a leaf, a view or a hooked tensor has besides the fields of every tensor. Compiled, all are born empty."""

    def __init__(self):
        self.grad = None                    # the accumulated gradient
        self.accumulator = None             # weak reference to the leaf's AccumulateGrad node
        self.hooks = None                   # handle id -> hook(grad)
        self.post_accumulate_hooks = None   # handle id -> hook(tensor), leaves only
        self.retains_grad = False
        self.chose_grad_dtype = False       # whether the user set grad_dtype, of a leaf
        self.grad_dtype = None              # then this is it; None: whatever comes
        self.base = None                    # of a view: the tensor that is no view itself
        self.base_version = 0               # of a view: the version at which its node was made
        self.creation = 0                   # of a view: how it was made, see views.py
        self.dual = None                    # forward-mode AD, see forward_ad.py
        self.primal = False                 # of a view: it has no part in the tangent of its base
        self.root = None                    # of a view of such a view: that view, in whose tangent it has a part


@cython.binding(False)
@cython.cclass
class TensorBase:
    """What the engine knows of a tensor: an array, its metadata, and its place in the graph."""

    def __dealloc__(self):
        # Compiled alone: interpreted, Python never calls it, and the array is simply freed.
        array = self._array
        if array is not None and reference_count(array) == 2:
            recycle(self._meta.backend.recycler, array)

    def version(self):
        """How many times the storage has been written to."""
        return 0 if self._counter is None else self._counter.value

    def shared_counter(self):
        """The version counter. It is made now if no other tensor has shared it yet."""
        if self._counter is None:
            self._counter = VersionCounter()
        return self._counter

    def extras(self):
        """The `AutogradMeta`, made now if there is none yet."""
        if self._extra is None:
            self._extra = AutogradMeta.__new__(AutogradMeta) if cython.compiled else AutogradMeta()
        return self._extra

    def clear(self):
        """Set every field to its empty value. Compiled tensors are born so, and never call this."""
        self._array = None
        self._meta = None
        self._node = None
        self._output_number = 0
        self._leaf_requires_grad = False
        self._view = False
        self._inference = False
        self._counter = None
        self._extra = None


def clear_tensor(tensor):
    """Make `tensor`, of which nothing is set yet, one without elements: what a subclass gets whose ``__new__`` skips ours."""
    made = cython.cast(TensorBase, tensor, typecheck=True)
    if not cython.compiled:
        made.clear()
    made._array = np.empty(0, np.float32)
    made._meta = meta_of(made._array, CPU)


fill_new_instances(TensorBase, clear_tensor)
if not cython.compiled:
    globals()["TensorBase"] = check_methods(TensorBase)
_EMPTY = cython.declare(tuple, ())
_tensor_class = cython.declare(object, TensorBase)
_parameter_class = cython.declare(object, TensorBase)


def use_tensor_class(cls):
    """Make the results of ops instances of `cls`, a subclass of `TensorBase`."""
    global _tensor_class
    _tensor_class = check_subclass(cls)


def use_parameter_class(cls):
    """Name the one subclass (`nn.Parameter`) with which ops compute as fast as with the class itself."""
    global _parameter_class
    _parameter_class = check_subclass(cls)


def check_subclass(cls):
    """`cls`. Raises `TypeError` unless it is a subclass of `TensorBase`, as instances are made by its memory layout."""
    if not isinstance(cls, type):
        raise AutogradTypeError("MG-E201", f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, TensorBase):
        raise AutogradTypeError("MG-E201", "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                                f"possible. Make sure your class inherits from Tensor: {cls.__name__} does not.")
    return cls


def is_plain(x):
    """Whether `x` is a tensor of a class that the fast paths handle: no user's subclass."""
    return type(x) is _tensor_class or type(x) is _parameter_class


def make_tensor(cls, array, meta):
    """An instance of `cls`, a subclass of `TensorBase`, around `array`; its ``__init__`` does not run.

    Raises `TypeError` if `cls`, which may be the user's, is no such class.
    """
    tensor = cython.cast(TensorBase, allocate(TensorBase, check_subclass(cls), _EMPTY))
    if not cython.compiled:
        tensor.clear()
    tensor._array = array
    tensor._meta = meta
    return tensor


def wrap(array, meta):
    """A tensor around `array`, which `meta` describes. It has no history."""
    tensor = cython.cast(TensorBase, allocate(TensorBase, _tensor_class, _EMPTY))
    if not cython.compiled:
        tensor.clear()
    tensor._array = array
    tensor._meta = meta
    return tensor


def is_exclusive(tensor):
    """Whether nobody but `tensor` holds its array, and no other tensor its storage."""
    array = tensor._array       # counted: the tensor's reference and this one
    return tensor._counter is None and reference_count(array) == 2


def owner_of(array):
    """The array in whose memory a view lies: itself, if it is none. (NumPy's own strided views hold it by an object in between.)"""
    base = array
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        base = getattr(base, "base", None)
    return array


def address(array):
    """Address of the first element of a NumPy array, or of where it would be."""
    return array.__array_interface__["data"][0]


def memory_of(source):
    """All the memory that `source` lies in, as a tensor of one dimension that shares its version counter and has no history."""
    tensor = alias(cython.cast(TensorBase, source, typecheck=True))
    tensor._array = tensor._meta.backend.kernels.storage(tensor._array)
    tensor._meta = meta_of(tensor._array, tensor._meta.device)
    return tensor


def alias(source):
    """A tensor on the same storage, sharing the version counter, without history: ``detach()``."""
    tensor = wrap(source._array, source._meta)
    tensor._counter = source.shared_counter()
    tensor._inference = source._inference
    return tensor
