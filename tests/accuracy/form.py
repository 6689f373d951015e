"""A long form: one program on axes of thousands of numbers, and the numbers themselves.

Read next: forms.py, which finds the long form of a case, and by_hand.py, which has those that it cannot find.
"""

import os
from dataclasses import dataclass

import numpy as np

__all__ = ["LONG", "Form"]

# The length of an axis.
LONG = int(os.environ.get("MINIGRAD_AXIS", "3000"))


@dataclass
class Form:
    """A program, the shapes of its inputs, and the numbers that fit it.

    `arrays` makes the inputs in float64, rounded to the dtype, so that all libraries and dtypes compute with the same numbers.
    """

    name: str
    run: object
    shapes: tuple
    numbers: str = "any"
    dtype: str = "float64"          # complex128: the numbers are complex
    double: bool = True
    samples: tuple = ()             # inputs of layers: arrays whose numbers are drawn from, instead of a kind of numbers
    ours: bool = False              # PyTorch has no function for it, or a wrong one
    most: int = LONG                # how long an axis may be: where the work grows faster than the numbers
    normwise: bool = False          # errors are measured by the largest number of each matrix
    by_rows_alone: bool = False     # what is asked for depends on the order in memory

    def arrays(self, dtype, spread="plain", seed=0):
        """The inputs: float64 or complex128 arrays whose numbers `dtype` can hold; integers are left as they are."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        if self.samples:
            return [like_sample(sample, shape, spread, rng) if i < len(self.samples) else rng.standard_normal(shape)
                    for i, (sample, shape) in enumerate(zip([*self.samples, *[None] * len(self.shapes)], self.shapes))]
        found = [numbers(self.numbers, shape, spread, dtype, rng) for shape in self.shapes]
        if self.dtype == "complex128":
            return [a + 1j * numbers(self.numbers, a.shape, spread, dtype, rng) for a in found]
        return found


def like_sample(sample, shape, spread, rng):
    """Numbers of a layer's input, up to a tenth smaller; or, if `spread` is wide, up to a thousand times smaller."""
    drawn = np.resize(sample, shape)
    if sample.dtype.kind != "f":
        return drawn
    return drawn * (10 ** rng.uniform(-3, 0, shape) if spread == "wide" else rng.uniform(0.9, 1, shape))


def numbers(kind, shape, spread, dtype, rng):
    """Random numbers of a kind; `wide` ones span six orders of magnitude, or four in float16."""
    n = int(np.prod(shape))
    if kind == "near one":
        return 1 + 0.02 * rng.standard_normal(shape)
    signs = 1 if kind in ("positive", "probability") else rng.choice([-1, 1], shape)
    reach = 2 if dtype == "float16" else 3
    if kind == "apart":
        order = (rng.permutation(n).reshape(shape) + rng.uniform(0.3, 0.7, shape)) / n
        return signs * 10 ** (reach * (2 * order - 1)) if spread == "wide" else 4 * order - 2
    if kind in ("small", "probability"):
        return signs * (10 ** rng.uniform(-2 * reach, -0.1, shape) if spread == "wide" else rng.uniform(0.001, 0.8, shape))
    if spread == "wide":
        return signs * 10 ** rng.uniform(-reach, reach, shape)
    return signs * rng.uniform(0.5, 2.0, shape) if kind in ("positive", "nonzero") else rng.standard_normal(shape)
