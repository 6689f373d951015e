"""The outputs of a custom Function: give the results of forward their history before the caller gets them.

    forward returned            the caller gets
    a new tensor                the tensor; grad_fn is the node
    an input                    a view of it, so that the input keeps its own history
    a view of an input          the view; a write to it or to its base is an error, see
                                Note [How a view was made] in views.py
    an input, mark_dirty        the input itself, whose history is now the node           views.py, `rebase_history`
    mark_non_differentiable,
    an integer tensor           the tensor without history
    an object, not a tensor     the object; it counts as an output, but has no history

All errors are raised before the first history is changed.

Mirrors ``torch/csrc/autograd/custom_function.cpp`` (_wrap_outputs, _process_backward_mode_ad).
"""

import warnings

import cython
from cython.cimports.minigrad._core.function.jvp import push_forward
from cython.cimports.minigrad._core.function.node import is_among
from cython.cimports.minigrad._core.graph.tensor import TensorBase, alias, is_plain, make_tensor, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.mutation.inplace import check_inplace
from cython.cimports.minigrad._core.mutation.views import locate_view, rebase_history
from cython.cimports.minigrad._core.record.saved_tensor import describe_meta
from cython.cimports.minigrad._core.record.view_base import make_view, requires_grad

from minigrad._core.function.node import PyNode
from minigrad._core.record.view_base import CreationMeta
from minigrad.errors import AutogradError

DEFAULT = cython.declare(cython.int, CreationMeta.DEFAULT)
IN_CUSTOM_FUNCTION = cython.declare(cython.int, CreationMeta.IN_CUSTOM_FUNCTION)
MULTI_OUTPUT_NODE = cython.declare(cython.int, CreationMeta.MULTI_OUTPUT_NODE)


def wrap_outputs(node, args, output, executable, state, in_setup):
    """Return the outputs for the caller: a tuple if forward returned a tuple.

    `executable`: the call is recorded. `in_setup`: the Function overrides `setup_context`, where a returned input counts as
    an output.
    """
    if isinstance(output, TensorBase) and executable and not state.forward and is_single_new_tensor(output, node, args):
        out = cython.cast(TensorBase, output)
        out._node = node
        node.meta = out._meta
        if node.to_save is not None:
            node.keep(state, None)
        node.saved_for_forward = None
        return output
    raw: tuple = tuple(output) if isinstance(output, tuple) else (output,)
    dirty = as_tensors(node, node.dirty_tensors, "mark_dirty can only accept variables")
    constant = as_tensors(node, node.non_differentiable, "mark_non_differentiable only accepts variable arguments")
    i: cython.int
    different: cython.int = 0
    metas = []
    opaque = []
    for i in range(len(raw)):
        x = raw[i]
        metas.append(cython.cast(TensorBase, x)._meta if isinstance(x, TensorBase) else None)
        if executable and metas[i] is not None and metas[i].dtype.differentiable and not is_among(x, constant):
            different += 1
        else:
            opaque.append(i)
    for x in dirty:
        counter = cython.cast(TensorBase, x).shared_counter()
        counter.bump(node.name())
    check_outputs(node, raw, args, dirty, opaque, in_setup and executable)

    if executable:
        node.meta = metas[0] if len(raw) == 1 else tuple(metas)
        node.opaque = tuple(opaque) if opaque else None
    outs = []
    renamed: dict = {}
    for i in range(len(raw)):
        x = raw[i]
        if not isinstance(x, TensorBase):
            outs.append(x)
            continue
        given_in = is_among(x, args)
        modified = given_in and is_among(x, dirty)
        if i in opaque:
            out = detach_output(x, given_in, modified)
        else:
            out = attach_node(x, node, i, args, given_in, modified)
        if out is not x and not given_in:
            renamed[id(x)] = out
        if out._view_base is not None and not modified and not state.inference:
            out._base_version = out.version()
            if getattr(node, "_is_pure_view", False):
                out._creation = DEFAULT
            else:
                out._creation = MULTI_OUTPUT_NODE if different > 1 else IN_CUSTOM_FUNCTION
        outs.append(out)
    if state.forward:
        push_forward(node, args, raw, outs, dirty, constant, state)
    if executable and node.to_save is not None:
        node.keep(state, renamed)
    node.to_save = node.saved_for_forward = node.non_differentiable = node.dirty_tensors = None
    return tuple(outs) if isinstance(output, tuple) else outs[0]


@cython.cfunc
def is_single_new_tensor(output: TensorBase, node: PyNode, args: tuple) -> cython.bint:
    """Whether `output` is the usual case: one new tensor, and no tensor was marked on ctx."""
    return (output._node is None and not output._leaf_requires_grad and output._view_base is None and node.dirty_tensors is None
            and node.non_differentiable is None and output._meta.dtype.differentiable and not is_among(output, args))


@cython.cfunc
def as_tensors(node: PyNode, tensors, demand) -> tuple:
    """Return the arguments of a method of ctx as a tuple. Raises if one is not a tensor."""
    if tensors is None:
        return ()
    for i, x in enumerate(tensors):
        if not isinstance(x, TensorBase):
            raise AutogradError("MG-E145", f"{demand}, but argument {i} is of type {type(x).__name__}", node=node.name(),
                                fix="pass the tensors themselves, as separate arguments")
    return tuple(tensors)


@cython.cfunc
def check_outputs(node: PyNode, raw: tuple, args: tuple, dirty: tuple, opaque: list, in_setup: cython.bint) -> object:
    """Raise if the outputs cannot get a history."""
    for x in dirty:
        if not is_among(x, raw):
            raise AutogradError(
                "MG-E145", "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function.", node=node.name(),
                tensor=describe_meta(cython.cast(TensorBase, x)._meta), fix="return the marked tensors themselves from forward")
        if not is_among(x, args):
            warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                          "should be passed to ctx.mark_dirty().", UserWarning, stacklevel=2)
    for i, x in enumerate(raw):
        if not isinstance(x, TensorBase) or not is_among(x, args):
            continue
        tensor = cython.cast(TensorBase, x)
        if not is_among(x, dirty):
            if in_setup and (i not in opaque or not requires_grad(tensor)) and (
                    is_saved(node.to_save, x) or is_saved(node.saved_for_forward, x)):
                raise AutogradError(
                    "MG-E146", "A input that has been returned as-is as output is being saved for backward. This is not supported "
                    "if you override setup_context.", node=node.name(),
                    fix="return and save a view of the input instead, x.view_as(x), or set ctx up inside forward itself")
        elif i not in opaque:
            if tensor._view_base is not None:
                if len(raw) > 1:
                    raise AutogradError(
                        "MG-E145", "If your Function modifies inplace an input that is a view of another Tensor, your Function "
                        "cannot return more than one Tensor: functions which modify views in-place must return a single Variable.",
                        node=node.name(), found=f"{len(raw)} outputs",
                        fix="clone() the input, or split the Function into two, one of which does the write")
                check_inplace(tensor)
            elif tensor._node is None and tensor._leaf_requires_grad:
                raise AutogradError(
                    "MG-E121", "a leaf Variable that requires grad has been used in an in-place operation.",
                    tensor=describe_meta(tensor._meta), node=node.name(),
                    fix="give the Function a clone() of the leaf, or have it return a new tensor")
    return None


@cython.cfunc
def is_saved(tensors, x) -> cython.bint:
    return tensors is not None and is_among(x, tuple(tensors))


@cython.cfunc
def attach_node(x: TensorBase, node: PyNode, number: cython.int, args: tuple, given_in: cython.bint,
              modified: cython.bint) -> TensorBase:
    """Make `x`, or a view or alias of it, output `number` of `node`, and return that."""
    if modified:
        rebase_history(x, node, locate_view(x) if x._view_base is not None else None, number, node.position(x, args))
        return x
    if given_in:
        x = view_as_self(x)
    elif x._view_base is None and x._node is not node and requires_grad(x):
        # `x` has its own history or requires a gradient: forward may have built a graph under enable_grad, or `x` comes
        # from outside. We cannot know, so we must not overwrite its history. (PyTorch does.)
        x = alias(x)
    x._node = node
    x._output_number = number
    return x


@cython.cfunc
def detach_output(x: TensorBase, given_in: cython.bint, modified: cython.bint) -> TensorBase:
    """Return `x`, or a view or alias of it, as an output that has no derivative."""
    if not requires_grad(x):
        return view_as_self(x) if given_in and not modified else x
    if given_in or x._view_base is None:
        return alias(x)
    return x        # a view of something that requires a gradient counts as requiring one, as if made under no_grad


@cython.cfunc
def view_as_self(x: TensorBase) -> TensorBase:
    """A view of the whole of `x`, without history."""
    out: TensorBase = wrap(x._array, x._meta) if is_plain(x) else make_tensor(type(x)._result_class(None), x._array, x._meta)
    make_view(out, x, DEFAULT, current())
    return out

