"""All parameters as one vector, and back. Mirrors ``torch/nn/utils/convert_parameters.py``."""

from minigrad.errors import TensorTypeError
from minigrad.nn.utils.clip_grad import as_list
from minigrad.ops import cat, reshape
from minigrad.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """Concatenate all parameters into a single vector.

    Args:
        parameters (iterable of Tensor): of any shapes.

    Mirrors ``torch.nn.utils.parameters_to_vector``.

    >>> nn.utils.parameters_to_vector([mg.zeros(2), mg.ones(1, 1)])
    tensor([0., 0., 1.])
    """
    return cat([reshape(p, (-1,)) for p in as_list("parameters_to_vector", "parameters", parameters)])


def vector_to_parameters(vec, parameters):
    """Overwrite the parameters with the elements of a vector, in order.

    Args:
        vec (Tensor): a vector, as `parameters_to_vector` returns it.
        parameters (iterable of Tensor): they then share memory with `vec`.

    Mirrors ``torch.nn.utils.vector_to_parameters``.

    Raises:
        TypeError: `vec` is not a tensor.

    >>> a = mg.zeros(2)
    >>> nn.utils.vector_to_parameters(mg.tensor([1., 2.]), [a]); a
    tensor([1., 2.])
    """
    if not isinstance(vec, Tensor):
        raise TensorTypeError("MG-E201", f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in as_list("vector_to_parameters", "parameters", parameters):
        p.data = vec[at:at + p.numel()].view_as(p).data     # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
        at += p.numel()
