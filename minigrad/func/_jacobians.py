"""Whole Jacobians: by rows (`jacrev`), by columns (`jacfwd`), and one of the other (`hessian`).

    f: {"x": [2]} -> (y: [3], z: [])        jacrev(f)  =  ({"x": [3, 2]}, {"x": [2]})

A tree like the output, in whose leaves are trees like the argument, in whose leaves are blocks of shape y.shape + x.shape.

Note [Columns of one graph]
    A column of the Jacobian is J e, which a pass forward with the tangent e computes. We call the function once and push all e
    through its graph instead, as `linearize` does: for 60 ops on 50 numbers that is 4.7 times as fast as 50 passes (the Hessian
    3.8 times), and what the function prints or draws at random happens once. Its price: the function has to be twice
    differentiable.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

import functools

from minigrad.autograd._jacobians import jacobian_columns, jacobian_rows
from minigrad.autograd.grad_mode import inference_mode
from minigrad.errors import ArgumentError, TensorValueError
from minigrad.func._arguments import (
    check_differentiable,
    check_numbers,
    check_real,
    chosen,
    flat_outputs,
    flat_tensors,
    replaced,
    with_aux,
)
from minigrad.func._forward import JVP, Linearization
from minigrad.func._levels import Level
from minigrad.func._reverse import VJP
from minigrad.utils._pytree import tree_unflatten


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """The function that computes the Jacobian of `func` by rows: one backward for each element of the output.

    Args:
        func: its arguments are trees of tensors, as far as `argnums` selects them; it returns a tree of tensors.
        argnums (int or tuple of int): with respect to which positional arguments.
        has_aux (bool): `func` returns ``(output, aux)``, and aux, a tree of tensors, is passed on.
        chunk_size (int, optional): how many rows PyTorch computes at once. Here they are computed one by one in any case.

    Returns:
        function: of the arguments of `func`. It returns a tree like the output, of trees like the argument (tuples of them for a
        tuple of argnums), of tensors of shape ``output.shape + argument.shape``; with `has_aux` the pair of that and aux.

    Raises:
        RuntimeError: argnums selects what is not there; outputs are not all tensors of real numbers; no aux.
        ValueError: a leaf of a selected argument is no tensor; `chunk_size` is below 1.

    Mirrors ``torch.func.jacrev``.

    >>> mg.func.jacrev(lambda x: x * x.sum())(mg.tensor([1., 2.]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise TensorValueError("MG-E254", "jacrev: `chunk_size` should be greater than 0.", found=str(chunk_size))

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        level = Level()
        with inference_mode(False):
            leaves, spec = flat_tensors(chosen(argnums, args))
            check_real("jacrev", leaves, "inputs")
            variables = [level.variable(x) for x in leaves]
            result = func(*replaced(argnums, args, tree_unflatten(variables, spec)), **kwargs)
            output, aux = with_aux(result, has_aux, VJP)
            outputs, output_spec = flat_outputs(output, VJP)
            check_differentiable(outputs)
            check_real("jacrev", outputs, "outputs")
            level.end()
            found = jacobian_rows(outputs, variables, any([level.leads_outside(y) for y in outputs]))
            found, aux = level.released((nested(found, output_spec, spec), aux))
        return (found, aux) if has_aux else found
    return jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The function that computes the Jacobian of `func` by columns: one product for each element of the argument.

    It returns what that of `jacrev` does, and is faster where there are fewer inputs than outputs. `func` is called once, and has
    to be twice differentiable: see Note [Columns of one graph].

    Args:
        func: its arguments are trees of tensors, as far as `argnums` selects them; it returns a tree of tensors.
        argnums (int or tuple of int): with respect to which positional arguments.
        has_aux (bool): `func` returns ``(output, aux)``, and aux, a tree of tensors, is passed on.
        randomness (str): of PyTorch's vectorization, which is not here: ``"error"``, ``"different"`` or ``"same"``.

    Returns:
        function: as `jacrev`.

    Raises:
        RuntimeError: argnums selects what is not there; outputs are not all tensors of real numbers; no aux.
        ValueError: a leaf of a selected argument is no tensor.

    Mirrors ``torch.func.jacfwd``.

    >>> mg.func.jacfwd(lambda t: {"y": t * mg.tensor([1., 2., 3.])})(mg.tensor(5.))
    {'y': tensor([1., 2., 3.])}
    """
    if randomness not in ("error", "different", "same"):
        raise ArgumentError("MG-E254", f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        leaves, spec = flat_tensors(chosen(argnums, args))
        check_numbers(leaves, "primal")
        check_real("jacfwd", leaves, "inputs")
        point = Linearization(lambda *args: func(*args, **kwargs), leaves,
                              lambda new: replaced(argnums, args, tree_unflatten(new, spec)), has_aux, JVP)
        check_real("jacfwd", point.outputs, "outputs")
        found = jacobian_columns(point.outputs, leaves, point.push)
        found = nested(found, point.spec, spec)
        return (found, point.aux) if has_aux else found
    return jacobian


def hessian(func, argnums=0):
    """The function that computes the Hessian of `func`: ``jacfwd(jacrev(func))``, a tangent sent through a backward.

    Args:
        func: its arguments are trees of tensors, as far as `argnums` selects them; it returns a tree of tensors.
        argnums (int or tuple of int): with respect to which positional arguments.

    Returns:
        function: of the arguments of `func`. It returns a tree like the output, of trees like the argument, twice, of tensors of
        shape ``output.shape + argument.shape + argument.shape``.

    Raises:
        RuntimeError, ValueError: as `jacrev`.

    Mirrors ``torch.func.hessian``.

    >>> mg.func.hessian(lambda x: x[0] ** 2 * x[1])(mg.tensor([1., 2.]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def nested(blocks, output_spec, spec):
    """The blocks of a Jacobian as a tree of trees."""
    return tree_unflatten([tree_unflatten(row, spec) for row in blocks], output_spec)
