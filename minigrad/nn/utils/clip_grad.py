"""Gradient clipping: scale all gradients by a common factor, or bound each element.

Pascanu et al., "On the difficulty of training recurrent neural networks", 2013. Mirrors ``torch/nn/utils/clip_grad.py``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)

import math
import warnings

from minigrad import _arguments
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import tensor
from minigrad.errors import MinigradError
from minigrad.ops import abs, amax, clamp, ne, pow, stack, sum
from minigrad.ops.base.arguments import real, tensor_argument, truth
from minigrad.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


class NonFiniteNorm(MinigradError, RuntimeError):
    """A norm is infinite or nan, and the caller asked for an error."""


def gradients_of(parameters):
    """The gradients of a parameter, or of an iterable of them. Parameters with a gradient of None are left out."""
    parameters = as_list("clip_grad", "parameters", parameters)
    return [p.grad for p in parameters if p.grad is not None]


def as_list(function, name, tensors):
    """Return a tensor, or an iterable of tensors, as a list."""
    if isinstance(tensors, Tensor):
        return [tensors]
    tensors = _arguments.listed(tensors, name, function, "Tensor or an iterable of Tensors")
    return [tensor_argument(function, x, name, i) for i, x in enumerate(tensors, 1)]


def vector_norm(x, order):
    """(Σ |x|ᵖ)^(1/p) over all elements of a tensor, where p is `order`."""
    if order == math.inf:
        return amax(abs(x))
    if order == 0:
        return sum(ne(x, 0).to(x.dtype))
    return sum(x * x).sqrt() if order == 2 else pow(sum(pow(abs(x), order)), 1.0 / order)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Return the norm of all tensors together, as if they were a single vector.

    Args:
        tensors (Tensor or iterable of Tensor): of any shapes.
        norm_type (float): p; ``inf`` for the largest absolute value.
        error_if_nonfinite (bool): raise if the norm is infinite or nan.
        foreach: without effect.

    Mirrors ``torch.nn.utils.get_total_norm``.

    Raises:
        RuntimeError: the norm is not finite, with `error_if_nonfinite`.

    >>> nn.utils.get_total_norm([mg.tensor([3.]), mg.tensor([4.])])
    tensor(5.)

    Ranks with different parameters, such as the stages of a pipeline, add the powers p of their norms, or for p = inf take the
    largest norm (``ReduceOp.MAX``). With `DistributedDataParallel` all ranks have the same gradients: `clip_grad_norm_` serves.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> w = nn.Parameter(mg.tensor([3., 4.]))
    >>> (w * w / 2).sum().backward()
    >>> total = nn.utils.get_total_norm([w.grad]) ** 2
    >>> mg.distributed.all_reduce(total)
    >>> nn.utils.clip_grads_with_norm_([w], 1.0, total.sqrt()); w.grad
    tensor([0.6000, 0.8000])
    >>> mg.distributed.destroy_process_group()
    """
    tensors = as_list("get_total_norm", "tensors", tensors)
    order = math.inf if isinstance(norm_type, str) and norm_type == "inf" else float(real(norm_type, "norm_type", "get_total_norm"))
    if not tensors:
        return tensor(0.0)
    total = vector_norm(stack([vector_norm(t, order) for t in tensors]), order)
    if truth(error_if_nonfinite, "error_if_nonfinite", "get_total_norm") and not math.isfinite(total.item()):
        raise NonFiniteNorm("MG-E331", f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
                            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                            "`error_if_nonfinite=False`", found=f"a norm of {total.item()}")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Multiply the gradients by max_norm / total_norm, unless this factor is larger than 1.

    Args:
        parameters (Tensor or iterable of Tensor): their gradients are overwritten.
        max_norm (float): the largest norm allowed.
        total_norm (Tensor): the norm of the gradients, as `get_total_norm` returns it.
        foreach: without effect.

    Mirrors ``torch.nn.utils.clip_grads_with_norm_``.

    >>> w = mg.tensor([1.], requires_grad=True)
    >>> (w * 10).sum().backward()
    >>> nn.utils.clip_grads_with_norm_(w, 1.0, mg.tensor(20.0)); w.grad
    tensor([0.5000])
    """
    tensor_argument("clip_grads_with_norm_", total_norm, "total_norm")
    with no_grad():
        factor = clamp(float(real(max_norm, "max_norm", "clip_grads_with_norm_")) / (total_norm + 1e-6), max=1.0)
        for grad in gradients_of(parameters):
            grad.mul_(factor.to(grad.dtype))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale all gradients by a common factor, so that their total norm is at most `max_norm`.

    Args:
        parameters (Tensor or iterable of Tensor): their gradients are overwritten.
        max_norm (float): the largest norm allowed.
        norm_type (float): p; ``inf`` for the largest absolute value.
        error_if_nonfinite (bool): raise if the norm is infinite or nan, and change nothing.
        foreach: without effect.

    Returns:
        Tensor: the total norm before the scaling.

    Mirrors ``torch.nn.utils.clip_grad_norm_``.

    Raises:
        RuntimeError: the norm is not finite, with `error_if_nonfinite`.

    >>> w = mg.tensor([3., 4.], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    parameters = as_list("clip_grad_norm_", "parameters", parameters)
    with no_grad():
        total = get_total_norm(gradients_of(parameters), norm_type, error_if_nonfinite, foreach)
        clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated: use `clip_grad_norm_`, which this function calls. Mirrors ``torch.nn.utils.clip_grad_norm``.

    >>> import warnings
    >>> w = mg.tensor([3., 4.], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> with warnings.catch_warnings(action="ignore"):
    ...     nn.utils.clip_grad_norm([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    warnings.warn("`minigrad.nn.utils.clip_grad_norm` is now deprecated in favor of `minigrad.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every element of the gradients to [-clip_value, clip_value].

    Args:
        parameters (Tensor or iterable of Tensor): their gradients are overwritten.
        clip_value (float): the bound.
        foreach: without effect.

    Mirrors ``torch.nn.utils.clip_grad_value_``.

    >>> w = mg.tensor([3., 0.5], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_value_([w], 1.0); w.grad
    tensor([1.0000, 0.5000])
    """
    limit = float(real(clip_value, "clip_value", "clip_grad_value_"))
    with no_grad():
        for grad in gradients_of(parameters):
            grad.clamp_(-limit, limit)
