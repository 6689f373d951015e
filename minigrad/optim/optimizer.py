"""The base class of optimisers: groups of parameters with options, and state per parameter.

Mirrors ``torch/optim/optimizer.py``.
"""

import copy
from collections import defaultdict

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor

__all__ = ["Optimizer"]


class OptimizerError(MinigradError, ValueError):
    """An optimiser was given options or parameters that make no sense."""


class Optimizer:
    """Base class of optimisers. Mirrors ``torch.optim.Optimizer``.

    Args:
        params (iterable): of parameters, of pairs (name, parameter), or of dicts with ``"params"`` and options.
        defaults (dict): options for the groups that do not give their own.

    A subclass has ``update(param, grad, group, state)``.

    Raises:
        ValueError: there are no parameters, or one is listed twice.
        TypeError: `params` is a tensor, or has something else than tensors in it.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got Tensor: "
                            "write [param]")
        groups = list(params)
        if not groups:
            raise OptimizerError("MG-E402", "optimizer got an empty parameter list",
                                 fix="pass model.parameters(), not used up before")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Add a group: a dict with ``"params"`` and any options that differ from the defaults."""
        group = dict(param_group)
        params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        if params and isinstance(params[0], tuple):
            group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        group["params"] = params
        seen = {id(p) for other in self.param_groups for p in other["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not param.is_leaf:
                raise OptimizerError("MG-E402", "can't optimize a non-leaf Tensor",
                                     fix="pass the parameters, not what is computed of them")
            if id(param) in seen:
                raise OptimizerError("MG-E402", "some parameters appear in more than one parameter group, or twice in one")
            seen.add(id(param))
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters, to None or to zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad.detach_()
                    param.grad.zero_()

    def step(self, closure=None):
        """Change every parameter that has a gradient by one step.

        Args:
            closure (callable, optional): computes the loss anew, calls backward and returns the loss.

        Returns:
            What `closure` returned, or None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is not None:
                        self.update(param, grad, group, self.state[param])
                        param.bump()
        return loss

    def update(self, param, grad, group, state):
        """Change the numbers of one parameter. `state` is the dict kept for it."""
        raise NotImplementedError

    def state_dict(self):
        """The state and options, with numbers in place of the parameters: what `load_state_dict` takes."""
        numbers = {}
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
                  for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items() if id(p) in numbers},
                "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Take over state and options that `state_dict` gave.

        Raises:
            ValueError: the groups are of other numbers or sizes. Nothing has been changed then.
        """
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise OptimizerError("MG-E402", "loaded state dict has a different number of parameter groups",
                                 expected=str(len(self.param_groups)), found=str(len(groups)))
        for own, other in zip(self.param_groups, groups):
            if len(own["params"]) != len(other["params"]):
                raise OptimizerError("MG-E402", "loaded state dict contains a parameter group that doesn't match the size of "
                                     "optimizer's group", expected=str(len(own["params"])), found=str(len(other["params"])))
        params = {}
        for own, other in zip(self.param_groups, groups):
            params.update(zip(other["params"], own["params"]))
            own.update({k: copy.deepcopy(v) for k, v in other.items() if k != "params"})
        self.state = defaultdict(dict, {params[int(k)]: copy.deepcopy(v) for k, v in state_dict["state"].items()})

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def check(condition, what):
    """Raise `ValueError` unless an option makes sense."""
    if not condition:
        raise OptimizerError("MG-E402", what)
