"""Jacobians that autograd computes, as arrays of the same form as in ``_gradcheck/numerical.py``.

    backward mode       one vjp per element of the output gives a column        backward_jacobian, backward_vjp
    forward mode        one jvp per element of the input gives a row            forward_jacobian, forward_jvp

The parts of a complex output y are differentiated separately: the gradient 1 gives d Re y, the gradient i gives d Im y. For a
complex input, the result is the derivative with respect to the real part, plus i times the derivative with respect to the
imaginary part.

Mirrors the analytical half of ``torch/autograd/gradcheck.py``. Read before: ``_gradcheck/numerical.py``.
"""

import numpy as np

from minigrad.autograd import forward_ad
from minigrad.autograd._backward import grad
from minigrad.autograd._gradcheck.numerical import call_function, components, part_units
from minigrad.creation import zeros, zeros_like
from minigrad.errors import GradcheckError

__all__ = ["backward_jacobian", "backward_vjp", "forward_jacobian", "forward_jvp", "vjp"]


def vjp(outputs, xs, grads):
    """The gradients of the inputs `xs`; None for an input that the outputs do not depend on. The graph is not released."""
    return grad(outputs, xs, grads, retain_graph=True, allow_unused=True)


def backward_jacobian(y, xs, check):
    """Return the Jacobians of the output `y` with respect to each of `xs`, and for each x whether no gradient arrived."""
    first, second = [compute_columns(y, xs, check.check_grad_dtypes) for _ in range(2)]
    expect_reentrant(first[0], second[0], check.nondet_tol)
    return first


def compute_columns(y, xs, check_dtypes):
    """Compute the Jacobians with one vjp for each real number in y."""
    y = y.clone()       # func may return an input itself: the clone has a history
    found = [np.zeros((len(part_units(x)), x.numel(), len(part_units(y)), y.numel())) for x in xs]
    absent = [True] * len(xs)
    for p, unit in enumerate(part_units(y)):
        for j in range(y.numel()):
            one = zeros(y.numel(), dtype=y.dtype, device=y.device)
            one[j] = unit
            for i, g in enumerate(vjp(y, xs, one.reshape(tuple(y.shape)))):
                if g is not None:
                    expect_fitting(g, xs[i], check_dtypes)
                    found[i][:, :, p, j] = components(g)
                    absent[i] = False
    return found, absent


def backward_vjp(y, xs, v, check):
    """The products of `v` with the Jacobians of `y` with respect to each of `xs`: arrays (parts of x, elements, parts of y)."""
    def multiply():
        found = [np.zeros((len(part_units(x)), x.numel(), len(part_units(y)))) for x in xs]
        for p, unit in enumerate(part_units(y)):
            for i, g in enumerate(vjp(clone, xs, (v * unit).to(y.dtype))):
                if g is not None:
                    expect_fitting(g, xs[i], check.check_grad_dtypes)
                    found[i][:, :, p] = components(g)
        return found
    clone = y.clone()
    first, second = multiply(), multiply()
    expect_reentrant(first, second, check.nondet_tol)
    return first


def expect_fitting(g, x, check_dtypes):
    """Raise unless the gradient `g` has the shape of `x`, and with `check_dtypes` the dtype of `x`."""
    if check_dtypes and g.dtype != x.dtype:
        raise GradcheckError("MG-E262", "Gradient has dtype mismatch", expected=x.dtype.name, found=g.dtype.name,
                             fix="convert it in backward: g.to(x.dtype)")
    if g.shape != x.shape:
        raise GradcheckError("MG-E262", "Analytical gradient has incorrect size", expected=str(tuple(x.shape)),
                             found=str(tuple(g.shape)), fix="sum the gradient over the dimensions that forward has broadcast")


def expect_reentrant(first, second, tolerance):
    """Raise if two backwards with the same gradients give different results."""
    with np.errstate(invalid="ignore"):     # inf - inf counts as equal
        worst = max([np.nan_to_num(np.abs(a - b), nan=0.0).max(initial=0.0) for a, b in zip(first, second)])
    if worst > tolerance:
        raise GradcheckError(
            "MG-E261", "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values",
            expected=f"a difference of at most nondet_tol = {tolerance}", found=f"a difference of {worst:.3g}",
            cause="backward draws random numbers, counts its calls, or writes to its saved tensors",
            fix="draw in forward and save the numbers on ctx; or pass nondet_tol, if the order of a sum varies")


# ---- forward mode -----------------------------------------------------------------------------------------


def forward_jacobian(fn, inputs, index, outputs, check):
    """The Jacobians of all outputs with respect to input `index`: one jvp for each real number in it."""
    x = inputs[index]
    found = [np.zeros((len(part_units(x)), x.numel(), len(part_units(y)), y.numel())) for y in outputs]
    for p, unit in enumerate(part_units(x)):
        for j in range(x.numel()):
            one = zeros(x.numel(), dtype=x.dtype, device=x.device)
            one[j] = unit
            for J, t in zip(found, compute_tangents(fn, inputs, {index: one.reshape(tuple(x.shape))}, check.check_grad_dtypes)):
                if t is not None:
                    J[p, j] = components(t)
    return found


def forward_jvp(fn, inputs, index, outputs, directions, check):
    """The derivatives of all outputs along one direction for each part of input `index`: arrays (parts, parts of y, elements)."""
    x = inputs[index]
    found = [np.zeros((len(part_units(x)), len(part_units(y)), y.numel())) for y in outputs]
    for p, (unit, u) in enumerate(zip(part_units(x), directions)):
        for J, t in zip(found, compute_tangents(fn, inputs, {index: (u * unit).to(x.dtype)}, check.check_grad_dtypes)):
            if t is not None:
                J[p] = components(t)
    return found


def compute_tangents(fn, inputs, directions, check_dtypes=False, undefined=()):
    """Compute the tangents of the outputs of `fn`, if input i has the tangent ``directions[i]``. None stands for zeros.

    The inputs in `undefined` have no tangent. The other inputs that require a gradient have a tangent of zeros.
    """
    with forward_ad.dual_level():
        duals = list(inputs)
        for i in find_differentiable(inputs):
            duals[i] = inputs[i].detach()
            if i not in undefined:
                tangent = directions[i] if i in directions else zeros_like(duals[i])
                duals[i] = forward_ad.make_dual(duals[i], tangent)
        unpacked = [forward_ad.unpack_dual(y) for y in call_function(fn, duals)]
        for y, t in unpacked:
            if check_dtypes and t is not None and t.dtype.is_complex != y.dtype.is_complex:
                raise GradcheckError("MG-E262", "Forward AD gradient has dtype mismatch.", expected=y.dtype.name,
                                     found=t.dtype.name, fix="a real output has a real tangent, a complex one a complex tangent")
        return [t for _, t in unpacked]


def find_differentiable(inputs):
    """Return the positions of the inputs that require a gradient."""
    return [i for i, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
