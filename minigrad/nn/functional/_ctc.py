"""Connectionist temporal classification: the likelihood of a label sequence, summed over all its alignments with the input.

    targets  a b        extended  _ a _ b _     (_ is the blank)
    alpha[t, s]         the log-likelihood of all alignments of the inputs 0..t that end at s

    alpha[t, s] = log(e^alpha[t-1, s] + e^alpha[t-1, s-1] + e^alpha[t-1, s-2]) + log_probs[t, label of s]

The last term, from s - 2, is there only if s is no blank and differs from the label at s - 2.

Graves et al., "Connectionist temporal classification", 2006. Mirrors ``aten/src/ATen/native/LossCTC.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false, reportGeneralTypeIssues=false
# (the results of ops have no types inside the package)
import math
from typing import TYPE_CHECKING

from minigrad.creation import arange, full, tensor, zeros
from minigrad.dtypes import int64
from minigrad.errors import ArgumentError, DtypeError
from minigrad.ops import cat, logsumexp, stack, where
from minigrad.ops.base.arguments import flag, integer, tensor_argument
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.nn.losses import reduction_of
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

__all__ = ["ctc_loss"]

LEAST = -1e30       # instead of minus infinity, whose differences are nan


@autocasts
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Tensor:
    """The negative log-likelihood of label sequences whose alignment with the input is not known.

    Args:
        log_probs (Tensor): the logarithms of the probabilities of the classes at each step, (T, N, C), or (T, C).
        targets (Tensor): the labels: (N, S), padded, or (the sum of the lengths), one sequence after the other.
        input_lengths (Tensor or tuple of int): (N), at most T each.
        target_lengths (Tensor or tuple of int): (N), at most S each.
        blank (int): the class for "no label".
        reduction (str): ``"none"``; ``"sum"``; or ``"mean"``, which first divides each loss by the length of its targets.
        zero_infinity (bool): the loss of a target that is too long for its input is 0 instead of infinite.

    Mirrors ``torch.nn.functional.ctc_loss``.

    Raises:
        RuntimeError: a length, a shape or the blank does not fit.

    >>> log_probs = mg.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> F.ctc_loss(log_probs, mg.tensor([[1]]), (2,), (1,)).exp()       # 1 / (3/4): the alignments are 11, 01 and 10
    tensor(1.3333)
    """
    tensor_argument("ctc_loss", log_probs, "log_probs")
    tensor_argument("ctc_loss", targets, "targets", 2)
    single = log_probs.ndim == 2
    lp = log_probs.unsqueeze(1) if single else log_probs
    if lp.ndim != 3:
        raise ArgumentError("MG-E332", f"log_probs must have 2 or 3 dimensions, got {log_probs.ndim}")
    inputs, sizes = as_lengths(input_lengths, "input_lengths"), as_lengths(target_lengths, "target_lengths")
    blank, zero_infinity = integer(blank, "blank", "ctc_loss"), flag(zero_infinity, "zero_infinity", "ctc_loss")
    check_lengths(lp, targets, inputs, sizes, blank)
    labels = pad_targets(targets, sizes, blank, lp.device)
    nll = negative_log_likelihood(lp, labels, inputs, sizes, blank)
    impossible = nll.detach() > -LEAST / 2
    nll = where(impossible, full((), 0.0 if zero_infinity else math.inf, dtype=lp.dtype, device=lp.device), nll)
    if reduction_of(reduction, None, None) == "none":
        return nll.squeeze(0) if single else nll
    if reduction == "sum":
        return nll.sum()
    return (nll / tensor(sizes, dtype=lp.dtype, device=lp.device).clamp(min=1)).mean()


def as_lengths(lengths, name):
    """Lengths as a list of ints."""
    if isinstance(lengths, Tensor):
        lengths = lengths.reshape(-1).tolist()
    return [integer(n, name, "ctc_loss") for n in (lengths if isinstance(lengths, (tuple, list)) else [lengths])]


def check_lengths(lp, targets, inputs, sizes, blank):
    """Raise unless the lengths and the blank fit the tensors."""
    steps, count, classes = lp.shape
    if not lp.is_floating_point():
        raise DtypeError("MG-E203", f'"ctc_loss" not implemented for {lp.dtype}')
    if not 0 <= blank < classes:
        raise ArgumentError("MG-E332", f"blank must be in label range, which is 0 to {classes - 1}, got {blank}")
    for name, lengths in (("input_lengths", inputs), ("target_lengths", sizes)):
        if len(lengths) != count:
            raise ArgumentError("MG-E332", f"{name} must be of size batch_size", expected=str(count), found=str(len(lengths)))
        if min(lengths) < 0:
            raise ArgumentError("MG-E332", f"{name} must not be negative", found=str(min(lengths)))
    if max(inputs) > steps:
        raise ArgumentError("MG-E332", f"Expected input_lengths to have value at most {steps}, but got value {max(inputs)}")
    longest = targets.shape[1] if targets.ndim == 2 else targets.numel()
    if targets.ndim == 2 and (targets.shape[0] != count or max(sizes) > longest):
        raise ArgumentError("MG-E332", f"Expected tensor to have size at least {max(sizes)} at dimension 1, but got size "
                            f"{list(targets.shape)} for argument #2 'targets'")
    if targets.ndim < 2 and sum(sizes) != longest:
        raise ArgumentError("MG-E332", "the target lengths must sum to the number of targets", expected=str(longest),
                            found=str(sum(sizes)))


def pad_targets(targets, sizes, blank, device):
    """The targets as (N, S), with blanks after the end of each."""
    rows, at, flat = [], 0, targets.ndim < 2
    for i, size in enumerate(sizes):
        row = targets.reshape(-1)[at:at + size] if flat else targets[i, :size]
        at += size
        rows.append(cat([row.to(int64), full((max(sizes) - size,), blank, dtype=int64, device=targets.device)]))
    return stack(rows).to(device)


def negative_log_likelihood(lp, labels, inputs, sizes, blank):
    """-log p(labels) for each sequence, (N). About -`LEAST` if there is no alignment."""
    steps, count, _ = lp.shape
    width = 2 * labels.shape[1] + 1
    extended = full((count, width), blank, dtype=int64, device=lp.device)
    extended[:, 1::2] = labels
    skip = zeros((count, width), device=lp.device) > 0
    if width > 2:
        skip[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    ends = tensor(inputs, device=lp.device).unsqueeze(1)
    least = lp.new_full((count, width), LEAST)
    alpha = where(arange(width, device=lp.device) < 2, lp[0].gather(1, extended), least)
    if min(inputs) == 0:
        alpha = where((ends == 0) & (arange(width, device=lp.device) > 0), least, where(ends == 0, least * 0, alpha))
    for t in range(1, max(inputs)):
        one = cat([least[:, :1], alpha[:, :-1]], 1)
        two = where(skip, cat([least[:, :2], alpha[:, :-2]], 1)[:, :width], least)
        new = logsumexp(stack([alpha, one, two]), 0) + lp[t].gather(1, extended)
        alpha = where(t < ends, new, alpha)
    last = tensor([2 * n for n in sizes], device=lp.device).unsqueeze(1)
    final = cat([alpha.gather(1, last), where(last > 0, alpha.gather(1, (last - 1).clamp(min=0)), least[:, :1])], 1)
    # PyTorch's gradient is that with respect to the input of log_softmax. The term below is 0; its gradient is the difference.
    active = (arange(steps, device=lp.device).unsqueeze(1) < ends.squeeze(1)).unsqueeze(2)
    mass = where(active, lp, lp.new_full((), -math.inf)).exp().sum((0, 2))
    return (mass - mass.detach()) - logsumexp(final, 1)
