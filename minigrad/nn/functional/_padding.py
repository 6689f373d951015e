"""Padding: new elements before and after those of a tensor. Circular padding is composed of ops; the other modes are rules.

    constant    0 0 | a b c | 0 0           reflect     c b | a b c | b a
    replicate   a a | a b c | c c           circular    b c | a b c | a b

Mirrors ``aten/src/ATen/native/PadNd.cpp``. Read next: ``ops/nn/padding.py``, which has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradNotImplementedError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import integer, number, tensor_argument, wrong_type
from minigrad.ops.nn.padding import PADS, CircularPad, ConstantPadNd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Number, Tensor

__all__ = ["pad"]

MODES = ("reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Tensor | Number | None = None) -> Tensor:
    """Pad dimensions at both ends. A negative number removes elements.

    Args:
        input (Tensor): of any shape.
        pad (sequence of int): (before, after) for the last dimension, then for the second last, and so on.
        mode (str): ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``. All except ``"constant"`` pad the last 1, 2
            or 3 dimensions, of a tensor that has one or two dimensions more.
        value (float, optional): the value of new elements, for ``"constant"``; 0 by default.

    Mirrors ``torch.nn.functional.pad``.

    Raises:
        RuntimeError: the numbers in `pad` do not fit the shape.
        NotImplementedError: the mode is unknown, or does not support this number of dimensions.
        TypeError: `pad` is not a sequence.

    >>> F.pad(mg.tensor([[1., 2., 3.]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    tensor_argument("pad", input)
    if not isinstance(pad, (tuple, list)):
        raise TensorTypeError("MG-E206", f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    pad = [integer(n, "pad", "pad") for n in pad]
    if len(pad) % 2:
        raise ShapeError("MG-E204", "Padding length must be divisible by 2", found=str(pad))
    if len(pad) > 2 * input.ndim:
        raise ShapeError("MG-E204", "Padding length should be less than or equal to two times the input dimension but got padding "
                         f"length {len(pad)} and input of dimension {input.ndim}")
    if not isinstance(mode, str):
        raise wrong_type("pad", "mode", "str", mode)
    value = None if value is None else number(value, "value", "pad")
    if mode != "constant":
        check_mode(input, pad, mode, value)
    for i in range(len(pad) // 2):
        dim = input.ndim - 1 - i
        before, after = pad[2 * i:2 * i + 2]
        size = input.shape[dim]
        if size + before + after < 0 or min(before, 0) + min(after, 0) < -size:
            raise ShapeError("MG-E204", "narrow(): length must be non-negative.", expected=f"at most {size} elements removed",
                             found=f"padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}")
    if mode == "constant":
        return call(ConstantPadNd.op, (input, tuple(pad), 0 if value is None else input.new_full((), value, device="cpu").item()))
    if mode != "circular":
        return call(PADS[mode][len(pad) // 2 - 1], (input, tuple(pad)))
    return call(CircularPad.op, (input, tuple(pad))) if any(pad) else input.clone()


def check_mode(input, pad, mode, value):
    """Raise unless `mode` exists and supports the shape, `pad` and `value`."""
    if mode not in MODES:
        raise AutogradNotImplementedError("MG-E332", f"Unrecognised padding mode {mode}",
                                          expected="'constant', 'reflect', 'replicate' or 'circular'")
    if value not in (None, 0):
        raise ArgumentError("MG-E332", f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) not in (2, 4, 6) or input.ndim - len(pad) // 2 not in (1, 2):
        raise AutogradNotImplementedError("MG-E332", f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.",
                                          expected="padding of the last 1, 2 or 3 dimensions of a tensor with one or two more")
    for i in range(len(pad) // 2):
        size, both = input.shape[input.ndim - 1 - i], pad[2 * i:2 * i + 2]
        if mode == "reflect" and max(both) >= size:
            raise ShapeError("MG-E204", "Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                             f"padding ({both[0]}, {both[1]}) at dimension {input.ndim - 1 - i} of input {list(input.shape)}")
        if mode == "circular" and max(both) > max(size + min(both[0], 0) + min(both[1], 0), 0):
            raise ShapeError("MG-E204", "Padding value causes wrapping around more than once.")
        if mode == "replicate" and not size and max(both) > 0:
            raise ShapeError("MG-E204", "an empty dimension has nothing to replicate", found=str(list(input.shape)))
