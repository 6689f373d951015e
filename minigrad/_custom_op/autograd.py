"""The node of an operator whose formula is a `save_for_backward` and a `backward`.

    op(x, [a, b], 3)
      entry             checks for both functions of the formula            autograd_kernel_indirection
      Function.apply    x, a, b, 3: the leaves of the tree of arguments     construct_autograd_kernel
        forward         output = op(...); saved = save_for_backward(inputs, output), any tree
        backward        {"x": gx, "xs": [ga, gb]} = backward(ctx, saved, *grads), checked and flattened

The kernel refers to its operator weakly, so an unused operator is freed immediately. A node of the graph keeps its operator alive,
for its backward and for error messages.

Mirrors ``torch/_custom_op/autograd.py``.
"""

import functools
import weakref
from collections import namedtuple

from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import is_grad_enabled, no_grad
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor
from minigrad.utils import _pytree as pytree

__all__ = ["autograd_kernel_indirection", "autograd_not_implemented", "construct_autograd_kernel", "gen_autograd_function",
           "grad_inputs_dict_to_flat_tuple", "mark_non_differentiable", "namedtuple_args", "namedtuple_args_cls",
           "save_pytree_for_backward", "unpack_saved", "validate_grad_inputs_dict"]


def autograd_kernel_indirection(custom_op):
    """Return the function that an operator calls first. It looks for the formula in each call, because it may be registered later.

    Args:
        custom_op (CustomOp): the operator.

    Returns:
        Callable: takes the arguments of the operator. It raises `RuntimeError` if only one of the two functions is there.

    Mirrors ``torch._custom_op.autograd.autograd_kernel_indirection``.
    """
    op = weakref.proxy(custom_op)
    fallback = autograd_not_implemented(custom_op)

    def entry(*args, **kwargs):
        if op._has_impl("autograd"):
            return op._get_impl("autograd").func(*args, **kwargs)
        for found, missing in (("backward", "save_for_backward"), ("save_for_backward", "backward")):
            if op._has_impl(found):
                raise AutogradError(
                    "MG-E284", f"We found a '{found}' registration for {op} at {op._get_impl(found).location} but were unable to "
                    f"find a '{missing}' registration. To use the CustomOp API to register a backward formula, please provide us "
                    "both a backward function and a 'save for backward' function via `impl_backward` and "
                    "`impl_save_for_backward` respectively.", fix=f"@op.impl_{missing}()")
        return fallback(*args, **kwargs)

    return entry


def autograd_not_implemented(custom_op):
    """Return the kernel of an operator without a formula.

    Args:
        custom_op (CustomOp): the operator.

    Returns:
        Callable: takes the arguments of the operator. It raises `RuntimeError` if a tensor requires a gradient.

    Mirrors ``torch._custom_op.autograd.autograd_not_implemented``.
    """
    op = weakref.proxy(custom_op)

    def kernel(*args, **kwargs):
        if is_grad_enabled() and pytree.tree_any(lambda x: isinstance(x, Tensor) and x.requires_grad, (args, kwargs)):
            raise AutogradError("MG-E284", "Autograd has not been implemented for operator", node=str(op),
                                fix="register a formula, call it under no_grad(), or detach() its arguments")
        with no_grad():
            return op._opoverload(*args, **kwargs)

    return kernel


def mark_non_differentiable(ctx, output, output_differentiability):
    """Mark the outputs that have no derivative on `ctx`.

    Args:
        ctx (FunctionCtx): the node.
        output: the output of the operator, or a tuple of outputs.
        output_differentiability (list of bool, or None): whether each output has a derivative. None marks nothing.

    Raises:
        RuntimeError: the list has True for an output that is neither a tensor nor a list.

    Mirrors ``torch._custom_op.autograd.mark_non_differentiable``.
    """
    if output_differentiability is None:
        return
    outputs = output if isinstance(output, tuple) else (output,)
    without = []
    for i, (differentiable, x) in enumerate(zip(output_differentiability, outputs, strict=True)):
        if isinstance(x, (Tensor, list)):
            if not differentiable:
                without.extend([x] if isinstance(x, Tensor) else x)
        elif differentiable:
            raise AutogradError(
                "MG-E286", f"With output_differentiability={output_differentiability}. At idx {i}, we received an object of type "
                f"{type(x)} that is not a Tensor, so it cannot have be marked as differentiable in output_differentiability.",
                fix=f"output_differentiability[{i}] = False")
    if without:
        ctx.mark_non_differentiable(*without)


class _Call:
    """One call: its operator, and the structures of its arguments and of its output."""

    __slots__ = ("op", "out_spec", "spec")

    def __init__(self, op, spec):
        self.op = op
        self.spec = spec
        self.out_spec = None


def construct_autograd_kernel(schema, output_differentiability, custom_op, op_overload, save_for_backward_fn, backward_fn):
    """Return the kernel that runs an operator, and records a node for its backward.

    Args:
        schema (FunctionSchema): the schema of the operator.
        output_differentiability (list of bool or None): whether each output has a derivative. None means: if its dtype is floating
            point or complex.
        custom_op (CustomOp): the operator, for error messages.
        op_overload (Callable): computes the output.
        save_for_backward_fn (Callable): ``(inputs, output) -> saved``. It takes a named tuple of the arguments, and the output. It
            returns any tree of tensors and other objects.
        backward_fn (Callable): ``(ctx, saved, *grads) -> dict``. It takes one gradient for each output, with the structure of the
            output. It returns a dict: name of the argument -> gradient, for each argument that is a tensor or a list of
            tensors. `ctx` is an object without attributes.

    Returns:
        Callable: takes the arguments by position.

    Mirrors ``torch._custom_op.autograd.construct_autograd_kernel``.
    """
    reference = weakref.ref(custom_op)

    # PyTorch makes a class for each call, which closes over the specs. We pass them in a hidden last argument: one class is enough.
    def forward(ctx, *flat_args):
        *flat_args, call = flat_args
        ctx.set_materialize_grads(True)
        args = pytree.tree_unflatten(flat_args, call.spec)
        output = op_overload(*args)
        types = namedtuple_args(schema, pytree.tree_map(type, args))
        saved = save_for_backward_fn(namedtuple_args(schema, args), output)
        save_pytree_for_backward(ctx, (saved, types))
        mark_non_differentiable(ctx, output, output_differentiability)
        flat_output, call.out_spec = pytree.tree_flatten(output)
        ctx.call = call
        return tuple(flat_output)

    def backward(ctx, *flat_grads):
        grads = pytree.tree_unflatten(list(flat_grads), ctx.call.out_spec)
        saved, types = unpack_saved(ctx)
        found = backward_fn(object(), saved, *(grads if isinstance(grads, tuple) else (grads,)))
        validate_grad_inputs_dict(found, ctx.call.op, types)
        return (*grad_inputs_dict_to_flat_tuple(found, types), None)

    function = gen_autograd_function(custom_op._opname + "_customop", forward, backward)

    def apply(*args):
        flat_args, spec = pytree.tree_flatten(args)
        call = _Call(reference(), spec)
        flat_output = function.apply(*flat_args, call)
        return pytree.tree_unflatten(list(flat_output), call.out_spec)

    return apply


def gen_autograd_function(name, forward, backward):
    """Make a `Function` with these methods. Mirrors ``torch._custom_op.autograd.gen_autograd_function``."""
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


@functools.lru_cache
def _make_args_class(name, names):
    """Make a named tuple class, once for each name and fields."""
    return namedtuple(name, names)


def namedtuple_args_cls(schema):
    """Return the named tuple class for the arguments of an operator: ``scale_args(x=..., factor=...)``.

    Mirrors ``torch._custom_op.autograd.namedtuple_args_cls``.
    """
    return _make_args_class(schema.name.rpartition("::")[2] + "_args", tuple([a.name for a in schema.arguments]))


def namedtuple_args(schema, args):
    """Return the tuple `args` as a named tuple, with the names of the schema. Mirrors ``torch._custom_op.autograd``."""
    return namedtuple_args_cls(schema)(*args)


def validate_grad_inputs_dict(grad_inputs_dict, forward_op, args_info):
    """Check the dict of gradients that the backward of an operator has returned.

    Args:
        grad_inputs_dict (dict): name -> gradient, None, or a list of them.
        forward_op (CustomOp): the operator.
        args_info (named tuple): the type of each argument of the call; a list of types for a list.

    Raises:
        RuntimeError: a tensor argument has no entry, another argument has one, or a gradient has the wrong type.

    Mirrors ``torch._custom_op.autograd.validate_grad_inputs_dict``.
    """
    def wrong(what):
        return AutogradError(
            "MG-E285", f"In the backward function defined for {forward_op} at {forward_op._get_impl('backward').location} using "
            f"the CustomOp API, {what}", expected=f"a dict with the gradients of {', '.join(sorted(expected))}")

    expected = {a.name for a in forward_op._schema.arguments if a.type.is_tensor_like()}
    if not isinstance(grad_inputs_dict, dict):
        raise wrong(f"expected the output of the backward function to be a dict but got {type(grad_inputs_dict)}")
    if expected != grad_inputs_dict.keys():
        raise wrong(f"expected the returned grad_input dict to have keys {expected} but got {set(grad_inputs_dict)}. The backward "
                    "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
                    "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict")
    for name, grad in grad_inputs_dict.items():
        info = getattr(args_info, name)
        if not isinstance(info, list):
            if grad is not None and not isinstance(grad, Tensor):
                raise wrong(f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
                            "either None or a Tensor")
            if grad is not None and not issubclass(info, Tensor):
                raise wrong(f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input "
                            f"'{name}' was not a Tensor (it was type {info}).")
            continue
        if not isinstance(grad, (list, tuple)):
            raise wrong(f"for input '{name}' expected the grad_input dict to hold a list of gradients but got object of type "
                        f"{type(grad)}.")
        if len(grad) != len(info):
            raise wrong(f"for input '{name}' expected the grad_input dict to hold a list of {len(info)} gradients but got "
                        f"{len(grad)}")
        for i, (g, kind) in enumerate(zip(grad, info)):
            if g is not None and not isinstance(g, Tensor):
                raise wrong(f"for input '{name}' expected the grad_input dict to hold a list of None or Tensor gradients but got "
                            f"object of {type(g)} at index {i}")
            if g is not None and not issubclass(kind, Tensor):
                raise wrong(f"for input '{name}', got a Tensor as the gradient for the {i}-th value but expected None because the "
                            f"{i}-th value was not a Tensor (it was type {kind})")


def grad_inputs_dict_to_flat_tuple(grad_inputs_dict, args_info):
    """Return the gradients in the order of the leaves of the arguments; None for a leaf that is not a tensor.

    Mirrors ``torch._custom_op.autograd.grad_inputs_dict_to_flat_tuple``.
    """
    return tuple(pytree.tree_leaves([grad_inputs_dict[name] if name in grad_inputs_dict else pytree.tree_map(lambda _: None, info)
                                     for name, info in args_info._asdict().items()]))


class _Saved:
    """The mark in a tree for a tensor that `save_for_backward` has saved."""


def save_pytree_for_backward(ctx, stuff):
    """Save a tree on `ctx`: its tensors by `save_for_backward`, its other leaves as an attribute.

    Mirrors ``torch._custom_op.autograd.save_pytree_for_backward``.
    """
    leaves, spec = pytree.tree_flatten(stuff)
    ctx.save_for_backward(*[x for x in leaves if isinstance(x, Tensor)])
    ctx.saved_tree = [_Saved if isinstance(x, Tensor) else x for x in leaves], spec


def unpack_saved(ctx):
    """Return the tree that `save_pytree_for_backward` has saved. Mirrors ``torch._custom_op.autograd.unpack_saved``."""
    leaves, spec = ctx.saved_tree
    tensors = iter(ctx.saved_tensors)
    return pytree.tree_unflatten([next(tensors) if x is _Saved else x for x in leaves], spec)
