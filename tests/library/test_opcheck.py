"""opcheck: its findings and its results; it does not change its arguments."""

import numpy as np
import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define, numpy_sin, product, with_formula

BASIC = ("test_schema", "test_autograd_registration")


def test_an_operator_that_does_what_it_says(m):
    """custom_op/B-82, custom_op/T-06"""
    x = leaf(m, 1.0, 2.0)
    assert m.library.opcheck(with_formula(m), (x,), test_utils=BASIC) == dict.fromkeys(BASIC, "SUCCESS")
    assert m.library.opcheck(product(m), [x, m.ones(2)], test_utils=BASIC) == dict.fromkeys(BASIC, "SUCCESS")
    assert x.grad is None and x._version == 0


def test_names_of_tests(m):
    """custom_op/B-81: one, or a sequence; an unknown one is a ValueError."""
    op, x = with_formula(m), leaf(m, 1.0, 2.0)
    assert m.library.opcheck(op, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    assert m.library.opcheck(op, (x,), test_utils=["test_schema"]) == {"test_schema": "SUCCESS"}
    for names in ("test_nothing", ["test_schema", "test_nothing"]):
        with raises(ValueError, "expected test_utils to be subset of"):
            m.library.opcheck(op, (x,), test_utils=names)


def test_what_is_no_operator(m):
    """custom_op/B-80"""
    for op in (3, lambda x: x):
        with raises(ValueError, "op must be instance of"):
            m.library.opcheck(op, (m.ones(1),))


def test_both_tolerances(m):
    """custom_op/B-85"""
    op, x = with_formula(m), leaf(m, 1.0, 2.0)
    for tolerance in ({"atol": 1e-3}, {"rtol": 1e-3}):
        with raises(ValueError, "if you specify one of rtol/atol, you must specify both"):
            m.library.opcheck(op, (x,), test_utils="test_schema", **tolerance)
    m.library.opcheck(op, (x,), test_utils="test_schema", atol=1e-3, rtol=1e-3)


def test_keyword_arguments(m):
    def f(x: m.Tensor, n: int = 2, *, flag: bool = False) -> m.Tensor:
        return x * n
    assert m.library.opcheck(define(m, f), (m.ones(2),), {"n": 3, "flag": True}, test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_an_undeclared_write_is_found(m):
    """custom_op/B-83, custom_op/B-82: in a list too; the arguments stay as they were (custom_op/T-06)."""
    def one(x: m.Tensor) -> m.Tensor:
        x.detach().numpy()[...] = 7
        return x + 1

    def several(x: list[m.Tensor]) -> m.Tensor:
        x[1].detach().numpy()[...] = 7
        return x[0] + 1
    for f, args in [(one, (leaf(m, 1.0, 2.0),)), (several, ([m.ones(2), m.tensor([1.0, 2.0])],))]:
        op = define(m, f)
        with pytest.raises(Exception, match=r"opcheck.*test_schema failed with Argument x is not defined as mutable but was mutated") as caught:
            m.library.opcheck(op, args, test_utils=BASIC)
        assert type(caught.value).__name__ == "OpCheckError" and isinstance(caught.value.__cause__, RuntimeError)
        found = m.library.opcheck(op, args, test_utils="test_schema", raise_exception=False)["test_schema"]
        assert isinstance(found, RuntimeError) and "Argument x is not defined as mutable but was mutated" in str(found)
        last = args[0][-1] if isinstance(args[0], list) else args[0]
        assert value(last) == [1, 2] and last._version == 0


def test_a_declared_write_need_not_happen(m):
    """custom_op/B-83"""
    def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        y.numpy()[...] = 3
        return x + 1
    y = m.ones(2)
    assert m.library.opcheck(define(m, f, mutates_args=("x", "y")), (m.ones(2), y), test_utils=BASIC)["test_schema"] == "SUCCESS"
    assert value(y) == [1, 1]


def test_aliases_are_found(m):
    """custom_op/B-83"""
    def f(x: m.Tensor) -> m.Tensor:
        return x
    with pytest.raises(Exception, match=r"test_schema failed with .*may not alias any inputs"):
        m.library.opcheck(define(m, f), (m.ones(2),), test_utils="test_schema")


def test_nan_is_not_a_write(m):
    """custom_op/B-83"""
    x = m.tensor([float("nan"), 1.0])
    assert m.library.opcheck(numpy_sin(m), (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_an_operator_that_raises(m):
    """custom_op/B-82: the exception is the result, or the cause."""
    error = KeyError("mine")

    def f(x: m.Tensor) -> m.Tensor:
        raise error
    op = define(m, f)
    assert m.library.opcheck(op, (m.ones(1),), test_utils="test_schema", raise_exception=False) == {"test_schema": error}
    with pytest.raises(Exception, match="test_schema failed with 'mine'") as caught:
        m.library.opcheck(op, (m.ones(1),), test_utils="test_schema")
    assert caught.value.__cause__ is error


@pytest.mark.differs(
    what="`opcheck` of a custom op without a formula",
    there="The check passes.",
    here="The check reports the missing formula, if an input requires a gradient.")
@ours
def test_a_missing_formula_is_found(m):
    """custom_op/B-84: PyTorch is content, as custom_op registers something in any case."""
    op = numpy_sin(m)
    found = m.library.opcheck(op, (leaf(m, 1.0, 2.0),), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" and "no autograd formula was registered" in str(found["test_autograd_registration"])
    assert m.library.opcheck(op, (m.ones(2),)) == dict.fromkeys(BASIC, "SUCCESS")       # nothing to differentiate

    def fill(x: m.Tensor) -> None:
        x.numpy()[...] = 1
    op = define(m, fill, mutates_args={"x"})
    assert m.library.opcheck(op, (m.ones(2),)) == dict.fromkeys(BASIC, "SUCCESS")
    assert "no autograd formula" in str(m.library.opcheck(op, (leaf(m, 1.0, 2.0),), raise_exception=False)["test_autograd_registration"])


@ours
def test_fake_outputs_are_compared(m):
    """custom_op/B-72 (accepted for this): within test_schema when there is one, or alone."""
    op, x = numpy_sin(m), m.ones(2, 3)
    with raises(m.library.OpCheckError, "There was no fake impl registered"):
        m.library.opcheck(op, (x,), test_utils="test_faketensor")
    op.register_fake(lambda x: x.new_empty(x.shape))
    assert m.library.opcheck(op, (x,), test_utils="test_faketensor") == {"test_faketensor": "SUCCESS"}
    for wrong in (lambda x: x.new_empty(x.shape[0]), lambda x: x.new_empty(x.shape, dtype=m.float64)):
        m.library.register_fake(op, wrong)
        for test in ("test_faketensor", "test_schema"):
            with raises(m.library.OpCheckError, "makes other outputs than the operator does"):
                m.library.opcheck(op, (x,), test_utils=test)


@ours
def test_derivatives_are_compared_with_differences(m):
    """custom_op/B-86, custom_op/B-49, custom_op/T-01: on float64 copies; opt-in."""
    pytest.importorskip("minigrad.autograd.gradcheck")
    both = ("test_gradcheck", "test_double_backward")
    x = leaf(m, 0.5, 1.0, 2.0)
    assert m.library.opcheck(with_formula(m), (x,), test_utils=both) == dict.fromkeys(both, "SUCCESS")
    assert m.library.opcheck(product(m), (x, m.ones(3)), test_utils=both, atol=1e-4, rtol=1e-3) == dict.fromkeys(both, "SUCCESS")
    assert x.grad is None and x.dtype == m.float32

    op = numpy_sin(m)
    op.register_autograd(lambda ctx, g: g * 2)
    found = m.library.opcheck(op, (x,), test_utils="test_gradcheck", raise_exception=False)["test_gradcheck"]
    assert isinstance(found, RuntimeError)

    def total(xs: list[m.Tensor], k: int) -> tuple[m.Tensor, int]:
        return m.from_numpy(k * np.sum([x.numpy() for x in xs], 0)), k
    op = define(m, total)
    op.register_autograd(lambda ctx, g, _: ([g * 3] * 2, None))
    assert m.library.opcheck(op, ([x, m.ones(3)], 3), test_utils=both)["test_gradcheck"] == "SUCCESS"
    with raises(m.library.OpCheckError, "there is nothing to check"):
        m.library.opcheck(op, ([m.ones(3)] * 2, 3), test_utils="test_gradcheck")
