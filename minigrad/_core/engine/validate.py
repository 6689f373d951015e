"""Validate a gradient: it must have the shape, dtype and device of its tensor.

    shape    If the tensor broadcasts to the gradient's shape, the gradient is summed. This undoes broadcasting, for every
             op, only here.
    dtype    Another dtype is converted. If a built-in op has a complex result and a real operand, the operand gets the
             real part of a complex gradient (`handle_r_to_c` in PyTorch's formulas). Elsewhere a complex gradient of a
             real tensor is an error.
    device   Another device is an error.

Mirrors validate_outputs of ``torch/csrc/autograd/engine.cpp`` and ``input_metadata.cpp``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import call2
from cython.cimports.minigrad._core.graph.metadata import meta_of
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_plain, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta

from minigrad._core.graph.metadata import Meta
from minigrad._core.graph.node import Node
from minigrad._core.graph.upcalls import upcalls
from minigrad.errors import AutogradError


def validate_gradient(grad, following, number, node, index):
    """Return `grad`, result `index` of `node`, converted for output `number` of `following`. Raises if it does not fit."""
    if not isinstance(grad, TensorBase):
        raise AutogradError("MG-E106", f"Function {node.name()} returned a {type(grad).__name__} as the gradient at "
                            f"index {index}; expected Variable or None")
    meta: Meta = following.output_meta(number)
    found: Meta = cython.cast(TensorBase, grad)._meta
    if found is meta:
        return grad
    if found.dtype.is_complex and meta.dtype is not None and not meta.dtype.is_complex and has_mixed_operands(node):
        grad = upcalls.real(grad)
    return cast_gradient(grad, meta, node, index)


@cython.cfunc
def has_mixed_operands(node: Node) -> cython.bint:
    """Whether `node` belongs to a built-in op with a complex result, which may have real operands."""
    return node.plan is not None and node.number_of_outputs() == 1 and node.output_meta(0).dtype.is_complex


def cast_gradient(grad, meta, node, index):
    """Convert `grad` to the shape and dtype of `meta`. It is result `index` of `node`, or comes from the caller if that is None."""
    found: Meta = cython.cast(TensorBase, grad)._meta
    if found.numel != meta.numel or found.shape != meta.shape:
        if not is_expandable(meta.shape, found.shape):
            raise AutogradError(
                "MG-E106", f"{producer_name(node)} returned an invalid gradient at index {index} - got {list(found.shape)} but "
                f"expected shape compatible with {list(meta.shape)}",
                expected=describe_meta(meta), found=describe_meta(found),
                fix="the gradient of a tensor has the shape of that tensor")
        grad = sum_to(grad, meta)
        found = cython.cast(TensorBase, grad)._meta
        if found is meta:
            return grad
    if found.dtype is not meta.dtype and meta.dtype is not None:
        if not found.dtype.is_floating_point and found.dtype.is_complex != meta.dtype.is_complex:
            raise AutogradError(
                "MG-E106", f"{producer_name(node)} returned an invalid gradient at index {index} - expected dtype "
                f"{meta.dtype.name} but got {found.dtype.name}",
                fix="the gradient of a real tensor is real: take .real" if found.dtype.is_complex else None)
        grad = upcalls.cast(grad, meta.dtype)
    if found.device is not meta.device and found.device != meta.device:
        raise AutogradError(
            "MG-E106", f"{producer_name(node)} returned an invalid gradient at index {index} - expected device {meta.device} but "
            f"got {found.device}")
    return grad


@cython.cfunc
def sum_to(grad: TensorBase, meta: Meta) -> object:
    """`grad` summed to the shape of `meta`. Without a mode that records or watches ops, this is one call of a kernel."""
    state = current()
    if state.grad_enabled or not state.fast_path or not is_plain(grad):
        return upcalls.sum_to(grad, meta.shape)
    found: Meta = grad._meta
    array = call2(found.backend.sum_to, grad._array, meta.shape)
    return wrap(array, meta if found.dtype is meta.dtype and found.device is meta.device else meta_of(array, found.device))


@cython.cfunc
def producer_name(node: Node | None) -> str:
    """The name, for errors, of the node or caller that made a gradient."""
    return "The caller" if node is None else f"Function {node.name()}"


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.cfunc
def is_expandable(small: tuple, large: tuple) -> cython.bint:
    """Whether a tensor of shape `small` can be broadcast to shape `large`."""
    lead: cython.Py_ssize_t = len(large) - len(small)
    i: cython.Py_ssize_t
    if lead < 0:
        return False
    for i in range(len(small)):
        size: cython.Py_ssize_t = small[i]
        if size != 1 and size != cython.cast(cython.Py_ssize_t, large[lead + i]):
            return False
    return True
