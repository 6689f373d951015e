"""The attributes of a tensor that autograd defines.

    x.requires_grad, x.is_leaf, x.grad_fn       its place in the graph
    x.grad, x.retain_grad(), x.register_hook()  the gradient that a backward stores, and the hooks that it calls
    x.detach(), x.data                          the same memory without history
    x._version, x._base                         the memory that it shares with other tensors

The operators are in ``operators.py``. The named methods and their documentation are in the Python subclass
``minigrad/tensor.py``.

Mirrors ``torch/csrc/autograd/variable.h`` and ``python_variable.cpp``.
"""

import warnings
import weakref
from collections import deque

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.accumulate_grad import choose_grad_dtype, forget_accumulator, gradient_edge, gradient_meta
from cython.cimports.minigrad._core.graph.capi import inherit_dealloc
from cython.cimports.minigrad._core.graph.handle import Hooks, add_hook
from cython.cimports.minigrad._core.graph.metadata import DType, Meta, meta_of
from cython.cimports.minigrad._core.graph.node import Node, NodeExtra, retain_output
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, TensorBase, alias, make_tensor, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.mutation.inplace import count_write
from cython.cimports.minigrad._core.record.forward_ad import tangent_of
from cython.cimports.minigrad._core.record.view_base import requires_grad

from minigrad._core.graph.locks import registering
from minigrad._core.graph.metadata import CPU
from minigrad._core.surface.operators import Operators
from minigrad.errors import AutogradError, AutogradTypeError, DtypeError


@cython.binding(False)
@cython.cclass
class Variable(Operators):
    """The attributes of a tensor that autograd defines, such as `grad`, `grad_fn` and `requires_grad`."""

    # ---- metadata ---------------------------------------------------------------------------------------

    @property
    def shape(self):
        """The size of each dimension, a `Size`."""
        return self._meta.size

    @property
    def dtype(self):
        """The type of the elements, such as ``mg.float32``."""
        return self._meta.dtype

    @property
    def device(self):
        """The device of the elements, a `Device`."""
        return self._meta.device

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._meta.ndim

    # ---- place in the graph ---------------------------------------------------------------------------------

    @property
    def requires_grad(self):
        """Whether a gradient needs to be computed for this tensor.

        You can set it on leaves. Raises `RuntimeError` if the dtype has no gradients, the value is not a bool, or the tensor
        is not a leaf.
        """
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value):
        if value is not True and value is not False:
            raise AutogradError("MG-E150", "requires_grad must be a bool", found=type(value).__name__)
        if self._node is not None:
            raise AutogradError(
                "MG-E113", "you can only change requires_grad flags of leaf variables.", node=self._node.name(),
                fix="to use a computed variable without its history write y = x.detach()")
        if value and self._inference and not current().inference:
            raise AutogradError("MG-E123", "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
                                fix="clone() it to get a normal tensor")
        if value and not self._meta.dtype.differentiable:
            raise DtypeError("MG-E112", "only Tensors of floating point dtype can require gradients",
                                found=self._meta.dtype.name, fix="x.float().requires_grad_()")
        self._leaf_requires_grad = value

    @requires_grad.deleter
    def requires_grad(self):
        raise AutogradError("MG-E150", "requires_grad must be a bool", found="del x.requires_grad", fix="x.requires_grad = False")

    @property
    def is_leaf(self):
        """Whether this tensor has no `grad_fn`: no recorded op made it."""
        return self.grad_fn is None

    @property
    def grad_fn(self):
        """The node of the op that made this tensor, or None for a leaf."""
        if self._view_base is not None:
            gradient_edge(self)       # regenerates the history of a stale view: see views.py
        return self._node

    @property
    def output_nr(self):
        """The number of this tensor among the outputs of its op; 0 for a leaf."""
        return self._output_number

    @property
    def grad(self):
        """The accumulated gradient, a tensor with the shape, dtype and device of this one; None before the first backward.

        You can set it to None, or to a tensor of this shape, dtype and device. Another tensor raises `RuntimeError`, any other
        object `TypeError`. Reading it on a non-leaf that does not retain its gradient warns.
        """
        extra = self._extra
        if extra is not None and extra.grad is not None:
            return extra.grad
        if self._node is not None and (extra is None or not extra.retains_grad):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
                "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.", UserWarning, stacklevel=2)
        return None

    @grad.setter
    def grad(self, value):
        if value is None:
            if self._extra is not None:
                self._extra.grad = None
            return
        if not isinstance(value, TensorBase):
            raise AutogradTypeError("MG-E114", f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
        if value is self:
            raise AutogradError("MG-E114", "can't assign Variable as its own grad")
        meta: Meta = cython.cast(TensorBase, value)._meta
        if meta.shape != self._meta.shape:
            raise AutogradError("MG-E114", f"attempting to assign a gradient of size '{list(meta.shape)}' to a tensor of "
                                f"size '{list(self._meta.shape)}'. Please ensure that the gradient and the tensor are the same "
                                "size")
        expected: Meta = gradient_meta(self)
        if meta.dtype is not expected.dtype and expected.dtype is not None:
            what = "grad_dtype" if expected is not self._meta else "dtype"
            raise AutogradError("MG-E114", f"attempting to assign a gradient with dtype {meta.dtype.name} to a tensor "
                                f"with {what} {expected.dtype.name}.")
        if meta.device != self._meta.device:
            raise AutogradError("MG-E114", f"attempting to assign a gradient with device {meta.device} to a tensor "
                                f"with device {self._meta.device}.")
        self.extras().grad = value

    @grad.deleter
    def grad(self):
        if self._extra is not None:
            self._extra.grad = None

    @property
    def grad_dtype(self):
        """The dtype to which gradients are converted before they are added to `grad`. None: they keep their dtype.

        The default is the tensor's own dtype. Only for leaves. Raises `RuntimeError` on a non-leaf, if the value is not a
        dtype, and if there is already a gradient of another dtype. Mirrors ``torch.Tensor.grad_dtype``.

        >>> x = mg.ones(2, requires_grad=True)
        >>> x.grad_dtype = mg.float64
        >>> x.sum().backward(); x.grad
        tensor([1., 1.], dtype=minigrad.float64)
        """
        if self.grad_fn is not None:
            raise AutogradError("MG-E113", "grad_dtype can only be accessed on leaf tensors.", node=self.grad_fn.name())
        return cython.cast(Meta, gradient_meta(self)).dtype

    @grad_dtype.setter
    def grad_dtype(self, value):
        if self.grad_fn is not None:
            raise AutogradError("MG-E113", "grad_dtype can only be set on leaf tensors.", node=self.grad_fn.name())
        if value is not None and not isinstance(value, DType):
            raise AutogradError("MG-E114", f"grad_dtype must be a dtype or None, but got {type(value).__name__}")
        if value is not None and self._extra is not None and self._extra.grad is not None:
            present: Meta = cython.cast(TensorBase, self._extra.grad)._meta
            if present.dtype is not value:
                raise AutogradError("MG-E114", f"Cannot set grad_dtype to {value.name} because there is already a gradient with "
                                    f"dtype {present.dtype.name}.", fix="x.grad = None first")
        choose_grad_dtype(self, value)

    def register_hook(self, hook):
        """Call ``hook(grad)`` each time the gradient of this tensor has been computed.

        Args:
            hook (callable): called with the gradient, a tensor, or None if it is undefined. It returns a tensor of the same
                shape, dtype and device, which replaces the gradient, or None to change nothing.

        Returns:
            RemovableHandle: ``handle.remove()`` removes the hook.

        Raises:
            RuntimeError: this tensor requires no gradient.
            TypeError: `hook` is not callable.

        Mirrors ``torch.Tensor.register_hook``.

        >>> x = mg.tensor([1., 2.], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward(); x.grad
        tensor([10., 10.])
        """
        if not requires_grad(self):
            raise AutogradError("MG-E111", "cannot register a hook on a tensor that doesn't require gradient",
                                fix="x.requires_grad_()")
        if cython.compiled:     # See Note [Two threads, one table of hooks]
            return add_tensor_hook(self, hook)
        else:
            with registering:
                return add_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Call ``hook(self)`` each time ``.grad`` of this leaf has been updated.

        Args:
            hook (callable): called with this leaf. It must return None.

        Returns:
            RemovableHandle: ``handle.remove()`` removes the hook.

        Raises:
            RuntimeError: this tensor does not require a gradient, or is not a leaf.
            TypeError: `hook` is not callable.

        Mirrors ``torch.Tensor.register_post_accumulate_grad_hook``.

        >>> x = mg.tensor([1., 2.], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
        """
        if not requires_grad(self):
            raise AutogradError("MG-E111", "cannot register a hook on a tensor that doesn't require gradient",
                                fix="x.requires_grad_()")
        if self.grad_fn is not None:
            raise AutogradError("MG-E111", "post accumulate grad hooks cannot be registered on non-leaf tensors",
                                node=self.grad_fn.name(), fix="register_hook() sees the gradients of non-leaves")
        if cython.compiled:     # See Note [Two threads, one table of hooks]
            return add_post_accumulate_hook(self, hook)
        else:
            with registering:
                return add_post_accumulate_hook(self, hook)

    def retain_grad(self):
        """Make backward store the gradient of this non-leaf in `grad`. Does nothing on a leaf.

        Raises:
            RuntimeError: this tensor requires no gradient.

        Mirrors ``torch.Tensor.retain_grad``.

        >>> x = mg.tensor(2., requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad(); (y * y).backward(); y.grad
        tensor(12.)
        """
        if not self.requires_grad:
            raise AutogradError("MG-E111", "can't retain_grad on Tensor that has requires_grad=False", fix="x.requires_grad_()")
        node = self.grad_fn
        extra = self.extras()
        if node is None or extra.retains_grad:
            return
        retain_output(node, self._output_number, weakref.ref(self))
        extra.retains_grad = True

    def detach(self):
        """Return a tensor on the same storage without history. It does not require a gradient.

        It shares the version counter, so a write to it is noticed by nodes that saved this tensor.

        >>> x = mg.tensor([1.], requires_grad=True)
        >>> x.detach()
        tensor([1.])
        """
        return alias(self)

    def detach_(self):
        """Remove the history of this tensor, in place: it becomes a leaf that does not require a gradient.

        In inference mode, and on an inference tensor, it does nothing, as in PyTorch.

        Raises:
            RuntimeError: this tensor is a view.

        >>> x = mg.tensor([1.], requires_grad=True) * 2
        >>> x.detach_()
        tensor([2.])
        """
        if self._inference or current().inference:
            return self
        if self._view_base is not None:
            raise AutogradError("MG-E115", "Can't detach views in-place. Use detach() instead.")
        hooks = find_hooks(self)
        if hooks is not None:
            self.extras().hooks = hooks
        self._node = None
        self._output_number = 0
        self._leaf_requires_grad = False
        if self._extra is not None:
            self._extra.dual = None
        return self

    @property
    def data(self):
        """A tensor on the same storage, without history *and* without the version counter.

        A write to it is not noticed, and can make gradients wrong without an error: prefer `detach`. An assignment to it
        replaces the numbers of this tensor, which keeps its place in the graph.
        """
        tensor = wrap(self._array, self._meta)
        tensor._inference = self._inference
        return tensor

    @data.setter
    def data(self, value):
        if not isinstance(value, TensorBase):
            raise AutogradTypeError("MG-E115", f"Variable data has to be a tensor, but got {type(value).__name__}")
        source = cython.cast(TensorBase, value)
        if (self._leaf_requires_grad or self._node is not None) and not source._meta.dtype.differentiable:
            raise AutogradError("MG-E115", "data set to a tensor that requires gradients must be floating point or complex dtype",
                                found=source._meta.dtype.name)
        if not self._meta.fits(source._meta):
            forget_accumulator(self)        # it expects gradients of the old shape, dtype and device
        self._array = source._array
        self._meta = source._meta
        self._inference = self._inference and source._inference

    @data.deleter
    def data(self):
        raise AutogradError("MG-E115", "Deleting tensor data is not allowed. Delete tensor instead!", fix="del x, or x = None")

    def is_inference(self):
        """Whether the tensor was made in inference mode.

        >>> mg.zeros(2).is_inference()
        False
        """
        return bool(self._inference)

    def bump(self, name):
        """Count a write to the storage that is about to happen. `name` is the function that writes."""
        count_write(self, name)

    def _set_version(self, version):
        """Ignore the writes since `version`. See `minigrad.autograd._unsafe_preserve_version_counter`."""
        counter = self.shared_counter()
        counter.value = version
        if counter.log is not None:
            counter.log = deque([entry for entry in counter.log if entry[0] <= version], counter.log.maxlen)

    def _version_counter(self):
        """The version counter, which all tensors on this storage share."""
        return self.shared_counter()

    @property
    def retains_grad(self):
        """Whether backward stores the gradient of this non-leaf in `grad`."""
        return self._extra is not None and self._extra.retains_grad

    @property
    def _version(self):
        """The number of in-place writes to this tensor's storage. Raises `RuntimeError` for an inference tensor."""
        if self._inference:
            raise AutogradError("MG-E123", "Inference tensors do not track version counter.",
                                fix="clone() it to get a normal tensor")
        return self.version()

    @property
    def _base(self):
        """The base of this view, or None if the tensor is not a view."""
        return self._view_base

    def _is_view(self):
        return self._view_base is not None

    @property
    def _tangent(self):
        """The tangent in forward-mode AD, or None. See `minigrad.autograd.forward_ad`."""
        return tangent_of(self)

    @property
    def _backward_hooks(self):
        return find_hooks(self)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks):
        replace_hooks(self, hooks)


inherit_dealloc(Variable, Operators)


@cython.cfunc
def find_hooks(tensor: TensorBase) -> object:
    """The hooks of `tensor`, or None if it has none. The output of an op has them at its node, and a leaf has them itself."""
    node: Node = tensor._node
    if node is None:
        return None if tensor._extra is None else tensor._extra.hooks
    if node.extra is not None and node.extra.tensor_hooks is not None:
        for hooks in node.extra.tensor_hooks:
            if cython.cast(Hooks, hooks).output == tensor._output_number:
                return hooks
    return None


@cython.cfunc
def add_tensor_hook(tensor: TensorBase, hook) -> object:
    """Register `hook` on `tensor`, where its node finds it."""
    node = gradient_edge(tensor)      # first, because a stale view gets a new grad_fn here, and its hooks stay on the old one
    known = find_hooks(tensor)
    if known is not None:
        handle = add_hook(known, hook)
    else:
        hooks: Hooks = Hooks.__new__(Hooks)     # compiled, this calls no Python
        hooks.output = tensor._output_number
        handle = add_hook(hooks, hook)
        if tensor._node is None:
            tensor.extras().hooks = hooks
        else:
            extra: NodeExtra = node.extras()
            extra.tensor_hooks = (hooks,) if extra.tensor_hooks is None else (*extra.tensor_hooks, hooks)
    if node is not None:
        node.hooked = True
    return handle


@cython.cfunc
def replace_hooks(tensor: TensorBase, hooks) -> object:
    """Replace the hooks of a leaf with `hooks`, a dict or None. As in PyTorch, a grad_fn keeps its registered hooks."""
    node = gradient_edge(tensor)
    tensor.extras().hooks = hooks
    if node is not None and hooks:
        node.hooked = True
    return None


@cython.cfunc
def add_post_accumulate_hook(leaf: TensorBase, hook) -> object:
    """Register `hook` on `leaf`, where its AccumulateGrad finds it."""
    extra: AutogradMeta = leaf.extras()
    hooks = Hooks.__new__(Hooks) if extra.post_accumulate_hooks is None else extra.post_accumulate_hooks
    handle = add_hook(hooks, hook)
    extra.post_accumulate_hooks = hooks
    node = gradient_edge(leaf)
    if node is not None:
        node.hooked = True
    return handle


def new_tensor(cls, array, requires_grad=False, device=CPU):
    """Make a leaf of class `cls` around `array`. Every tensor that is not the result of an op is made here.

    A NumPy array is copied to `device` if that is not the CPU.
    """
    if device is not CPU and isinstance(array, np.ndarray):
        array = device.backend.kernels.from_host(array, True)
    tensor = cython.cast(TensorBase, make_tensor(cls, array, meta_of(array, device)))
    tensor._inference = current().inference
    if requires_grad:
        cython.cast(object, tensor).requires_grad = True
    return tensor


def as_class(tensor, cls):
    """An instance of `cls` with all fields of `tensor`."""
    source = cython.cast(TensorBase, tensor, typecheck=True)
    out = cython.cast(TensorBase, make_tensor(cls, source._array, source._meta))
    out._node = source._node
    out._output_number = source._output_number
    out._leaf_requires_grad = source._leaf_requires_grad
    out._inference = source._inference
    out._view_base = source._view_base
    out._base_version = source._base_version
    out._creation = source._creation
    out._counter = source._counter
    out._extra = source._extra
    return out
