"""The tensor as the graph sees it: an array, its metadata, and its place in the graph.

    _array          the numbers: a NumPy array (or whatever the device's kernels understand)
    _meta           shape, dtype, device                                          metadata.py
    _node, _output_number
                    the op that produced it: `grad_fn`, `output_nr`               node.py
    _leaf_requires_grad
                    the flag that the user set
    _inference      whether it was made in inference mode
    _lent           whether the next op on it may overwrite it: Note [Lending a gradient] in op_node.py
    _view_base, _base_version, _creation
                    view: its base, which is not a view itself; the version at which its node was made; how it was made, a
                    `CreationMeta` (record/view_base.py)
    _counter        version counter of the storage; None means version 0          version.py
    _extra          fields that few tensors need, made on first use               AutogradMeta

The public class `Tensor` is a Python subclass (``minigrad/tensor.py``), which `use_tensor_class` supplies to this file.
Results of ops are instances of it, made without a call of its constructor. Between `TensorBase` and `Tensor` is
`Variable` (``surface/variable.py``), with the operators and the attributes that autograd defines.

Invariant: a tensor holds its node, and a node never holds a tensor that is its own output. (It keeps an alias without
history, see Note [Saved outputs] in saved_tensor.py.) So reference counting alone frees a graph.

Note [What the collector counts]
    Python's collector begins its work after so many new objects, and then visits those that are alive, of which an ordinary program
    has 100,000. A training step makes and drops thousands of tensors and nodes, and a large graph holds millions. The collector
    would visit them again and again, although a graph has no cycle unless a hook or an attribute closes it, and these bring
    objects of Python's own, which count. So, compiled, up to a million dead tensors and as many dead nodes are kept with their
    fields empty, and the next ones are made of them (``_capi/memory.h``): these do not count as new. Of those in new memory, one in
    sixteen counts, and of a graph of a million nodes one in a thousand: it grows by two thirds between two visits. So the collector
    comes 11 times while the first such graph is built, and not 130 times. The next one is built in the same memory, in a quarter
    of the time, because the system does not have to map its pages again.

    The collector sees all tensors and nodes as before. The price is that cycles may wait longer: if each of them has 1,000 nodes,
    10,000 nodes more are alive before it comes, or two thirds as many as there are. And a large graph's memory is not returned.

Mirrors ``c10/core/TensorImpl.h`` and ``torch/csrc/autograd/variable.h`` (AutogradMeta).
Read next: ``node.py``.
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.capi import recycle, reference_count
from cython.cimports.minigrad._core.graph.metadata import meta_of

from minigrad._core.graph.locks import sharing
from minigrad._core.graph.metadata import CPU
from minigrad._core.graph.version import VersionCounter
from minigrad.errors import AutogradTypeError

if not cython.compiled:     # compiled, the first three are in _capi/tensors.h
    from minigrad._core.graph.capi import allocate_tensor, fill_new_instances, keep_instances
    from minigrad._core.graph.method_checks import check_methods


@cython.binding(False)
@cython.cclass
class Dual:
    """The slot for a tensor's tangent. A saved tensor in a node shares this slot with the tensor itself."""

    def __init__(self):
        self.tangent = None


@cython.binding(False)
@cython.freelist(1024)
@cython.cclass
class AutogradMeta:
    """Fields that only leaves, tensors with hooks and dual numbers need. Compiled, they all start empty."""

    def __init__(self):
        self.grad = None                    # the accumulated gradient
        if not cython.compiled:
            self.accumulator = None         # the leaf's AccumulateGrad node, see Note [A leaf and its node]
        self.shared_accumulator = None      # that of another leaf: this one was saved with hooks, and unpacked
        self.hooks = None                   # leaf: handle id -> hook(grad). (The output of an op has its hooks at its node.)
        self.post_accumulate_hooks = None   # handle id -> hook(tensor), leaves only
        self.retains_grad = False
        self.chose_grad_dtype = False       # leaf: whether the user set grad_dtype
        self.grad_dtype = None              # leaf: the dtype that the user set; None allows any dtype
        self.dual = None                    # the tangent, see forward_ad.py
        self.primal = False                 # view: its tangent is not a part of its base's tangent
        self.root = None                    # view of such a view: that view, whose tangent has a part for this one


@cython.binding(False)
@cython.cclass
class TensorBase:
    """A tensor as the engine knows it: an array, its metadata, and its place in the graph.

    Locked: the making of `_counter` and `_extra`, which all threads that use the tensor must share (`sharing` in locks.py).
    """

    def __dealloc__(self):
        # Only compiled code runs this. Interpreted, Python never calls it and frees the array itself.
        array = self._array
        if array is not None and reference_count(array) == 2:
            recycle(self._meta.backend.recycler, array)

    def version(self):
        """How many times the storage has been written to."""
        return 0 if self._counter is None else self._counter.value

    def shared_counter(self):
        """The version counter, made now if the tensor has none."""
        if self._counter is None:
            if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
                self._counter = VersionCounter.__new__(VersionCounter)
            else:
                with sharing:
                    if self._counter is None:
                        self._counter = VersionCounter()
        return self._counter

    def extras(self):
        """The `AutogradMeta`, made now if the tensor has none."""
        if self._extra is None:
            if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
                self._extra = AutogradMeta.__new__(AutogradMeta)
            else:
                with sharing:
                    if self._extra is None:
                        self._extra = AutogradMeta()
        return self._extra

    def clear(self):
        """Set every field to its empty value. Compiled tensors start empty and never call this."""
        self._array = None
        self._meta = None
        self._node = None
        self._output_number = 0
        self._leaf_requires_grad = False
        self._inference = False
        self._lent = False
        self._view_base = None
        self._base_version = 0
        self._creation = 0
        self._counter = None
        self._extra = None


def clear_tensor(tensor):
    """Give the new instance `tensor` an empty array: for a subclass whose ``__new__`` does not call ours."""
    made = cython.cast(TensorBase, tensor, typecheck=True)
    if not cython.compiled:
        made.clear()
    made._array = np.empty(0, np.float32)
    made._meta = meta_of(made._array, CPU)


fill_new_instances(TensorBase, clear_tensor)
if not cython.compiled:
    globals()["TensorBase"] = check_methods(TensorBase)
_tensor_class = cython.declare(object, TensorBase)
_parameter_class = cython.declare(object, TensorBase)


def use_tensor_class(cls):
    """Make the results of ops instances of `cls`, a subclass of `TensorBase`."""
    global _tensor_class
    _tensor_class = check_subclass(cls)
    keep_instances(cls)


def use_parameter_class(cls):
    """Set the one subclass, `nn.Parameter`, that the fast paths accept besides the tensor class."""
    global _parameter_class
    _parameter_class = check_subclass(cls)


def tensor_class():
    """Return the class of the results of ops: `Tensor`."""
    return _tensor_class


def check_subclass(cls):
    """Return `cls`. Raises `TypeError` unless it is a subclass of `TensorBase`: instances need its memory layout."""
    if not isinstance(cls, type):
        raise AutogradTypeError("MG-E201", f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, TensorBase):
        raise AutogradTypeError("MG-E201", "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                                f"possible. Make sure your class inherits from Tensor: {cls.__name__} does not.")
    return cls


def is_plain(x):
    """Whether `x` is a tensor that the fast paths handle: a `Tensor` or `Parameter`, not an instance of another subclass."""
    return type(x) is _tensor_class or type(x) is _parameter_class


def make_tensor(cls, array, meta):
    """Return an instance of `cls` around `array`, which `meta` describes, without running ``__init__``.

    Raises `TypeError` if `cls` is not a subclass of `TensorBase`.
    """
    tensor = cython.cast(TensorBase, allocate_tensor(TensorBase, check_subclass(cls)))
    if not cython.compiled:
        tensor.clear()
    tensor._array = array
    tensor._meta = meta
    return tensor


def wrap(array, meta):
    """Return a tensor without history around `array`, which `meta` describes."""
    tensor = cython.cast(TensorBase, allocate_tensor(TensorBase, _tensor_class))
    if not cython.compiled:
        tensor.clear()
    tensor._array = array
    tensor._meta = meta
    return tensor


def is_exclusive(tensor):
    """Whether only `tensor` holds its array, and no other tensor shares its storage."""
    array = tensor._array       # two references: the tensor's, and this variable
    return tensor._counter is None and reference_count(array) == 2


def owner_of(array):
    """The array that owns the memory of `array`, or `array` itself. (NumPy's strided views refer to it through another object.)"""
    base = array
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        base = getattr(base, "base", None)
    return array


def address(array):
    """The address of the first element of a NumPy array. An array without elements has an address too."""
    return array.__array_interface__["data"][0]


def memory_of(source):
    """The whole storage of `source` as a one-dimensional tensor. It shares the version counter and has no history."""
    tensor = alias(cython.cast(TensorBase, source, typecheck=True))
    tensor._array = tensor._meta.backend.kernels.storage(tensor._array)
    tensor._meta = meta_of(tensor._array, tensor._meta.device)
    return tensor


def alias(source):
    """A tensor without history that shares the storage and the version counter of `source`: ``detach()``."""
    tensor = wrap(source._array, source._meta)
    tensor._counter = source.shared_counter()
    tensor._inference = source._inference
    return tensor
