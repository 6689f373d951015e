"""The long form of every op case and layer case: the same program on thousands of numbers.

The cases of `tests/ops/cases.py` and `tests/nn/cases.py` have six to twelve numbers, on which rounding cannot add up. If a
case works for other sizes too, its long forms are found automatically: each size in turn is replaced by a large one wherever it
appears, and every program that still runs is a long form.

    case("cumsum", lambda m, x: x.cumsum(1), (2, 3))        ->      x of (3000, 3), and x of (2, 3000)

Cases with sizes or indices in their text have a form written by hand, in `by_hand.py`, under the same name. So a new op needs no
thought: either its case is measured, or a test fails and asks for a form.

Read first: form.py, which has the class `Form`.
"""

import contextlib
import warnings
from dataclasses import replace

import numpy as np

import minigrad as mg
from minigrad import func
from tests.accuracy import by_hand
from tests.accuracy.form import LONG, Form
from tests.nn.cases import FUNCTIONS, LAYERS
from tests.ops.cases import CASES, COMPLEX, OURS, Case

__all__ = ["every_case", "forms_of", "layer_case"]

# The length of a long axis whose size appears once in a shape, twice (a square matrix), or three times.
SIZES = {1: LONG, 2: min(48, LONG), 3: min(14, LONG)}
MOST = 20 * LONG                    # numbers of one input


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
