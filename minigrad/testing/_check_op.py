"""`check_op`: is an op of one's own right, in every direction?

    value       what a reference function gives, for instance NumPy's
    inputs      are the same afterwards
    layout      the same value and gradient for the same numbers with gaps between them
    vjp         backward against finite differences                 gradcheck
    jvp         forward mode against the same                       gradcheck, check_forward_ad
    vjp of vjp  the second derivative, backward through backward    gradgradcheck
    jvp of vjp  the same, forward mode through backward             gradgradcheck, check_fwd_over_rev

All of them run, whatever the others say; the first that fails is the error, and the table is attached to it. What an op
does not define at all (a Function without jvp) is no failure, unless it is asked for.

There is nothing like it in PyTorch; ``torch.library.opcheck`` and OpInfo are its nearest relatives.
"""

from textwrap import wrap

import numpy as np

from minigrad._arguments import callable_argument
from minigrad.autograd import grad
from minigrad.autograd.gradcheck import gradcheck, gradgradcheck
from minigrad.creation import zeros
from minigrad.dtypes import complex128, float64
from minigrad.errors import MinigradError, TensorValueError
from minigrad.tensor import Tensor
from minigrad.testing._comparison import NotCloseError, assert_close

__all__ = ["OpReport", "check_op"]

ABSENT = {"MG-E140": "no jvp is defined", "MG-E300": "no jvp is defined", "MG-E147": "its backward is marked once_differentiable"}


class OpReport:
    """What `check_op` has found: `rows` of (check, verdict, remark), `ok`, and `errors`, the exceptions by check.

    It is true if nothing is wrong, and prints as a table.

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
        """Whether nothing is wrong."""
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


def check_op(fn, *inputs, reference=None, check_forward_ad=None, check_second_order=None, raise_exception=True, **settings):
    """Check an op of one's own: its value, its backward, its forward mode, and its second derivatives.

    Args:
        fn (Callable): takes `inputs`, returns a tensor or a tuple of tensors; for a custom Function its ``apply``.
        *inputs: the arguments. The value is computed for them as they are; derivatives are checked for copies of double
            precision, by those that require a gradient or, if none does, by all floating point and complex ones.
        reference (Callable, optional): takes the inputs as NumPy arrays, and returns what `fn` should.
        check_forward_ad, check_second_order (bool, optional): True demands forward mode, second derivatives; False leaves them out;
            None, the default, accepts an op that does not define them.
        raise_exception (bool): whether to raise what is wrong; otherwise the report says it.
        **settings: passed on to `gradcheck` and `gradgradcheck`: eps, atol, rtol, nondet_tol, fast_mode, ...

    Returns:
        OpReport: a table, true if nothing is wrong.

    Raises:
        GradcheckError: a derivative is wrong.
        AssertionError: the value is not that of the reference, or depends on the layout; or an input was written to.
        ValueError: there is nothing to differentiate.

    Whatever `fn` itself raises comes through. The table is a note of the error. Random inputs find more than ones and zeros.

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
                              cause:    the entries that are not zero are the right ones, but the ratio to what they
                                        should be varies: a term is missing or too much, ...
      jvp         not there   no jvp is defined
      vjp of vjp  ok
      jvp of vjp  not there   no jvp is defined
    """
    report = OpReport(named(callable_argument(fn, "fn", "check_op")))
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
    """Whether something is wanted that needs both: False if one is left out, True if both are demanded, else None."""
    return False if False in wanted else all(wanted) or None


def named(fn):
    """What to call the op: the class of a Function, or the name of a function."""
    owner = getattr(fn, "__self__", None)
    return getattr(owner, "__name__", None) or getattr(fn, "__name__", type(fn).__name__)


def leaves(inputs, chosen, double):
    """Copies of the tensors among the inputs, which nobody else can see; of double precision, and leaves, if so desired."""
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
    """Run one check and add its row. `wanted` is None where the op need not define what is checked."""
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
    """The op gives what the reference does, whatever the dtype of that is."""
    expected = reference(*[x.detach().numpy() if isinstance(x, Tensor) else x for x in given])
    if isinstance(value, (tuple, list)):
        assert_close([as_array(v) for v in value], [as_array(e) for e in expected], check_dtype=False)
    else:
        assert_close(as_array(value), as_array(expected), check_dtype=False)


def as_array(x):
    """A tensor, or what a reference returns, as an array."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def expect_unchanged(before, after):
    """The op has not written to its inputs."""
    try:
        assert_close(after, before, rtol=0, atol=0, equal_nan=True)
    except NotCloseError as error:
        raise NotCloseError("MG-E268", "the op has written to one of its inputs", found=error.what.replace("\n\n", "\n"),
                            fix="work on x.clone(); an op that is meant to write in place says so with ctx.mark_dirty") from None


def expect_any_layout(fn, inputs, chosen):
    """Numbers with gaps between them give the same value and the same gradients."""
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
            raise NotCloseError("MG-E268", f"the {what} depends on how the inputs lie in memory",
                                found=error.what.replace("\n\n", "\n"),
                                fix="use strides, or call .contiguous() before the numbers are taken as a flat array") from None


def spread(x):
    """A leaf of the same numbers, with a gap after each."""
    wide = zeros(*x.shape, 2, dtype=x.dtype, device=x.device)
    wide[..., 0] = x.detach()
    return wide[..., 0].requires_grad_()
