"""The pruning methods: each computes a mask, and is the hook that applies it. Mirrors ``torch/nn/utils/prune.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false, reportIncompatibleMethodOverride=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false, reportGeneralTypeIssues=false
# (the results of ops have no types inside the package)
import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.creation import ones_like, zeros_like
from minigrad.errors import AutogradAssertionError, OutOfRangeError, TensorTypeError, TensorValueError
from minigrad.nn.modules.module import Module
from minigrad.ops import abs, kthvalue, norm, topk
from minigrad.ops.base.arguments import integer
from minigrad.random import rand, rand_like
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured"]


class BasePruningMethod(ABC):
    """The base of the pruning methods. An instance is the forward pre-hook that applies the mask.

    A subclass defines `compute_mask`, and the class attribute ``PRUNING_TYPE``: ``"unstructured"`` (single elements),
    ``"structured"`` (slices along the attribute ``dim``) or ``"global"``. Mirrors ``torch.nn.utils.prune.BasePruningMethod``.

    >>> from minigrad.nn.utils import prune
    >>> class Negative(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> layer = nn.Linear(2, 1)
    >>> _ = layer.weight.data.copy_(mg.tensor([[3., -4.]]))
    >>> _ = Negative.apply(layer, "weight")
    >>> layer.weight.tolist(), list(layer.state_dict())
    ([[3.0, -0.0]], ['bias', 'weight_orig', 'weight_mask'])
    """

    _tensor_name: str | None = None
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, str(self._tensor_name), self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the new mask. Each subclass defines its own.

        Args:
            t (Tensor): the scores of the elements, which are usually the elements themselves.
            default_mask (Tensor): the mask so far.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """Return the product of the original tensor of `module` and its mask."""
        instance(module, Module, "module", type(self).__name__)
        if self._tensor_name is None:
            raise AutogradAssertionError("MG-E368", f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Self:
        """Prune a parameter of a module with a method of this class.

        Args:
            module (Module): gets the mask, the original parameter and the hook.
            name (str): the name of the parameter.
            args, kwargs: the arguments of the constructor of this class.
            importance_scores (Tensor, optional): numbers of the parameter's shape, which decide instead of its elements.

        Returns:
            The hook.
        """
        instance(module, Module, "module", cls.__name__)
        instance(name, str, "name", cls.__name__)
        old = [number for number, hook in module._forward_pre_hooks.items()
               if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        if len(old) > 1:
            raise AutogradAssertionError("MG-E368", f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                                         f"{module}. Use a PruningContainer.")
        previous: Any = module._forward_pre_hooks[old[0]] if old else None
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        chain = method
        if previous is not None:
            chain = PruningContainer(*(previous if isinstance(previous, PruningContainer) else [previous]), method)
        original = getattr(module, name)
        instance(original, Tensor, name, cls.__name__, "parameter")
        if importance_scores is not None:
            instance(importance_scores, Tensor, "importance_scores", cls.__name__)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AutogradAssertionError("MG-E368", f"importance_scores should have the same shape as parameter {name} of "
                                         f"{module}, got {importance_scores.shape} vs {original.shape}")
        scores = original if importance_scores is None else importance_scores
        mask = ones_like(original) if previous is None else getattr(module, name + "_mask").detach().clone()
        mask = chain.compute_mask(scores, default_mask=mask)
        if previous is None:        # nothing has changed up to here, where an argument may be wrong
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        else:
            del module._forward_pre_hooks[old[0]]
            if isinstance(previous, PruningContainer):
                previous.add_pruning_method(method)
                chain = previous
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, chain.apply_mask(module))
        module.register_forward_pre_hook(chain)
        found: Any = chain
        return found

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a pruned copy of a tensor, without a module.

        Args:
            t (Tensor): the tensor.
            default_mask (Tensor, optional): a mask to start from; ones by default.
            importance_scores (Tensor, optional): decide instead of the elements of `t`.
        """
        check_tensors(type(self).__name__, t=t)
        for name, value in (("default_mask", default_mask), ("importance_scores", importance_scores)):
            if value is not None:
                check_tensors(type(self).__name__, **{name: value})
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AutogradAssertionError("MG-E368", "importance_scores should have the same shape as tensor t, got "
                                         f"{importance_scores.shape} vs {t.shape}")
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor of `module` a parameter again. Its zeros stay, until the parameter changes."""
        name = self._tensor_name
        if name is None:
            raise AutogradAssertionError("MG-E368", f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter. Each prunes what the ones before have left.

    Args:
        args (BasePruningMethod): the methods, in order.

    Mirrors ``torch.nn.utils.prune.PruningContainer``.

    >>> from minigrad.nn.utils import prune
    >>> layer = prune.identity(nn.Linear(2, 1), "weight")
    >>> hook = prune.L1Unstructured.apply(layer, "weight", 1)
    >>> type(hook).__name__, [type(method).__name__ for method in hook]
    ('PruningContainer', ['Identity', 'L1Unstructured'])
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if args:
            self._tensor_name = instance(args[0], BasePruningMethod, "args", "PruningContainer")._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method at the end.

        Raises:
            TypeError: `method` is not a pruning method.
            ValueError: it prunes a parameter with another name.
        """
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TensorTypeError("MG-E368", f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise TensorValueError("MG-E368", f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' "
                                   f"to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask after the last method, which prunes the elements or slices that the mask has left.

        Args:
            t (Tensor): the scores.
            default_mask (Tensor): the mask so far.

        Raises:
            ValueError: the ``PRUNING_TYPE`` of the method is unknown.
        """
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            part: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
            dim = method.dim if method.dim >= 0 else method.dim + t.ndim
            if dim < 0:
                raise OutOfRangeError("MG-E368", f"Index is out of bounds for tensor with dimensions {t.ndim}")
            others = [d for d in range(t.ndim) if d != dim]
            part = select(t.ndim, dim, default_mask.sum(others) != 0)
        elif method.PRUNING_TYPE == "global":
            part = (slice(None),) * t.ndim
        else:
            raise TensorValueError("MG-E368", f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(t.dtype, copy=True)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(mask.dtype)
        return mask


def check_tensors(function, **values):
    """Raise `TypeError` unless the values are tensors."""
    for name, value in values.items():
        instance(value, Tensor, name, function)


def select(ndim, dim, index):
    """The index of a tensor that selects `index` along `dim`."""
    return tuple([index if d == dim else slice(None) for d in range(ndim)])


class Identity(BasePruningMethod):
    """Prune nothing, but make the mask. Mirrors ``torch.nn.utils.prune.Identity``.

    >>> from minigrad.nn.utils import prune
    >>> prune.Identity().prune(mg.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Self:
        return super().apply(module, name)


class _WithAmount(BasePruningMethod):
    """A method that prunes an `amount`: a fraction in [0, 1], or a number of elements or slices."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise TensorTypeError("MG-E368", f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if amount < 0 or (amount > 1 and not whole):
            raise TensorValueError("MG-E368", f"amount={amount} should either be a float in the range [0, 1] or a "
                                   "non-negative integer")
        self.amount = amount

    def _count(self, size):
        """How many of `size` elements or slices to prune."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        if self.amount > size:
            raise TensorValueError("MG-E368", f"amount={self.amount} should be smaller than the number of parameters to "
                                   f"prune={size}")
        return int(self.amount)

    def _slices(self, t):
        """The number of slices of `t` along `dim`, and how many to prune; raise unless it has several dimensions and this one."""
        check_tensors(type(self).__name__, t=t)
        if t.ndim <= 1:
            raise TensorValueError("MG-E368", "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                                   f"shape {t.shape} with {t.ndim} dims")
        if self.dim >= t.ndim:
            raise OutOfRangeError("MG-E368", f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        return size, self._count(size)


class RandomUnstructured(_WithAmount):
    """Prune random elements.

    Args:
        amount (int or float): a number of elements, or a fraction in [0, 1].

    Mirrors ``torch.nn.utils.prune.RandomUnstructured``.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is out of range.

    >>> from minigrad.nn.utils import prune
    >>> prune.RandomUnstructured(3).prune(mg.ones(5)).sum()
    tensor(2.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_tensors(type(self).__name__, t=t, default_mask=default_mask)
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(rand_like(t).view(-1), count)[1]] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> Self:
        return super().apply(module, name, amount=amount)


class L1Unstructured(_WithAmount):
    """Prune the elements with the smallest absolute values.

    Args:
        amount (int or float): a number of elements, or a fraction in [0, 1].

    Mirrors ``torch.nn.utils.prune.L1Unstructured``.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is out of range.

    >>> from minigrad.nn.utils import prune
    >>> prune.L1Unstructured(0.5).prune(mg.tensor([1., -4., 2., 3.]))
    tensor([ 0., -4.,  0.,  3.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_tensors(type(self).__name__, t=t, default_mask=default_mask)
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(abs(t).reshape(-1), count, largest=False)[1]] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Self:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(_WithAmount):
    """Prune random slices along a dimension.

    Args:
        amount (int or float): a number of slices, or a fraction in [0, 1].
        dim (int): the dimension that the slices are counted along.

    Mirrors ``torch.nn.utils.prune.RandomStructured``.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is out of range, or the tensor has fewer than two dimensions.
        IndexError: `dim` is out of range.

    >>> from minigrad.nn.utils import prune
    >>> prune.RandomStructured(1, dim=0).prune(mg.ones(2, 3)).sum()
    tensor(3.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = integer(dim, "dim", type(self).__name__)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_tensors(type(self).__name__, default_mask=default_mask)
        size, count = self._slices(t)
        if not count:
            return default_mask
        scores = rand(size)
        mask = zeros_like(t)
        mask[select(t.ndim, self.dim % t.ndim, scores > kthvalue(scores, count)[0])] = 1
        return mask * default_mask.to(mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> Self:
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_WithAmount):
    """Prune the slices with the smallest norms along a dimension.

    Args:
        amount (int or float): a number of slices, or a fraction in [0, 1].
        n (float): the order of the norm.
        dim (int): the dimension that the slices are counted along.

    Mirrors ``torch.nn.utils.prune.LnStructured``.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is out of range, or the tensor has fewer than two dimensions.
        IndexError: `dim` is out of range.

    >>> from minigrad.nn.utils import prune
    >>> prune.LnStructured(1, n=2, dim=0).prune(mg.tensor([[1., 1.], [3., 0.]]))
    tensor([[0., 0.],
            [3., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = integer(dim, "dim", type(self).__name__)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_tensors(type(self).__name__, default_mask=default_mask)
        size, count = self._slices(t)
        if not count:
            return default_mask
        dim = self.dim % t.ndim
        norms = norm(t, self.n, [d for d in range(t.ndim) if d != dim])
        mask = zeros_like(t)
        mask[select(t.ndim, dim, topk(norms, size - count)[1])] = 1
        return mask * default_mask.to(mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: float, dim: int, importance_scores: Tensor | None = None) -> Self:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prune with a mask of your own.

    Args:
        mask (Tensor): ones and zeros, of the shape of the parameter.

    Mirrors ``torch.nn.utils.prune.CustomFromMask``.

    >>> from minigrad.nn.utils import prune
    >>> prune.CustomFromMask(mg.tensor([1, 0])).prune(mg.ones(2))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = instance(mask, Tensor, "mask", "CustomFromMask")

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_tensors(type(self).__name__, default_mask=default_mask)
        if default_mask.shape != self.mask.shape:
            raise AutogradAssertionError("MG-E368", f"default_mask shape {default_mask.shape} must match self.mask shape "
                                         f"{self.mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Self:
        return super().apply(module, name, mask=mask)
