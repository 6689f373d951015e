"""`Optimizer`, the base class of all optimizers.

    optimizer.param_groups      list of dicts: "params", a list of parameters, and options such as "lr"
    optimizer.state             parameter -> dict, such as a momentum buffer

`step` calls ``update(param, grad, group, state)`` for each parameter that has a gradient.

Mirrors ``torch/optim/optimizer.py``.
"""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument, instance
from minigrad._core.mutation.inplace import begin_write
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import MinigradError, OutOfRangeError
from minigrad.ops.base.arguments import truth, wrong_type
from minigrad.optim import _hooks
from minigrad.optim._hooks import run_hooks
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["Optimizer"]

# The names of options in PyTorch's messages.
NAMES = {"lr": "learning rate", "eps": "epsilon value",
         "betas[0]": "beta parameter at index 0", "betas[1]": "beta parameter at index 1"}


class _RequiredParameter:
    """The default of an option that must be given, in optimizers that programs write: ``lr=required``."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()
ParamsT = "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]"


class OptimizerError(MinigradError, ValueError):
    """An option is out of range, or a parameter cannot be optimized."""


class OptimizerTypeError(MinigradError, TypeError):
    """An argument of an optimizer has the wrong type."""


class MissingParameters(MinigradError, KeyError):
    """A dict lacks a required key, such as "params"."""


class UnsupportedOption(MinigradError, NotImplementedError):
    """minigrad does not support the option, or a subclass lacks a method."""


class ContradictingOptions(MinigradError, RuntimeError):
    """Two options of an optimizer exclude each other."""


class Optimizer:
    """Base class of optimizers. Mirrors ``torch.optim.Optimizer``.

    Args:
        params (iterable): parameters, pairs (name, parameter), or dicts with ``"params"`` and options.
        defaults (dict): the options of groups that do not set their own.

    A subclass defines ``update(param, grad, group, state)``.

    Raises:
        ValueError: there are no parameters, one is not a leaf, or one is in two groups.
        TypeError: `params` is a tensor, or contains something that is not a tensor.
        KeyError: a dict lacks ``"params"``.

    >>> class Descent(mg.optim.Optimizer):
    ...     def update(self, param, grad, group, state):
    ...         param.data.sub_(grad * group['lr'])
    >>> w = mg.tensor([1.], requires_grad=True)
    >>> w.sum().backward()
    >>> Descent([w], {'lr': 0.5}).step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    register_step_pre_hook = _hooks.register_step_pre_hook
    register_step_post_hook = _hooks.register_step_post_hook
    register_state_dict_pre_hook = _hooks.register_state_dict_pre_hook
    register_state_dict_post_hook = _hooks.register_state_dict_post_hook
    register_load_state_dict_pre_hook = _hooks.register_load_state_dict_pre_hook
    register_load_state_dict_post_hook = _hooks.register_load_state_dict_post_hook
    _opt_called = False         # whether `step` has been called: a schedule warns if it steps first

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
                 defaults: dict[str, Any]) -> None:
        self.defaults = instance(defaults, dict, "defaults", type(self).__name__, code="MG-E402")
        self.state = defaultdict(dict)
        self.param_groups = []
        if isinstance(params, Tensor):
            raise OptimizerTypeError("MG-E402", "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                                     "but got Tensor", fix="write [param]")
        groups = as_list(params)
        if not groups:
            raise OptimizerError("MG-E402", "optimizer got an empty parameter list",
                                 fix="pass model.parameters(). An iterator that was used before is empty")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)  # pyright: ignore[reportArgumentType]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Args:
            param_group (dict): ``"params"``, and the options that differ from the defaults.

        Raises:
            TypeError, ValueError, KeyError: as in the constructor.

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
        params = [group["params"]] if isinstance(group["params"], Tensor) else as_list(group["params"])
        named = sum(isinstance(param, tuple) for param in params)
        if named:
            if named < len(params):
                raise OptimizerError("MG-E402", "all optimizer params should be with/without names. Some param names are missing")
            if any(len(pair) != 2 for pair in params):
                raise OptimizerError("MG-E402", "a named parameter must be a pair (name, parameter)")
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
                                     fix="pass the parameters themselves, not tensors computed from them")
            if id(param) in seen:
                raise OptimizerError("MG-E402", "some parameters appear in more than one parameter group")
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros if `set_to_none` is False.

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
                    if param.grad.grad_fn is not None:      # after a backward with create_graph=True
                        param.grad.detach_()
                    param.grad.requires_grad_(False).zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure (callable, optional): computes the loss, calls backward and returns the loss.

        Returns:
            The result of `closure`, or None.

        >>> w = mg.tensor([1.], requires_grad=True)
        >>> w.sum().backward()
        >>> mg.optim.SGD([w], lr=0.1).step()
        >>> w
        tensor([0.9000], requires_grad=True)
        """
        self._opt_called = True
        loss, name = None, type(self).__name__ + ".step"
        if closure is not None:
            callable_argument(closure, "closure", name)
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is not None:
                        begin_write(param, name)
                        self.update(param, grad, group, self.state[param])
        return loss

    def update(self, param: Tensor, grad: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Update one parameter in place. `state` is its dict in ``self.state``."""
        raise UnsupportedOption("MG-E402", f"{type(self).__name__} has no method update(param, grad, group, state)",
                                fix="define it: it updates `param` in place, without recording")

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options as a dict, for `load_state_dict`. Numbers stand for the parameters.

        >>> list(mg.optim.SGD([mg.zeros(1)]).state_dict())
        ['state', 'param_groups']
        """
        run_hooks(self, "state_dict_pre")
        numbers = {}
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
                  for group in self.param_groups]
        states = {numbers[id(p)]: dict(state) for p, state in self.state.items() if id(p) in numbers and state}
        found: Any = run_hooks(self, "state_dict_post", {"state": states, "param_groups": groups})
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load state and options.

        Args:
            state_dict (dict): the result of `state_dict`, of an optimizer with the same groups.

        Raises:
            ValueError: the number of groups or their sizes differ. Nothing has been loaded.
            KeyError: a key is missing.
            TypeError: `state_dict` is not a mapping.

        >>> a, b = mg.optim.SGD([mg.zeros(1)], lr=0.1), mg.optim.SGD([mg.zeros(1)])
        >>> b.load_state_dict(a.state_dict())
        >>> b.param_groups[0]['lr']
        0.1
        """
        function = type(self).__name__ + ".load_state_dict"
        state_dict = run_hooks(self, "load_state_dict_pre", state_dict)      # pyright: ignore[reportAssignmentType]
        for key in ("param_groups", "state"):
            if key not in instance(state_dict, Mapping, "state_dict", function, "dict", "MG-E402"):
                raise MissingParameters("MG-E402", f"{function}(): argument 'state_dict' has no {key!r}",
                                        fix="pass the result of state_dict() of an optimizer of this class")
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
            param = params.get(number, number)      # a key that does not stand for a parameter stays as it is
            self.state[param] = {name: copy_for(param, name, value) for name, value in state.items()} if number in params else state
        run_hooks(self, "load_state_dict_post")

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def as_list(params):
    """Return the elements of an iterable as a list; raise if `params` is not iterable."""
    try:
        return list(params)
    except TypeError:
        raise OptimizerTypeError("MG-E402", "params argument given to the optimizer should be an iterable of Tensors or dicts, but "
                                 f"{type(params).__name__} is not iterable", fix="pass model.parameters()") from None


def copy_for(param, name, value):
    """Copy a value of the state of `param`. A tensor gets param's dtype, except the step count."""
    if isinstance(value, Tensor) and name != "step" and param.is_floating_point():
        return value.detach().to(param.dtype).clone()
    return copy.deepcopy(value)


def check_options(optimizer, lr, weight_decay, foreach, fused, differentiable):
    """Check the options that all optimizers have; raise if one is out of range or two exclude each other."""
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
    """Raise `ValueError` unless ``fits(value)``, and `TypeError` if `value` is not a number."""
    try:
        fit = bool(fits(value))
    except (TypeError, ValueError):     # an array has no truth value
        raise wrong_type(type(optimizer).__name__, name, "a number", value, "MG-E402") from None
    check(fit, f"Invalid {NAMES.get(name) or name + ' value'}: {value}")


def check_pair(optimizer, name, value):
    """Return `value`; raise unless it is a tuple or list of two numbers."""
    function = type(optimizer).__name__
    if not isinstance(value, (tuple, list)):
        raise wrong_type(function, name, "a pair of numbers", value, "MG-E402")
    if len(value) < 2:
        raise OutOfRangeError("MG-E402", f"{function}(): argument '{name}' must be a pair of numbers: index "
                              f"{len(value)} is out of range")
    check(len(value) == 2, f"{function}(): argument '{name}' must be a pair of numbers, not {len(value)}")
    return value


def check_betas(optimizer, betas):
    """Raise unless both betas are in [0, 1)."""
    for name, beta in zip(("betas[0]", "betas[1]"), check_pair(optimizer, "betas", betas)):
        check_option(optimizer, name, beta, lambda beta: 0 <= beta < 1)


def apply_weight_decay(param, grad, group):
    """Return the gradient for an update, with the sign for `maximize` and the weight decay.

    Decoupled weight decay is applied to the parameter instead, in place.
    """
    grad = -grad if group["maximize"] else grad
    decay = group["weight_decay"]
    if decay and group.get("decoupled_weight_decay"):
        param.mul_(1 - float(group["lr"]) * decay)
    elif decay:
        grad = grad + decay * param
    return grad


def check(condition, what):
    """Raise `ValueError` with the message `what` unless `condition` holds."""
    if not condition:
        raise OptimizerError("MG-E402", what)
