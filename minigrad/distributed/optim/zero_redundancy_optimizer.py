"""The state of an optimizer, spread over the ranks: ZeRO, stage 1.

    parameters           w0  b0  w1  b1        on all ranks, with the same gradients (DistributedDataParallel)
    owner                 0   1   1   0        each rank owns some, of about the same size together
    step, rank 0         updates w0 and b1     with their state, such as the two moments of Adam, which no other rank has
    step, rank 1         updates b0 and w1
    broadcast            w0 and b1 from rank 0, b0 and w1 from rank 1

Each number is computed by the optimizer that you name, on one rank instead of on all. So the result is equal to the last bit.

Mirrors ``torch/distributed/optim/zero_redundancy_optimizer.py``.

Read before: ``minigrad/optim/optimizer.py``, ``minigrad/nn/parallel/distributed.py``.
"""

from typing import Any

from minigrad._arguments import callable_argument
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.creation import empty
from minigrad.distributed import distributed_c10d as dist
from minigrad.distributed._reducer import views
from minigrad.errors import AutogradError, TensorTypeError
from minigrad.ops import cat
from minigrad.optim.lbfgs import LBFGS
from minigrad.optim.optimizer import Optimizer, UnsupportedOption

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer whose state is spread over the ranks. Mirrors ``torch.distributed.optim.ZeroRedundancyOptimizer``.

    Args:
        params (iterable): as for the optimizer; the same on all ranks.
        optimizer_class (type): the optimizer that updates the parameters of each rank, such as `minigrad.optim.AdamW`.
        process_group (ProcessGroup, optional): the ranks; all if it is not given.
        parameters_as_bucket_view, overlap_with_ddp (bool): False; minigrad does not support them.
        defaults: the options of `optimizer_class`.

    All ranks have the same gradients, as `DistributedDataParallel` makes them, and call `step` together.

    Raises:
        TypeError: `optimizer_class` is no optimizer.
        NotImplementedError: an option that is not supported; or LBFGS, which needs all gradients at once.
        ValueError: there is no process group; or the optimizer refuses the parameters or options.

    Source: Rajbhandari et al., 2019, arXiv:1910.02054.

    >>> from minigrad.distributed.optim import ZeroRedundancyOptimizer
    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> model = nn.Linear(2, 1)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), mg.optim.AdamW, lr=0.01)
    >>> model(mg.ones(3, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.consolidate_state_dict()
    >>> list(optimizer.state_dict()["state"])
    [0, 1]
    >>> mg.distributed.destroy_process_group()
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False,
                 **defaults):
        if not isinstance(optimizer_class, type) or not issubclass(optimizer_class, Optimizer):
            raise TensorTypeError("MG-E402", "ZeroRedundancyOptimizer takes a class of optimizers, got "
                                  f"{getattr(optimizer_class, '__name__', optimizer_class)!r}",
                                  fix="ZeroRedundancyOptimizer(model.parameters(), mg.optim.AdamW, lr=0.01)")
        if issubclass(optimizer_class, LBFGS):
            raise UnsupportedOption("MG-E402", f"{optimizer_class.__name__} needs all gradients at once, and here each rank "
                                    "updates its own parameters", fix="an optimizer that updates each by itself: AdamW, SGD")
        for name, value in (("parameters_as_bucket_view", parameters_as_bucket_view), ("overlap_with_ddp", overlap_with_ddp)):
            if value:
                raise UnsupportedOption("MG-E402", f"ZeroRedundancyOptimizer does not support {name}=True", fix="leave it out")
        self._rank = dist.get_rank(process_group)
        self.process_group = process_group
        self._sizes = [0] * dist.get_world_size(process_group)      # numbers that each rank owns
        self._owner = {}                # id of a parameter: rank
        self._make: Any = lambda groups: optimizer_class(groups, **defaults)
        self.optim: Any = None          # of this rank; PyTorch's name
        self._consolidated: Any = None  # the state of all ranks, by the numbers of the parameters
        super().__init__(params, dict(defaults))
        self.defaults = self.optim.defaults

    def add_param_group(self, param_group):
        """Add a group of parameters, on all ranks. Each parameter goes to the rank that owns least, the largest first.

        Mirrors ``ZeroRedundancyOptimizer.add_param_group``. Arguments and errors as `Optimizer.add_param_group`.
        """
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in sorted(group["params"], key=lambda p: -p.numel()):
            self._owner[id(p)] = self._sizes.index(min(self._sizes))
            self._sizes[self._owner[id(p)]] += p.numel()
        mine = {**options_of(group), "params": [p for p in group["params"] if self._owner[id(p)] == self._rank]}
        if self.optim is None:
            self.optim = self._make([mine])
            self.state = self.optim.state
        else:
            self.optim.add_param_group(mine)
        group.update(options_of(self.optim.param_groups[-1]))
        self._consolidated = None

    def step(self, closure=None):
        """Update the parameters that this rank owns, and get the others from their owners.

        Args:
            closure (callable, optional): computes the loss of this rank, calls backward and returns the loss.

        Raises:
            RuntimeError: a rank does not come.

        Mirrors ``ZeroRedundancyOptimizer.step``.
        """
        self._opt_called, self._consolidated = True, None
        loss = None
        if closure is not None:
            callable_argument(closure, "closure", "ZeroRedundancyOptimizer.step")
            with enable_grad():
                loss = closure()
        for group, mine in zip(self.param_groups, self.optim.param_groups):
            mine.update(options_of(group))          # a scheduler has changed ours
        self.optim.step()
        for group, mine in zip(self.param_groups, self.optim.param_groups):
            group.update(options_of(mine))
        self._share_parameters()
        return loss

    def _share_parameters(self):
        """Give each rank the parameters that the others own: one broadcast for each rank and dtype."""
        if len(self._sizes) == 1:
            return
        parts = {}
        for group in self.param_groups:
            for p in group["params"]:
                parts.setdefault((self._owner[id(p)], p.dtype, p.device), []).append(p)
        works = []
        with no_grad():
            for (owner, dtype, device), params in parts.items():
                if owner == self._rank:
                    flat = cat([p.detach().reshape(-1) for p in params])
                else:
                    flat = empty(sum([p.numel() for p in params]), dtype=dtype, device=device)
                works.append((dist.broadcast(flat, group=self.process_group, async_op=True, group_src=owner), owner, flat, params))
            for work, owner, flat, params in works:
                work.wait()
                if owner != self._rank:
                    for p, part in zip(params, views(flat, params)):
                        p.copy_(part)

    def consolidate_state_dict(self, to=0):
        """Give the state of all ranks to the rank `to`, before `state_dict` there. All ranks call it.

        Args:
            to (int): a rank of the group.

        Raises:
            RuntimeError: a rank does not come.

        Mirrors ``ZeroRedundancyOptimizer.consolidate_state_dict``.
        """
        mine, found = super().state_dict()["state"], {}
        for rank in range(len(self._sizes)):        # one after the other, since all together may not fit
            part = [mine]
            dist.broadcast_object_list(part, group=self.process_group, group_src=rank)
            if self._rank == to:
                found.update(part[0])
        self._consolidated = dict(sorted(found.items())) if self._rank == to else None

    def state_dict(self):
        """Return the state of all ranks, as the optimizer alone would have it: it loads into either, on any number of ranks.

        Raises:
            RuntimeError: `consolidate_state_dict` has not been called since the last step, or was for another rank.

        Mirrors ``ZeroRedundancyOptimizer.state_dict``, which returns an old state after another step.
        """
        if self._consolidated is None:
            raise AutogradError("MG-E613", "Optimizer state has not been consolidated on this rank.",
                                cause="each rank has the state of some parameters only",
                                fix=f"optimizer.consolidate_state_dict(to={self._rank}) on all ranks, after the last step")
        found = super().state_dict()
        found["state"] = {number: dict(state) for number, state in self._consolidated.items()}
        return found

    def load_state_dict(self, state_dict):
        """Load the state of all ranks, of which this rank keeps its part. The number of ranks may be another than before.

        Arguments and errors as `Optimizer.load_state_dict`. Mirrors ``ZeroRedundancyOptimizer.load_state_dict``.
        """
        super().load_state_dict(state_dict)
        for p in [p for p in self.state if self._owner.get(id(p), self._rank) != self._rank]:
            del self.state[p]
        self.optim.state, self._consolidated = self.state, None
        for group, mine in zip(self.param_groups, self.optim.param_groups):
            mine.update(options_of(group))


def options_of(group):
    """Return the options of a group of parameters."""
    return {name: value for name, value in group.items() if name not in ("params", "param_names")}
