"""Transforms: they take a function and return its derivative as a function. Transforms compose.

    grad(f)             the gradient of a function that returns one number       value_and_grad, grad_and_value: both
    vjp(f, x)           f(x), and the map u -> Jᵀ u                              jacrev(f): J by rows
    jvp(f, (x,), (v,))  f(x), and J v, by one forward pass                       jacfwd(f): J by columns
    linearize(f, x)     f(x), and the map v -> J v                               hessian(f): jacfwd of jacrev
    functional_call     a module as a function of its parameters
    vmap(f)             f of each example of a batch, stacked

    grad(grad(f))(x)    jacfwd(grad(f))(x)    grad(lambda p: value(functional_call(model, p, x)))(params)

A function may take and return trees of tensors (tuples, lists, dicts, named tuples). Its derivatives are trees too. The grad
mode around a transform decides whether its results have a history; it does not change their values. A tensor that the function
captures from outside is a constant for this derivative, and a variable for the transforms around it and for ``backward()``.
``_levels.py`` explains how minigrad separates the two without wrapping tensors.

Mirrors ``torch.func``.
"""

from minigrad.func._batch_norm import replace_all_batch_norm_modules_
from minigrad.func._forward import jvp, linearize
from minigrad.func._functional_call import functional_call
from minigrad.func._jacobians import hessian, jacfwd, jacrev
from minigrad.func._reverse import grad, grad_and_value, value_and_grad, vjp
from minigrad.func._vmap import stack_module_state, vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "value_and_grad", "vjp", "vmap"]
