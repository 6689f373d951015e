"""Is a derivative right? Finite differences say.

    gradcheck(func, inputs)         the first derivative of func, in backward mode, forward mode, or both
    gradgradcheck(func, inputs)     the second: gradcheck of the gradient of func as a function

    func ──┬── finite differences ──> J numerical  ─┐
           └── backward, jvp ───────> J analytical ─┴── equal?     then: gradients of zeros, undefined gradients, batches

One element at a time is slow: 2n calls of func and m backwards for n numbers in and m out. `fast_mode` compares v'Ju
for one random u and v instead, which a wrong Jacobian passes with probability 0.

Here are the arguments and the words; the work is imported by the first check. Read next: ``_gradcheck/run.py`` (the checks in
their order), ``_gradcheck/second.py``, ``_gradcheck/numerical.py`` and ``_gradcheck/analytical.py`` (the two Jacobians),
``_gradcheck/contracts.py`` (what comes after), ``_gradcheck/report.py`` and ``_gradcheck/causes.py`` (what is said when they
differ).

Mirrors ``torch/autograd/gradcheck.py``.
"""

from minigrad.errors import AutogradAssertionError, AutogradError

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(AutogradError):
    """`gradcheck` or `gradgradcheck` has found a derivative that is wrong. Mirrors ``torch.autograd.gradcheck.GradcheckError``.

    >>> from minigrad.autograd.gradcheck import GradcheckError
    >>> x = mg.ones(2, dtype=mg.float64, requires_grad=True)
    >>> try:
    ...     mg.autograd.gradcheck(lambda x: x.detach() * x, x)
    ... except GradcheckError as error:
    ...     print(error.code, *[line for line in str(error).splitlines() if "cause" in line])
    MG-E260   cause:    analytical = 1/2 * numerical: a constant factor is wrong, or one of several equal terms is missing
    """

    own_name = True


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Check the derivatives of `func` against finite differences, for the inputs that require a gradient.

    Args:
        func (Callable): takes `inputs`, returns a tensor or a tuple of tensors.
        inputs (Tensor or tuple): the arguments. What is no tensor, or requires no gradient, is passed on as it is. They should
            be float64 (or complex128): float32 has too few digits for differences. No two elements may share memory.
        eps (float): the step of the differences.
        atol, rtol (float): entries may differ by ``atol + rtol * |numerical|``.
        raise_exception (bool): False returns False instead of raising `GradcheckError`; other errors come through.
        nondet_tol (float): by how much a second backward may differ from the first.
        check_undefined_grad (bool): whether undefined gradients (None), and tangents, have to be taken for zeros.
        check_grad_dtypes (bool): whether gradients must have the dtypes of the inputs.
        check_batched_grad, check_batched_forward_grad (bool): whether a batch of gradients, or of tangents, gives what each
            gives alone. A batch is a loop here: minigrad has no vmap.
        check_forward_ad (bool): whether to check forward mode.
        check_backward_ad (bool): whether to check backward mode.
        fast_mode (bool): compare v'Ju for one random u and v, instead of all entries of J.
        masked: for sparse tensors, of which there are none here; ignored.

    Returns:
        bool: True if all is well.

    Raises:
        GradcheckError: a derivative is wrong. It is a `RuntimeError`, shows both Jacobians, says where they differ and why that
            may be.
        ValueError: no input requires a gradient.
        RuntimeError: an input has a dimension of stride 0.
        AssertionError: the flags contradict each other; or outputs change their shape with the inputs.
        TypeError: func returns what is no tensor.

    A complex input is differentiated by its real and its imaginary part, and so are the parts of a complex output, each on its
    own. The inputs are written to meanwhile, and are the same afterwards, to the bit, also after an error.
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
      help:     minigrad.explain("MG-E260")
    """
    expect_flags((check_forward_ad or check_backward_ad,
                  "Expected at least one of check_forward_ad or check_backward_ad to be True"),
                 (check_backward_ad or not check_batched_grad,
                  "Setting check_batched_grad=True requires check_backward_ad to be True"),
                 (check_forward_ad or not check_batched_forward_grad,
                  "Setting check_batched_forward_grad=True requires check_forward_ad to be True"))
    from minigrad.autograd._gradcheck.run import Check

    check = Check(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    return verdict(check, raise_exception, undefined=check_undefined_grad, batched=check_batched_grad,
                   batched_forward=check_batched_forward_grad, forward=check_forward_ad, backward=check_backward_ad, fast=fast_mode)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False,
                  masked=False):
    """Check the second derivatives of `func`: `gradcheck` of its gradients, as a function of inputs and grad_outputs.

    Args:
        func, inputs: as for `gradcheck`.
        grad_outputs (Tensor or tuple, optional): the gradients of the outputs that require one, at which the second
            derivative is taken; those that require a gradient are differentiated too. By default random numbers between -1 and
            1, the same in every call.
        gen_non_contig_grad_outputs (bool): whether the random ones lie in memory with gaps.
        check_rev_over_rev (bool): whether to check a backward through the backward.
        check_fwd_over_rev (bool): whether to check forward mode through the backward.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode,
        masked: as for `gradcheck`.

    Returns, and raises, what `gradcheck` does; output i of its messages is the i-th gradient, and the inputs that follow those of
    func are the grad_outputs. Mirrors ``torch.autograd.gradgradcheck``.

    >>> x = mg.tensor([0.5, 2.0], dtype=mg.float64, requires_grad=True)
    >>> mg.autograd.gradgradcheck(lambda x: x.exp() * x, x)
    True
    >>> class Square(mg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.detach()          # no history: the second derivative cannot know of x
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
    from minigrad.autograd._gradcheck.second import second_check

    check = second_check(func, inputs, grad_outputs, gen_non_contig_grad_outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    return verdict(check, raise_exception, undefined=check_undefined_grad, batched=check_batched_grad, batched_forward=False,
                   forward=check_fwd_over_rev, backward=check_rev_over_rev, fast=fast_mode)


def verdict(check, raise_exception, **what):
    """Run a check; True, or an error, or False."""
    try:
        check.run(**what)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def expect_flags(*rules):
    """Each rule is (whether it is kept, what it says)."""
    for kept, said in rules:
        if not kept:
            raise AutogradAssertionError("MG-E266", said, fix="switch on what it names, or switch the other off")
