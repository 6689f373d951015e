"""How the numbers of the ranks are put together: PyTorch's names, and MPI's operations."""

from minigrad.distributed._memory import name_of
from minigrad.errors import AutogradError, TensorValueError

__all__ = ["ReduceOp", "operation"]


class ReduceOp:
    """How the numbers of the ranks are put together. Mirrors ``torch.distributed.ReduceOp``.

    >>> mg.distributed.ReduceOp.SUM
    'SUM'
    """

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"


# What MPI calls them. The mean is a sum that is divided afterwards.
OPERATIONS = {"SUM": "SUM", "AVG": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX", "BAND": "BAND", "BOR": "BOR",
              "BXOR": "BXOR"}
OF_BITS = ("BAND", "BOR", "BXOR")


def operation(op, tensor, what):
    """Return MPI's operation.

    Raises:
        ValueError: `op` is none.
        RuntimeError: the dtype has no such operation.
    """
    if op not in OPERATIONS:
        raise TensorValueError("MG-E611", f"{what}: op={op!r} is no ReduceOp", fix=f"one of {', '.join(OPERATIONS)}")
    kind = name_of(tensor.dtype)
    whole = kind.startswith(("int", "uint", "bool"))
    if (op in OF_BITS and not whole) or (kind == "bool" and op not in (*OF_BITS, "MIN", "MAX")) \
            or (op in ("MIN", "MAX") and kind.startswith("complex")) or (op == "AVG" and whole):
        raise AutogradError("MG-E611", f"{what}: {op} of {kind} is not defined",
                            fix="convert the tensor first: x.float(), for example")
    from mpi4py import MPI
    return getattr(MPI, OPERATIONS[op])
