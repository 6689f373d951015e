"""Parametrizations: a module computes a parameter from others each time that it reads it.

    register_parametrization(layer, "weight", Symmetric())

    layer.weight                            a property of the class that the layer gets: ParametrizedLinear
    layer.parametrizations.weight           a ParametrizationList: [Symmetric()], whose forward computes the weight
    layer.parametrizations.weight.original  the parameter that the optimizer trains

An assignment ``layer.weight = w`` calls the `right_inverse` of each parametrization, last one first, and stores the result in
`original`. If a right inverse returns several tensors, they are ``original0``, ``original1`` and so on.

Mirrors ``torch/nn/utils/parametrize.py``. Read next: ``parametrizations.py``, which has three of them.
"""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
import copy
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minigrad._arguments import instance, listed
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import ArgumentError, TensorValueError
from minigrad.nn.modules.lists import ModuleDict, ModuleList
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

_cache_depth = 0        # how many `cached` contexts are active
_cache: dict[tuple[int, str], Any] = {}     # (id of the module, name) -> the computed tensor


@contextmanager
def cached() -> Iterator[None]:
    """Context manager: inside, each parametrized tensor is computed once, at its first use. All uses share the result.

    Mirrors ``torch.nn.utils.parametrize.cached``.

    >>> from minigrad.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, with the original tensor or tensors. `register_parametrization` makes it.

    Args:
        modules (sequence of Module): the parametrizations, in the order of their calls.
        original (Parameter or Tensor): the tensor to parametrize.
        unsafe (bool): do not check that shape and dtype stay the same.

    Calling it computes the tensor. Mirrors ``torch.nn.utils.parametrize.ParametrizationList``.

    Raises:
        ValueError: there is no module, or a result has the wrong type, shape or dtype.

    >>> from minigrad.nn.utils import parametrize
    >>> layer = parametrize.register_parametrization(nn.Linear(2, 2, bias=False), "weight", nn.Tanh())
    >>> layer.parametrizations.weight
    ParametrizationList(
      (0): Tanh()
    )
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        modules = [instance(m, Module, "modules", "ParametrizationList", "sequence of Modules")
                   for m in listed(modules, "modules", "ParametrizationList")]
        instance(original, Tensor, "original", "ParametrizationList")
        if len(modules) == 0:
            raise TensorValueError("MG-E367", "ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass        # then the parametrization is applied to the values that the tensor has
        if not isinstance(new, (Tensor, Sequence)):
            raise TensorValueError("MG-E367", "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                                   f"{type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for what in ("dtype", "device"):
                if getattr(original, what) != getattr(new, what):
                    raise TensorValueError("MG-E367", f"When `right_inverse` outputs one tensor, it may not change the {what}.",
                                           expected=f"original.{what}: {getattr(original, what)}",
                                           found=f"right_inverse(original).{what}: {getattr(new, what)}")
            original.data = new.data
            register_tensor(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise TensorValueError("MG-E367", "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                                           f"tuple...). Got element {i} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                register_tensor(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            check_kept(self(), dtype, shape, "unparametrized", "parametrized")

    def right_inverse(self, value: Tensor) -> None:
        """Store `value`: the originals become those from which the parametrizations compute it.

        Args:
            value (Tensor): the new value of the parametrized tensor.

        Raises:
            RuntimeError: a parametrization has no right inverse.
            ValueError: a right inverse returns something else than at the registration.
        """
        new: Any = instance(value, Tensor, "value", "right_inverse")
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise ArgumentError("MG-E367", f"parametrization {type(module).__name__} does not implement right_inverse.",
                                        fix="define it, or assign to parametrizations.<name>.original")
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise TensorValueError("MG-E367", f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                pairs = [(self.original, new, "The tensor returned by `right_inverse`", "`original`")]
            else:
                if not isinstance(new, Sequence):
                    raise TensorValueError("MG-E367", "'right_inverse' must return a sequence of tensors. Got "
                                           f"{type(new).__name__}.")
                if len(new) != self.ntensors:
                    raise TensorValueError("MG-E367", "'right_inverse' must return a sequence of tensors of length "
                                           f"{self.ntensors}. Got a sequence of length {len(new)}.")
                pairs = [(getattr(self, f"original{i}"), part, f"Tensor {i} returned by `right_inverse`", f"`original{i}`")
                         for i, part in enumerate(new)]
            for own, part, what, name in pairs:
                if not isinstance(part, Tensor):
                    raise TensorValueError("MG-E367", f"{what} must be a tensor. Got {type(part).__name__}.")
                if own.dtype != part.dtype:
                    raise TensorValueError("MG-E367", f"{what} has dtype {part.dtype} while {name} has dtype {own.dtype}")
                own.data = part.data

    def forward(self) -> Tensor:
        """Compute the tensor from the originals."""
        first, *rest = self
        x = first(self.original) if self.is_tensor else first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def register_tensor(module, name, tensor):
    """Register a parameter as a parameter, and another tensor as a buffer."""
    (module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer)(name, tensor)


def check_kept(result, dtype, shape, before, after):
    """Raise unless `result`, what a parametrization has computed, is a tensor of this dtype and shape."""
    if not isinstance(result, Tensor):
        raise TensorValueError("MG-E367", f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, old in (("dtype", dtype), ("shape", shape)):
        if getattr(result, what) != old:
            raise TensorValueError("MG-E367", f"Registering a parametrization may not change the {what} of the tensor, unless the "
                                   "`unsafe` flag is enabled.", expected=f"{before} {what}: {old}",
                                   found=f"{after} {what}: {getattr(result, what)}",
                                   fix="register_parametrization(..., unsafe=True)")


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Compute a parameter or buffer of a module by a parametrization, from now on.

    Args:
        module (Module): gets a class of its own, whose name starts with "Parametrized".
        tensor_name (str): the name of a parameter or buffer. If it is parametrized already, the new parametrization comes last.
        parametrization (Module): computes the tensor from the original one. Its method ``right_inverse``, if there is one, computes
            an original from a tensor; it is used here, and at each assignment to the tensor.
        unsafe (bool): do not check that shape and dtype stay the same.

    Returns:
        The module.

    Mirrors ``torch.nn.utils.parametrize.register_parametrization``.

    Raises:
        TypeError: `module` or `parametrization` is no module, or `tensor_name` no string.
        ValueError: there is no such tensor; or a result has the wrong type, shape or dtype.

    >>> from minigrad.nn.utils import parametrize
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = parametrize.register_parametrization(nn.Linear(2, 2, bias=False), "weight", Symmetric())
    >>> mg.equal(layer.weight, layer.weight.T), list(layer.state_dict())
    (True, ['parametrizations.weight.original'])
    """
    instance(module, Module, "module", "register_parametrization")
    instance(tensor_name, str, "tensor_name", "register_parametrization")
    instance(parametrization, Module, "parametrization", "register_parametrization")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            y = getattr(module, tensor_name)
            x = parametrization(y)
            check_kept(x, y.dtype, y.shape, f"module.{tensor_name}", f"parametrization(module.{tensor_name})")
            if hasattr(parametrization, "right_inverse"):
                try:
                    z = parametrization.right_inverse(x)
                except NotImplementedError:
                    pass
                else:
                    check_kept(z, y.dtype, y.shape, f"module.{tensor_name}", "right_inverse's")
        chain: Any = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif module._buffers.get(tensor_name) is not None or module._parameters.get(tensor_name) is not None:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            give_own_class(module)
            module.parametrizations = ModuleDict()
        add_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise TensorValueError("MG-E367", f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
                               f"with name '{tensor_name}'")
    return module


def give_own_class(module):
    """Give a module a subclass of its class for itself alone, which the properties of its parametrized tensors are added to."""
    cls = type(module)

    def copy_module(self, memo):
        if id(self) not in memo:
            memo[id(self)] = replica = type(self).__new__(type(self))
            replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def refuse(self):
        raise ArgumentError("MG-E367", "Serialization of parametrized modules is only supported through state_dict().",
                            fix="save module.state_dict(), and load it into a module with the same parametrizations")
    methods = {"__getstate__": refuse}
    if not hasattr(cls, "__deepcopy__"):
        methods["__deepcopy__"] = copy_module
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), methods)


def add_property(module, name):
    """Add a property to the module's own class: reading it computes the tensor, and an assignment stores new originals."""
    def compute(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def assign(self, value):
        self.parametrizations[name].right_inverse(value)
    setattr(type(module), name, property(compute, assign))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, of any tensor or of the one with a name.

    Args:
        module (Module): the module.
        tensor_name (str, optional): the name of the tensor.

    Mirrors ``torch.nn.utils.parametrize.is_parametrized``.

    >>> from minigrad.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    tables = getattr(module, "parametrizations", None)
    if not isinstance(tables, ModuleDict):
        return False
    return len(tables) > 0 if tensor_name is None else tensor_name in tables


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Remove all parametrizations of a tensor. It becomes a parameter or buffer again.

    Args:
        module (Module): the module.
        tensor_name (str): the name of the tensor.
        leave_parametrized (bool): the tensor keeps the computed values; otherwise it has the original ones.

    Returns:
        The module.

    Mirrors ``torch.nn.utils.parametrize.remove_parametrizations``.

    Raises:
        ValueError: the tensor is not parametrized; or there are several originals, and `leave_parametrized` is False.

    >>> from minigrad.nn.utils import parametrize
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
    >>> parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=1, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise TensorValueError("MG-E367", f"Module {module} does not have a parametrization on {tensor_name}")
    chain: Any = module.parametrizations[tensor_name]
    if chain.is_tensor:
        tensor = chain.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).data     # the same object: an optimizer has it
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        tensor = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise TensorValueError("MG-E367", "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
                               "parametrized in terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    register_tensor(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type[Any]:
    """Return the class that a module had before it was parametrized, or the class that it has.

    Args:
        module (Module): the module.

    Mirrors ``torch.nn.utils.parametrize.type_before_parametrizations``.

    >>> from minigrad.nn.utils import parametrize
    >>> parametrize.type_before_parametrizations(nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Give `to_module` the parametrizations of `from_module`, and the original tensors themselves.

    Args:
        from_module, to_module (Module): the modules. If `from_module` is not parametrized, nothing changes.
        tensor_name (str, optional): the tensor to transfer; all by default. `to_module` gets it if it has none.

    Returns:
        The module `to_module`.

    Mirrors ``torch.nn.utils.parametrize.transfer_parametrizations_and_params``.

    >>> from minigrad.nn.utils import parametrize
    >>> a = parametrize.register_parametrization(nn.Linear(2, 1), "weight", nn.Tanh())
    >>> b = parametrize.transfer_parametrizations_and_params(a, nn.Linear(2, 1))
    >>> a.parametrizations.weight.original is b.parametrizations.weight.original
    True
    """
    instance(to_module, Module, "to_module", "transfer_parametrizations_and_params")
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source: Any = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
