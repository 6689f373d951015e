"""Check derivatives against finite differences.

    gradcheck(func, inputs)         checks the first derivative of func, in backward mode, forward mode, or both
    gradgradcheck(func, inputs)     checks the second derivative: it calls gradcheck for the gradient of func

    func ──┬── finite differences ──> J numerical  ─┐
           └── backward, jvp ───────> J analytical ─┴── equal?     then: gradients of zeros, undefined gradients, batches

If the inputs have n elements and the outputs m, the check takes 2n calls of func and m backwards, which is slow. `fast_mode`
compares v'Ju for one random u and v instead. A wrong Jacobian passes this check with probability 0.

This file has the public functions. Read next: ``_gradcheck/run.py`` (the checks in their order), ``_gradcheck/second.py``,
``_gradcheck/numerical.py`` and ``_gradcheck/analytical.py`` (the two Jacobians), ``_gradcheck/contracts.py`` (the checks after
them), ``_gradcheck/report.py`` and ``_gradcheck/causes.py`` (the error message).

Mirrors ``torch/autograd/gradcheck.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.errors import AutogradAssertionError, GradcheckError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Check the derivatives of `func` against finite differences, for the inputs that require a gradient.

    Args:
        func (Callable): takes `inputs`, and returns a tensor or a tuple of tensors.
        inputs (Tensor or tuple): the arguments. The tensors that require a gradient should be float64 or complex128: float32 has
            too few digits for differences. No two elements may share memory. Other arguments are passed on unchanged.
        eps (float): the step of the differences.
        atol, rtol (float): entries may differ by ``atol + rtol * |numerical|``.
        raise_exception (bool): if False, return False instead of raising `GradcheckError`. Other errors are raised.
        nondet_tol (float): the largest allowed difference between two backwards with the same gradient.
        check_undefined_grad (bool): check that undefined gradients and tangents (None) count as zeros.
        check_grad_dtypes (bool): check that gradients have the dtypes of the inputs.
        check_batched_grad, check_batched_forward_grad (bool): check that a batch of gradients, or of tangents, gives the same
            results as one call for each. minigrad computes a batch in a loop.
        check_forward_ad (bool): check forward mode.
        check_backward_ad (bool): check backward mode.
        fast_mode (bool): compare v'Ju for one random u and v, instead of all entries of J.
        masked (bool, optional): ignored: it is for sparse tensors, which minigrad does not have.

    Returns:
        bool: True if all checks pass.

    Raises:
        GradcheckError: a derivative is wrong. The error is a `RuntimeError`. Its message shows both Jacobians, where they differ,
            and a possible cause.
        ValueError: no input requires a gradient.
        RuntimeError: an input has a dimension of stride 0.
        AssertionError: the flags contradict each other; or the shape of an output depends on the values of the inputs.
        TypeError: func returns something else than tensors.

    A complex input is differentiated with respect to its real and its imaginary part. The parts of a complex output are
    differentiated separately. gradcheck writes to the inputs, and restores every bit, also after an error.
    Mirrors ``torch.autograd.gradcheck``.

    >>> x = mg.tensor([0.5, 2.0], dtype=mg.float64, requires_grad=True)
    >>> mg.autograd.gradcheck(lambda x: x.exp() * x, x)
    True
    >>> class Cube(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 2 * x ** 2
    >>> mg.autograd.gradcheck(Cube.apply, x, raise_exception=False)
    False
    >>> mg.autograd.gradcheck(Cube.apply, x)
    Traceback (most recent call last):
        ...
    minigrad.autograd.gradcheck.GradcheckError: Jacobian mismatch for output 0 with respect to input 0,
    numerical:
     [[ 0.75  0.  ]
      [ 0.   12.  ]]
    analytical:
     [[0.5 0. ]
      [0.  8. ]]
      found:    2 of 4 entries differ
      where:    the most for element (1,) of the input and (1,) of the output: numerical 12, analytical 8, allowed 0.012
      cause:    analytical = 2/3 * numerical: a constant factor is wrong, or one of several equal terms is missing
      fix:      compare the factors in the formula with those in the code
      help:     mg.explain("MG-E260")
    """
    expect_flags((check_forward_ad or check_backward_ad,
                  "Expected at least one of check_forward_ad or check_backward_ad to be True"),
                 (check_backward_ad or not check_batched_grad,
                  "Setting check_batched_grad=True requires check_backward_ad to be True"),
                 (check_forward_ad or not check_batched_forward_grad,
                  "Setting check_batched_forward_grad=True requires check_forward_ad to be True"))
    from minigrad.autograd._gradcheck.run import Check  # here, because few programs check gradients
    check = Check(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    return run_check(check, raise_exception, undefined=check_undefined_grad, batched=check_batched_grad,
                     batched_forward=check_batched_forward_grad, forward=check_forward_ad, backward=check_backward_ad,
                     fast=fast_mode)


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool | None = False) -> bool:
    """Check the second derivatives of `func`: call `gradcheck` for its gradients, as a function of inputs and grad_outputs.

    Args:
        func, inputs: as for `gradcheck`.
        grad_outputs (Tensor or tuple, optional): the gradients of the outputs that require a gradient. The second derivative is
            computed at these values. It includes the derivative with respect to each grad_output that requires a gradient. By
            default they are random numbers between -1 and 1, the same in every call.
        gen_non_contig_grad_outputs (bool): make the random grad_outputs non-contiguous.
        check_rev_over_rev (bool): check a backward through the backward.
        check_fwd_over_rev (bool): check forward mode through the backward.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode,
        masked: as for `gradcheck`.

    Returns:
        bool: True if all checks pass.

    Raises:
        GradcheckError: as `gradcheck`, like the other errors. In the messages, output i is the i-th gradient. The grad_outputs are
            counted after the inputs of func.

    Mirrors ``torch.autograd.gradgradcheck``.

    >>> x = mg.tensor([0.5, 2.0], dtype=mg.float64, requires_grad=True)
    >>> mg.autograd.gradgradcheck(lambda x: x.exp() * x, x)
    True
    >>> class Square(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.detach()          # no history: the second derivative misses x
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return 2 * ctx.x * g
    >>> mg.autograd.gradcheck(Square.apply, x)
    True
    >>> mg.autograd.gradgradcheck(Square.apply, x, raise_exception=False)
    False
    """
    expect_flags((check_fwd_over_rev or check_rev_over_rev,
                  "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"),
                 (check_rev_over_rev or not check_undefined_grad,
                  "Setting check_undefined_grad=True requires check_rev_over_rev to be True"),
                 (check_rev_over_rev or not check_batched_grad,
                  "Setting check_batched_grad=True requires check_rev_over_rev to be True"))
    from minigrad.autograd._gradcheck.second import make_second_check
    check = make_second_check(func, inputs, grad_outputs, gen_non_contig_grad_outputs, eps, atol, rtol, nondet_tol,
                              check_grad_dtypes)
    return run_check(check, raise_exception, undefined=check_undefined_grad, batched=check_batched_grad, batched_forward=False,
                     forward=check_fwd_over_rev, backward=check_rev_over_rev, fast=fast_mode)


def run_check(check, raise_exception, **options):
    """Run a check. Return True if it passes; otherwise raise, or return False if `raise_exception` is False."""
    try:
        check.run(**options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def expect_flags(*rules):
    """Raise if a rule is broken. A rule is a pair (whether it is satisfied, the error message)."""
    for satisfied, message in rules:
        if not satisfied:
            raise AutogradAssertionError("MG-E266", message, fix="set the flags as the message says")
