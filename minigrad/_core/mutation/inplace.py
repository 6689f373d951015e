"""In-place ops: an op whose result replaces the numbers of its first operand.

    x.mul_(y)      the rule of mul, then:
                   1. check      may x be written to?                        before anything is touched
                   2. compute    the new numbers, in the dtype of x
                   3. save       the operands that the formulas need; for x itself a copy of the old numbers
                   4. increase the version, and write
                   5. rebase     the op's node becomes x's history           views.py
                   6. save       the results that the formulas need, at the new version

The node is the same as for the out-of-place op, and its first edge leads to x's old history.

Mirrors the in-place functions of the generated ``VariableType.cpp`` and ``check_inplace`` in
torch/csrc/autograd/VariableTypeUtils.h.
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.broadcasting import broadcast_shape
from cython.cimports.minigrad._core.graph.capi import call2, call3, has_shape, is_c_contiguous, recycle, reference_count
from cython.cimports.minigrad._core.graph.metadata import DType, Meta, dtype_of
from cython.cimports.minigrad._core.graph.node import Node
from cython.cimports.minigrad._core.graph.tensor import wrap
from cython.cimports.minigrad._core.graph.thread_state import State, current
from cython.cimports.minigrad._core.mutation.views import check_creation, locate_view, rebase_history
from cython.cimports.minigrad._core.record.forward_ad import after_write, before_write, overlaps_itself, set_tangent, tangent_of
from cython.cimports.minigrad._core.record.interceptor import redispatch
from cython.cimports.minigrad._core.record.op_node import OpNode, describe_argument, new_node
from cython.cimports.minigrad._core.record.operands import check_same_device, to_kernel_argument, translate_kernel_error
from cython.cimports.minigrad._core.record.primitive import Plan
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta
from cython.cimports.minigrad._core.record.view_base import requires_grad

from minigrad._core.graph.metadata import INTEGER
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.primitive import Primitive, Source
from minigrad._core.record.promotion import check_dtypes, default_dtype, operands_dtype
from minigrad.errors import AutogradError, DtypeError, ShapeError

SHAPE = cython.declare(cython.int, Source.SHAPE)
WHOLE = cython.declare(cython.int, INTEGER)
ndarray = cython.declare(object, np.ndarray)


def check_inplace(target):
    """Raise if a recorded op may not write to `target`. Returns `locate_view(target)` for a view, else None."""
    base: TensorBase = None
    geometry: tuple = None
    if target._view_base is not None:
        check_creation(target, False)
        base = target._view_base
        if base._node is None and (base._leaf_requires_grad or target._leaf_requires_grad or target._node is not None):
            raise AutogradError(
                "MG-E121", "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                tensor=describe_meta(target._meta), fix="write under no_grad(), or to a clone() of the leaf")
        geometry = locate_view(target)
    if target._leaf_requires_grad and target._node is None:
        raise AutogradError(
            "MG-E121", "a leaf Variable that requires grad is being used in an in-place operation.",
            tensor=describe_meta(target._meta),
            fix="to change a parameter by hand, do it under no_grad(); otherwise use an out-of-place op, x = x + 1")
    return geometry


def check_memory(target: TensorBase):
    """Raise if several elements of `target` have the same place in memory (expand()), or its memory is read-only."""
    if type(target._array) is ndarray and is_c_contiguous(target._array):
        return
    if target._meta.numel and overlaps_itself(target):
        raise AutogradError(
            "MG-E122", "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location.", tensor=describe_meta(target._meta), fix="clone() the tensor before performing the operation")
    if not target._array.flags.writeable:
        raise AutogradError("MG-E122", "the written-to tensor is on the memory of a NumPy array that is read-only",
                            tensor=describe_meta(target._meta), fix="copy the array before making a tensor of it")


def check_overlap(target: TensorBase, operand: TensorBase):
    """Raise if `operand` overlaps the memory of `target` in part. No overlap is allowed, and so is exactly the same memory."""
    if operand is target or operand._array is target._array or not shares_memory(operand._array, target._array):
        return
    strides, shape, steps, offset = target._meta.backend.kernels.geometry(operand._array, target._array)
    if shape == target._meta.shape and steps == strides and offset == 0:
        return
    if is_dense(target._array) and is_dense(operand._array):
        raise AutogradError(
            "MG-E122", "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location.", tensor=describe_meta(target._meta),
            found=f"an operand {describe_meta(operand._meta)} in the same memory",
            fix="clone() the tensors before performing the operation")


@cython.cfunc
def shares_memory(x, y) -> cython.bint:
    """Whether two arrays may share memory. For a GPU array, its attribute `layout` stands for its memory."""
    if type(x) is not ndarray or type(y) is not ndarray:
        x, y = getattr(x, "layout", x), getattr(y, "layout", y)
    return np.may_share_memory(x, y)


@cython.cfunc
def is_dense(array) -> cython.bint:
    """Whether the elements fill their memory without gaps, in any order of the dimensions."""
    step = array.itemsize
    for stride, size in sorted([(s, n) for s, n in zip(array.strides, array.shape) if n != 1]):
        if stride != step:
            return False
        step *= size
    return True


def apply_inplace(op, target, others):
    """Run `op` in place on `target`, with the other arguments `others`. Returns `target`."""
    state: State = current()
    if target._inference and not state.inference:
        raise inference_write_error(target)
    if not state.fast_path or op.kernel < 0 or not fast_inplace(op, target, others, state):
        general_inplace(op, target, others, state)
    return target


def begin_write(target: TensorBase, name):
    """Check that the memory of `target` may be written to, and count the write. Optimizers call this before each update."""
    check_memory(target)
    count_write(target, name)


def count_write(target, name):
    """Count a write to the storage of `target` that is about to happen. `name` is the function that writes."""
    if target._inference and not current().inference:
        raise inference_write_error(target)
    target.shared_counter().bump(name)


def inference_write_error(target):
    """The error for a write to an inference tensor outside inference mode."""
    return AutogradError("MG-E123", "Inplace update to inference tensor outside InferenceMode is not allowed.",
                         tensor=describe_meta(target._meta), fix="clone() it to get a normal tensor")


@cython.cfunc
def fast_inplace(op: Primitive, target: TensorBase, others: tuple, state: State) -> cython.bint:
    """`general_inplace` for an elementwise op on operands that need no conversion. Returns False if it has done nothing."""
    x: TensorBase = None
    e: Node = None
    f: Node = None
    geometry: tuple = None
    floats: cython.bint = target._meta.dtype.is_floating_point
    if len(others) > 1 or op.result is not None or not (floats or (target._meta.dtype.category == WHOLE and not op.floats_only)):
        return False
    if others:
        y = others[0]
        if isinstance(y, TensorBase):
            x = y
            if x._meta is not target._meta and not spreads_over(x._meta, target._meta):
                return False
            if x is not target and x._counter is not None and x._counter is target._counter:
                return False
        elif not (floats and type(y) is float) and not (type(y) is int and (floats or 0 <= y < 128)):   # as keeps_dtype in apply.py
            return False
    if state.grad_enabled and op.differentiable and (requires_grad(target) or (x is not None and requires_grad(x))):
        geometry = check_inplace(target)        # before `gradient_edge`, which raises another error for a stale view
        e = gradient_edge(target)
        if x is not None:
            f = gradient_edge(x)
        if e is None and f is None:
            return False
    check_memory(target)
    kernel = target._meta.backend.in_place[op.kernel] if floats else None
    array = None
    if kernel is None:
        kernel = target._meta.backend.table[op.kernel]
        try:
            array = kernel(target._array) if not others else kernel(target._array, x._array if x is not None else y)
        except (ValueError, MemoryError, OverflowError):
            return False        # `general_inplace` raises the error
        if not floats and dtype_of(array) is not target._meta.dtype:
            return False
        kernel = None
    node: OpNode = None
    if e is not None or f is not None:
        node = new_node(op.plan((e is not None) | ((f is not None) << 1)), state, target._meta)
        node.edges = op.inputs      # a number counts as an input, see `binary` in apply.py
        node.next0 = e
        node.next_rest = f
        if (e is not None and target._output_number) or (f is not None and x._output_number):
            numbers = (target._output_number if e is not None else 0, x._output_number if f is not None else 0)
            node.connect((e, f)[:op.inputs], numbers[:op.inputs])
    write_result(op, target, array, (target, others[0]) if others else (target,), node, geometry, state, kernel)
    return True


@cython.cfunc
def spreads_over(meta: Meta, target: Meta) -> cython.bint:
    """Whether a tensor with `meta` has the dtype and the device of `target`, and broadcasts to its shape."""
    i: cython.Py_ssize_t
    lead: cython.Py_ssize_t = target.ndim - meta.ndim
    if meta.dtype is not target.dtype or meta.device is not target.device or lead < 0:
        return False
    for i in range(meta.ndim):
        if meta.shape[i] != 1 and meta.shape[i] != target.shape[lead + i]:
            return False
    return True


@cython.cfunc
def general_inplace(op: Primitive, target: TensorBase, others: tuple, state: State) -> object:
    """Run any op in place, on any operands."""
    args: tuple = (target, *others)
    inputs: tuple = args[:op.inputs]
    i: cython.int
    mask: cython.longlong = 0
    recorded: cython.bint = False
    geometry: tuple = None
    edges: list = None
    numbers: list = None
    if state.grad_enabled and op.differentiable and target._meta.dtype.differentiable:
        for i in range(len(inputs)):
            if isinstance(inputs[i], TensorBase):
                recorded |= requires_grad(inputs[i])
    if recorded:
        geometry = check_inplace(target)
    check_memory(target)
    if recorded:
        edges, numbers = [], []
        for i in range(len(inputs)):
            edge = gradient_edge(inputs[i]) if isinstance(inputs[i], TensorBase) else None
            if edge is not None:
                mask |= cython.cast(cython.longlong, 1) << i
            edges.append(edge)
            numbers.append(cython.cast(TensorBase, inputs[i])._output_number if edge is not None else 0)
    array = None
    if state.fast_path or not state.interceptors:
        try:
            array = compute_result(op, target, args)
        except (ValueError, IndexError, MemoryError, OverflowError) as error:
            raise translate_kernel_error(op.name, error) from None
    kernel = array if callable(array) else None
    before: tuple = before_write(op, target, args, state) if state.forward else None
    node: OpNode = None
    if recorded:
        node = new_node(op.plan(mask), state, target._meta)
        node.connect(tuple(edges), tuple(numbers) if any(numbers) else None)
    write_result(op, target, array, args, node, geometry, state, kernel)
    if before is not None:
        after_write(op, target, before, state)
    return None


@cython.cfunc
def write_result(op: Primitive, target: TensorBase, array, args: tuple, node: OpNode | None, geometry: tuple | None,
              state: State, kernel=None) -> object:
    """Write the numbers of `array` to `target`. If `node` is given, make it target's grad_fn, for `op(*args)`.

    If `kernel` is given, it computes the numbers directly into `target`, and so moves 12 bytes instead of 20 for a float32. If
    `array` and `kernel` are both None, an interceptor runs the op and writes.
    """
    if node is not None:
        save_inputs(node, target, args, state)
    if kernel is not None:
        first = to_kernel_argument(args[0])
        target.shared_counter().bump(op.name)
        try:
            if kernel is op.write:
                op.write(target._meta.backend.kernels, *[to_kernel_argument(x) for x in args])
            elif len(args) == 1:
                call2(kernel, first, target._array)
            else:
                call3(kernel, first, to_kernel_argument(args[1]), target._array)
        except (ValueError, IndexError, MemoryError, OverflowError) as error:
            raise translate_kernel_error(op.name, error) from None
    elif array is None:
        redispatch(op, state, args, True)
    else:
        counter = target.shared_counter()
        counter.bump(op.name)
        target._meta.backend.copy_(target._array, array)
        if reference_count(array) == 1:      # compiled: only the caller's variable holds it. (Interpreted, there is no pool.)
            recycle(target._meta.backend.recycler, array)
    if node is not None:
        rebase_history(target, node, geometry)
        if cython.cast(Plan, node.plan).saves_output:
            save_outputs(node, target, state)
    return None


@cython.cfunc
def compute_result(op: Primitive, target: TensorBase, args: tuple) -> object:
    """Compute the new numbers in a new array. Raises if they cannot replace the numbers of `target`.

    For operands of one floating point dtype, return the kernel instead, if it can write directly into `target`; and so, if it can,
    `op.write`.
    """
    kernels = target._meta.backend.kernels
    first: TensorBase = target
    for x in args[1:op.inputs]:
        if isinstance(x, TensorBase):
            check_same_device(op, first, x)
            if (target._counter is not None and cython.cast(TensorBase, x)._counter is target._counter
                    and (op.kernel >= 0 or cython.cast(TensorBase, x)._meta.shape == target._meta.shape)):
                check_overlap(target, x)
    if op.kernel >= 0:
        dtype = operands_dtype(args)
        check_dtypes(op.rule, dtype, args)
        if op.floats_only and not dtype.differentiable:
            dtype = default_dtype()
        if op.result is None:
            check_cast(dtype, target)
        shape = broadcast_shape([cython.cast(TensorBase, x)._meta for x in args if isinstance(x, TensorBase)])
        if shape != target._meta.shape:
            raise size_error(target, shape)
        kernel = target._meta.backend.table[op.kernel]
        in_place = target._meta.backend.in_place[op.kernel]
        if in_place is not None and (dtype.is_floating_point or type(target._array) is not ndarray) and all_have_dtype(args, dtype):
            return in_place
        arrays = [kernels.cast(cython.cast(TensorBase, x)._array, dtype.numpy) if isinstance(x, TensorBase)
                  else kernels.number(x, dtype.numpy) for x in args]
        return kernel(*arrays)
    if op.write is not None and (fits(op, args, target) if op.rule.write_overlaps else not reads_storage(args, target)):
        return op.write
    array = op.forward(kernels, *[to_kernel_argument(x) for x in args])
    if not (has_shape(array, target._meta.shape) if type(array) is ndarray else array.shape == target._meta.shape):
        raise size_error(target, array.shape)
    if op.result is None and not op.rule.casts:
        check_cast(dtype_of(array), target)
    return array


@cython.cfunc
def fits(op: Primitive, args: tuple, target: TensorBase) -> cython.bint:
    """Whether the result of an elementwise op has the dtype and the shape of `target`, without a conversion of an operand."""
    if not target._meta.dtype.is_floating_point:
        return False
    for x in args[1:]:
        if isinstance(x, TensorBase):
            if not spreads_over(cython.cast(TensorBase, x)._meta, target._meta):
                return False
        elif x is not None and type(x) is not float and type(x) is not int:
            return False
    return True


@cython.cfunc
def reads_storage(args: tuple, target: TensorBase) -> cython.bint:
    """Whether a tensor in `args`, other than the first, or in a tuple among them, may be in the storage of `target`."""
    for x in args[1:]:
        if isinstance(x, TensorBase):
            if x is target or (target._counter is not None and cython.cast(TensorBase, x)._counter is target._counter):
                return True
        elif type(x) is tuple and reads_storage((None, *x), target):
            return True
    return False


@cython.cfunc
def all_have_dtype(args: tuple, dtype: DType) -> cython.bint:
    """Whether all tensors in `args` have this dtype."""
    for x in args:
        if isinstance(x, TensorBase) and cython.cast(TensorBase, x)._meta.dtype is not dtype:
            return False
    return True


@cython.cfunc
def check_cast(dtype: DType, target: TensorBase) -> object:
    """Raise if `dtype` has a higher category than the dtype of `target`."""
    if dtype.category > target._meta.dtype.category:
        raise DtypeError("MG-E203", f"result type {dtype.name} can't be cast to the desired output type "
                         f"{target._meta.dtype.name}", fix="convert first: x = x.to(...), or use the out-of-place op")
    return None


@cython.cfunc
def size_error(target: TensorBase, shape) -> object:
    """The error for a result whose shape is not the shape of `target`."""
    return ShapeError("MG-E204", f"output with shape {list(target._meta.shape)} doesn't match the broadcast shape {list(shape)}",
                      fix="an in-place op cannot enlarge its tensor: use the out-of-place op")


@cython.cfunc
def save_inputs(node: OpNode, target: TensorBase, args: tuple, state: State) -> object:
    """Save the operands that the formulas need. For `target`, which is about to change, save a copy."""
    plan = cython.cast(Plan, node.plan)
    k: cython.int
    source: cython.int
    for k in range(plan.saved):
        source = plan.source[k]
        if source < 0:
            node.store(k, None, -1, state)     # reserves the slot: `save_outputs` saves the result after the write
        elif source == 0:
            copy = wrap(target._meta.backend.kernels.copy(target._array), target._meta)
            copy._node = target._node
            copy._output_number = target._output_number
            if state.forward and tangent_of(target) is not None:
                set_tangent(copy, upcalls.clone(tangent_of(target)), False)
            node.store(k, copy, -1, state)
        elif source < SHAPE:
            node.store(k, args[source], -1, state)
        else:
            node.store(k, describe_argument(source, args), -1, state)
    return None


@cython.cfunc
def save_outputs(node: OpNode, target: TensorBase, state: State) -> object:
    """Save `target` after the write, for the formulas that need the result."""
    plan = cython.cast(Plan, node.plan)
    k: cython.int
    for k in range(plan.saved):
        if plan.source[k] < 0:
            node.store(k, target, 0, state)
    return None
