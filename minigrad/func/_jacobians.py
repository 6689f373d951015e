"""Jacobians: by rows (`jacrev`), by columns (`jacfwd`), and the Hessian (`hessian`), which combines both.

    f: {"x": [2]} -> (y: [3], z: [])        jacrev(f)  =  ({"x": [3, 2]}, {"x": [2]})

The result is a tree with the structure of the output. Each leaf y is replaced by a tree with the structure of the argument. Each
leaf x of this tree is replaced by a block of shape y.shape + x.shape.

Note [Columns of one graph]
    A column of the Jacobian is J e. A forward pass with the tangent e could compute it. Instead, we call the function once and push
    all e through its graph, as `linearize` does. For 60 ops on 50 numbers this is 4.7 times as fast as 50 passes (the Hessian: 3.8
    times), and the function prints or draws random numbers only once. The price: the function must be twice differentiable.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from minigrad.autograd._jacobians import jacobian_columns, jacobian_rows
from minigrad.autograd.grad_mode import inference_mode
from minigrad.errors import ArgumentError, TensorValueError
from minigrad.func._arguments import (
    check_differentiable,
    check_numbers,
    check_real,
    flatten_outputs,
    flatten_tensors,
    replace_arguments,
    select_arguments,
    split_aux,
)
from minigrad.func._forward import JVP, Linearization
from minigrad.func._levels import Level
from minigrad.func._reverse import VJP
from minigrad.ops.base.arguments import integer
from minigrad.utils._pytree import tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal


def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
           chunk_size: int | None = None) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` by rows: one backward for each element of the output.

    Args:
        func (Callable): takes any arguments, and returns a tree of real tensors.
        argnums (int or tuple of int): the positions of the arguments to differentiate with respect to. They are trees of real
            tensors.
        has_aux (bool): `func` returns ``(output, aux)``. aux is a tree of tensors, which the result includes.
        chunk_size (int, optional): the number of rows that PyTorch computes together. minigrad computes one row at a time.

    Returns:
        Callable: takes the arguments of `func`. It returns a tree with the structure of the output. Its leaves are trees with the
        structure of the argument, or tuples of such trees for a tuple of argnums. Their leaves are tensors of shape
        ``output.shape + argument.shape``. With `has_aux` it returns ``(jacobian, aux)``.

    Raises:
        RuntimeError: there is no argument at a position of `argnums`; an output or a selected argument is complex; an output
            is not a tensor; aux is missing.
        ValueError: a leaf of a selected argument is not a tensor; `chunk_size` is below 1.

    Mirrors ``torch.func.jacrev``.

    >>> mg.func.jacrev(lambda x: x * x.sum())(mg.tensor([1., 2.]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if chunk_size is not None and integer(chunk_size, "chunk_size", "jacrev") < 1:
        raise TensorValueError("MG-E254", "jacrev: `chunk_size` should be greater than 0.", found=str(chunk_size))

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        level = Level()
        with inference_mode(False):
            leaves, spec = flatten_tensors(select_arguments(argnums, args))
            check_real("jacrev", leaves, "inputs")
            variables = [level.make_variable(x) for x in leaves]
            result = func(*replace_arguments(argnums, args, tree_unflatten(variables, spec)), **kwargs)
            output, aux = split_aux(result, has_aux, VJP)
            outputs, output_spec = flatten_outputs(output, VJP)
            check_differentiable(outputs)
            check_real("jacrev", outputs, "outputs")
            level.end()
            found = jacobian_rows(outputs, variables, any([level.leads_outside(y) for y in outputs]))
            found, aux = level.detach_results((nest_blocks(found, output_spec, spec), aux))
        return (found, aux) if has_aux else found
    return jacobian


def jacfwd(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *,
           randomness: Literal['error', 'different', 'same'] = "error") -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` by columns: one product for each element of the argument.

    The results are equal to the results of `jacrev`. jacfwd is faster if there are fewer inputs than outputs. `func` is called
    once, and must be twice differentiable: see Note [Columns of one graph].

    Args:
        func, argnums, has_aux: as for `jacrev`.
        randomness (str): ``"error"``, ``"different"`` or ``"same"``. It has no effect: it is for PyTorch's vmap.

    Returns:
        Callable: as `jacrev`.

    Raises:
        RuntimeError: there is no argument at a position of `argnums`; an output or a selected argument is complex; an output
            is not a tensor; aux is missing; `randomness` has another value.
        ValueError: a leaf of a selected argument is not a tensor, or its dtype is integral or bool.

    Mirrors ``torch.func.jacfwd``.

    >>> mg.func.jacfwd(lambda t: {"y": t * mg.tensor([1., 2., 3.])})(mg.tensor(5.))
    {'y': tensor([1., 2., 3.])}
    """
    if randomness not in ("error", "different", "same"):
        raise ArgumentError("MG-E254", f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        leaves, spec = flatten_tensors(select_arguments(argnums, args))
        check_numbers(leaves, "primal")
        check_real("jacfwd", leaves, "inputs")
        point = Linearization(lambda *args: func(*args, **kwargs), leaves,
                              lambda new: replace_arguments(argnums, args, tree_unflatten(new, spec)), has_aux, JVP)
        check_real("jacfwd", point.outputs, "outputs")
        found = jacobian_columns(point.outputs, leaves, point.push)
        found = nest_blocks(found, point.spec, spec)
        return (found, point.aux) if has_aux else found
    return jacobian


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of `func`: ``jacfwd(jacrev(func))``.

    Args:
        func, argnums: as for `jacrev`.

    Returns:
        Callable: takes the arguments of `func`. It returns a tree with the structure of the output. Its leaves are trees with the
        structure of the argument, and the leaves of these are such trees again. The innermost leaves are tensors of shape
        ``output.shape + argument.shape + argument.shape``.

    Raises:
        RuntimeError, ValueError: as `jacrev`.

    Mirrors ``torch.func.hessian``.

    >>> mg.func.hessian(lambda x: x[0] ** 2 * x[1])(mg.tensor([1., 2.]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def nest_blocks(blocks, output_spec, spec):
    """Return the blocks of a Jacobian as a tree of trees."""
    return tree_unflatten([tree_unflatten(row, spec) for row in blocks], output_spec)
