"""Training in parts. Mirrors ``torch.distributed``.

``import minigrad`` leaves it out; import what you need, such as ``minigrad.distributed.pipelining``.

minigrad has no processes that compute together: `is_available` and `is_initialized` are False, so a program that asks first runs
on one process. The other functions raise `NotImplementedError`.
"""

from minigrad._absent import absent

__all__ = ["all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "gather", "get_backend", "get_rank",
           "get_world_size", "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
           "is_nccl_available", "is_torchelastic_launched", "new_group", "recv", "reduce", "scatter", "send"]


def is_available():
    """False: minigrad has no communication between processes. Mirrors ``torch.distributed.is_available``.

    >>> mg.distributed.is_available()
    False
    """
    return False


def is_initialized():
    """False. Mirrors ``torch.distributed.is_initialized``.

    >>> mg.distributed.is_initialized()
    False
    """
    return False


def is_nccl_available():
    """False. Mirrors ``torch.distributed.is_nccl_available``.

    >>> mg.distributed.is_nccl_available()
    False
    """
    return False


def is_gloo_available():
    """False. Mirrors ``torch.distributed.is_gloo_available``.

    >>> mg.distributed.is_gloo_available()
    False
    """
    return False


def is_mpi_available():
    """False. Mirrors ``torch.distributed.is_mpi_available``.

    >>> mg.distributed.is_mpi_available()
    False
    """
    return False


def is_torchelastic_launched():
    """False. Mirrors ``torch.distributed.is_torchelastic_launched``.

    >>> mg.distributed.is_torchelastic_launched()
    False
    """
    return False


def _refusal(name):
    """Return the function `name` that raises."""
    def refuse(*args, **kwargs):
        raise absent(f"torch.distributed.{name}", "run the program in one process: if minigrad.distributed.is_available(): ...")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise `NotImplementedError`. Mirrors ``torch.distributed.{name}``."
    return refuse


init_process_group = _refusal("init_process_group")
destroy_process_group = _refusal("destroy_process_group")
new_group = _refusal("new_group")
get_backend = _refusal("get_backend")
get_rank = _refusal("get_rank")
get_world_size = _refusal("get_world_size")
barrier = _refusal("barrier")
all_reduce = _refusal("all_reduce")
all_gather = _refusal("all_gather")
broadcast = _refusal("broadcast")
reduce = _refusal("reduce")
gather = _refusal("gather")
scatter = _refusal("scatter")
send = _refusal("send")
recv = _refusal("recv")
