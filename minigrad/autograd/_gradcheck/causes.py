"""Why a Jacobian is wrong: a guess from the numbers.

    first   is the numerical one to be trusted?     func writes to its input; it gives another value each time; float32;
                                                    a kink or a jump within eps; a value that is not finite
    then    how do the two differ?                  all zero; a constant factor; transposed; not conjugated; a term too few

Each question is a function that returns (cause, fix), or None if the numbers do not look like that. The first answer counts,
so what is certain comes before what is likely. They run when a check has failed, so they may take their time, and may call
func again.

There is nothing like it in PyTorch.
"""

from fractions import Fraction

import numpy as np

from minigrad.autograd._gradcheck.numerical import components, difference, outputs_of, parts

__all__ = ["Evidence", "cause"]


class Evidence:
    """All that is known of a mismatch.

    check                       func, the inputs, eps and the tolerances
    a, n, wrong                 the two matrices, and where they differ
    i, o                        which input, which output
    at, row, column             the element of the input where they differ most: index, row; the column of the output's
    forward, part               whether `a` was computed in forward mode; which part of a complex number was considered
    absent                      whether no gradient arrived at all
    """

    def __init__(self, check, i, o, a, n, wrong, at, row, column, forward, part, absent):
        self.check, self.i, self.o = check, i, o
        self.a, self.n, self.wrong = a, n, wrong
        self.at, self.row, self.column = at, row, column
        self.forward, self.part, self.absent = forward, part, absent
        self.x = check.inputs[i]
        self.size = np.abs(n[np.isfinite(n)]).max(initial=0.0)
        self.bit = 0.0 if self.x.itemsize // len(parts(self.x)) >= 8 else np.finfo(self.x.dtype.to_real().numpy).eps
        self.noise = self.bit * (np.abs(self.values()[o]).max(initial=0) + np.abs(components(self.x)).max() * self.size) / check.eps
        self.close = check.atol + 2 * check.rtol * self.size + 4 * self.noise

    def alike(self, other):
        """Whether the analytical matrix is `other`, as far as the tolerances tell."""
        return other.shape == self.a.shape and bool((np.abs(self.a - other) <= self.close * 1.0001).all())

    def values(self):
        """The numbers of the outputs."""
        return [components(y) for y in outputs_of(self.check.fn, self.check.inputs)]


def cause(e):
    """(cause, fix) of a mismatch; None and a fix, if nothing can be said."""
    for question in (writes, random, not_finite, imprecise, kink,
                     zero, ignored, factor, conjugated, transposed, not_there, partly, elementwise, some_term):
        answer = question(e)
        if answer is not None:
            return answer
    return None, ("derive the entry named above by hand, and look for it in " +
                  ("jvp" if e.forward else "backward") + "; smaller inputs make smaller matrices")


# ---- is the numerical Jacobian to be trusted? --------------------------------------------------------------


def random(e):
    first, second = e.values(), e.values()
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second)):
        return ("func does not give the same values when it is called twice: it draws random numbers, or keeps a state",
                "seed the generator inside func (mg.manual_seed), or draw outside and pass the numbers as an input")
    return None


def writes(e):
    before = [components(x) for x in e.check.tensors]
    e.values()
    for i, (x, old) in enumerate(zip(e.check.tensors, before)):
        if not np.array_equal(components(x), old, equal_nan=True):
            return f"func writes to tensor {i} of its inputs, so each call starts from other numbers", "work on x.clone()"
    return None


def not_finite(e):
    for matrix, name in ((e.n, "numerical"), (e.a, "analytical")):
        if not np.isfinite(matrix).all():
            return (f"the {name} derivative is not finite: func has no derivative there, as sqrt has none at 0, or it is computed "
                    "as 0 * inf", "check at other values; or give the derivative there in backward, with mg.where on both sides")
    return None


def imprecise(e):
    """The last bit of x and of f(x), divided by eps, is what a difference cannot see."""
    if np.abs(e.a - e.n).max() <= 4 * e.noise:
        return (f"{e.x.dtype.name} has too few digits: a step of {e.check.eps:g} leaves a difference of outputs of which the "
                f"rounding alone makes {e.noise:.2g} of the quotient", "check with float64 inputs: x.double()")
    return None


def kink(e):
    """Two slopes, to the left and to the right of x, which for a smooth function would be one."""
    off = (e.a - e.n)[e.row, e.column]
    unit = parts(e.x)[e.part if e.forward else int(abs(np.imag(off)) > abs(np.real(off)))]
    place, eps = e.x.data[e.at], e.check.eps
    here = e.values()[e.o]
    kept = place.clone()
    try:
        place.copy_(kept + eps * unit)
        ahead = e.values()[e.o]
        place.copy_(kept - eps * unit)
        behind = e.values()[e.o]
    finally:
        place.copy_(kept)
    part = 0 if e.forward else e.part
    right, left = ((ahead - here) / eps)[part, e.column], ((here - behind) / eps)[part, e.column]
    claimed = (np.imag if unit == 1j and not e.forward else np.real)(e.a[e.row, e.column])
    low, high = min(left, right), max(left, right)
    finer = difference(e.check.fn, e.check.inputs, place, eps / 8 * unit, eps / 8)[e.o][part, e.column]
    if abs(finer) > max(2 * abs(low), 2 * abs(high), e.close):      # the change does not shrink with the step
        return ("func jumps within eps of this element, so there is no derivative to compare with",
                "check at values that lie further from the jump than eps")
    if high - low < 1.5 * abs(claimed - (left + right) / 2) or not low - e.close <= claimed <= high + e.close:
        return None
    return (f"func has a kink within eps of this element, as relu and abs have at 0: the slope is {left:.4g} on the left and "
            f"{right:.4g} on the right, finite differences straddle it, and the analytical {claimed:.4g} lies between",
            "check at values that lie further from the kink than eps; the derivative itself may well be right")


# ---- how do the two differ? -------------------------------------------------------------------------------


def zero(e):
    if e.a.any():
        return None
    method = "jvp" if e.forward else "backward"
    what = "no gradient arrives at the input at all" if e.absent else "the analytical derivative is zero"
    return (f"{what}: on the way from it to the output something is detached, by .detach(), .data, .item(), NumPy or no_grad, or "
            f"{method} returns None or zeros for it",
            e.check.hint or f"compute with tensors all the way; in {method} return a derivative for each input that needs one")


def ignored(e):
    """All columns are one: whatever gradient goes in, the same comes out."""
    if e.forward or e.a.shape[1] < 2 or (e.a != e.a[:, :1]).any() or (np.abs(e.n - e.n[:, :1]) <= e.close).all():
        return None
    return "backward returns the same whatever gradient it is given", "multiply the derivative by grad_output"


def factor(e):
    """a = c n with one c for all entries."""
    norm = (np.abs(e.n) ** 2).sum()
    if not norm:
        return None
    c = (np.conj(e.n) * e.a).sum() / norm
    if np.abs(e.a - c * e.n).max() > e.close * max(1.0, abs(c)):
        return None
    said = "the sign is wrong" if said_number(c) == "-1" else (
        "a constant factor is wrong, or one of several equal terms is missing" if abs(c) < 1 else
        "a constant factor is wrong, or a term is counted more than once")
    return f"analytical = {said_number(c)} * numerical: {said}", "compare the factors in the formula with those in the code"


def said_number(c):
    """A factor as a fraction if it is a simple one."""
    if abs(np.imag(c)) > 1e-3 * abs(c):
        return f"({brief(np.real(c))}{'+' if np.imag(c) >= 0 else '-'}{brief(abs(np.imag(c)))}j)"
    return brief(np.real(c))


def brief(c):
    simple = Fraction(float(c)).limit_denominator(12)
    return str(simple) if abs(float(simple) - c) <= 2e-3 * abs(c) else f"{c:.4g}"


def conjugated(e):
    if np.iscomplexobj(e.a) and e.alike(np.conj(e.n) * (-1 if e.part else 1)):      # conj(i n) = -i conj(n)
        return ("analytical is the complex conjugate of numerical",
                "the gradient of z = f(x) for a holomorphic f is g * f'(x).conj()")
    return None


def transposed(e):
    rows, columns = e.n.shape
    if rows == columns > 1 and e.alike(e.n.T):
        return ("analytical is the transpose of numerical: backward multiplies by the Jacobian instead of by its transpose",
                "for y = A x the gradient of x is A.T @ g, and the tangent of y is A @ t")
    return None


def not_there(e):
    if np.abs(e.n).max() > e.close:
        return None
    return ("func does not depend on this input, as far as a step of eps can tell: it rounds, compares, or the step is lost beside "
            "a larger number", "return None for it in backward; or enlarge eps, or make the inputs smaller")


def partly(e):
    """Right in some entries, and zero in all others."""
    missing = e.wrong & (e.a == 0)
    if not (missing == e.wrong).all() or not ((e.a != 0) & ~e.wrong).any():
        return None
    return (f"analytical is right where it is not zero, and {int(missing.sum())} entries are missing: part of the way is "
            "detached, or a part of the gradient was not written",
            "look which elements of the input the missing rows belong to, and what func does with them")


def elementwise(e):
    """One number for each element of the input: compare what is missing with the input and the output."""
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
        c = multiple(n - a, term, e.close)
        if c:
            return (f"numerical - analytical = {product(c, name)}, x being the input: a term is missing or has the wrong factor",
                    "a product has as many terms in its derivative as it has factors that depend on x")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / n
    for name, term in known.items():
        c = multiple(ratio, term, 1e-3 * np.abs(term).max()) if np.isfinite(ratio).all() and name != "1" else None
        if c:
            return (f"analytical = {product(c, name)} * numerical, x being the input",
                    "take that factor out of the formula")
    return None


def product(c, name):
    """``c * name``, without ones."""
    one = bool(abs(abs(c) - 1) < 2e-3)
    return brief(c) if name == "1" else "-" * bool(one and c < 0) + ("" if one else f"{brief(c)} * ") + name


def multiple(found, term, close):
    """c, if `found` is c times `term` and c is a simple fraction."""
    if not np.isfinite(term).all() or not term.any():
        return None
    c = (found * term).sum() / (term * term).sum()
    simple = "/" in brief(c) or float(Fraction(brief(c))) == round(c)
    return c if c and simple and (np.abs(found - c * term) <= close).all() else None


def some_term(e):
    """The right pattern of zeros, but no one factor."""
    same = (np.abs(e.n) > e.close) == (np.abs(e.a) > e.close)
    if not same.all():
        return None
    return ("the entries that are not zero are the right ones, but the ratio to what they should be varies: a term is missing or "
            "too much, as when one factor of a product is left out of its derivative, or what was saved is used in the wrong place",
            "derive func term by term: a product has as many terms in its derivative as it has factors that depend on x")
