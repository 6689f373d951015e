"""Seeds of the random numbers on a GPU. Mirrors ``torch/cuda/random.py``.

One generator, `minigrad.default_generator`, gives the numbers of the CPU and the keys of all GPUs. So these functions seed it if
there is a GPU. Without one they do nothing, as in PyTorch.
"""

from minigrad.cuda import _devices
from minigrad.random import default_generator

__all__ = ["get_rng_state", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state"]


def manual_seed(seed):
    """Begin the stream that belongs to the int `seed`; without a GPU nothing changes. Mirrors ``torch.cuda.manual_seed``.

    >>> mg.cuda.manual_seed(0)
    """
    if not _devices.why_unavailable():
        default_generator.manual_seed(int(seed))


def manual_seed_all(seed):
    """`manual_seed` for all GPUs. Mirrors ``torch.cuda.manual_seed_all``.

    >>> mg.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def seed():
    """Begin a stream that nobody can foresee; without a GPU nothing changes. Mirrors ``torch.cuda.seed``."""
    if not _devices.why_unavailable():
        default_generator.seed()


def seed_all():
    """`seed` for all GPUs. Mirrors ``torch.cuda.seed_all``."""
    seed()


def initial_seed():
    """The seed with which the stream began. Raises `RuntimeError` without a GPU. Mirrors ``torch.cuda.initial_seed``."""
    _devices.find_device(None)
    return default_generator.initial_seed()


def get_rng_state(device="cuda"):
    """Where in the stream it is. Raises `RuntimeError` without a GPU. Mirrors ``torch.cuda.get_rng_state``."""
    _devices.as_cuda(device)
    return default_generator.get_state()


def set_rng_state(new_state, device="cuda"):
    """Go on from where `get_rng_state` was called. Raises `RuntimeError` without a GPU. Mirrors ``torch.cuda.set_rng_state``."""
    _devices.as_cuda(device)
    default_generator.set_state(new_state)
