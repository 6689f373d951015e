"""Transforms that run one backward: `vjp`, and `grad` for functions that return one number.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad.autograd._jacobians import gradients
from minigrad.autograd.grad_mode import inference_mode, is_grad_enabled
from minigrad.creation import zeros_like
from minigrad.errors import AutogradError
from minigrad.func._arguments import (
    check_differentiable,
    flatten_outputs,
    flatten_tensors,
    format_spec,
    replace_arguments,
    select_arguments,
    split_aux,
)
from minigrad.func._levels import Level
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GRAD = "grad_and_value(f)(*args)"
VJP = "vjp(f, *primals)"


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func`, which returns one number.

    Args:
        func (Callable): takes any arguments, and returns a tensor of shape ().
        argnums (int or tuple of int): the positions of the arguments to differentiate with respect to. They are trees of floating
            point or complex tensors.
        has_aux (bool): `func` returns ``(output, aux)``. aux is a tree of tensors, which the result includes.

    Returns:
        Callable: takes the arguments of `func`. It returns a tree with the structure of the argument, or a tuple of such trees for
        a tuple of argnums. The gradient of a tensor that the output does not depend on is zeros. With `has_aux` it returns
        ``(gradient, aux)``.

    Raises:
        RuntimeError: there is no argument at a position of `argnums`; the output is not a tensor, or has dimensions; aux is
            missing.
        ValueError: a leaf of a selected argument is not a tensor.

    The returned function raises these errors. Mirrors ``torch.func.grad``.

    >>> from minigrad.func import grad
    >>> cube = lambda x: x ** 3
    >>> grad(cube)(mg.tensor(2.)), grad(grad(cube))(mg.tensor(2.))
    (tensor(12.), tensor(12.))
    >>> grad(lambda p, x: (p["w"] * x).sum() + p["b"])({"w": mg.ones(2), "b": mg.tensor(0.)}, mg.tensor([3., 4.]))
    {'w': tensor([3., 4.]), 'b': tensor(1.)}
    """
    @functools.wraps(func)
    def gradient(*args, **kwargs):
        derivative, _, aux = differentiate(func, argnums, has_aux, args, kwargs)
        return (derivative, aux) if has_aux else derivative
    return gradient


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient and the value of `func`.

    Args:
        func, argnums, has_aux: as for `grad`.

    Returns:
        Callable: takes the arguments of `func`. It returns ``(gradient, value)``, or ``(gradient, (value, aux))`` with `has_aux`.

    Raises:
        RuntimeError, ValueError: as `grad`.

    Mirrors ``torch.func.grad_and_value``.

    >>> mg.func.grad_and_value(lambda x: x ** 3)(mg.tensor(2.))
    (tensor(12.), tensor(8.))
    """
    @functools.wraps(func)
    def gradient_and_value(*args, **kwargs):
        derivative, value, aux = differentiate(func, argnums, has_aux, args, kwargs)
        return derivative, ((value, aux) if has_aux else value)
    return gradient_and_value


def value_and_grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the value and the gradient of `func`: `grad_and_value` in the other order.

    Args:
        func, argnums, has_aux: as for `grad`.

    Returns:
        Callable: takes the arguments of `func`. It returns ``(value, gradient)``, or ``((value, aux), gradient)`` with `has_aux`.

    Raises:
        RuntimeError, ValueError: as `grad`.

    Mirrors ``jax.value_and_grad``; PyTorch has only `grad_and_value`.

    >>> mg.func.value_and_grad(lambda x: x ** 3)(mg.tensor(2.))
    (tensor(8.), tensor(12.))
    """
    @functools.wraps(func)
    def value_and_gradient(*args, **kwargs):
        derivative, value, aux = differentiate(func, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), derivative
    return value_and_gradient


def differentiate(func, argnums, has_aux, args, kwargs):
    """Call `func`, and run its backward. Return ``(gradient, value, aux)``."""
    level = Level()
    with inference_mode(False):             # which enables gradients too
        leaves, spec = flatten_tensors(select_arguments(argnums, args))
        variables = [level.make_variable(x) for x in leaves]
        result = func(*replace_arguments(argnums, args, tree_unflatten(variables, spec)), **kwargs)
        output, aux = split_aux(result, has_aux, GRAD)
        if not isinstance(output, Tensor):
            raise AutogradError("MG-E252", f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}",
                                fix="return only the number to differentiate; vjp and jacrev take trees")
        if output.ndim:
            raise AutogradError("MG-E252", f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
                                "dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                                found=f"shape {list(output.shape)}", fix="reduce it, for instance with .sum() or .mean()")
        level.end()
        found = gradients((output,), variables, create_graph=level.leads_outside(output))
        found = [zeros_like(x).detach() if g is None else g for g, x in zip(found, leaves)]
        return level.detach_results((tree_unflatten(found, spec), output, aux))


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The outputs of `func`, and the function that multiplies cotangents by its transposed Jacobian: u -> Jᵀ u.

    Args:
        func (Callable): takes trees of tensors, and returns a tree of floating point or complex tensors.
        *primals: the arguments of `func`: trees of tensors.
        has_aux (bool): `func` returns ``(output, aux)``. aux is a tree of tensors, which vjp returns too.

    Returns:
        tuple: ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents, retain_graph=True, create_graph=None)`` takes
        a tree with the structure of the output, and returns a tuple with one tree for each primal. You may call it several times.

    Raises:
        RuntimeError: an output is not a tensor, or has an integral dtype; aux is missing. `vjp_fn` raises it if the structure or a
            shape of the cotangents differs from the outputs.
        ValueError: a leaf of the primals is not a tensor.

    Mirrors ``torch.func.vjp``.

    >>> x, y = mg.tensor([1., 2.]), mg.tensor(3.)
    >>> output, vjp_fn = mg.func.vjp(lambda x, y: {"product": x * y}, x, y)
    >>> vjp_fn({"product": mg.tensor([1., 10.])})
    (tensor([ 3., 30.]), tensor(21.))
    """
    level = Level()
    with inference_mode(False):
        leaves, spec = flatten_tensors(primals)
        variables = [level.make_variable(x) for x in leaves]
        output, aux = split_aux(callable_argument(func, "func", "vjp")(*tree_unflatten(variables, spec)), has_aux, VJP)
        outputs, output_spec = flatten_outputs(output, VJP)
        check_differentiable(outputs)
        level.end()
        wanted = any([level.leads_outside(y) for y in outputs])
        output, aux = level.detach_results((output, aux))

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        directions, given = tree_flatten(cotangents)
        if given != output_spec:
            raise AutogradError("MG-E258", "Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                                f"to the function. cotangents: {format_spec(given)}, primal output: {format_spec(output_spec)}")
        if create_graph is None:
            create_graph = is_grad_enabled() and (wanted or any([isinstance(u, Tensor) and u.requires_grad for u in directions]))
        with inference_mode(False):
            found = gradients(outputs, variables, directions, create_graph, retain_graph)
            found = [zeros_like(x).detach() if g is None else g for g, x in zip(found, leaves)]
        return level.detach_results(tree_unflatten(found, spec)) if create_graph else tree_unflatten(found, spec)

    return (output, vjp_fn, aux) if has_aux else (output, vjp_fn)
