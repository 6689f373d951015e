"""What gradcheck says when two Jacobians differ.

    Jacobian mismatch for output 0 with respect to input 0,
    numerical:
     [[3. 0.]
      [0. 3.]]
    analytical:
     [[2. 0.]
      [0. 2.]]
      found:    2 of 4 entries differ
      where:    the most for element (0,) of the input and (0,) of the output: numerical 3, analytical 2, allowed 0.00301
      cause:    analytical = 2/3 * numerical: a constant factor is wrong
      fix:      ...

The rows of the matrices belong to the elements of the input, the columns to those of the output, as in PyTorch. The cause is
a guess from the numbers, ``_gradcheck/causes.py``.

Mirrors the messages of ``torch/autograd/gradcheck.py``.
"""

import numpy as np

from minigrad.autograd._gradcheck.causes import Evidence, cause
from minigrad.autograd.gradcheck import GradcheckError

__all__ = ["differ", "expect_equal", "matrices"]


def matrices(J, forward):
    """A real Jacobian as matrices (elements of the input, elements of the output), which are compared each on its own.

    Backward mode differentiates the parts of an output each on its own, and pairs those of the input to complex numbers;
    forward mode has it the other way round.
    """
    pairs = J.transpose(2, 1, 0, 3) if forward else J       # (parts to be paired, input, parts that stay apart, output)
    numbers = pairs[0]
    if len(pairs) == 2:
        numbers = numbers.astype(complex)
        numbers.imag = pairs[1]         # not a sum: 1j * inf is nan + inf j
    return [numbers[:, part] for part in range(numbers.shape[1])]


def differ(a, n, atol, rtol):
    """Where two arrays differ by more than ``atol + rtol |n|``. What is not finite has to be equal."""
    with np.errstate(invalid="ignore"):
        close = (np.abs(a - n) <= atol + rtol * np.abs(n)) & np.isfinite(a) & np.isfinite(n)
        return ~(close | (a == n))


def expect_equal(analytical, numerical, check, i, o, forward=False, absent=False):
    """Compare the Jacobians of output `o` by input `i`: analytical, numerical."""
    parts = enumerate(zip(matrices(analytical, forward), matrices(numerical, forward)))
    for part, (a, n) in reversed(list(parts)):      # the imaginary part first, as PyTorch does
        wrong = differ(a, n, check.atol, check.rtol)
        if wrong.any():
            raise mismatch(a, n, wrong, check, i, o, forward, part, absent)


def mismatch(a, n, wrong, check, i, o, forward, part, absent):
    """The error: what, where the most, and why as far as one can tell."""
    x, y = check.inputs[i], check.outputs[o]
    with np.errstate(invalid="ignore"):
        excess = np.where(wrong, np.nan_to_num(np.abs(a - n), nan=np.inf), -1.0)
    row, column = np.unravel_index(int(excess.argmax()), excess.shape)
    at_input, at_output = index_of(row, x.shape), index_of(column, y.shape)
    try:
        because, fix = cause(Evidence(check, i, o, a, n, wrong, at_input, int(row), int(column), forward, part, absent))
    except Exception:       # func is called a few times more, and may fail then: that must not hide what has been found
        because, fix = None, None
    number = "imaginary" if part else "real"
    split = (x if forward else y).dtype.is_complex
    considering = f"While considering the {number} part of complex {'inputs' if forward else 'outputs'} only, " if split else ""
    return GradcheckError(
        "MG-E260", f"{considering}Jacobian {'computed with forward mode ' if forward else ''}mismatch for output {o} with respect "
        f"to input {i},\nnumerical:\n{shown(n)}\nanalytical:\n{shown(a)}",
        found=f"{int(wrong.sum())} of {wrong.size} entries differ" + check.role(i, o),
        where=f"the most for element {at_input} of the input and {at_output} of the output: numerical {brief(n[row, column])}, "
              f"analytical {brief(a[row, column])}, allowed {check.atol + check.rtol * abs(n[row, column]):.3g}",
        cause=because, fix=fix)


def index_of(flat, shape):
    """The index of an element, as a tuple of plain ints."""
    return tuple([int(k) for k in np.unravel_index(int(flat), tuple(shape))])


def shown(matrix):
    """A matrix in the lines of a message."""
    return " " + np.array2string(matrix, precision=4, suppress_small=True, threshold=200, edgeitems=4, max_line_width=110,
                                 prefix=" ")


def brief(number):
    """A number in the lines of a message."""
    return f"{number.real:.6g}{number.imag:+.6g}j" if np.iscomplexobj(number) else f"{number:.6g}"
