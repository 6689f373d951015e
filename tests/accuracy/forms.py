"""The long form of every op case and layer case: the same program on thousands of numbers.

The cases of `tests/ops/cases.py` and `tests/nn/cases.py` have six to twelve numbers, on which rounding cannot add up. A long form
is found by itself where a case does not care for its sizes: one size after another is replaced by a large one, wherever it
appears, and what still runs is a long form.

    case("cumsum", lambda m, x: x.cumsum(1), (2, 3))        ->      x of (3000, 3), and x of (2, 3000)

Cases with sizes or indices in their text get a form by hand, in `by_hand.py`, under the same name. So there is nothing to
remember for a new op: its case is measured, or a test asks for a form.

`Form.arrays` makes the inputs, in float64 rounded to the dtype, so that all libraries and dtypes see the same numbers.
"""

import contextlib
import os
import warnings
from dataclasses import dataclass, replace

import numpy as np

import minigrad as mg
from minigrad import func
from tests.nn.cases import FUNCTIONS, LAYERS
from tests.ops.cases import CASES, COMPLEX, OURS, Case

__all__ = ["Form", "every_case", "forms_of", "layer_case"]

# How long the axes are, when a size appears once in a shape, twice (a square matrix), or three times.
LONG = int(os.environ.get("MINIGRAD_AXIS", "3000"))
SIZES = {1: LONG, 2: min(48, LONG), 3: min(14, LONG)}
MOST = 20 * LONG                    # numbers of one input


@dataclass
class Form:
    """A program, the shapes of its inputs, and what numbers they may hold."""

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


# ---- the cases of layers as programs of tensors -----------------------------------------------------------------


def layer_case(name, make, arrays):
    """A case of tests/nn/cases.py as a form: its parameters are inputs too."""
    layer = make(mg)
    named = list(layer.named_parameters()) if hasattr(layer, "named_parameters") else []

    def run(m, *xs):
        tensors, parameters = xs[:len(arrays)], xs[len(arrays):]
        made = make(m)
        if not hasattr(made, "to"):
            return made(*tensors)
        real = next(x for x in [*parameters, *tensors] if x.is_floating_point())
        made = made.to(real.dtype)
        if not named:
            return made(*tensors)
        call = func.functional_call if m is mg else m.func.functional_call
        return call(made, {n: p for (n, _), p in zip(named, parameters)}, tensors)

    return Form(name, run, tuple(a.shape for a in arrays) + tuple(tuple(p.shape) for _, p in named), samples=tuple(arrays))


def as_form(case):
    if isinstance(case, Case):
        return Form(case.name, case.run, case.shapes, case.numbers, case.dtype, case.double, ours=any(case is c for c in OURS))
    return layer_case(*case)


def function_case(name, run, arrays):
    return Form(name, run, tuple(a.shape for a in arrays), samples=tuple(arrays))


# ---- longer ----------------------------------------------------------------------------------------------------


def lengthened(form):
    """The forms in which one size is a large one, as far as the program still runs."""
    found = []
    for size in sorted({n for shape in form.shapes for n in shape if n > 1}):
        times = max(shape.count(size) for shape in form.shapes)
        long = largest(form, size, min(SIZES.get(times, 8), form.most))
        if long > 2 * size:
            found.append(replace(with_size(form, size, long), name=f"{form.name} [{size} -> {long}]"))
    return found


def with_size(form, size, long):
    """The form with one size replaced by another, wherever it appears."""
    return replace(form, shapes=tuple(tuple(long if n == size else n for n in shape) for shape in form.shapes))


def largest(form, size, most):
    """The size up to `most` for which the program runs and neither takes nor gives more than `MOST` numbers; 0 if there is none."""
    short, double = 8, 16
    a, b = [outcome(with_size(form, size, n)) for n in (short, double)]
    if not a or not b:
        return 0
    growth = max(np.log2(b / a), 1.0)
    return int(min(most, short * (MOST / a) ** (1 / growth)))


def outcome(form):
    """How many numbers the program takes or gives, whichever is more; 0 if it does not take these shapes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        xs = [mg.from_numpy(a) for a in form.arrays("float64")]
        z = form.run(mg, *xs)
        if isinstance(z, mg.Tensor) and z.dtype.differentiable:
            return max([z.numel(), *[x.numel() for x in xs]])
    return 0


def forms_of(case):
    """The long forms of a case."""
    from tests.accuracy import by_hand
    form = case if isinstance(case, Form) else as_form(case)
    if form.name in by_hand.FORMS:
        return [by_hand.with_options(f) for f in by_hand.FORMS[form.name]]
    return [] if by_hand.is_small(form) else lengthened(by_hand.with_options(form))


def every_case():
    """All that has a derivative: the op cases, the layers, and functions that no layer calls."""
    named = [as_form(c) for c in [*CASES, *COMPLEX, *OURS]]
    layers = [layer_case(*c) for c in LAYERS]
    functions = [function_case("F." + name, run, arrays) for name, run, arrays in FUNCTIONS]
    return [*named, *layers, *functions]
