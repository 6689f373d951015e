"""A softmax over very many classes: frequent classes in a head, rare ones in clusters. Mirrors ``torch/nn/modules/adaptive.py``."""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false
# (the results of ops have no types inside the package)
from collections import namedtuple
from typing import TYPE_CHECKING

from minigrad.errors import ArgumentError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.lists import ModuleList
from minigrad.nn.modules.module import Module
from minigrad.ops import argmax, cat
from minigrad.ops.base.arguments import integer, real, tensor_argument, wrong_type

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ("output", "loss"))


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log probabilities of very many classes, sorted by frequency, and their negative log-likelihood.

        head        the classes below cutoffs[0], and one entry for each cluster
        cluster i   the classes from cutoffs[i] to the next cutoff: log p(cluster) + log p(class | cluster)

    Args:
        in_features (int): the size of the input.
        n_classes (int): the number of classes.
        cutoffs (sequence of int): where the clusters begin, increasing, below `n_classes`.
        div_value (float): cluster i projects the input to ``in_features / div_value ** (i + 1)`` features.
        head_bias (bool): whether the head has a bias.
        device, dtype (optional): the device and dtype of the parameters.

    Grave et al., "Efficient softmax approximation for GPUs", 2017. Mirrors ``torch.nn.AdaptiveLogSoftmaxWithLoss``.

    Raises:
        ValueError: the cutoffs are not increasing numbers in [1, n_classes - 1].
        RuntimeError: in forward: the shapes of input and target do not fit, or a target is out of range.

    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])
    >>> output, loss = layer(mg.ones(3, 16), mg.tensor([1, 7, 19]))
    >>> output.shape, layer.log_prob(mg.ones(3, 16)).shape
    (minigrad.Size([3]), minigrad.Size([3, 20]))
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        if not isinstance(cutoffs, (list, tuple)):
            raise wrong_type("AdaptiveLogSoftmaxWithLoss", "cutoffs", "list of ints", cutoffs)
        cutoffs = [integer(cutoff, "cutoffs", "AdaptiveLogSoftmaxWithLoss") for cutoff in cutoffs]
        in_features = integer(in_features, "in_features", "AdaptiveLogSoftmaxWithLoss")
        n_classes = integer(n_classes, "n_classes", "AdaptiveLogSoftmaxWithLoss")
        div_value = real(div_value, "div_value", "AdaptiveLogSoftmaxWithLoss")
        if not cutoffs:
            raise TensorValueError("MG-E332", "cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1:
            raise TensorValueError("MG-E332", "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                                   "order, where each value is between 1 and n_classes-1")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        options: Any = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **options),
                                        Linear(hidden, size, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """Return (log probabilities of the targets, their mean negative).

        Args:
            input_ (Tensor): (N, in_features), or (in_features).
            target_ (Tensor): (N), or a single class.
        """
        tensor_argument("AdaptiveLogSoftmaxWithLoss", input_, "input_")
        tensor_argument("AdaptiveLogSoftmaxWithLoss", target_, "target_", 2)
        single = target_.ndim == 0
        if input_.ndim != target_.ndim + 1 or (not single and input_.shape[0] != target_.shape[0]):
            raise ArgumentError("MG-E332", "Input and target should have the same size in the batch dimension, and the input has "
                                "one dimension more.", found=f"{list(input_.shape)} and {list(target_.shape)}")
        x, y = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if y.numel() and not 0 <= y.min().item() <= y.max().item() < self.n_classes:
            raise ArgumentError("MG-E332", f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                                f"[{y.min().item()}, {y.max().item()}] were found. ")
        head = F.log_softmax(self.head(x), 1)
        place = y.clamp(max=self.shortlist_size - 1)        # of the class, or of its cluster, in the head
        parts = []
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((y >= low) & (y < high)).nonzero().reshape(-1)
            if rows.numel():
                place = place.index_fill(0, rows, self.shortlist_size + i)
                inner = F.log_softmax(cluster(x[rows]), 1)
                parts.append((rows, inner.gather(1, (y[rows] - low).unsqueeze(1)).squeeze(1)))
        output = head.gather(1, place.unsqueeze(1)).squeeze(1)
        for rows, inner in parts:
            output = output.index_add(0, rows, inner)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _get_full_log_prob(self, input, head_output):
        """The log probabilities of all classes, from the outputs of the head."""
        head = F.log_softmax(head_output, 1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            at = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), 1) + head[:, at:at + 1])
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, (N, n_classes).

        Args:
            input (Tensor): (N, in_features).
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each input, (N).

        Args:
            input (Tensor): (N, in_features).
        """
        head = self.head(input)
        best = argmax(head, 1)
        if not (best >= self.shortlist_size).any():
            return best
        return argmax(self._get_full_log_prob(input, head), 1)
