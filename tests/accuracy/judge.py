"""Compare the accuracy of one form with the possible accuracy and with PyTorch's: findings, with complaints."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.accuracy.exceptions import treatment
from tests.accuracy.measure import (
    excess,
    kind_of,
    magnitudes,
    measured,
    on_minigrad,
    on_torch,
    probes_for,
    rounded,
    shaken,
    truth_of,
    unit_of,
)

__all__ = ["WAYS", "Examination", "Finding", "examine"]

WAYS = [("float32", "wide"), ("float16", "wide"), ("float32", "ordinary"), ("float16", "ordinary")]

TIMES = 4.0         # as much as PyTorch's error, among numbers of one order of magnitude
FLOOR = 12.0        # units (see measure.unit_of) that are no matter where PyTorch is better
LONG_SUMS = {"F.conv2d": 60.0}      # the same of sums of 20,000 products: BLAS adds in another order on each kind of processor
ALONE = 40.0        # the same where there is no PyTorch to compare with, or it lacks the op in this dtype
LUCK = 10.0         # times more, for one number of RARE: the fewer digits are left, the more they differ by chance
RARE = 1000
AGAIN = 5           # how often PyTorch is asked again, a digit beside, before a number is called wrong


@dataclass
class Finding:
    """One quantity of one form: the worst errors in units, and a complaint or ""."""

    form: str
    dtype: str
    spread: str
    order: str
    quantity: str
    ours: float = 0.0
    torchs: float = float("nan")
    complaint: str = ""

    def __str__(self):
        return f"{self.form}, {self.dtype}, {self.spread} numbers, {self.order}: {self.quantity}: {self.complaint}"


def examine(form, dtype, spread, oracle=on_torch):
    """All findings about one form in one dtype, in both orders of memory."""
    return Examination(form, dtype, spread, oracle).findings()


class Examination:
    """One form, run on both libraries."""

    def __init__(self, form, dtype, spread, oracle):
        self.form, self.dtype, self.spread, self.oracle = form, dtype, spread, oracle
        self.xs = [rounded(x, complex_of(x, dtype)) for x in form.arrays(dtype, spread)]

    def findings(self):
        lib = on_minigrad if self.oracle is None or self.form.ours else self.oracle
        self.name = (self.form.name, self.dtype, self.spread, "by rows")
        value = measured(lib, self.form, self.xs, {}, "float64", only=("values_and_gradients",)).get("value")
        if value is None:
            return [Finding(*self.name, "value", complaint="has no value in float64")]
        self.probes = probes_for(self.form, self.xs, value.shape, self.dtype, value.dtype.kind == "c")
        self.truth = truth_of(lib, self.form, self.xs, self.probes, self.dtype)
        self.compared = lib is self.oracle
        self.theirs = measured(lib, self.form, self.xs, self.probes, self.dtype) if self.compared else {}
        self.own_truth()
        self.units = {}
        found = []
        for by_columns in (False,) if self.form.by_rows_alone else (False, True):
            self.name = (*self.name[:3], "by columns" if by_columns else "by rows")
            self.ours = measured(on_minigrad, self.form, self.xs, self.probes, self.dtype, by_columns)
            found += self.complaints()
        return found

    def complaints(self):
        """The findings of one run of ours."""
        found = [self.compare(name) for name, right in self.truth.answers.items() if isinstance(right, np.ndarray)]
        for name, error in self.ours.items():
            if isinstance(error, Exception) and name not in self.theirs and treatment(self.form.name, name) != "skipped":
                found.append(Finding(*self.name, name, complaint=f"raises {error!r}"[:300]))
        return found

    def own_truth(self):
        """Take our float64 where PyTorch's is wrong (see exceptions.py), or where it has no answer."""
        how = {name: treatment(self.form.name, name) for name in self.truth.answers}
        if "ours" in how.values() or any(name.startswith("!") for name in how):
            own = truth_of(on_minigrad, self.form, self.xs, self.probes, self.dtype)
            how |= {name: "ours" for name in own.answers if name not in how and treatment(self.form.name, name) != "skipped"}
        self.finite = {name for name in how if treatment(self.form.name, name) == "finite"}
        for name in how:
            if how[name] == "ours":
                self.truth.answers[name], self.truth.moves[name] = own.answers.get(name), own.moves.get(name)
            elif how[name] == "skipped":
                self.truth.answers[name] = None

    def compare(self, name):
        """The finding about one quantity."""
        finding = Finding(*self.name, name)
        right, found, other = self.truth.answers[name], self.ours.get(name), self.theirs.get(name)
        if found is None:
            if not any(isinstance(e, Exception) for e in self.ours.values()) and np.any(right != 0):
                finding.complaint = "is missing"
            return finding
        if found.shape != right.shape:
            finding.complaint = f"has shape {found.shape}, not {right.shape}"
            return finding
        other = other if isinstance(other, np.ndarray) and other.shape == right.shape else None
        wrong = misplaced(name, found, right, right if other is None else other, self.dtype)
        if name in self.finite:
            wrong &= kind_of(found) != 0
        if name.startswith("grad infinite") and not wrong.any():
            return finding
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            finding.complaint = (f"{found[at]} instead of {(right if other is None else other)[at]} at {list(at)}, "
                                 f"{int(wrong.sum())} times; inputs {self.shown(right.shape, at)}")
            return finding
        off = self.excess(name, found)
        beside = None if other is None else self.excess(name, other)
        finding.ours = float(off.max(initial=0))
        finding.torchs = float("nan") if beside is None else float(beside.max(initial=0))
        floor = LONG_SUMS.get(self.name[0].partition(" [")[0], FLOOR)
        allowed = np.full(right.shape, ALONE if other is None else floor)
        if other is not None:
            for at in magnitudes(np.abs(right)):
                allowed[at] += TIMES * beside[at].max()
            if (off > allowed).any():
                allowed = np.maximum(allowed, floor + TIMES * self.asked_again.get(name, 0.0))
        if (off > allowed).sum() <= max(off.size // RARE, 1):
            allowed = allowed * LUCK
        if (off > allowed).any():
            at = tuple(np.argwhere(off / allowed == (off / allowed).max())[0].tolist())
            finding.complaint = (f"{found[at]} instead of {right[at]} at {list(at)}: {off[at]:.1f} units off"
                                 + ("" if other is None else f", PyTorch's {other[at]} {beside[at]:.1f}")
                                 + f"; {int((off > allowed).sum())} of {off.size}; inputs {self.shown(right.shape, at)}")
        return finding

    @cached_property
    def asked_again(self):
        """PyTorch's error on numbers that differ in the last digit: where many digits cancel, one answer may be right by chance."""
        rng, errors = np.random.default_rng(2), {}
        for _ in range(AGAIN):
            xs = [self.beside(x, rng) for x in self.xs]
            probes = {name: self.beside(p, rng) for name, p in self.probes.items()}
            right = measured(self.oracle, self.form, xs, probes, "float64")
            found = measured(self.oracle, self.form, xs, probes, self.dtype)
            for name, value in right.items():
                if isinstance(value, np.ndarray) and isinstance(found.get(name), np.ndarray) and self.truth.answers[name] is not None:
                    with np.errstate(all="ignore"):
                        error = self.excess(name, found[name] - value + self.truth.answers[name])
                    errors[name] = np.maximum(errors.get(name, 0.0), error)
        return errors

    def excess(self, name, found):
        if name not in self.units:
            self.units[name] = unit_of(self.truth, name, self.dtype, self.form.normwise)
        return excess(self.truth, name, found, self.dtype, self.units[name])

    def beside(self, array, rng):
        """The neighbours of the numbers of `array` in the dtype."""
        dtype = complex_of(array, self.dtype)
        step = float(np.finfo(dtype).eps) / 1e-9
        with np.errstate(all="ignore"):
            moved = array + (shaken(array, 2, 0, rng) - array) * step
            return rounded(np.where(np.isfinite(moved), moved, array), dtype) if array.dtype.kind in "fc" else array

    def shown(self, shape, at):
        """The numbers of the inputs that a number of the result belongs to, where they are as many; else their shapes."""
        return [x[at].tolist() if x.shape == shape else list(x.shape) for x in self.xs]


def complex_of(x, dtype):
    return {"float16": "complex64", "float32": "complex64"}.get(dtype, dtype) if x.dtype.kind == "c" else dtype


def misplaced(name, found, right, other, dtype):
    """Where there is nan or inf and PyTorch and float64 have a number, or the other way. A value is to be of the same kind too."""
    ours, theirs, truth = kind_of(found), kind_of(other), kind_of(right)
    with np.errstate(all="ignore"):
        edge = np.abs(right) > 0.9 * float(np.finfo(dtype).max)
    wrong = ((ours == 0) != (theirs == 0)) & ((theirs == 0) == (truth == 0)) & ~edge
    return wrong | ((ours != theirs) & (theirs == truth) & ~edge) if name == "value" else wrong
