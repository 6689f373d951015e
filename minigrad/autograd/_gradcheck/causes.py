"""Guess from the numbers why a Jacobian is wrong.

    first   is the numerical Jacobian reliable?     func writes to its input; it returns other values in each call; float32;
                                                    a kink or a jump within eps; a value that is not finite
    then    how do the Jacobians differ?            all zeros; a constant factor; transposed; not conjugated; a missing term

Each question is a function that returns (cause, fix), or None if its cause does not fit the numbers. The first answer counts,
so certain causes come before likely ones. The questions run only after a check has failed, so they may be slow and may call func
again.

PyTorch has no such guess.
"""

from fractions import Fraction

import numpy as np

from minigrad.autograd._gradcheck.numerical import call_function, components, difference, part_units

__all__ = ["Evidence", "find_cause"]


class Evidence:
    """The facts about a mismatch.

    check                       func, the inputs, eps and the tolerances
    a, n, wrong                 the analytical and the numerical matrix, and where they differ
    i, o                        the positions of the input and of the output
    at, row, column             where they differ most: the index and the row of the input element, the column of the output element
    forward, part               whether `a` was computed in forward mode; the part of the complex numbers that was compared
    absent                      whether no gradient arrived
    """

    def __init__(self, check, i, o, a, n, wrong, at, row, column, forward, part, absent):
        self.check, self.i, self.o = check, i, o
        self.a, self.n, self.wrong = a, n, wrong
        self.at, self.row, self.column = at, row, column
        self.forward, self.part, self.absent = forward, part, absent
        self.x = check.inputs[i]
        self.size = np.abs(n[np.isfinite(n)]).max(initial=0.0)
        self.bit = 0.0 if self.x.itemsize // len(part_units(self.x)) >= 8 else np.finfo(self.x.dtype.to_real().numpy).eps
        self.noise = self.bit * (np.abs(self.values()[o]).max(initial=0) + np.abs(components(self.x)).max() * self.size) / check.eps
        self.close = check.atol + 2 * check.rtol * self.size + 4 * self.noise

    def equals(self, other):
        """Whether the analytical matrix equals `other` within the tolerances."""
        return other.shape == self.a.shape and bool((np.abs(self.a - other) <= self.close * 1.0001).all())

    def values(self):
        """The numbers of the outputs."""
        return [components(y) for y in call_function(self.check.fn, self.check.inputs)]


def find_cause(e):
    """Return (cause, fix) of a mismatch. The cause is None if no question has an answer."""
    for question in (find_writes, find_randomness, find_infinity, find_rounding, find_kink,
                     find_zeros, find_ignored_gradient, find_factor, find_conjugate, find_transpose, find_independence,
                     find_missing_entries, find_elementwise_term, find_wrong_term):
        answer = question(e)
        if answer is not None:
            return answer
    return None, ("derive the entry above by hand, and compare it with " +
                  ("jvp" if e.forward else "backward") + "; smaller inputs make smaller matrices")


# ---- is the numerical Jacobian reliable? --------------------------------------------------------------------


def find_randomness(e):
    """Whether func returns other values in a second call."""
    first, second = e.values(), e.values()
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second)):
        return ("two calls of func return different values: it draws random numbers, or keeps a state",
                "seed the generator inside func (mg.manual_seed), or draw outside of func and pass the numbers as an input")
    return None


def find_writes(e):
    """Whether func writes to one of its inputs."""
    before = [components(x) for x in e.check.tensors]
    e.values()
    for i, (x, old) in enumerate(zip(e.check.tensors, before)):
        if not np.array_equal(components(x), old, equal_nan=True):
            return f"func writes to tensor {i} of its inputs, so each call starts from other numbers", "write to x.clone()"
    return None


def find_infinity(e):
    """Whether an entry is infinite or NaN."""
    for matrix, name in ((e.n, "numerical"), (e.a, "analytical")):
        if not np.isfinite(matrix).all():
            return (f"the {name} derivative is not finite: func has no derivative there (as sqrt at 0), or a formula "
                    "computes 0 * inf",
                    "check at other values; or define the derivative there, with mg.where in forward and in backward")
    return None


def find_rounding(e):
    """Whether the mismatch is not larger than the rounding error: the last bit of x and of f(x), divided by eps."""
    if np.abs(e.a - e.n).max() <= 4 * e.noise:
        return (f"{e.x.dtype.name} has too few digits: with a step of {e.check.eps:g}, the rounding error of the numerical "
                f"derivative is about {e.noise:.2g}", "check with float64 inputs: x.double()")
    return None


def find_kink(e):
    """Whether the slopes to the left and to the right of x differ, or func jumps there. For a smooth function they are equal."""
    off = (e.a - e.n)[e.row, e.column]
    unit = part_units(e.x)[e.part if e.forward else int(abs(np.imag(off)) > abs(np.real(off)))]
    place, eps = e.x.data[e.at], e.check.eps
    here = e.values()[e.o]
    original = place.clone()
    try:
        place.copy_(original + eps * unit)
        ahead = e.values()[e.o]
        place.copy_(original - eps * unit)
        behind = e.values()[e.o]
    finally:
        place.copy_(original)
    part = 0 if e.forward else e.part
    right, left = ((ahead - here) / eps)[part, e.column], ((here - behind) / eps)[part, e.column]
    claimed = (np.imag if unit == 1j and not e.forward else np.real)(e.a[e.row, e.column])
    low, high = min(left, right), max(left, right)
    finer = difference(e.check.fn, e.check.inputs, place, eps / 8 * unit, eps / 8)[e.o][part, e.column]
    if abs(finer) > max(2 * abs(low), 2 * abs(high), e.close):      # the change does not shrink with the step
        return ("func jumps within eps of this element, so it has no derivative there",
                "check at values that are further from the jump than eps")
    if high - low < 1.5 * abs(claimed - (left + right) / 2) or not low - e.close <= claimed <= high + e.close:
        return None
    return (f"func has a kink within eps of this element, as relu and abs have at 0: the slope is {left:.4g} on the left and "
            f"{right:.4g} on the right. A central difference mixes both; the analytical value {claimed:.4g} is between them",
            "check at values that are further from the kink than eps; the formula may be right")


# ---- how do the two differ? -------------------------------------------------------------------------------


def find_zeros(e):
    """Whether the analytical matrix is zero."""
    if e.a.any():
        return None
    method = "jvp" if e.forward else "backward"
    what = "no gradient arrives at the input at all" if e.absent else "the analytical derivative is zero"
    return (f"{what}: a tensor between the input and the output is detached (.detach(), .data, .item(), NumPy, no_grad), or "
            f"{method} returns None or zeros for this input",
            e.check.hint or f"compute only with ops of minigrad; in {method}, return a derivative for each input that needs one")


def find_ignored_gradient(e):
    """Whether all columns are equal: backward returns the same for every incoming gradient."""
    if e.forward or e.a.shape[1] < 2 or (e.a != e.a[:, :1]).any() or (np.abs(e.n - e.n[:, :1]) <= e.close).all():
        return None
    return "backward returns the same result for every grad_output", "multiply the derivative by grad_output"


def find_factor(e):
    """Whether a = c n, with one number c for all entries."""
    norm = (np.abs(e.n) ** 2).sum()
    if not norm:
        return None
    c = (np.conj(e.n) * e.a).sum() / norm
    if np.abs(e.a - c * e.n).max() > e.close * max(1.0, abs(c)):
        return None
    error = "the sign is wrong" if format_factor(c) == "-1" else (
        "a constant factor is wrong, or one of several equal terms is missing" if abs(c) < 1 else
        "a constant factor is wrong, or a term is counted more than once")
    return f"analytical = {format_factor(c)} * numerical: {error}", "compare the factors in the formula with those in the code"


def format_factor(c):
    """A real or complex factor as text."""
    if abs(np.imag(c)) > 1e-3 * abs(c):
        return f"({format_number(np.real(c))}{'+' if np.imag(c) >= 0 else '-'}{format_number(abs(np.imag(c)))}j)"
    return format_number(np.real(c))


def format_number(c):
    """A number as text: as a fraction, if a fraction with a denominator up to 12 is close."""
    simple = Fraction(float(c)).limit_denominator(12)
    return str(simple) if abs(float(simple) - c) <= 2e-3 * abs(c) else f"{c:.4g}"


def find_conjugate(e):
    """Whether a is the complex conjugate of n."""
    if np.iscomplexobj(e.a) and e.equals(np.conj(e.n) * (-1 if e.part else 1)):      # conj(i n) = -i conj(n)
        return ("analytical is the complex conjugate of numerical",
                "the gradient of z = f(x) for a holomorphic f is g * f'(x).conj()")
    return None


def find_transpose(e):
    """Whether a is the transpose of n."""
    rows, columns = e.n.shape
    if rows == columns > 1 and e.equals(e.n.T):
        return ("analytical is the transpose of numerical: backward multiplies by the Jacobian instead of its transpose",
                "for y = A x the gradient of x is A.T @ g, and the tangent of y is A @ t")
    return None


def find_independence(e):
    """Whether the numerical matrix is zero."""
    if np.abs(e.n).max() > e.close:
        return None
    return ("a step of eps does not change the output: func does not depend on this input, or it rounds, compares, or adds a much "
            "larger number", "return None for this input in backward; or use a larger eps, or smaller inputs")


def find_missing_entries(e):
    """Whether a is right in some entries, and zero in all others."""
    missing = e.wrong & (e.a == 0)
    if not (missing == e.wrong).all() or not ((e.a != 0) & ~e.wrong).any():
        return None
    return (f"analytical is right where it is not zero, but {int(missing.sum())} entries are missing: a tensor inside func is "
            "detached, or backward does not fill the whole gradient",
            "find the elements of the input in the missing rows, and the ops that use them")


def find_elementwise_term(e):
    """Whether a misses a simple term or factor: 1, x, x², 1/x, f(x) or f(x)².

    It needs one number for each element of the input: func is elementwise, or returns one number.
    """
    rows, columns = e.n.shape
    off = ~np.eye(rows, columns, dtype=bool)
    diagonal = rows == columns and not (np.abs(e.n[off]) > e.close).any() and not e.a[off].any()
    if rows < 2 or np.iscomplexobj(e.n) or not (diagonal or columns == 1):
        return None
    x, y = components(e.x)[0], e.values()[e.o][0]
    a, n = (np.diag(e.a), np.diag(e.n)) if diagonal else (e.a[:, 0], e.n[:, 0])
    known = {"1": np.ones(rows), "x": x, "x**2": x * x, "(1 / x)": 1 / np.where(x, x, np.nan)}
    if diagonal:
        known |= {"f(x)": y, "f(x)**2": y * y}
    for name, term in known.items():
        c = find_multiple(n - a, term, e.close)
        if c:
            return (f"numerical - analytical = {format_product(c, name)}, where x is the input: a term is missing or has a wrong "
                    "factor", "the derivative of a product has one term for each factor that depends on x")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / n
    for name, term in known.items():
        c = find_multiple(ratio, term, 1e-3 * np.abs(term).max()) if np.isfinite(ratio).all() and name != "1" else None
        if c:
            return (f"analytical = {format_product(c, name)} * numerical, where x is the input",
                    "remove this factor from the formula")
    return None


def format_product(c, name):
    """The product ``c * name`` as text, without a factor 1."""
    one = bool(abs(abs(c) - 1) < 2e-3)
    return format_number(c) if name == "1" else "-" * bool(one and c < 0) + ("" if one else f"{format_number(c)} * ") + name


def find_multiple(found, term, close):
    """Return c if `found` is c times `term` and c is a simple fraction; otherwise None."""
    if not np.isfinite(term).all() or not term.any():
        return None
    c = (found * term).sum() / (term * term).sum()
    simple = "/" in format_number(c) or float(Fraction(format_number(c))) == round(c)
    return c if c and simple and (np.abs(found - c * term) <= close).all() else None


def find_wrong_term(e):
    """Whether a is zero in the right entries, although no single factor explains the difference."""
    same = (np.abs(e.n) > e.close) == (np.abs(e.a) > e.close)
    if not same.all():
        return None
    return ("the right entries are zero, but the others have no common factor: a term is missing or too much, for instance "
            "one factor of a product, or backward uses a saved tensor in the wrong place",
            "derive func term by term: the derivative of a product has one term for each factor that depends on x")
