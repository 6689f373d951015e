"""`check_op`: check the value and all derivatives of an op of your own.

    value       equals the value of a reference function, for instance NumPy's
    inputs      are the same afterwards
    layout      the value and the gradient do not change if the numbers have gaps between them
    vjp         backward against finite differences                             gradcheck
    jvp         forward mode against finite differences                         gradcheck, check_forward_ad
    vjp of vjp  the second derivative, backward through backward                gradgradcheck
    jvp of vjp  the second derivative, forward mode through backward            gradgradcheck, check_fwd_over_rev

All checks run, also after one fails. The first failure is raised, with the table as a note. A derivative that the op does not
define (a Function without jvp) is no failure, unless the caller demands it.

Without a counterpart in PyTorch; ``torch.library.opcheck`` and OpInfo are related.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from minigrad._arguments import callable_argument
from minigrad.autograd import grad
from minigrad.autograd.gradcheck import gradcheck, gradgradcheck
from minigrad.creation import zeros
from minigrad.dtypes import complex128, float64
from minigrad.errors import MinigradError, TensorValueError
from minigrad.tensor import Tensor
from minigrad.testing._comparison import NotCloseError, assert_close

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["OpReport", "check_op"]

ABSENT = {"MG-E140": "no jvp is defined", "MG-E300": "no jvp is defined", "MG-E147": "its backward is marked once_differentiable"}


class OpReport:
    """The result of `check_op`: `rows` of (check, verdict, remark), `ok`, and `errors`, a dict check -> exception.

    It is true if no check failed, and prints as a table.

    >>> report = mg.testing.check_op(lambda x: x.exp().detach() * x, mg.ones(2), raise_exception=False)
    >>> report.ok, list(report.errors)
    (False, ['vjp', 'jvp', 'vjp of vjp', 'jvp of vjp'])
    """

    def __init__(self, name):
        self.name = name
        self.rows = []
        self.errors = {}

    @property
    def ok(self):
        """Whether no check failed."""
        return not self.errors

    def __bool__(self):
        return self.ok

    def __str__(self):
        lines = [f"{self.name}: {'all is well' if self.ok else 'wrong: ' + ', '.join(self.errors)}"]
        for check, verdict, remark in self.rows:
            said = [part for line in remark.splitlines() for part in wrap(line, 100, subsequent_indent=10 * " ")]
            lines.append(f"  {check:<12}{verdict:<12}{''.join(said[:1])}".rstrip())
            lines += [26 * " " + line for line in said[1:]]
        return "\n".join(lines)

    __repr__ = __str__


def check_op(fn: Callable[..., Any], *inputs: Any, reference: Callable[..., Any] | None = None,
             check_forward_ad: bool | None = None, check_second_order: bool | None = None, raise_exception: bool = True,
             **settings: Any) -> OpReport:
    """Check an op of your own: its value, its backward, its forward mode, and its second derivatives.

    Args:
        fn (Callable): takes `inputs`, and returns a tensor or a tuple of tensors; for a custom Function, its ``apply``.
        *inputs: the arguments of `fn`. The value is computed for the inputs unchanged. Derivatives are checked for copies in double
            precision, with respect to the inputs that require a gradient. If none does, all floating point and complex inputs
            count.
        reference (Callable, optional): takes the inputs as NumPy arrays, and returns the value that `fn` should return.
        check_forward_ad, check_second_order (bool, optional): True demands forward mode or second derivatives; False skips these
            checks; None, the default, accepts an op that does not define them.
        raise_exception (bool, optional): whether to raise the first failure. If False, only the report has it.
        **settings: passed to `gradcheck` and `gradgradcheck`: eps, atol, rtol, nondet_tol, fast_mode, ...

    Returns:
        OpReport: a table, which is true if no check failed.

    Raises:
        GradcheckError: a derivative is wrong.
        AssertionError: the value differs from the reference or depends on the layout, or `fn` wrote to an input.
        ValueError: no input can be differentiated.

    An error of `fn` itself is raised unchanged. The report is a note of the raised failure. Random inputs find more errors than
    ones and zeros.

    >>> import numpy as np
    >>> class Sinc(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x.sin() / x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * x.cos() / x
    >>> x = mg.tensor([0.5, 2.0])
    >>> mg.testing.check_op(Sinc.apply, x, reference=lambda x: np.sinc(x / np.pi), raise_exception=False)
    Sinc: wrong: vjp
      value       ok
      inputs      ok
      layout      ok
      vjp         wrong       Jacobian mismatch for output 0 with respect to input 0,
                              found:    2 of 4 entries differ
                              cause:    the right entries are zero, but the others have no common factor: a term is missing or too
                                        much, for instance one factor of a product, ...
      jvp         not there   no jvp is defined
      vjp of vjp  ok
      jvp of vjp  not there   no jvp is defined
    """
    report = OpReport(name_of(callable_argument(fn, "fn", "check_op")))
    if reference is not None:
        callable_argument(reference, "reference", "check_op")
    chosen = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad] or [
        i for i, x in enumerate(inputs) if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())]
    if not chosen:
        raise TensorValueError("MG-E269", "check_op found nothing to differentiate: no input is a tensor of a floating point dtype",
                               fix="pass tensors: check_op(fn, mg.randn(3))")
    given = leaves(inputs, (), None)
    before = [x.clone() for x in given if isinstance(x, Tensor)]
    value = fn(*given)
    if reference is None:
        report.rows.append(("value", "not there", "no reference is given"))
    else:
        attempt(report, "value", lambda: expect_value(value, reference, given), None)
    attempt(report, "inputs", lambda: expect_unchanged(before, [x for x in given if isinstance(x, Tensor)]), None)

    inputs = leaves(inputs, chosen, True)
    attempt(report, "layout", lambda: expect_any_layout(fn, inputs, chosen), None)
    second = {k: v for k, v in settings.items() if k != "check_batched_forward_grad"}
    over = {**second, "check_undefined_grad": False}
    for check, wanted, run in (
            ("vjp", True, lambda: gradcheck(fn, inputs, **settings)),
            ("jvp", check_forward_ad, lambda: gradcheck(fn, inputs, check_forward_ad=True, check_backward_ad=False, **settings)),
            ("vjp of vjp", check_second_order, lambda: gradgradcheck(fn, inputs, **second)),
            ("jvp of vjp", both(check_forward_ad, check_second_order),
             lambda: gradgradcheck(fn, inputs, check_fwd_over_rev=True, check_rev_over_rev=False, **over))):
        if wanted is False:
            report.rows.append((check, "left out", ""))
        else:
            attempt(report, check, run, wanted)
    if raise_exception and report.errors:
        error = next(iter(report.errors.values()))
        error.add_note(str(report))
        raise error
    return report


def both(*wanted):
    """The setting for a check that needs several: False if one is skipped, True if all are demanded, else None."""
    return False if False in wanted else all(wanted) or None


def name_of(fn):
    """The name of the op: of the class of a Function, or of a function."""
    owner = getattr(fn, "__self__", None)
    return getattr(owner, "__name__", None) or getattr(fn, "__name__", type(fn).__name__)


def leaves(inputs, chosen, double):
    """The inputs, with leaves as copies of the tensors: in double precision if `double`. Those in `chosen` require a gradient."""
    found = []
    for i, x in enumerate(inputs):
        if isinstance(x, Tensor):
            x = x.detach().clone()
            if double and (x.is_floating_point() or x.is_complex()):
                x = x.to(complex128 if x.is_complex() else float64)
            x = x.requires_grad_(i in chosen)
        found.append(x)
    return tuple(found)


def attempt(report, check, run, wanted):
    """Run one check and add its row. If `wanted` is None, the op need not define what is checked."""
    try:
        run()
    except MinigradError as error:
        if wanted is None and error.code in ABSENT:
            report.rows.append((check, "not there", ABSENT[error.code]))
            return
        report.errors[check] = error
        first, *more = str(error).splitlines()
        said = [line.strip() for line in more if line.startswith(("  expected:", "  found:", "  cause:", "  fix:", "Greatest"))]
        report.rows.append((check, "wrong", "\n".join([first, *said])))
    else:
        report.rows.append((check, "ok", ""))


def expect_value(value, reference, given):
    """Check that the op gives the value of the reference; dtypes may differ."""
    expected = reference(*[x.detach().numpy() if isinstance(x, Tensor) else x for x in given])
    if isinstance(value, (tuple, list)):
        assert_close([as_array(v) for v in value], [as_array(e) for e in expected], check_dtype=False)
    else:
        assert_close(as_array(value), as_array(expected), check_dtype=False)


def as_array(x):
    """A tensor or a result of a reference as an array."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def expect_unchanged(before, after):
    """Check that the op has not written to its inputs."""
    try:
        assert_close(after, before, rtol=0, atol=0, equal_nan=True)
    except NotCloseError as error:
        raise NotCloseError("MG-E268", "the op has written to one of its inputs", found=error.what.replace("\n\n", "\n"),
                            fix="work on x.clone(), or call ctx.mark_dirty if the op should write in place") from None


def expect_any_layout(fn, inputs, chosen):
    """Check that inputs with gaps between their numbers give the same value and the same gradients."""
    def run(tensors):
        outputs = fn(*tensors)
        outputs = [y for y in (outputs if isinstance(outputs, (tuple, list)) else [outputs])]
        roots = [y for y in outputs if y.requires_grad]
        xs = [tensors[i] for i in chosen]
        grads = grad(roots, xs, [y.detach().cos() for y in roots], allow_unused=True) if roots else None
        return [y.detach() for y in outputs], grads
    expected = run(inputs)
    found = run(tuple([spread(x) if i in chosen else x for i, x in enumerate(inputs)]))
    for what, a, e in zip(("value", "gradient"), found, expected):
        try:
            assert_close(a, e, equal_nan=True)
        except NotCloseError as error:
            raise NotCloseError("MG-E268", f"the {what} depends on the memory layout of the inputs",
                                found=error.what.replace("\n\n", "\n"),
                                fix="use strides, or call .contiguous() before you read the numbers as a flat array") from None


def spread(x):
    """A leaf with the same numbers and a gap after each."""
    wide = zeros(*x.shape, 2, dtype=x.dtype, device=x.device)
    wide[..., 0] = x.detach()
    return wide[..., 0].requires_grad_()
