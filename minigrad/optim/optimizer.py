"""The base class of optimisers: groups of parameters with options, and state per parameter.

Mirrors ``torch/optim/optimizer.py``.
"""

import copy
import warnings
from collections import defaultdict
from collections.abc import Mapping

from minigrad._arguments import instance
from minigrad._core.mutation.inplace import begin_write
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import MinigradError, OutOfRangeError
from minigrad.ops.base.rule import truth, wrong_type
from minigrad.tensor import Tensor

__all__ = ["Optimizer"]

# What PyTorch calls options in its messages.
NAMES = {"lr": "learning rate", "eps": "epsilon value",
         "betas[0]": "beta parameter at index 0", "betas[1]": "beta parameter at index 1"}


class OptimizerError(MinigradError, ValueError):
    """An optimiser was given options or parameters that make no sense."""


class OptimizerTypeError(MinigradError, TypeError):
    """An optimiser was given something of another type."""


class MissingParameters(MinigradError, KeyError):
    """A group of parameters has none."""


class UnsupportedOption(MinigradError, NotImplementedError):
    """An option of PyTorch's optimisers that minigrad does not have, or a method that a subclass lacks."""


class ContradictingOptions(MinigradError, RuntimeError):
    """Two options of an optimiser exclude each other."""


class Optimizer:
    """Base class of optimisers. Mirrors ``torch.optim.Optimizer``.

    Args:
        params (iterable): of parameters, of pairs (name, parameter), or of dicts with ``"params"`` and options.
        defaults (dict): options for the groups that do not give their own.

    A subclass has ``update(param, grad, group, state)``.

    Raises:
        ValueError: there are no parameters, or one is in two groups.
        TypeError: `params` is a tensor, or has something else than tensors in it.

    >>> class Descent(mg.optim.Optimizer):
    ...     def update(self, param, grad, group, state):
    ...         param.data.sub_(grad * group['lr'])
    >>> w = mg.tensor([1.], requires_grad=True)
    >>> w.sum().backward()
    >>> Descent([w], {'lr': 0.5}).step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    _opt_called = False         # whether it has made a step: a schedule must not go first

    def __init__(self, params, defaults):
        self.defaults = instance(defaults, dict, "defaults", type(self).__name__, code="MG-E402")
        self.state = defaultdict(dict)
        self.param_groups = []
        if isinstance(params, Tensor):
            raise OptimizerTypeError("MG-E402", "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                                     "but got Tensor", fix="write [param]")
        groups = listed(params)
        if not groups:
            raise OptimizerError("MG-E402", "optimizer got an empty parameter list",
                                 fix="pass model.parameters(), not used up before")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Add a group: a dict with ``"params"`` and any options that differ from the defaults.

        >>> a, b = mg.zeros(1), mg.zeros(1)
        >>> optimizer = mg.optim.SGD([a], lr=0.1)
        >>> optimizer.add_param_group({'params': [b], 'lr': 0.2})
        >>> [group['lr'] for group in optimizer.param_groups]
        [0.1, 0.2]
        """
        if not isinstance(param_group, dict):
            raise OptimizerTypeError("MG-E402", f"param_group must be a dict, but got {type(param_group)}")
        if "params" not in param_group:
            raise MissingParameters("MG-E402", "param_group has no 'params'", found=", ".join(map(str, param_group)) or "nothing")
        group = dict(param_group)
        if isinstance(group["params"], set):
            raise OptimizerTypeError("MG-E402", "optimizer parameters need to be organized in ordered collections, but the "
                                     "ordering of tensors in sets will change between runs. Please use a list instead.")
        params = [group["params"]] if isinstance(group["params"], Tensor) else listed(group["params"])
        named = sum(isinstance(param, tuple) for param in params)
        if named:
            if named < len(params):
                raise OptimizerError("MG-E402", "all optimizer params should be with/without names. Some param names are missing")
            if any(len(pair) != 2 for pair in params):
                raise OptimizerError("MG-E402", "a parameter with a name is a pair (name, parameter)")
            group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise OptimizerError("MG-E402", "all optimizer param groups should be with/without names. cannot add param group with "
                                 "names to the optimizer without, or the reverse")
        group["params"] = params
        if len({id(param) for param in params}) < len(params):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                          stacklevel=3)
        seen = {id(p) for other in self.param_groups for p in other["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise OptimizerTypeError("MG-E402", "optimizer can only optimize Tensors, but one of the params is "
                                         f"{type(param).__name__}")
            if not param.is_leaf:
                raise OptimizerError("MG-E402", "can't optimize a non-leaf Tensor",
                                     fix="pass the parameters, not what is computed of them")
            if id(param) in seen:
                raise OptimizerError("MG-E402", "some parameters appear in more than one parameter group")
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters, to None or to zeros.

        >>> w = mg.tensor([1.], requires_grad=True)
        >>> w.sum().backward()
        >>> mg.optim.SGD([w]).zero_grad()
        >>> w.grad is None
        True
        """
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    if param.grad.grad_fn is not None:      # of a backward with create_graph=True
                        param.grad.detach_()
                    param.grad.requires_grad_(False).zero_()

    def step(self, closure=None):
        """Change every parameter that has a gradient by one step.

        Args:
            closure (callable, optional): computes the loss again, calls backward and returns the loss.

        Returns:
            What `closure` returned, or None.

        >>> w = mg.tensor([1.], requires_grad=True)
        >>> w.sum().backward()
        >>> mg.optim.SGD([w], lr=0.1).step()
        >>> w
        tensor([0.9000], requires_grad=True)
        """
        self._opt_called = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        name = type(self).__name__ + ".step"
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is not None:
                        begin_write(param, name)
                        self.update(param, grad, group, self.state[param])
        return loss

    def update(self, param, grad, group, state):
        """Change the numbers of one parameter. `state` is the dict kept for it."""
        raise UnsupportedOption("MG-E402", f"{type(self).__name__} has no method update(param, grad, group, state)",
                                fix="define it: it changes `param` by one step, without history")

    def state_dict(self):
        """The state and options, with numbers instead of the parameters: what `load_state_dict` takes.

        >>> list(mg.optim.SGD([mg.zeros(1)]).state_dict())
        ['state', 'param_groups']
        """
        numbers = {}
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
                  for group in self.param_groups]
        states = {numbers[id(p)]: dict(state) for p, state in self.state.items() if id(p) in numbers and state}
        return {"state": states, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Take over state and options that `state_dict` gave.

        Raises:
            ValueError: the groups are of other numbers or sizes. Nothing has been changed then.

        >>> a, b = mg.optim.SGD([mg.zeros(1)], lr=0.1), mg.optim.SGD([mg.zeros(1)])
        >>> b.load_state_dict(a.state_dict())
        >>> b.param_groups[0]['lr']
        0.1
        """
        function = type(self).__name__ + ".load_state_dict"
        for key in ("param_groups", "state"):
            if key not in instance(state_dict, Mapping, "state_dict", function, "dict", "MG-E402"):
                raise MissingParameters("MG-E402", f"{function}(): argument 'state_dict' has no {key!r}",
                                        fix="pass what state_dict() of such an optimizer returned")
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
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            param = params.get(number, number)      # state of what is no parameter is kept as it is
            self.state[param] = {name: copy_for(param, name, value) for name, value in state.items()} if number in params else state

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def listed(params):
    """What is iterable, as a list."""
    try:
        return list(params)
    except TypeError:
        raise OptimizerTypeError("MG-E402", "params argument given to the optimizer should be an iterable of Tensors or dicts, but "
                                 f"{type(params).__name__} is not iterable", fix="pass model.parameters()") from None


def copy_for(param, name, value):
    """A copy of a value of the state of `param`, in its dtype; but a count of steps stays what it is."""
    if isinstance(value, Tensor) and name != "step" and param.is_floating_point():
        return value.detach().to(param.dtype).clone()
    return copy.deepcopy(value)


def check_options(optimizer, lr, weight_decay, foreach, fused, differentiable):
    """Raise unless the options that all optimisers have make sense together."""
    function = type(optimizer).__name__
    foreach, fused = truth(foreach, "foreach", function), truth(fused, "fused", function)
    differentiable = truth(differentiable, "differentiable", function)
    if isinstance(lr, Tensor):
        check(lr.numel() == 1, "Tensor lr must be 1-element")
        check(not foreach, "lr as a Tensor is not supported for capturable=False and foreach=True")
    check_option(optimizer, "lr", lr)
    check_option(optimizer, "weight_decay", weight_decay)
    if fused and differentiable:
        raise ContradictingOptions("MG-E402", "`fused` does not support `differentiable`")
    if fused and foreach:
        raise ContradictingOptions("MG-E402", "`fused` and `foreach` cannot be `True` together.")
    if differentiable:
        raise UnsupportedOption("MG-E402", "differentiable=True is not supported: a step is one kernel, which is not recorded",
                                fix="write the step with ops: w = w - lr * g, with g from autograd.grad(..., create_graph=True)")


def check_option(optimizer, name, value, fits=lambda x: x >= 0):
    """Raise `ValueError` unless a number fits, and `TypeError` if it is none."""
    try:
        fit = bool(fits(value))
    except (TypeError, ValueError):     # of a comparison: arrays have no truth
        raise wrong_type(type(optimizer).__name__, name, "a number", value, "MG-E402") from None
    check(fit, f"Invalid {NAMES.get(name) or name + ' value'}: {value}")


def pair(optimizer, name, value):
    """`value`, an option that is a tuple or list of two numbers."""
    function = type(optimizer).__name__
    if not isinstance(value, (tuple, list)):
        raise wrong_type(function, name, "a pair of numbers", value, "MG-E402")
    if len(value) < 2:
        raise OutOfRangeError("MG-E402", f"{function}(): argument '{name}' must be a pair of numbers: index "
                              f"{len(value)} is out of range")
    check(len(value) == 2, f"{function}(): argument '{name}' must be a pair of numbers, not {len(value)}")
    return value


def check_betas(optimizer, betas):
    """Raise unless the factors of two running means lie in [0, 1)."""
    for name, beta in zip(("betas[0]", "betas[1]"), pair(optimizer, "betas", betas)):
        check_option(optimizer, name, beta, lambda beta: 0 <= beta < 1)


def decayed(param, grad, group):
    """The gradient as an update uses it: the way up turned round, and the weight decay in it, or already in the parameter."""
    grad = -grad if group["maximize"] else grad
    decay = group["weight_decay"]
    if decay and group.get("decoupled_weight_decay"):
        param.mul_(1 - float(group["lr"]) * decay)
    elif decay:
        grad = grad + decay * param
    return grad


def check(condition, what):
    """Raise `ValueError` unless an option makes sense."""
    if not condition:
        raise OptimizerError("MG-E402", what)
