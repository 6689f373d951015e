"""The mean of all ranks' gradients, while the backward runs. Mirrors ``torch/csrc/distributed/c10d/reducer.cpp``.

    parameters, in the order of the model      w0  b0  w1  b1  w2  b2
    buckets, in the order of the backward      [b2 w2 b1] [w1 b0 w0]      each one flat tensor

    hook of b2, w2       their gradients are copied into the first bucket
    hook of b1           the bucket is full: its all-reduce starts, and the backward goes on
    hook of w1, b0, w0   the second bucket is full: its all-reduce starts. It was the last: wait for both, and write the means

The hooks are those of `register_post_accumulate_grad_hook`. All ranks start the buckets in the same order, whatever the order of
their hooks, because MPI pairs the collectives of ranks by their order.

Read next: ``minigrad/nn/parallel/distributed.py``.
"""

from typing import Any

from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import tensor, zeros
from minigrad.dtypes import int32
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

__all__ = ["GradBucket", "Reducer", "parameters_reached"]

MEGABYTE = 1 << 20


class GradBucket:
    """Parameters whose gradients travel together, in one flat tensor. Mirrors ``torch.distributed.GradBucket``.

    A hook of `DistributedDataParallel.register_comm_hook` gets it.
    """

    def __init__(self, index, parameters):
        self._index = index
        self._parameters = parameters
        self._last = False
        self._buffer = zeros(sum([p.numel() for p in parameters]), dtype=parameters[0].dtype, device=parameters[0].device)

    def index(self):
        """Return its number: 0 is the first that is full."""
        return self._index

    def buffer(self):
        """Return the flat tensor of all gradients."""
        return self._buffer

    def set_buffer(self, buffer):
        """Put another flat tensor in the place of `buffer`."""
        self._buffer = buffer

    def gradients(self):
        """Return the gradients, as views of `buffer`."""
        return views(self._buffer, self._parameters)

    def parameters(self):
        """Return the parameters."""
        return list(self._parameters)

    def is_last(self):
        """Whether it is the last one of a backward."""
        return self._last


def views(flat, parameters):
    """Return the parts of a flat tensor, with the shapes of the parameters."""
    found, begin = [], 0
    for p in parameters:
        found.append(flat[begin:begin + p.numel()].view(p.shape))
        begin += p.numel()
    return found


def buckets_of(parameters, first, cap):
    """Split parameters into buckets, in reverse order, of one dtype and device each.

    Args:
        first, cap (float): when the first bucket and another are full, in bytes.
    """
    groups, size = [], 0
    for p in reversed(parameters):
        limit = first if len(groups) == 1 else cap
        if not groups or size >= limit or (p.dtype, p.device) != (groups[-1][0].dtype, groups[-1][0].device):
            groups.append([])
            size = 0
        groups[-1].append(p)
        size += p.numel() * p.element_size()
    buckets = [GradBucket(index, group) for index, group in enumerate(groups)]
    buckets[-1]._last = True
    return buckets


def parameters_reached(outputs):
    """Return the leaves that a backward from some tensors reaches, as a set of ids."""
    stack = [value.grad_fn for value in outputs if isinstance(value, Tensor) and value.grad_fn is not None]
    seen, found = set(stack), {id(value) for value in outputs if isinstance(value, Tensor) and value.grad_fn is None}
    while stack:
        node = stack.pop()
        found.add(id(getattr(node, "variable", None)))      # of AccumulateGrad
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                stack.append(below)
    return found


class Reducer:
    """The buckets of a model, and the state of the present backward."""

    def __init__(self, named, first, cap, as_views):
        """``named`` are pairs (name, parameter). `as_views`: the gradients are views of the buckets, instead of copies."""
        self.names = {id(p): name for name, p in named}
        self.buckets = buckets_of([p for _, p in named], first, cap)
        self.as_views = as_views
        self.hook: Any = None           # (state, function): what is done with a full bucket
        self.share_use: Any = None      # sums a tensor over the ranks: which parameters any of them has used
        self._bucket = {id(p): bucket for bucket in self.buckets for p in bucket._parameters}
        self._place = {id(p): i for bucket in self.buckets for i, p in enumerate(bucket._parameters)}
        self._waits: Any = None         # ids of the parameters that have not had their gradient; None between two backwards
        self._unused = set()
        for _, p in named:
            p.register_post_accumulate_grad_hook(self.ready)

    def begin(self, unused):
        """Expect a backward, in which the parameters with the ids `unused` get no gradient.

        Raises:
            RuntimeError: the last one was not complete.
        """
        if self._waits:
            names = sorted([self.names[key] for key in self._waits])
            raise AutogradError(
                "MG-E613", "Expected to have finished reduction in the prior iteration before starting a new one: the last "
                "backward gave no gradient to some parameters", found=", ".join(names[:8]) + (", ..." if len(names) > 8 else ""),
                cause="the loss does not depend on them, or there was no backward, or it failed",
                fix="DistributedDataParallel(model, find_unused_parameters=True), or under no_grad() if there is no backward")
        self._waits = set(self.names)
        self._futures = []
        self._unused = set(unused)
        with no_grad():
            for key in self._unused:
                self._slice(key).zero_()
        self._done(self._unused)

    def _slice(self, key):
        return self._bucket[key].gradients()[self._place[key]]

    def ready(self, parameter):
        """The hook of a parameter, which has just got its gradient."""
        if self._waits is None:         # no_sync()
            return
        key = id(parameter)
        if key not in self._waits:
            raise AutogradError("MG-E613", "Expected to mark a variable ready only once: its gradient has come twice",
                                tensor=self.names[key], cause="two backwards after one forward, or a parameter that was called "
                                "unused", fix="add up the losses and call backward once")
        with no_grad():
            self._slice(key).copy_(parameter.grad)
        self._done({key})

    def _done(self, keys):
        """These parameters wait no longer. Start what is full, in order; after the last bucket, wait for all."""
        self._waits -= keys
        while len(self._futures) < len(self.buckets):
            bucket = self.buckets[len(self._futures)]
            if any([id(p) in self._waits for p in bucket._parameters]):
                break
            state, function = self.hook
            self._futures.append(function(state, bucket))
        for future in self._futures:
            future.done()               # MPI moves numbers only while it is asked
        if len(self._futures) == len(self.buckets):
            self._finish()

    def _finish(self):
        """Wait for the means, and write them into the gradients, all or none."""
        means = [future.wait() for future in self._futures]
        used = self._used_somewhere()
        with no_grad():
            for bucket, mean in zip(self.buckets, means):
                mean = mean[0] if isinstance(mean, (list, tuple)) else mean
                if mean is not bucket._buffer:
                    bucket._buffer.copy_(mean)
                for p, part in zip(bucket._parameters, bucket.gradients()):
                    if id(p) in used:
                        if self.as_views:
                            p.grad = part
                        elif p.grad is None:
                            p.grad = part.clone()
                        else:
                            p.grad.copy_(part)
        self._waits, self._futures = None, []

    def _used_somewhere(self):
        """Return the ids of the parameters that got a gradient on any rank. The others keep theirs."""
        if self.share_use is None:
            return set(self.names)
        keys = list(self.names)
        counts = tensor([int(key not in self._unused) for key in keys], dtype=int32)
        self.share_use(counts)
        return {key for key, count in zip(keys, counts.tolist()) if count}
