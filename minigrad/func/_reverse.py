"""Transforms by one backward: `grad`, and `vjp`, of which it is the case of a single number.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

import functools

from minigrad._arguments import callable_argument
from minigrad.autograd._jacobians import gradients
from minigrad.autograd.grad_mode import inference_mode, is_grad_enabled
from minigrad.creation import zeros_like
from minigrad.errors import AutogradError
from minigrad.func._arguments import check_differentiable, chosen, drawn, flat_outputs, flat_tensors, replaced, with_aux
from minigrad.func._levels import Level
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_unflatten

GRAD = "grad_and_value(f)(*args)"
VJP = "vjp(f, *primals)"


def grad(func, argnums=0, has_aux=False):
    """The function that computes the gradient of `func`, which returns one number.

    Args:
        func: its arguments are trees of tensors, as far as `argnums` selects them; it returns a tensor with no dimension.
        argnums (int or tuple of int): with respect to which positional arguments.
        has_aux (bool): `func` returns ``(output, aux)``, and aux, a tree of tensors, is passed on.

    Returns:
        function: of the arguments of `func`. It returns a tree like the argument (a tuple of them for a tuple of argnums), zeros
        where the output does not depend on a tensor; with `has_aux` the pair of that and aux.

    Raises:
        RuntimeError: argnums selects what is not there; the output is no tensor or has dimensions; no aux.
        ValueError: a leaf of a selected argument is no tensor.

    All of them are raised by the function returned. Mirrors ``torch.func.grad``.

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


def grad_and_value(func, argnums=0, has_aux=False):
    """As `grad`; the function returns ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Mirrors ``torch.func.grad_and_value``.

    >>> mg.func.grad_and_value(lambda x: x ** 3)(mg.tensor(2.))
    (tensor(12.), tensor(8.))
    """
    @functools.wraps(func)
    def gradient_and_value(*args, **kwargs):
        derivative, value, aux = differentiate(func, argnums, has_aux, args, kwargs)
        return derivative, ((value, aux) if has_aux else value)
    return gradient_and_value


def value_and_grad(func, argnums=0, has_aux=False):
    """As `grad`; the function returns ``(value, gradient)``, or ``((value, aux), gradient)``: `grad_and_value` in JAX's order.

    >>> mg.func.value_and_grad(lambda x: x ** 3)(mg.tensor(2.))
    (tensor(8.), tensor(12.))
    """
    @functools.wraps(func)
    def value_and_gradient(*args, **kwargs):
        derivative, value, aux = differentiate(func, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), derivative
    return value_and_gradient


def differentiate(func, argnums, has_aux, args, kwargs):
    """``(gradient, value, aux)``"""
    level = Level()
    with inference_mode(False):             # which enables gradients too
        leaves, spec = flat_tensors(chosen(argnums, args))
        variables = [level.variable(x) for x in leaves]
        result = func(*replaced(argnums, args, tree_unflatten(variables, spec)), **kwargs)
        output, aux = with_aux(result, has_aux, GRAD)
        if not isinstance(output, Tensor):
            raise AutogradError("MG-E252", f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}",
                                fix="return the number that is to be differentiated; vjp and jacrev take trees")
        if output.ndim:
            raise AutogradError("MG-E252", f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
                                "dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                                found=f"shape {list(output.shape)}", fix="reduce it, for instance with .sum() or .mean()")
        level.end()
        found = gradients((output,), variables, create_graph=level.leads_outside(output))
        found = [zeros_like(x).detach() if g is None else g for g, x in zip(found, leaves)]
        return level.released((tree_unflatten(found, spec), output, aux))


def vjp(func, *primals, has_aux=False):
    """The outputs of `func`, and the function that multiplies cotangents with its Jacobian: u -> Jᵀ u.

    Args:
        func: trees of tensors -> a tree of tensors.
        primals: the arguments, all tensors.
        has_aux (bool): `func` returns ``(output, aux)``, and aux, a tree of tensors, is passed on.

    Returns:
        tuple: ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents, retain_graph=True, create_graph=None)``
        takes a tree like the output, and returns a tuple with a tree for each of the primals. It may be called many times.

    Raises:
        RuntimeError: the outputs are not all tensors of floating point or complex numbers; no aux. By `vjp_fn`: the cotangents
            are not of the structure or the shapes of the outputs.
        ValueError: a leaf of the primals is no tensor.

    Mirrors ``torch.func.vjp``.

    >>> x, y = mg.tensor([1., 2.]), mg.tensor(3.)
    >>> output, vjp_fn = mg.func.vjp(lambda x, y: {"product": x * y}, x, y)
    >>> vjp_fn({"product": mg.tensor([1., 10.])})
    (tensor([ 3., 30.]), tensor(21.))
    """
    level = Level()
    with inference_mode(False):
        leaves, spec = flat_tensors(primals)
        variables = [level.variable(x) for x in leaves]
        output, aux = with_aux(callable_argument(func, "func", "vjp")(*tree_unflatten(variables, spec)), has_aux, VJP)
        outputs, output_spec = flat_outputs(output, VJP)
        check_differentiable(outputs)
        level.end()
        wanted = any([level.leads_outside(y) for y in outputs])
        released, aux = level.released((output, aux))

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        directions, given = tree_flatten(cotangents)
        if given != output_spec:
            raise AutogradError("MG-E258", "Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                                f"to the function. cotangents: {drawn(given)}, primal output: {drawn(output_spec)}")
        if create_graph is None:
            create_graph = is_grad_enabled() and (wanted or any([isinstance(u, Tensor) and u.requires_grad for u in directions]))
        with inference_mode(False):
            found = gradients(outputs, variables, directions, create_graph, retain_graph)
            found = [zeros_like(x).detach() if g is None else g for g, x in zip(found, leaves)]
        return level.released(tree_unflatten(found, spec)) if create_graph else tree_unflatten(found, spec)

    return (released, vjp_fn, aux) if has_aux else (released, vjp_fn)
