"""Sequences of different lengths in a single padded tensor, and back. Mirrors ``torch/nn/utils/rnn.py``."""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

from minigrad.errors import ShapeError
from minigrad.ops import cat, stack, transpose, unbind
from minigrad.ops.base.rule import tensor_argument

__all__ = ["pad_sequence", "unpad_sequence"]


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
    return stack(padded, 0 if batch_first else 1)


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
    x = padded_sequences if batch_first else transpose(padded_sequences, 0, 1)
    return [row[:length] for row, length in zip(unbind(x), lengths.tolist())]
