"""`vmap`: a function of one example becomes a function of a batch.

    vmap(f)(xs)         stack([f(x) for x in xs])       the results and derivatives of PyTorch's vmap, in the time of a loop

PyTorch computes all examples in one call of each op, by a rule for each op. We call `f` once for each example: a student can follow
it in a debugger, `f` may use ``.item()`` and branches on values, and every op and every Function works. The price is time: `n`
examples take `n` calls.

Mirrors ``torch/_functorch/apis.py`` and ``torch/_functorch/vmap.py``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from minigrad.errors import ArgumentError, TensorValueError
from minigrad.func._arguments import check_models
from minigrad.ops import stack
from minigrad.random import default_generator, get_rng_state, set_rng_state
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from minigrad.nn import Module

__all__ = ["stack_module_state", "vmap"]


def vmap(func: Callable[..., Any], in_dims: int | tuple = 0, out_dims: int | tuple[int, ...] = 0,
         randomness: Literal["error", "different", "same"] = "error", *, chunk_size: int | None = None) -> Callable[..., Any]:
    """The function that maps `func` over a dimension of its arguments, and stacks the results.

    Args:
        func (Callable): takes and returns tensors, or trees of tensors, of one example.
        in_dims (int, or a tuple like the arguments): the dimension of each argument over which to map; None for an argument
            that is the same for all examples.
        out_dims (int, or tuple of ints): where the new dimension is in each result.
        randomness (str): ``"error"`` refuses random numbers in `func`; with ``"different"`` each example draws its own, with
            ``"same"`` all draw the same.
        chunk_size (int, optional): accepted as in PyTorch, where it limits memory; here one example is computed at a time.

    Returns:
        Callable: takes the arguments of `func`, of which those with a dimension in `in_dims` have one dimension more.

    Raises:
        ValueError: `in_dims` does not fit the arguments, no argument is mapped, the mapped dimensions have different sizes, a
            result is not a tensor, or `out_dims` does not fit the results.
        RuntimeError: `func` draws random numbers and `randomness` is ``"error"``, or `randomness` has another value.

    >>> mg.func.vmap(mg.dot)(mg.ones(3, 5), mg.ones(3, 5))
    tensor([5., 5., 5.])
    >>> per_example = mg.func.vmap(mg.func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))
    >>> per_example(mg.ones(2), mg.tensor([[1., 2.], [0., 1.]]))
    tensor([[ 6., 12.],
            [ 0.,  2.]])

    Mirrors ``torch.func.vmap``, which computes all examples at the same time.
    """
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        raise ArgumentError("MG-E254", f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size < 1:
        raise TensorValueError("MG-E254", f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", type(func).__name__)

    @functools.wraps(func, updated=())
    def mapped(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = [check_dim(name, leaf, dim) for leaf, dim in zip(leaves, dims_of_leaves(name, in_dims, args))]
        size = batch_size(name, leaves, dims)
        columns = [[leaf] * size if dim is None else leaf.unbind(dim) for leaf, dim in zip(leaves, dims)]
        state = get_rng_state() if randomness == "same" else None
        draws = default_generator._draws
        results = []
        for row in zip(*columns):
            if state is not None:
                set_rng_state(state)
            results.append(func(*tree_unflatten(list(row), spec), **kwargs))
        if randomness == "error" and default_generator._draws != draws:
            raise ArgumentError("MG-E254", f"vmap({name}): called random operation while in randomness error mode",
                                fix='randomness="different" or "same", or draw the random numbers outside of vmap')
        return stack_results(name, results, out_dims)
    return mapped


def dims_of_leaves(name, in_dims, args):
    """The dimension of each leaf of `args`: `in_dims` is one for all, or a tree that begins like `args`."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise TensorValueError("MG-E254", f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
                               f"(potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise TensorValueError("MG-E254", f"vmap({name})(<inputs>): got no inputs", fix="pass a tensor that has a dimension more")

    def of(dims, tree):
        if dims is None or (isinstance(dims, int) and not isinstance(dims, bool)):
            return [dims] * len(tree_leaves(tree))
        if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
            return [dim for key in tree_keys(tree) for dim in of(dims[key], tree[key])]
        if isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)) and len(dims) == len(tree):
            return [dim for part, branch in zip(dims, tree) for dim in of(part, branch)]
        raise TensorValueError("MG-E254", f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
                               f"structure of `inputs`: {len(args)} arguments")
    return of(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)


def tree_keys(tree):
    """The keys of a dict in the order of its leaves."""
    order = tree_unflatten(range(len(tree)), tree_flatten(dict.fromkeys(tree, 0))[1])
    return sorted(tree, key=order.__getitem__)      # pyright: ignore


def check_dim(name, leaf, dim):
    """The dimension to map over, from 0; None if the leaf is not mapped."""
    if dim is None:
        return None
    if not isinstance(leaf, Tensor):
        raise TensorValueError("MG-E254", f"vmap({name})(<inputs>): Got in_dim={dim} for an input but the input is of type "
                               f"{type(leaf)}. We cannot vmap over non-Tensor arguments", fix="None as its in_dim")
    if not -leaf.ndim <= dim < leaf.ndim:
        raise TensorValueError("MG-E254", f"vmap({name})(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of "
                               f"dimensionality {leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}.")
    return dim % leaf.ndim


def batch_size(name, leaves, dims):
    """The size of the dimension that is mapped, the same for all arguments."""
    sizes = {leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None}
    if not sizes:
        raise TensorValueError("MG-E254", f"vmap({name})(<inputs>): at least one of in_dims must be an int: no input is mapped")
    if len(sizes) > 1:
        raise TensorValueError("MG-E254", "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                               f"{[leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]}")
    if 0 in sizes:
        raise TensorValueError("MG-E254", f"vmap({name}): the mapped dimension has size 0. minigrad calls the function once for "
                               "each example, so that without examples the shape of the result is unknown")
    return sizes.pop()


def stack_results(name, results, out_dims):
    """The trees that `func` returned for the examples, as one tree of stacked tensors."""
    leaves, spec = tree_flatten(results[0])
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise TensorValueError("MG-E254", f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}")
    dims = [out_dims] * len(leaves) if isinstance(out_dims, int) else tree_leaves(out_dims)
    if len(dims) != len(leaves) or not all(isinstance(dim, int) for dim in dims):
        raise TensorValueError("MG-E254", f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the structure "
                               f"of `outputs`: {len(leaves)} tensors")
    columns = zip(*[tree_leaves(result) for result in results])
    return tree_unflatten([stack(column, dim) for column, dim in zip(columns, dims)], spec)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several models of one class, each stacked along a new first dimension: an ensemble.

    Args:
        models (sequence of nn.Module): of the same class, all in training mode or none.

    Returns:
        tuple: a dict of parameters, leaves that require a gradient as those of the models do, and a dict of buffers.

    Raises:
        RuntimeError: there are no models, they are of different classes, or in different modes.

    >>> models = [mg.nn.Linear(3, 2) for _ in range(4)]
    >>> params, buffers = mg.func.stack_module_state(models)
    >>> params["weight"].shape
    minigrad.Size([4, 2, 3])
    >>> call = lambda p, x: mg.func.functional_call(models[0], p, (x,))
    >>> mg.func.vmap(call, in_dims=(0, None))(params, mg.ones(5, 3)).shape
    minigrad.Size([4, 5, 2])

    Mirrors ``torch.func.stack_module_state``.
    """
    models = check_models(models, "stack_module_state")
    parameters = {name: stack([dict(model.named_parameters())[name].detach() for model in models]).requires_grad_(p.requires_grad)
                  for name, p in models[0].named_parameters()}
    buffers = {name: stack([dict(model.named_buffers())[name].detach() for model in models])
               for name, _ in models[0].named_buffers()}
    return parameters, buffers
