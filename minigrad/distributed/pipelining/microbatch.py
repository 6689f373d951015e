"""A batch cut into microbatches, and their outputs put together again.

    x (8, 3)  --split_args_kwargs_into_chunks-->  4 tensors of (2, 3)  --stages-->  4 outputs  --merge_chunks-->  y (8, 5)

Chunks are views, so nothing is copied. A *chunk spec* says for each argument how it is split: a `TensorChunkSpec` along which
dimension; without one, tensors are split along dimension 0, and everything else goes to all microbatches.

Mirrors ``torch/distributed/pipelining/microbatch.py``. Read next: ``stage.py``.
"""

from itertools import repeat
from typing import Any

from minigrad._arguments import listed
from minigrad.distributed.pipelining._debug import describe_value
from minigrad.errors import AutogradAssertionError, AutogradError, OutOfRangeError, TensorValueError
from minigrad.ops import cat
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """Split a tensor along dimension `split_dim`.

    Mirrors ``torch.distributed.pipelining.microbatch.TensorChunkSpec``.

    >>> from minigrad.distributed.pipelining.microbatch import TensorChunkSpec, split_args_kwargs_into_chunks
    >>> args, kwargs = split_args_kwargs_into_chunks((mg.ones(2, 6),), {}, 3, args_chunk_spec=(TensorChunkSpec(1),))
    >>> [x.shape for (x,) in args]
    [minigrad.Size([2, 2]), minigrad.Size([2, 2]), minigrad.Size([2, 2])]
    """

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims):
        """Return a tuple of specs, one for each dimension in `chunk_dims`."""
        return tuple([TensorChunkSpec(dim) for dim in chunk_dims])

    @staticmethod
    def from_dict(chunk_dims):
        """Return a dict of specs, one for each dimension in the dict `chunk_dims`."""
        return {name: TensorChunkSpec(dim) for name, dim in chunk_dims.items()}


ALONG_0 = TensorChunkSpec(0)


def split_args_kwargs_into_chunks(
        args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Split the arguments of a model into those of its microbatches.

    Args:
        args (tuple): positional arguments; tensors may stand in nested lists, tuples and dicts.
        kwargs (dict or None): keyword arguments.
        chunks (int): the number of microbatches. If a tensor has fewer rows, there are only as many microbatches as rows.
        args_chunk_spec (tuple, optional): a `TensorChunkSpec` for each argument, or None for one that all microbatches get whole.
        kwargs_chunk_spec (dict, optional): likewise, by name.

    Returns:
        tuple: a list of tuples and a list of dicts, both with an element for each microbatch. If the rows do not divide, the first
        microbatches have one more. A chunk of a tensor that requires grad retains its gradient.

    Raises:
        ValueError: `chunks` is no positive int.
        RuntimeError: a tensor has no rows.
        IndexError: a tensor lacks the dimension.
        AssertionError: a spec does not have the structure of its arguments.

    Mirrors ``torch.distributed.pipelining.microbatch.split_args_kwargs_into_chunks``, which refuses None in a spec for a tensor.

    >>> from minigrad.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> args, kwargs = split_args_kwargs_into_chunks((mg.arange(5), "sum"), {}, 2)
    >>> args
    [(tensor([0, 1, 2]), 'sum'), (tensor([3, 4]), 'sum')]
    """
    if not isinstance(chunks, int) or chunks < 1:
        raise TensorValueError("MG-E234", f"the number of microbatches must be a positive int, got {chunks!r}",
                               fix="pass n_microbatches=4, say")
    kwargs = {} if kwargs is None else kwargs
    args, kwargs = tuple(args), dict(kwargs)
    specs = [*matching(args, args_chunk_spec), *matching(kwargs, kwargs_chunk_spec)]
    leaves, spec = tree_flatten((args, kwargs))
    sizes = [leaf.shape[split.split_dim] for leaf, split in zip(leaves, specs) if split is not None]
    count = min([chunks, *sizes])
    if count < 1:
        raise AutogradError("MG-E234", "a tensor of no rows cannot be split into microbatches", fix="leave empty batches out")
    pieces = [[leaf] * count if split is None else split_tensor(leaf, count, split.split_dim) for leaf, split in zip(leaves, specs)]
    rebuilt = [tree_unflatten(list(microbatch), spec) for microbatch in zip(*pieces)] if pieces else [((), {})] * count
    return [tuple(a) for a, _ in rebuilt], [dict(k) for _, k in rebuilt]


def matching(arguments, chunk_spec):
    """Return a `TensorChunkSpec` or None for each leaf of `arguments`, which is a tuple or a dict."""
    if chunk_spec is None:
        return [ALONG_0 if isinstance(leaf, Tensor) else None for leaf in checked(tree_flatten(arguments)[0], repeat(ALONG_0))]
    keys = list(arguments) if isinstance(arguments, dict) else range(len(arguments))
    if set(keys) != set(chunk_spec if isinstance(arguments, dict) else range(len(chunk_spec))):
        raise misfit(arguments, chunk_spec)
    splits = []
    for key in keys:
        leaves, structure = tree_flatten(arguments[key])
        if isinstance(chunk_spec[key], TensorChunkSpec | None):
            splits += [chunk_spec[key] if isinstance(leaf, Tensor) else None for leaf in leaves]
            continue
        found, expected = tree_flatten(chunk_spec[key])
        if expected != structure or not all(isinstance(split, TensorChunkSpec | None) for split in found):
            raise misfit(arguments[key], chunk_spec[key])
        splits += found
    checked(tree_flatten(arguments)[0], splits)
    return splits


def checked(leaves, splits):
    """Return the leaves, if each tensor has the dimension along which it is to be split."""
    for leaf, split in zip(leaves, splits):
        if isinstance(leaf, Tensor) and split is not None and not -leaf.dim() <= split.split_dim < leaf.dim():
            raise OutOfRangeError("MG-E234", f"a tensor of shape {list(leaf.shape)} has no dimension {split.split_dim} to split.",
                                  fix="give another TensorChunkSpec in args_chunk_spec or kwargs_chunk_spec; with None there, all "
                                      "microbatches get the whole tensor")
    return leaves


def misfit(arguments, chunk_spec):
    """Return the error for a chunk spec of another structure than its arguments."""
    return AutogradAssertionError("MG-E234", "the chunk spec does not have the structure of its arguments.",
                                  expected=describe_value(arguments), found=describe_value(chunk_spec),
                                  fix="give each argument a TensorChunkSpec, or None")


def split_tensor(tensor, count, dim):
    """Return `count` views of the tensor. Each retains its gradient, so that `stage_backward` can read it."""
    pieces = tensor.tensor_split(count, dim)
    for piece in pieces:
        if piece.requires_grad:
            piece.retain_grad()
    return pieces


def merge_chunks(chunks, chunk_spec):
    """Put the outputs of all microbatches together: the inverse of `split_args_kwargs_into_chunks` for outputs.

    Args:
        chunks (list): the output of each microbatch: a tensor, or tensors and other values in nested lists, tuples and dicts.
        chunk_spec: the same structure, with a `TensorChunkSpec` for each tensor and None for other values; or None for all
            tensors along dimension 0.

    Returns:
        The same structure. Tensors are concatenated.

    Raises:
        ValueError: the outputs have different structures, or another than the spec.
        AssertionError: a value that is not a tensor differs between microbatches.

    Mirrors ``torch.distributed.pipelining.microbatch.merge_chunks``.

    >>> from minigrad.distributed.pipelining.microbatch import merge_chunks
    >>> merge_chunks([(mg.ones(1), "a"), (mg.zeros(2), "a")], None)
    (tensor([1., 0., 0.]), 'a')
    """
    chunks = listed(chunks, "chunks", "merge_chunks", "list")
    if not chunks:
        raise TensorValueError("MG-E234", "there are no chunks to merge", fix="run at least one microbatch")
    leaves, structure = tree_flatten(chunks[0])
    if chunk_spec is None:
        splits = [ALONG_0 if isinstance(leaf, Tensor) else None for leaf in leaves]
    else:
        splits, expected = tree_flatten(chunk_spec)
        if expected != structure:
            raise unlike(chunks[0], chunk_spec)
    columns = [leaves]
    for chunk in chunks[1:]:
        more, found = tree_flatten(chunk)
        if found != structure:
            raise unlike(chunk, chunk_spec or chunks[0])
        columns.append(more)
    merged = []
    for split, values in zip(splits, zip(*columns)):
        if isinstance(split, TensorChunkSpec) and all(isinstance(value, Tensor) for value in values):
            merged.append(cat(list(values), split.split_dim))
            continue
        for value in values[1:]:
            if value is not values[0] and value != values[0]:
                raise AutogradAssertionError("MG-E234", f"Expected {values[0]!r}, got {value!r}: the microbatches differ in a "
                                             "value that is not a tensor", fix="return the same for all microbatches, or a tensor")
        merged.append(values[0])
    return tree_unflatten(merged, structure)


def unlike(chunk, spec):
    """Return the error for an output of another structure."""
    return TensorValueError("MG-E234", f"Chunk {describe_value(chunk)} did not match chunk spec {describe_value(spec)}",
                            fix="return the same structure for each microbatch, and give output_merge_spec that structure")
