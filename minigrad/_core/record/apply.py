"""Run an op: compute its forward on the arrays, and make a node for the backward if an input requires a gradient.

    x * b     binary(mul, x, b)
                1. out = a tensor around kernel(x's array, b's array)
                2. does x or b require a gradient, and is grad mode on?
                3. record: make a node with edges to their nodes, and save the values that mul's plan names

Note [Fast and slow paths]
    `binary` and `unary` first try the usual case: tensors of floats or integers, of the public class, with identical metadata,
    and no mode that gives an op more work. Then the forward is one call of a kernel. `apply_mixed` has all other cases: type
    promotion, numbers of unusual types, subclasses, forward-mode AD. It gives the same result in the usual case, but
    takes four times as long.

Mirrors the generated ``torch/csrc/autograd/generated/VariableType.cpp``. Read next: `gradient_edge` in
``graph/accumulate_grad.py``, then ``op_node.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.broadcasting import broadcast_shape
from cython.cimports.minigrad._core.graph.capi import (
    as_tuple,
    call2,
    call3,
    new_tuple,
    put_item,
    try_call1,
    try_call2,
    try_call_rest,
    try_call_rest2,
)
from cython.cimports.minigrad._core.graph.metadata import Backend, Device, DType, backend_of, meta_of
from cython.cimports.minigrad._core.graph.tensor import is_plain, make_tensor, wrap
from cython.cimports.minigrad._core.graph.thread_state import State, current
from cython.cimports.minigrad._core.record.forward_ad import push_tangents
from cython.cimports.minigrad._core.record.interceptor import intercept
from cython.cimports.minigrad._core.record.op_node import record, record_many
from cython.cimports.minigrad._core.record.operands import (
    check_same_device,
    not_a_tensor_error,
    to_constant_argument,
    to_constant_arguments,
    translate_kernel_error,
)
from cython.cimports.minigrad._core.record.packed_tensor import save_early
from cython.cimports.minigrad._core.record.view_base import base_requires_grad, make_view

from minigrad._core.graph.metadata import INTEGER
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.primitive import Primitive
from minigrad._core.record.promotion import check_dtypes, default_dtype, dtype_of_number, operands_dtype
from minigrad._core.record.view_base import CreationMeta

WHOLE = cython.declare(cython.int, INTEGER)
DEFAULT = cython.declare(cython.int, CreationMeta.DEFAULT)
MULTI_OUTPUT_NODE = cython.declare(cython.int, CreationMeta.MULTI_OUTPUT_NODE)
# The mask of a variadic op: its one formula gets a tuple that says which gradients are needed.
ALL = cython.declare(cython.longlong, -1)


def binary(op, x, y):
    """Run an elementwise op on two operands. Returns NotImplemented if one of them is not a tensor or a number."""
    state = current()
    if state.fast_path and is_plain(x):
        if is_plain(y):
            return on_two_tensors(op, state, cython.cast(TensorBase, x), cython.cast(TensorBase, y))
        if (type(y) is float or type(y) is int) and keeps_dtype(op, cython.cast(TensorBase, x)._meta.dtype, y):
            return on_number(op, state, cython.cast(TensorBase, x), y)
    if op.commutative and is_plain(y) and not isinstance(x, TensorBase):
        return binary(op, y, x)         # 2 * x is x * 2, as in PyTorch
    return apply_mixed(op, state, (x, y))


@cython.cfunc
def keeps_integers(op: Primitive, dtype: DType) -> cython.bint:
    """Whether `dtype` is one of integers (not bool, which some rules refuse), and `op` computes with them as they are."""
    return dtype.category == WHOLE and not op.floats_only


@cython.cfunc
def keeps_dtype(op: Primitive, dtype: DType, number) -> cython.bint:
    """Whether `op` of a tensor of `dtype` and a Python number computes in `dtype`. Each integer dtype has the numbers 0 to 127."""
    return dtype.is_floating_point or (keeps_integers(op, dtype) and type(number) is int and 0 <= number < 128)


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.nonecheck(False)
@cython.cfunc
def on_two_tensors(op: Primitive, state: State, a: TensorBase, b: TensorBase) -> object:
    """`binary` for two tensors."""
    floats: cython.bint = a._meta.dtype.is_floating_point
    same: cython.bint = a._meta is b._meta and op.result is None and floats         # integers may become floats
    if not (floats or keeps_integers(op, a._meta.dtype)) or not (same or (a._meta.dtype is b._meta.dtype
                                                                          and a._meta.backend is b._meta.backend)):
        return apply_mixed(op, state, (a, b))
    if a._lent and same and a._meta.backend.in_place[op.kernel] is not None:
        a._lent = False
        call3(a._meta.backend.in_place[op.kernel], a._array, b._array, a._array)
        return a
    array = try_call2(a._meta.backend.table[op.kernel], a._array, b._array)
    if array is None:
        return apply_mixed(op, state, (a, b))      # raises the error
    out = wrap(array, a._meta if same else meta_of(array, a._meta.device))
    if op.result is None and state.grad_enabled and op.differentiable and floats:
        record_pair(op, state, a, b, out)
    return out


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.nonecheck(False)
@cython.cfunc
def on_number(op: Primitive, state: State, a: TensorBase, number) -> object:
    """`binary` for a tensor and a Python number."""
    if a._lent and op.result is None and a._meta.backend.in_place[op.kernel] is not None:
        a._lent = False
        call3(a._meta.backend.in_place[op.kernel], a._array, number, a._array)
        return a
    array = try_call2(a._meta.backend.table[op.kernel], a._array, number)
    if array is None:
        return apply_mixed(op, state, (a, number))
    if op.result is not None or not a._meta.dtype.is_floating_point:        # integers may become floats
        return wrap(array, meta_of(array, a._meta.device))
    out = wrap(array, a._meta)
    if state.grad_enabled and op.differentiable:
        e = gradient_edge(a)
        if e is not None and not (a._inference and all_inference(op, (a,), (a, number)[:op.inputs])):
            # a number counts as an input of + - * /, as in PyTorch, but not of x ** 2
            record(op, state, 1, op.inputs, e, None, (a._output_number, 0) if a._output_number else None, out, a, number, None)
        elif a._view_base is not None:
            record_if_required(op, state, (a, number), (a, number)[:op.inputs], out, None)
    return out


@cython.nonecheck(False)
@cython.cfunc
def record_pair(op: Primitive, state: State, a: TensorBase, b: TensorBase, out: TensorBase) -> object:
    """Record an op on two tensors if one of them requires a gradient."""
    e = gradient_edge(a)
    f = gradient_edge(b)
    if (e is not None or f is not None) and not (a._inference and b._inference):
        record(op, state, (e is not None) | ((f is not None) << 1), 2, e, f, output_numbers(a, b), out, a, b, None)
    elif a._view_base is not None or b._view_base is not None:
        record_if_required(op, state, (a, b), (a, b), out, None)
    return None


@cython.boundscheck(False)
@cython.wraparound(False)
def unary(op, x):
    """Run an elementwise op on one tensor."""
    state = current()
    if state.fast_path and is_plain(x):
        a = cython.cast(TensorBase, x)
        if a._meta.dtype.is_floating_point and op.result is None:
            if a._lent and a._meta.backend.in_place[op.kernel] is not None:
                a._lent = False
                call2(a._meta.backend.in_place[op.kernel], a._array, a._array)
                return a
            array = try_call1(a._meta.backend.table[op.kernel], a._array)
            if array is None:
                return apply_mixed(op, state, (x,))
            out = wrap(array, a._meta)
            if state.grad_enabled and op.differentiable:
                e = gradient_edge(a)
                if e is not None and not (a._inference and all_inference(op, (x,), ())):
                    record(op, state, 1, 1, e, None, (a._output_number,) if a._output_number else None, out, x, None, None)
                elif a._view_base is not None:
                    record_if_required(op, state, (x,), (x,), out, None)
            return out
    return apply_mixed(op, state, (x,))


@cython.cfunc
def output_numbers(a: TensorBase, b: TensorBase) -> object:
    if a._output_number or b._output_number:
        return (a._output_number, b._output_number)
    return None


def apply_mixed(op, state, operands):
    """Run an elementwise op on any operands: tensors that broadcast, with mixed dtypes, and numbers."""
    if op.commutative and not isinstance(operands[0], TensorBase):
        operands = (operands[1], operands[0])
    if state.autocast is not None:
        operands = state.autocast.convert(op.name, operands)
    first: TensorBase = None
    for x in operands:
        if isinstance(x, TensorBase):
            first = check_same_device(op, first, cython.cast(TensorBase, x))
        elif dtype_of_number(x) is None:
            return NotImplemented
    if first is None:
        return NotImplemented
    if state.interceptors:
        return apply_intercepted(op, state, operands, operands[:op.inputs])
    dtype: DType = operands_dtype(operands)
    check_dtypes(op.rule, dtype, operands)
    if op.floats_only and not dtype.differentiable:
        dtype = default_dtype()
    backend: Backend = backend_of(dtype, first._meta.device)
    kernels = backend.kernels
    try:
        arrays = [kernels.cast(cython.cast(TensorBase, x)._array, dtype.numpy) if isinstance(x, TensorBase)
                  else kernels.number(x, dtype.numpy) for x in operands]
        array = backend.table[op.kernel](*arrays)
    except (ValueError, IndexError, MemoryError, OverflowError) as error:
        broadcast_shape([cython.cast(TensorBase, x)._meta for x in operands if isinstance(x, TensorBase)])
        raise translate_kernel_error(op.name, error) from None
    return wrap_results(op, state, operands, operands[:op.inputs], array, first._meta.device)


def call(op, args):
    """Run an op that is not elementwise. `args`: first its tensors (None for an optional one), then its other arguments.

    The public functions have checked the arguments. Returns a tensor or a tuple of tensors.
    """
    state = current()
    if op.inputs == 1 and not op.variadic and state.fast_path and is_plain(args[0]):
        return call_one(op, args, state, None)
    return call_any(op, args, state)


@cython.cfunc
def call_any(op: Primitive, args: tuple, state: State) -> object:
    """`call` for any op, tensors and modes."""
    if not state.fast_path and state.autocast is not None:
        args = state.autocast.convert(op.name, args)
    i: cython.Py_ssize_t
    first: TensorBase = None
    backend: Backend = None
    tensors: tuple = args[0] if op.variadic else args
    inputs: cython.Py_ssize_t = len(tensors) if op.variadic else op.inputs
    arrays: list = list(tensors)
    for i in range(len(arrays)):
        x = arrays[i]
        if isinstance(x, TensorBase):
            arrays[i] = cython.cast(TensorBase, x)._array if i < inputs else to_constant_argument(op, i, x)
            if first is None:
                first = x
                backend = first._meta.backend
            elif cython.cast(TensorBase, x)._meta.device is not first._meta.device:
                check_same_device(op, first, x)
            elif cython.cast(TensorBase, x)._meta.backend is not first._meta.backend:
                if backend is first._meta.device.backend:       # see Note [Rounding] in metadata.py
                    backend = cython.cast(TensorBase, x)._meta.backend
        elif i >= inputs:
            arrays[i] = to_constant_argument(op, i, x)
        elif x is not None:
            raise not_a_tensor_error(op, x)
    if first is None:
        raise not_a_tensor_error(op, None)
    if not state.fast_path and state.interceptors:
        return apply_intercepted(op, state, args, tensors[:inputs])
    if not op.variadic:
        array = try_call_rest(op.forward, backend.kernels, arrays, 0)
    elif op.kernel >= 0 and len(args) == 2:
        array = try_call2(backend.table[op.kernel], arrays, args[1])
    else:
        array = try_call_rest2(op.forward, backend.kernels, arrays, args, 1)
    if array is None:
        array = call_again(op, backend, (arrays, *args[1:]) if op.variadic else arrays)
    return wrap_results(op, state, args, tensors if op.variadic else tensors[:inputs], array, first._meta.device)


@cython.cfunc
def call_again(op: Primitive, backend: Backend, arguments) -> object:
    """Call the forward of `op` once more, because it failed: the kernel's error becomes the one that the op raises."""
    try:
        return op.forward(backend.kernels, *arguments)
    except (ValueError, IndexError, MemoryError, OverflowError) as error:
        raise translate_kernel_error(op.name, error) from None


def call_computed(op, args, array):
    """``call(op, args)`` for an op on one tensor whose forward the caller has computed already: `array`."""
    state = current()
    if state.fast_path and is_plain(args[0]):
        return call_one(op, args, state, array)
    return call(op, args)


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.nonecheck(False)
@cython.cfunc
def call_one(op: Primitive, args: tuple, state: State, array) -> object:
    """`call` for the usual op: one plain tensor, and other arguments, on the fast path. `array`: its result, if it is known."""
    x = cython.cast(TensorBase, args[0])
    if array is not None:
        pass
    elif op.kernel >= 0:
        array = try_call_rest(x._meta.backend.table[op.kernel], x._array, args, 1)
    else:
        array = try_call_rest2(op.forward, x._meta.backend.kernels, x._array, to_constant_arguments(op, args), 1)
    if array is None:
        array = call_again(op, x._meta.backend, (x._array, *to_constant_arguments(op, args)[1:]))
    if type(array) is tuple or type(array) is list:
        return wrap_results(op, state, args, args[:1], array, x._meta.device)
    out = wrap(array, meta_of(array, x._meta.device))
    if op.view:
        make_view(out, x, DEFAULT, state)
    if state.grad_enabled and op.differentiable and out._meta.dtype.differentiable:
        edge = gradient_edge(x)
        if edge is not None and not (x._inference and all_inference(op, args, ())):
            record(op, state, 1, 1, edge, None, (x._output_number,) if x._output_number else None, out, None, None, args)
        elif x._view_base is not None:
            record_if_required(op, state, args, args[:1], out, None)
    return out


@cython.cfunc
def wrap_results(op: Primitive, state: State, args: tuple, tensors: tuple, array, device: Device) -> object:
    """Wrap the result of a forward, one array or several, in tensors, and record the op."""
    cls = None
    for x in tensors:
        if not is_plain(x) and isinstance(x, TensorBase):
            cls = type(x)._result_class(cls)
    if type(array) is tuple or type(array) is list:
        outs = [wrap_result(op, item, device, cls, tensors, MULTI_OUTPUT_NODE, state) for item in array]
        return record_results(op, state, args, tensors, outs)
    return record_results(op, state, args, tensors, wrap_result(op, array, device, cls, tensors, DEFAULT, state))


@cython.cfunc
def record_results(op: Primitive, state: State, args: tuple, tensors: tuple, results) -> object:
    """Record an op whose results are known: a tensor, or a list of tensors. Returns the tensor, or a tuple."""
    outs: list = results if type(results) is list else None
    if state.grad_enabled and op.differentiable and (outs is None or outs):
        record_if_required(op, state, args, tensors, results if outs is None else outs[0], outs)
    if not state.fast_path:
        flag_outputs(op, state, args, tensors, [results] if outs is None else outs)
    return results if outs is None else tuple(outs)


@cython.cfunc
def apply_intercepted(op: Primitive, state: State, args: tuple, tensors: tuple) -> object:
    """Run an op through the innermost interceptor (interceptor.py), and record it like any other op."""
    if state.saved_hooks and state.grad_enabled and op.differentiable:
        save_early(op, state, args, tensors)
    return record_results(op, state, args, tensors, intercept(op, state, args))


@cython.cfunc
def wrap_result(op: Primitive, array, device: Device, cls, tensors: tuple, creation: cython.int, state: State) -> TensorBase:
    """Wrap one result in a tensor of the class `cls` (None: the public class). The result of a view op becomes a view."""
    meta = meta_of(array, device)
    out: TensorBase = wrap(array, meta) if cls is None else make_tensor(cls, array, meta)
    if op.view:
        make_view(out, tensors[0], creation, state)
    return out


@cython.cfunc
def record_if_required(op: Primitive, state: State, args: tuple, tensors: tuple, out: TensorBase, outs) -> object:
    """Record the op if one of its inputs requires a gradient. The mask has only the inputs with an edge.

    A view made under no_grad has no edge, but requires a gradient if its base does.
    """
    mask: cython.longlong = 0
    required: cython.bint = False
    numbered: cython.bint = False
    normal: cython.bint = False     # whether one of them is not an inference tensor
    i: cython.Py_ssize_t
    edges: tuple = new_tuple(len(tensors))
    for i in range(len(tensors)):
        x = tensors[i]
        edge = None
        if isinstance(x, TensorBase):
            normal |= not cython.cast(TensorBase, x)._inference
            edge = gradient_edge(x)
            if edge is not None:
                numbered |= cython.cast(TensorBase, x)._output_number != 0
                mask = ALL if op.variadic else mask | (1 << i)
            elif cython.cast(TensorBase, x)._view_base is not None and base_requires_grad(x):
                required = True
        put_item(edges, i, edge)
    if (mask == 0 and not required) or (not normal and all_inference(op, args, tensors)):
        return None
    if outs is None and not out._meta.dtype.differentiable:
        return None
    numbers = None
    if numbered:
        numbers = tuple([0 if edge is None else cython.cast(TensorBase, x)._output_number for x, edge in zip(tensors, edges)])
    record_many(op, state, mask, as_tuple(edges), numbers, out, outs, args)
    return None


@cython.cfunc
def all_inference(op: Primitive, args: tuple, tensors: tuple) -> cython.bint:
    """Whether all tensors of an op are inference tensors: then the op is not recorded, even outside inference mode.

    A number instead of a tensor counts as a normal tensor, because PyTorch converts it to one. PyTorch does the same: its
    dispatcher reaches the autograd keys only if some tensor has them.
    """
    if op.rule.always_recorded:
        return False
    for x in tensors:
        if x is not None and not isinstance(x, TensorBase) and not isinstance(x, tuple):
            return False
    for x in args:
        if isinstance(x, tuple):
            if not all_inference(op, x, ()):
                return False
        elif isinstance(x, TensorBase) and not cython.cast(TensorBase, x)._inference:
            return False
    return True


def flag_outputs(op, state, args, tensors, outs):
    """Mark the results as inference tensors in inference mode, and compute their tangents in forward-mode AD."""
    for out in outs:
        if state.inference and cython.cast(TensorBase, out)._view_base is None:
            cython.cast(TensorBase, out)._inference = True
    if state.forward and op.differentiable and not all_inference(op, args, tensors):
        push_tangents(op, args, tensors, outs, state)
