"""check_op: one table that shows whether an op of your own is right."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd.function import once_differentiable
from minigrad.autograd.gradcheck import GradcheckError
from minigrad.testing import NotCloseError, check_op
from tests.autograd.derivatives import op

CHECKS = ["value", "inputs", "layout", "vjp", "jvp", "vjp of vjp", "jvp of vjp"]


def verdicts(report):
    return {check: verdict for check, verdict, _ in report.rows}


def cube(**wrong):
    """x ** 3 as a custom Function, with a factor too many where it is said."""
    return op(mg, lambda x: wrong.get("value", 1) * x ** 3, lambda g, x: 3 * wrong.get("vjp", 1) * g * x ** 2,
              lambda ts, x: 3 * wrong.get("jvp", 1) * ts[0] * x ** 2)


def test_all_is_well():
    """A function of ops: every row is ok, and the report is true."""
    report = check_op(lambda x, y: (x * y).exp().sum(0), mg.randn(2, 3), mg.randn(3), reference=lambda x, y: np.exp(x * y).sum(0))
    assert report and report.ok and not report.errors
    assert verdicts(report) == dict.fromkeys(CHECKS, "ok")
    assert str(report).splitlines()[0] == "<lambda>: all is well"
    assert len(str(report).splitlines()) == 8


def test_all_is_well_with_a_function():
    assert verdicts(check_op(cube(), mg.randn(3), reference=lambda x: x ** 3, check_forward_ad=True,
                             check_second_order=True)) == dict.fromkeys(CHECKS, "ok")


@pytest.mark.parametrize("wrong, rows, error", [
    ("value", {"value", "vjp", "jvp"}, NotCloseError),
    ("vjp", {"vjp"}, GradcheckError),
    ("jvp", {"jvp"}, GradcheckError),
])
def test_what_is_wrong_is_named(wrong, rows, error):
    """The error is from the first wrong row; its note is the table, which has the other rows."""
    with pytest.raises(error) as caught:
        check_op(cube(**{wrong: 2}), mg.randn(3), reference=lambda x: x ** 3, check_second_order=False)
    report = check_op(cube(**{wrong: 2}), mg.randn(3), reference=lambda x: x ** 3, check_second_order=False, raise_exception=False)
    assert not report and set(report.errors) == rows == {c for c, v in verdicts(report).items() if v == "wrong"}
    assert str(report).splitlines()[0] in "".join(caught.value.__notes__)
    if wrong != "value":
        assert "analytical = 2 * numerical" in str(report)


def test_second_derivative():
    detached = op(mg, lambda x: x ** 3, lambda g, x: 3 * g * x.detach() ** 2, lambda ts, x: 3 * ts[0] * x ** 2)
    report = check_op(detached, mg.randn(3), raise_exception=False)
    assert set(report.errors) == {"vjp of vjp", "jvp of vjp"}
    assert verdicts(report)["value"] == "not there"


def test_what_is_not_defined():
    """An op without a jvp, or with a once_differentiable backward, passes, unless the caller demands them."""
    class Once(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 3 * g * x ** 2
    found = verdicts(check_op(Once.apply, mg.randn(3)))
    assert (found["vjp"], found["jvp"], found["vjp of vjp"]) == ("ok", "not there", "not there")
    with pytest.raises(NotImplementedError, match="jvp"):
        check_op(Once.apply, mg.randn(3), check_forward_ad=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        check_op(Once.apply, mg.randn(3), check_second_order=True)
    found = verdicts(check_op(Once.apply, mg.randn(3), check_second_order=False, check_forward_ad=False))
    assert [found[c] for c in CHECKS[4:]] == ["left out"] * 3


def test_writing_to_an_input():
    report = check_op(lambda x: x.data.mul_(2) * 0 + x, mg.randn(3), raise_exception=False)
    assert "inputs" in report.errors and "ctx.mark_dirty" in str(report)
    with pytest.raises(AssertionError, match="the op has written to one of its inputs"):
        check_op(lambda x: x.data.mul_(2) * 0 + x, mg.randn(3))


def test_ignoring_strides():
    """The memory of the input taken as if it had no gaps."""
    def first_of_memory(x):
        array = x.detach().numpy()
        memory = array.base if array.base is not None else array
        return mg.from_numpy(np.ndarray(array.shape, array.dtype, memory).copy())
    fn = op(mg, first_of_memory, lambda g, x: g)
    report = check_op(fn, mg.randn(3), check_second_order=False, raise_exception=False)
    assert "layout" in report.errors and "depends on the memory layout of the inputs" in str(report)


def test_several_outputs_and_constants():
    report = check_op(lambda x, n: (x ** n, x.sum()), mg.randn(3), 2, reference=lambda x, n: (x ** n, x.sum()))
    assert verdicts(report) == dict.fromkeys(CHECKS, "ok")


def test_by_what_is_differentiated():
    """Derivatives are checked for the inputs that require a gradient, or for all that can; in float64, and on copies."""
    x, y = mg.randn(3), mg.randn(3).requires_grad_()
    seen = []

    def fn(x, y):
        seen.append((x.dtype, x.requires_grad, y.requires_grad))
        return x * y
    check_op(fn, x, y)
    assert (mg.float32, False, False) in seen and (mg.float64, False, True) in seen
    assert y.grad is None and not x.requires_grad and y.requires_grad
    seen.clear()
    check_op(fn, x, y.detach())
    assert (mg.float64, True, True) in seen


def test_complex():
    z = mg.tensor([1 + 2j, 0.5 - 1j])
    assert check_op(lambda z: z * z, z, reference=lambda z: z * z)
    assert not check_op(op(mg, lambda z: z * z, lambda g, z: 2 * g * z), z, raise_exception=False)


def test_settings_are_passed_on():
    almost = cube(vjp=1.01)
    assert "vjp" in check_op(almost, mg.ones(2), check_second_order=False, check_forward_ad=False, raise_exception=False).errors
    assert check_op(almost, mg.ones(2), check_second_order=False, check_forward_ad=False, rtol=0.02)
    assert check_op(cube(), mg.ones(2), fast_mode=True)


def test_other_errors_come_through():
    with pytest.raises(ZeroDivisionError):
        check_op(lambda x: x / (1 // 0), mg.ones(2))
    with pytest.raises(ValueError, match="nothing to differentiate"):
        check_op(lambda x: x, mg.arange(3))


def test_every_op_of_a_tutorial_passes():
    """Ops of minigrad, with the functions of NumPy that they mean."""
    for name in ("exp", "log", "sqrt", "tanh", "sin"):
        assert check_op(getattr(mg, name), mg.rand(2, 2) + 0.5, reference=getattr(np, name))
