"""assert_close: tolerances, the pairs that are compared, and the messages. On torch too, through tests/parity/test_testing.py."""

import collections
import pickle

import numpy as np
import pytest

import minigrad as mg
from tests.core.engine_tools import ours

NAN, INF = float("nan"), float("inf")

# name -> function of (m, check) that compares two things
CASES = {
    "same": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.0, 2.0])),
    "rounding": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.0, 2.000001])),
    "values": lambda m, check: check(m.tensor([1.0, 2.0, 3.0]), m.tensor([1.0, 4.0, 5.0])),
    "two dimensions": lambda m, check: check(m.zeros(2, 3), m.tensor([[0.0, 0, 0], [0, 0, 2]])),
    "scalars": lambda m, check: check(m.tensor(1.0), m.tensor(2.0)),
    "equal asked for": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.0, 2.000001]), rtol=0, atol=0),
    "tolerances": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.05, 2.25]), rtol=0.1, atol=0.05),
    "at the limit": lambda m, check: check(m.tensor([1.5], dtype=m.float64), m.tensor([1.0], dtype=m.float64), rtol=0.25, atol=0.25),
    "integers": lambda m, check: check(m.tensor([1, 2]), m.tensor([1, 4])),
    "integers with a tolerance": lambda m, check: check(m.tensor([1, 2]), m.tensor([1, 4]), rtol=0, atol=2),
    "small integers": lambda m, check: check(m.tensor([1, 255], dtype=m.uint8), m.tensor([255, 1], dtype=m.uint8)),
    "one integer": lambda m, check: check(m.tensor(1), m.tensor(2)),
    "bools": lambda m, check: check(m.tensor([True, False]), m.tensor([True, True])),
    "complex": lambda m, check: check(m.tensor([1 + 1j]), m.tensor([1 + 2j])),
    "half": lambda m, check: check(m.tensor([1.0]).half(), m.tensor([1.01]).half()),
    "half is coarse": lambda m, check: check(m.tensor([1.0]).half(), m.tensor([1.001]).half()),
    "nan": lambda m, check: check(m.tensor([NAN]), m.tensor([NAN])),
    "nan allowed": lambda m, check: check(m.tensor([NAN, 1.0]), m.tensor([NAN, 1.0]), equal_nan=True),
    "inf": lambda m, check: check(m.tensor([INF, 1.0]), m.tensor([INF, 1.0])),
    "other inf": lambda m, check: check(m.tensor([INF, 1.0]), m.tensor([-INF, 1.0])),
    "inf and number": lambda m, check: check(m.tensor([1.0]), m.tensor([INF])),
    "expected zero": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([0.0, 2.0])),
    "no elements": lambda m, check: check(m.zeros(0), m.zeros(0)),
    "requires a gradient": lambda m, check: check(m.tensor([1.0, 2.0]).requires_grad_(), m.tensor([1.0, 2.1])),
    "shape": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.0])),
    "shape that broadcasts": lambda m, check: check(m.ones(2, 1), m.ones(2)),
    "dtype": lambda m, check: check(m.tensor([1.0]), m.tensor([1.0], dtype=m.float64)),
    "dtype ignored": lambda m, check: check(m.tensor([1.0, 2.0]), m.tensor([1.0, 2.1], dtype=m.float64), check_dtype=False),
    "integer and float": lambda m, check: check(m.tensor([1, 2]), m.tensor([1.0, 2.0]), check_dtype=False),
    "coarser of two": lambda m, check: check(m.tensor([1.0]).half(), m.tensor([1.001], dtype=m.float64), check_dtype=False),
    "stride": lambda m, check: check(m.ones(2, 3), m.ones(3, 2).T, check_stride=True),
    "stride ignored": lambda m, check: check(m.ones(2, 3), m.ones(3, 2).T),
    "layout": lambda m, check: check(m.ones(2), m.ones(2), check_layout=False, check_device=False),
    "rtol alone": lambda m, check: check(m.tensor(1.0), m.tensor(1.0), rtol=1),
    "atol alone": lambda m, check: check(m.tensor(1.0), m.tensor(1.0), atol=1),
    "message": lambda m, check: check(m.tensor(1.0), m.tensor(2.0), msg="mine"),
    "made message": lambda m, check: check(m.tensor(1.0), m.tensor(2.0), msg=lambda said: f"before\n{said}"),
    "made message of a place": lambda m, check: check([1.0], [2.0], msg=lambda said: f"before\n{said}"),
    "numbers": lambda m, check: check(1.5, 2.5),
    "numbers, close": lambda m, check: check(1.0, 1.0 + 1e-9),
    "complex numbers": lambda m, check: check(1.5j, 2.5j),
    "types of numbers": lambda m, check: check(1.0, 1),
    "types of numbers ignored": lambda m, check: check(1.0, 1, check_dtype=False),
    "bool numbers": lambda m, check: check(True, False),
    "NumPy's number": lambda m, check: check(np.float64(1), 1.0),
    "None": lambda m, check: check(None, None),
    "None and 1": lambda m, check: check(None, 1),
    "arrays": lambda m, check: check(np.ones(2), np.zeros(2)),
    "arrays, same": lambda m, check: check(np.ones(2), np.ones(2)),
    "array and tensor": lambda m, check: check(np.ones(2), m.ones(2)),
    "tensor and number": lambda m, check: check(m.ones(()), 1.0),
    "strings": lambda m, check: check("a", "a"),
    "objects": lambda m, check: check(object(), object()),
    "lists": lambda m, check: check([m.ones(2), 2.0], (m.ones(2), 2.0)),
    "length": lambda m, check: check([1, 2], [1]),
    "place in lists": lambda m, check: check([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]]),
    "first of two": lambda m, check: check([m.ones(1), m.ones(1)], [m.zeros(1), m.full((1,), 9.0)]),
    "mapping": lambda m, check: check({"a": m.ones(2), "b": 1}, collections.OrderedDict([("b", 1), ("a", m.ones(2))])),
    "keys": lambda m, check: check({"a": 1}, {"b": 1}),
    "place in mapping": lambda m, check: check({"a": [m.ones(2), m.ones(1)]}, {"a": [m.ones(2), m.zeros(1)]}),
    "bad type in a list": lambda m, check: check([1.0, "a"], [2.0, "a"]),
    "parameter": lambda m, check: check(m.nn.Parameter(m.ones(2)), m.ones(2)),
    "parameter refused": lambda m, check: check(m.nn.Parameter(m.ones(2)), m.ones(2), allow_subclasses=False),
}


def answer(m, name):
    """None, or the builtin class of the error and the common part of its message."""
    try:
        return CASES[name](m, m.testing.assert_close)
    except Exception as error:
        kind = next(c.__qualname__ for c in type(error).__mro__ if c.__module__ == "builtins")
        lines = [line for line in str(error).splitlines() if not line.startswith("  ")]
        return kind, "\n".join(lines).replace(f"{m.__name__}.", "").replace("tensor.Tensor", "Tensor")


CLOSE = {"same", "rounding", "tolerances", "at the limit", "integers with a tolerance", "half is coarse", "nan allowed", "inf", "no elements",
         "integer and float", "coarser of two", "stride ignored", "layout", "numbers, close", "types of numbers ignored", "NumPy's number",
         "None", "arrays, same", "lists", "mapping", "parameter"}


@pytest.mark.parametrize("name", CASES)
def test_close_or_not(m, name):
    assert (answer(m, name) is None) == (name in CLOSE)


@ours
def test_words(m):
    """The whole message: the number of mismatches, the largest one, the tolerance, and the pointer to the explanation."""
    with pytest.raises(AssertionError) as caught:
        m.testing.assert_close(m.tensor([1.0, 2.0, 3.0]), m.tensor([1.0, 4.0, 5.0]))
    lines = str(caught.value).splitlines()
    assert "where:    tests" in lines.pop(5)
    assert lines == [
        "Tensor-likes are not close!", "", "Mismatched elements: 2 / 3 (66.7%)",
        "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)",
        "Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)", '  help:     mg.explain("MG-E268")']
    assert caught.value.code == "MG-E268"


@pytest.mark.differs(
    what="`assert_close(True, 1)`",
    there="RuntimeError: an unexpected exception.",
    here="AssertionError: the types do not match.")
@ours
def test_numbers_of_two_kinds(m):
    """torch: an internal error, in bool and int."""
    with pytest.raises(AssertionError, match=r"The \(d\)types do not match: <class 'bool'> != <class 'int'>"):
        m.testing.assert_close(True, 1)


@ours
def test_the_error_travels(m):
    with pytest.raises(m.testing.NotCloseError) as caught:
        m.testing.assert_close(1.0, 2.0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is m.testing.NotCloseError and str(again) == str(caught.value)


def test_nothing_is_changed(m):
    x = m.tensor([1.0, 2.0]).requires_grad_()
    version = x._version
    m.testing.assert_close(x, m.tensor([1.0, 2.0]))
    assert x._version == version and x.requires_grad and x.grad is None
    assert mg.is_grad_enabled()
