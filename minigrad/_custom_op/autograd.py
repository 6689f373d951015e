"""How an operator with a `save_for_backward` and a `backward` is differentiated.

    op(x, [a, b], 3)
      entry             is there a formula? half of one? none?              autograd_kernel_indirection
      Function.apply    x, a, b, 3: the leaves of the tree of arguments     construct_autograd_kernel
        forward         output = op(...); saved = save_for_backward(inputs, output), any tree
        backward        {"x": gx, "xs": [ga, gb]} = backward(ctx, saved, *grads), checked, and flat again

The kernel refers to its operator weakly: an operator that nobody has any more is freed at once. A node of the graph holds its
operator, for its backward and for what errors say.

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
    """The entry of an operator, which decides at each call what to do: formulas may be registered later.

    When called, raises `RuntimeError` if one half of a formula is there and the other is not.
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
    """The kernel of an operator without a formula: it raises `RuntimeError` if there is anything to differentiate."""
    op = weakref.proxy(custom_op)

    def kernel(*args, **kwargs):
        if is_grad_enabled() and pytree.tree_any(lambda x: isinstance(x, Tensor) and x.requires_grad, (args, kwargs)):
            raise AutogradError("MG-E284", "Autograd has not been implemented for operator", node=str(op),
                                fix="register a formula, call it under no_grad(), or detach() its arguments")
        with no_grad():
            return op._opoverload(*args, **kwargs)

    return kernel


def mark_non_differentiable(ctx, output, output_differentiability):
    """Tell ctx which outputs have no derivative. `output_differentiability`: a list of bools, one per output, or None.

    Raises:
        RuntimeError: an output that is no tensor, nor a list of tensors, is to have one.
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
    """One call on its way through `Function.apply`: its operator, the trees of its arguments and of its output."""

    __slots__ = ("op", "out_spec", "spec")

    def __init__(self, op, spec):
        self.op = op
        self.spec = spec
        self.out_spec = None


def construct_autograd_kernel(schema, output_differentiability, custom_op, op_overload, save_for_backward_fn, backward_fn):
    """The kernel that runs an operator with a node for its backward.

    Args:
        schema (FunctionSchema): names the arguments.
        output_differentiability (list of bool or None): which outputs have a derivative; None: those of floating point dtypes.
        custom_op (CustomOp): for errors.
        op_overload (callable): computes the output.
        save_for_backward_fn (callable): ``(inputs, output) -> saved``: a named tuple of the arguments, and what the operator has
            returned; gives any tree of tensors and other things.
        backward_fn (callable): ``(ctx, saved, *grads) -> dict``: one gradient per output, built like it; gives name of the
            argument -> gradient, for each that is a tensor or a list of tensors. `ctx` is a bare object.

    Returns:
        callable: takes the arguments by position.
    """
    reference = weakref.ref(custom_op)

    # PyTorch makes a class per call, to close over the specs. A hidden last argument does as well, and one class is enough.
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
    """A `Function` of these methods."""
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


@functools.lru_cache
def _args_class(name, names):
    return namedtuple(name, names)


def namedtuple_args_cls(schema):
    """The named tuple of an operator's arguments: ``scale_args(x=..., factor=...)``."""
    return _args_class(schema.name.rpartition("::")[2] + "_args", tuple([a.name for a in schema.arguments]))


def namedtuple_args(schema, args):
    """`args`, a tuple, under the names of the schema."""
    return namedtuple_args_cls(schema)(*args)


def validate_grad_inputs_dict(grad_inputs_dict, forward_op, args_info):
    """Raise `RuntimeError` unless backward has returned a gradient, of the right kind, for each tensor argument.

    `args_info` says what the arguments were: a named tuple of types, with a list of types for a list.
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
    """The gradients in the order of the leaves of the arguments, None for what is no tensor."""
    return tuple(pytree.tree_leaves([grad_inputs_dict[name] if name in grad_inputs_dict else pytree.tree_map(lambda _: None, info)
                                     for name, info in args_info._asdict().items()]))


class _Saved:
    """Stands in a tree for a tensor that `save_for_backward` has."""


def save_pytree_for_backward(ctx, stuff):
    """Keep any tree of tensors and other things on `ctx`: its tensors by `save_for_backward`, the rest as it is."""
    leaves, spec = pytree.tree_flatten(stuff)
    ctx.save_for_backward(*[x for x in leaves if isinstance(x, Tensor)])
    ctx.saved_tree = [_Saved if isinstance(x, Tensor) else x for x in leaves], spec


def unpack_saved(ctx):
    """What `save_pytree_for_backward` was given."""
    leaves, spec = ctx.saved_tree
    tensors = iter(ctx.saved_tensors)
    return pytree.tree_unflatten([next(tensors) if x is _Saved else x for x in leaves], spec)
