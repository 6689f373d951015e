"""Data parallelism: each rank has the model, and a part of the batch. Mirrors ``torch/nn/parallel/distributed.py``.

    rank 0   batch 0 ---> forward ---> backward ---> gradients --+
                                                                  +--> mean, on both ---> the same step of the optimizer
    rank 1   batch 1 ---> forward ---> backward ---> gradients --+

The mean is that of the whole batch, if the loss is a mean and the parts have one size. It is computed while the backward runs:
``minigrad/distributed/_reducer.py``.
"""

import contextlib
from typing import Any

from minigrad.autograd.grad_mode import is_grad_enabled, no_grad
from minigrad.distributed import distributed_c10d as dist
from minigrad.distributed._reducer import MEGABYTE, Reducer, parameters_reached
from minigrad.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from minigrad.errors import AutogradError, TensorTypeError
from minigrad.nn.modules.module import Module
from minigrad.utils._pytree import tree_leaves

__all__ = ["DistributedDataParallel"]

FIRST_BUCKET = 1        # megabytes, as in PyTorch: the first all-reduce starts early


class DistributedDataParallel(Module):
    """A module whose gradients are the means over all ranks. Mirrors ``torch.nn.parallel.DistributedDataParallel``.

    The constructor gives the parameters and buffers of rank 0 to all ranks. Each forward gives them the buffers of rank 0 again.

    Args:
        module (Module): the same on all ranks.
        broadcast_buffers (bool): give the buffers of rank 0 to all, before each forward. True if it is not given.
        init_sync (bool): compare the parameters of the ranks, and give those of rank 0 to all, now.
        process_group (ProcessGroup, optional): the ranks; all if it is not given.
        bucket_cap_mb (float, optional): gradients travel in buckets of this many megabytes; 25 if it is not given.
        find_unused_parameters (bool): look in the graph of each forward's output which parameters the backward will not reach.
        gradient_as_bucket_view (bool): the gradients are views of the buckets, which saves their memory once.
        static_graph (bool): all iterations have the same graph, so the first one tells which parameters are unused.
        device_ids, output_device, dim, check_reduction: accepted as in PyTorch. minigrad computes where the parameters are.

    Raises:
        RuntimeError: no parameter requires a gradient; the ranks have different parameters; or, in a forward, the last backward did
            not reach all parameters.
        ValueError: there is no process group.

    Source: Li et al., 2020, arXiv:2006.15704.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model(mg.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> mg.distributed.destroy_process_group()
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None, init_sync=True,
                 process_group=None, bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False,
                 gradient_as_bucket_view=False, static_graph=False):
        super().__init__()
        if not isinstance(module, Module):
            raise TensorTypeError("MG-E613", f"DistributedDataParallel wraps a Module, got {type(module).__name__}")
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise AutogradError("MG-E613", "DistributedDataParallel is not needed when a module doesn't have any parameters that "
                                "require a gradient.", fix="use the module itself")
        if process_group is None:
            dist.get_rank()         # raises if there is no group
            process_group = dist.GroupMember.WORLD
        self.module = module
        self.device_ids, self.dim = None, dim
        self.process_group = process_group
        self.broadcast_buffers = broadcast_buffers is None or bool(broadcast_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._static_unused = None
        if init_sync:
            self._same_everywhere()
            for value in [*module.parameters(), *module.buffers()]:
                dist.broadcast(value.detach(), group=process_group, group_src=0)
        cap = (25 if bucket_cap_mb is None else bucket_cap_mb) * MEGABYTE
        self.reducer = Reducer(named, min(FIRST_BUCKET * MEGABYTE, cap), cap, gradient_as_bucket_view)
        self.reducer.hook = process_group, allreduce_hook
        if find_unused_parameters or static_graph:
            self.reducer.share_use = lambda counts: dist.all_reduce(counts, group=process_group)
        self._has_comm_hook = False

    def _same_everywhere(self):
        """Compare names, shapes and dtypes of the parameters over the ranks. A difference is an error on all of them."""
        mine = [f"{name} {p.dtype} {tuple(p.shape)}" for name, p in self.module.named_parameters()]
        theirs: list[Any] = [None] * dist.get_world_size(self.process_group)
        dist.all_gather_object(theirs, mine, group=self.process_group)
        for rank, other in enumerate(theirs):
            if other != theirs[0]:
                odd = sorted(set(other) ^ set(theirs[0])) or ["another order"]
                raise AutogradError("MG-E613", f"DDP expects same model across all ranks, but rank {rank} has other parameters "
                                    "than rank 0", found="; ".join(odd[:6]), fix="build the model in the same way on all ranks")

    def forward(self, *inputs, **kwargs):
        """Run the module, and expect a backward if gradients are enabled."""
        synced = self.require_backward_grad_sync and is_grad_enabled()
        if self.broadcast_buffers and self.require_backward_grad_sync:
            with no_grad():
                for buffer in self.module.buffers():
                    dist.broadcast(buffer, group=self.process_group, group_src=0)
        output = self.module(*inputs, **kwargs)
        if synced:
            self.reducer.begin(self._unused(output))
        return output

    def _unused(self, output):
        """Return the ids of the parameters that a backward from the output will not reach."""
        if not self.find_unused_parameters and not self.static_graph:
            return ()
        if self._static_unused is not None:
            return self._static_unused
        unused = set(self.reducer.names) - parameters_reached(tree_leaves(output))
        if self.static_graph:
            self._static_unused = unused
        return unused

    @contextlib.contextmanager
    def no_sync(self):
        """Context manager: backwards inside add to this rank's gradients only. The next backward outside shares the sum.

        Mirrors ``DistributedDataParallel.no_sync``. Gradients of several parts of a batch::

            with model.no_sync():
                loss(model(first), y1).backward()
            loss(model(second), y2).backward()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        """Let a function do what the ranks do with a full bucket, instead of the mean.

        Args:
            state: the first argument of the function.
            hook: called as ``hook(state, bucket)`` with a `GradBucket`. It returns a future of the flat tensor of gradients.

        Raises:
            RuntimeError: there is one already.
            TypeError: it is not callable.

        Mirrors ``DistributedDataParallel.register_comm_hook``. See ``distributed/algorithms/ddp_comm_hooks/default_hooks.py``.
        """
        if not callable(hook):
            raise TensorTypeError("MG-E613", f"Communication hook must be callable, got {type(hook).__name__}",
                                  fix="register_comm_hook(None, default_hooks.fp16_compress_hook)")
        if self._has_comm_hook:
            raise AutogradError("MG-E613", "register_comm_hook can only be called once.",
                                fix="wrap the module again for another hook")
        self._has_comm_hook = True
        self.reducer.hook = state, hook
