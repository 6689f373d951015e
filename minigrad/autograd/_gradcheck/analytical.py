"""Derivatives as autograd computes them, in the form of ``_gradcheck/numerical.py``, to be compared.

    backward mode       one vjp per element of the output gives a column        backward_jacobian, backward_vjp
    forward mode        one jvp per element of the input gives a row            forward_jacobian, forward_jvp

The parts of a complex output y are differentiated each on its own: a gradient of 1 asks for d Re y, one of i for d Im y. What
comes back for a complex input is the derivative by its real part, plus i times that by its imaginary part.

Mirrors the analytical half of ``torch/autograd/gradcheck.py``. Read before: ``_gradcheck/numerical.py``.
"""

import numpy as np

from minigrad import autograd
from minigrad.autograd import forward_ad
from minigrad.autograd._gradcheck.numerical import components, outputs_of, parts
from minigrad.autograd.gradcheck import GradcheckError
from minigrad.creation import zeros, zeros_like

__all__ = ["backward_jacobian", "backward_vjp", "forward_jacobian", "forward_jvp", "vjp"]


def vjp(outputs, xs, grads):
    """The gradients of the inputs `xs`, None where there is no way to one. The graph is kept."""
    return autograd.grad(outputs, xs, grads, retain_graph=True, allow_unused=True)


def backward_jacobian(y, xs, check):
    """The Jacobian of the output `y` by each of `xs`, and for each whether no gradient has ever arrived."""
    first, second = [columns(y, xs, check.check_grad_dtypes) for _ in range(2)]
    expect_reentrant(first[0], second[0], check.nondet_tol)
    return first


def columns(y, xs, check_dtypes):
    """One vjp per real number in y."""
    y = y.clone()       # an output that is an input has a history now
    found = [np.zeros((len(parts(x)), x.numel(), len(parts(y)), y.numel())) for x in xs]
    absent = [True] * len(xs)
    for p, unit in enumerate(parts(y)):
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
    """The products of `v` with the Jacobian of the output `y` by each of `xs`: arrays (parts of x, elements, parts of y)."""
    def products():
        found = [np.zeros((len(parts(x)), x.numel(), len(parts(y)))) for x in xs]
        for p, unit in enumerate(parts(y)):
            for i, g in enumerate(vjp(clone, xs, (v * unit).to(y.dtype))):
                if g is not None:
                    expect_fitting(g, xs[i], check.check_grad_dtypes)
                    found[i][:, :, p] = components(g)
        return found
    clone = y.clone()
    first, second = products(), products()
    expect_reentrant(first, second, check.nondet_tol)
    return first


def expect_fitting(g, x, check_dtypes):
    """A gradient has the shape of what it is the gradient of and, if that is asked for, the dtype."""
    if check_dtypes and g.dtype != x.dtype:
        raise GradcheckError("MG-E262", "Gradient has dtype mismatch", expected=x.dtype.name, found=g.dtype.name,
                             fix="convert it in backward: g.to(x.dtype)")
    if g.shape != x.shape:
        raise GradcheckError("MG-E262", "Analytical gradient has incorrect size", expected=str(tuple(x.shape)),
                             found=str(tuple(g.shape)), fix="sum a gradient over the dimensions that forward has broadcast")


def expect_reentrant(first, second, tolerance):
    """Running backward twice with the same gradients gives the same."""
    with np.errstate(invalid="ignore"):     # inf - inf: as good as the same
        worst = max([np.nan_to_num(np.abs(a - b), nan=0.0).max(initial=0.0) for a, b in zip(first, second)])
    if worst > tolerance:
        raise GradcheckError(
            "MG-E261", "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values",
            expected=f"a difference of at most nondet_tol = {tolerance}", found=f"a difference of {worst:.3g}",
            cause="backward draws random numbers, counts its calls, or writes to what it has saved",
            fix="draw in forward and save the result on ctx; or pass nondet_tol, where sums in another order cannot be helped")


# ---- forward mode -----------------------------------------------------------------------------------------


def forward_jacobian(fn, inputs, index, outputs, check):
    """The Jacobians of all outputs with respect to input `index`: one jvp per real number in it."""
    x = inputs[index]
    found = [np.zeros((len(parts(x)), x.numel(), len(parts(y)), y.numel())) for y in outputs]
    for p, unit in enumerate(parts(x)):
        for j in range(x.numel()):
            one = zeros(x.numel(), dtype=x.dtype, device=x.device)
            one[j] = unit
            for J, t in zip(found, tangents(fn, inputs, {index: one.reshape(tuple(x.shape))}, check.check_grad_dtypes)):
                if t is not None:
                    J[p, j] = components(t)
    return found


def forward_jvp(fn, inputs, index, outputs, directions, check):
    """The derivatives of all outputs along one direction for each part of input `index`: arrays (parts, parts of y, elements)."""
    x = inputs[index]
    found = [np.zeros((len(parts(x)), len(parts(y)), y.numel())) for y in outputs]
    for p, (unit, u) in enumerate(zip(parts(x), directions)):
        for J, t in zip(found, tangents(fn, inputs, {index: (u * unit).to(x.dtype)}, check.check_grad_dtypes)):
            if t is not None:
                J[p] = components(t)
    return found


def tangents(fn, inputs, directions, check_dtypes=False, undefined=()):
    """The tangents of fn's outputs, None for zero, where input i has the tangent ``directions[i]``.

    Of the other inputs that require a gradient those in `undefined` have no tangent, and the rest one of zeros.
    """
    with forward_ad.dual_level():
        duals = list(inputs)
        for i in differentiable(inputs):
            duals[i] = inputs[i].detach()
            if i not in undefined:
                tangent = directions[i] if i in directions else zeros_like(duals[i])
                duals[i] = forward_ad.make_dual(duals[i], tangent)
        unpacked = [forward_ad.unpack_dual(y) for y in outputs_of(fn, duals)]
        for y, t in unpacked:
            if check_dtypes and t is not None and t.dtype.is_complex != y.dtype.is_complex:
                raise GradcheckError("MG-E262", "Forward AD gradient has dtype mismatch.", expected=y.dtype.name,
                                     found=t.dtype.name, fix="a real output has a real tangent, a complex one a complex tangent")
        return [t for _, t in unpacked]


def differentiable(inputs):
    """The positions of the inputs that are differentiated: tensors that require a gradient."""
    return [i for i, x in enumerate(inputs) if getattr(x, "requires_grad", False)]
