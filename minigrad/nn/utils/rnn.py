"""Sequences of different lengths in a single tensor, padded or packed, and back.

    sequences a b c, d e, f         padded (T, N)       a d f       packed      a d f b e c
                                                        b e 0                   batch_sizes 3 2 1
                                                        c 0 0

A packed sequence has no padding: step after step, it has the elements of the sequences that are long enough. The longest sequence
comes first; `sorted_indices` says in which order the sequences were before. The recurrent layers accept it.

Mirrors ``torch/nn/utils/rnn.py``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from collections import namedtuple
from typing import TYPE_CHECKING

from minigrad._arguments import instance, listed
from minigrad.creation import arange, empty_like, tensor
from minigrad.dtypes import int64
from minigrad.errors import AutogradAssertionError, ShapeError, TensorValueError
from minigrad.ops import cat, index_select, split, stack, transpose, unbind
from minigrad.ops.base.arguments import flag, integer, tensor_argument, truth
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
           "unpack_sequence", "unpad_sequence"]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences into a tensor. Shorter sequences are padded.

    Args:
        sequences (iterable of Tensor): (Tᵢ, ...), which differ in the length Tᵢ only.
        batch_first (bool): the result is (N, T, ...) instead of (T, N, ...), where T is the largest Tᵢ.
        padding_value (float): the value of the padding.
        padding_side (str): ``"right"``, after each sequence, or ``"left"``.

    Mirrors ``torch.nn.utils.rnn.pad_sequence``.

    Raises:
        RuntimeError: there are no sequences, their shapes do not fit, or `padding_side` is unknown.

    >>> nn.utils.rnn.pad_sequence([mg.tensor([1., 2.]), mg.tensor([3.])], batch_first=True)
    tensor([[1., 2.],
            [3., 0.]])
    """
    if not hasattr(sequences, "__iter__"):
        raise ShapeError("MG-E362", f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise ShapeError("MG-E362", f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise ShapeError("MG-E362", "received an empty list of sequences")
    for i, x in enumerate(sequences):
        tensor_argument("pad_sequence", x, f"sequences[{i}]")
    rest = sequences[0].shape[1:]
    for i, x in enumerate(sequences):
        if x.ndim == 0 or x.shape[1:] != rest:
            raise ShapeError("MG-E362", f"sequence {i} of shape {list(x.shape)} doesn't match the others",
                             expected=f"(length, {', '.join(map(str, rest))})", found=str(list(x.shape)))
    longest = max([x.shape[0] for x in sequences])
    padded = []
    for x in sequences:
        if x.shape[0] < longest:
            filling = x.new_full((longest - x.shape[0], *rest), padding_value)
            x = cat([filling, x] if padding_side == "left" else [x, filling])
        padded.append(x)
    return stack(padded, 0 if flag(batch_first, "batch_first", "pad_sequence") else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Return the sequences that `pad_sequence` has stacked, without the padding.

    Args:
        padded_sequences (Tensor): (T, N, ...), or (N, T, ...) with `batch_first`, padded on the right.
        lengths (Tensor): (N), the lengths of the sequences.
        batch_first (bool): as in `pad_sequence`.

    Returns:
        A list of tensors, views of `padded_sequences`.

    Mirrors ``torch.nn.utils.rnn.unpad_sequence``.

    >>> nn.utils.rnn.unpad_sequence(mg.tensor([[1., 2.], [3., 0.]]), mg.tensor([2, 1]), batch_first=True)
    [tensor([1., 2.]), tensor([3.])]
    """
    tensor_argument("unpad_sequence", padded_sequences, "padded_sequences")
    tensor_argument("unpad_sequence", lengths, "lengths", 2)
    x = padded_sequences if truth(batch_first, "batch_first", "unpad_sequence") else transpose(padded_sequences, 0, 1)
    return [row[:length] for row, length in zip(unbind(x), lengths.tolist())]


class PackedSequence(namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))):
    """Sequences of different lengths without padding. `pack_padded_sequence` and `pack_sequence` make it.

    Args:
        data (Tensor): (the sum of the lengths, ...), the elements step after step.
        batch_sizes (Tensor): (T), the number of sequences that have an element at each step.
        sorted_indices (Tensor, optional): (N), the place that each sequence had before they were sorted by length.
        unsorted_indices (Tensor, optional): (N), the inverse of `sorted_indices`.

    Mirrors ``torch.nn.utils.rnn.PackedSequence``.

    Raises:
        ValueError: `batch_sizes` is not on the CPU.

    >>> packed = nn.utils.rnn.pack_sequence([mg.tensor([1., 2., 3.]), mg.tensor([4., 5.])])
    >>> packed.data, packed.batch_sizes
    (tensor([1., 4., 2., 5., 3.]), tensor([2, 2, 1]))
    """

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AutogradAssertionError("MG-E362", "Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        tensor_argument("PackedSequence", data, "data")
        tensor_argument("PackedSequence", batch_sizes, "batch_sizes", 2)
        if batch_sizes.device.type != "cpu":
            raise TensorValueError("MG-E362", "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                                   "created manually. They should be instantiated by functions like pack_sequence and "
                                   "pack_padded_sequence.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert `data` to a dtype or device, as `Tensor.to` does. Return this sequence if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        places = [None if index is None else index.to(data.device) for index in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *places)

    def cpu(self) -> Self:
        """Move the sequence to the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any) -> Self:
        """Move the sequence to a GPU."""
        return self.to(*args or ("cuda",))

    def double(self) -> Self:
        """Convert `data` to float64."""
        return self.to(self.data.double().dtype)

    def float(self) -> Self:
        """Convert `data` to float32."""
        return self.to(self.data.float().dtype)

    def half(self) -> Self:
        """Convert `data` to float16."""
        return self.to(self.data.half().dtype)

    def long(self) -> Self:
        """Convert `data` to int64."""
        return self.to(self.data.long().dtype)

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation of 0, 1, ..., n - 1.

    Args:
        permutation (Tensor, optional): (n). For None, the result is None.

    Mirrors ``torch.nn.utils.rnn.invert_permutation``.

    >>> nn.utils.rnn.invert_permutation(mg.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    tensor_argument("invert_permutation", permutation, "permutation")
    output = empty_like(permutation)
    output[permutation] = arange(0, permutation.numel(), device=permutation.device)
    return output


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences from a padded tensor.

    Args:
        input (Tensor): (T, N, ...), or (N, T, ...) with `batch_first`, padded on the right.
        lengths (list of int or Tensor): (N), the lengths, each from 1 to T.
        batch_first (bool): whether the batch is the first dimension of `input`.
        enforce_sorted (bool): require that the longest sequence comes first; otherwise they are sorted here.

    Mirrors ``torch.nn.utils.rnn.pack_padded_sequence``.

    Raises:
        RuntimeError: the lengths are not sorted, or do not fit `input`.

    >>> x = mg.tensor([[1., 2., 3.], [4., 5., 0.]])
    >>> nn.utils.rnn.pack_padded_sequence(x, [3, 2], batch_first=True).data
    tensor([1., 4., 2., 5., 3.])
    """
    tensor_argument("pack_padded_sequence", input, "input")
    x = transpose(input, 0, 1) if flag(batch_first, "batch_first", "pack_padded_sequence") else input
    if isinstance(lengths, Tensor):
        if lengths.ndim != 1 or lengths.dtype is not int64:
            raise ShapeError("MG-E362", "'lengths' argument should be a 1D CPU int64 tensor",
                             found=f"{lengths.ndim}D {lengths.dtype}")
        lengths = lengths.tolist()
    lengths = [integer(length, "lengths", "pack_padded_sequence", "list of ints")
               for length in listed(lengths, "lengths", "pack_padded_sequence", "list of ints or Tensor")]
    order = None
    if not truth(enforce_sorted, "enforce_sorted", "pack_padded_sequence"):
        places = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        lengths = [lengths[i] for i in places]
        order = tensor(places, dtype=int64, device=input.device)
        x = index_select(x, 1, order)
    elif lengths != sorted(lengths, reverse=True):
        raise ShapeError("MG-E362", "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                         "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement.")
    if len(lengths) != x.size(1):
        raise ShapeError("MG-E362", f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
                         f"(batch_size={x.size(1)})")
    if min(lengths, default=0) <= 0:
        raise ShapeError("MG-E362", "Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                         "<= 0")
    if lengths[0] > x.shape[0]:
        raise ShapeError("MG-E362", f"a length of {lengths[0]} is larger than the number of steps, {x.shape[0]}")
    sizes = [sum(length > t for length in lengths) for t in range(lengths[0])]
    data = cat([x[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, dtype=int64), order)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the sequences of a packed sequence as a padded tensor, and their lengths.

    Args:
        sequence (PackedSequence): the sequences.
        batch_first (bool): the result is (N, T, ...) instead of (T, N, ...).
        padding_value (float): the value of the padding.
        total_length (int, optional): T; the largest length by default.

    Mirrors ``torch.nn.utils.rnn.pad_packed_sequence``.

    Raises:
        ValueError: `total_length` is smaller than a length.

    >>> packed = nn.utils.rnn.pack_sequence([mg.tensor([1., 2., 3.]), mg.tensor([4., 5.])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1., 2., 3.],
            [4., 5., 0.]]), tensor([3, 2]))
    """
    instance(sequence, PackedSequence, "sequence", "pad_packed_sequence")
    flag(batch_first, "batch_first", "pad_packed_sequence")
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        total_length = integer(total_length, "total_length", "pad_packed_sequence")
    if total_length is not None and total_length < longest:
        raise TensorValueError("MG-E362", "Expected total_length to be at least the length of the longest sequence in input, but "
                               f"got total_length={total_length} and max sequence length being {longest}")
    data, count, steps = sequence.data, sizes[0], []
    for part in split(data, sizes):
        missing = count - part.shape[0]
        steps.append(cat([part, data.new_full((missing, *data.shape[1:]), padding_value)]) if missing else part)
    steps += [data.new_full((count, *data.shape[1:]), padding_value)] * ((total_length or longest) - longest)
    lengths = tensor([sum(size > i for size in sizes) for i in range(count)], dtype=int64)
    padded = stack(steps)
    if sequence.unsorted_indices is not None:
        padded, lengths = index_select(padded, 1, sequence.unsorted_indices), lengths[sequence.unsorted_indices.cpu()]
    return transpose(padded, 0, 1) if batch_first else padded, lengths


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences.

    Args:
        sequences (list of Tensor): (Tᵢ, ...), which differ in the length Tᵢ only.
        enforce_sorted (bool): require that the longest sequence comes first; otherwise they are sorted here.

    Mirrors ``torch.nn.utils.rnn.pack_sequence``.

    Raises:
        RuntimeError: the sequences are not sorted, or their shapes do not fit.

    >>> nn.utils.rnn.pack_sequence([mg.tensor([4., 5.]), mg.tensor([1., 2., 3.])], enforce_sorted=False).data
    tensor([1., 4., 2., 5., 3.])
    """
    sequences = listed(sequences, "sequences", "pack_sequence", "list of Tensors")
    return pack_padded_sequence(pad_sequence(sequences), [x.size(0) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed sequence as a list.

    Args:
        packed_sequences (PackedSequence): the sequences.

    Mirrors ``torch.nn.utils.rnn.unpack_sequence``.

    >>> nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([mg.tensor([1., 2.]), mg.tensor([3.])]))
    [tensor([1., 2.]), tensor([3.])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
