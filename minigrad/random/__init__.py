"""Random numbers: generators, and tensors drawn from them.

The methods of random numbers, such as ``x.uniform_()``, are in ``_inplace.py``.

Mirrors ``torch/random.py`` and ``aten/src/ATen/native/Distributions.cpp``.
"""

from minigrad.random._generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minigrad.random._sampling import (
    bernoulli,
    multinomial,
    normal,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)

__all__ = ["Generator", "bernoulli", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "multinomial",
           "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
           "set_rng_state"]
