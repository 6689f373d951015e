"""The error message of gradcheck for two Jacobians that differ.

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

The rows of the matrices belong to the elements of the input, the columns to the elements of the output, as in PyTorch.
``_gradcheck/causes.py`` guesses the cause from the numbers.

Mirrors the messages of ``torch/autograd/gradcheck.py``.
"""

import numpy as np

from minigrad.autograd._gradcheck.causes import Evidence, find_cause
from minigrad.errors import GradcheckError

__all__ = ["expect_equal", "find_differences", "to_matrices"]


def to_matrices(J, forward):
    """Convert a real Jacobian to matrices (elements of the input, elements of the output), which are compared one by one.

    Backward mode has one matrix for each part of the output, and pairs the parts of the input to complex numbers. Forward mode has
    one matrix for each part of the input, and pairs the parts of the output.
    """
    pairs = J.transpose(2, 1, 0, 3) if forward else J       # (parts to pair, input, parts of which each has a matrix, output)
    numbers = pairs[0]
    if len(pairs) == 2:
        numbers = numbers.astype(complex)
        numbers.imag = pairs[1]         # not a sum: 1j * inf is nan + inf j
    return [numbers[:, part] for part in range(numbers.shape[1])]


def find_differences(a, n, atol, rtol):
    """Where two arrays differ by more than ``atol + rtol |n|``. Entries that are not finite must be equal."""
    with np.errstate(invalid="ignore"):
        close = (np.abs(a - n) <= atol + rtol * np.abs(n)) & np.isfinite(a) & np.isfinite(n)
        return ~(close | (a == n))


def expect_equal(analytical, numerical, check, i, o, forward=False, absent=False):
    """Raise if the analytical and the numerical Jacobian of output `o` with respect to input `i` differ."""
    parts = enumerate(zip(to_matrices(analytical, forward), to_matrices(numerical, forward)))
    for part, (a, n) in reversed(list(parts)):      # the imaginary part first, as PyTorch does
        wrong = find_differences(a, n, check.atol, check.rtol)
        if wrong.any():
            raise make_error(a, n, wrong, check, i, o, forward, part, absent)


def make_error(a, n, wrong, check, i, o, forward, part, absent):
    """Return the error: both matrices, where they differ most, and a possible cause."""
    x, y = check.inputs[i], check.outputs[o]
    with np.errstate(invalid="ignore"):
        excess = np.where(wrong, np.nan_to_num(np.abs(a - n), nan=np.inf), -1.0)
    row, column = np.unravel_index(int(excess.argmax()), excess.shape)
    at_input, at_output = unravel(row, x.shape), unravel(column, y.shape)
    try:
        cause, fix = find_cause(Evidence(check, i, o, a, n, wrong, at_input, int(row), int(column), forward, part, absent))
    except Exception:       # the search calls func again. If func fails, report the mismatch without a cause
        cause, fix = None, None
    number = "imaginary" if part else "real"
    split = (x if forward else y).dtype.is_complex
    considering = f"While considering the {number} part of complex {'inputs' if forward else 'outputs'} only, " if split else ""
    return GradcheckError(
        "MG-E260", f"{considering}Jacobian {'computed with forward mode ' if forward else ''}mismatch for output {o} with respect "
        f"to input {i},\nnumerical:\n{format_matrix(n)}\nanalytical:\n{format_matrix(a)}",
        found=f"{int(wrong.sum())} of {wrong.size} entries differ" + check.role(i, o),
        where=f"the most for element {at_input} of the input and {at_output} of the output: "
              f"numerical {format_number(n[row, column])}, analytical {format_number(a[row, column])}, "
              f"allowed {check.atol + check.rtol * abs(n[row, column]):.3g}",
        cause=cause, fix=fix)


def unravel(flat, shape):
    """Convert the flat index of an element to a tuple of ints."""
    return tuple([int(k) for k in np.unravel_index(int(flat), tuple(shape))])


def format_matrix(matrix):
    """The text of a matrix in an error message."""
    return " " + np.array2string(matrix, precision=4, suppress_small=True, threshold=200, edgeitems=4, max_line_width=110,
                                 prefix=" ")


def format_number(number):
    """The text of a number in an error message."""
    return f"{number.real:.6g}{number.imag:+.6g}j" if np.iscomplexobj(number) else f"{number:.6g}"
