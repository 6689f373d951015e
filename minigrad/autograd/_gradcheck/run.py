"""One run of gradcheck: the checks, in PyTorch's order.

    1. the inputs                   at least one requires a gradient; its elements do not share memory
    2. the outputs                  if none requires a gradient, finite differences must be zero, and the check ends here
    3. the Jacobians                backward mode, then forward mode; all entries, or projections in fast mode
    4. the contracts                undefined tangents, batches, gradients of zeros, undefined gradients

In the error messages, "input 1" is argument number 1 of func, and "output 1" is its result number 1. (PyTorch counts only the
tensors that require a gradient.)

Mirrors ``_gradcheck_helper``, ``_slow_gradcheck`` and ``_fast_gradcheck`` of ``torch/autograd/gradcheck.py``.
"""

import warnings
from collections.abc import Callable

import numpy as np

from minigrad._arguments import callable_argument
from minigrad.autograd._gradcheck.analytical import (
    backward_jacobian,
    backward_vjp,
    find_differentiable,
    forward_jacobian,
    forward_jvp,
)
from minigrad.autograd._gradcheck.contracts import (
    expect_batched,
    expect_batched_forward,
    expect_linear,
    expect_undefined_handled,
    expect_undefined_tangents_handled,
)
from minigrad.autograd._gradcheck.numerical import as_tuple, call_function, numerical_jacobian, numerical_jvp, part_units
from minigrad.autograd._gradcheck.report import expect_equal, find_differences, to_matrices
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError, GradcheckError, TensorValueError
from minigrad.ops.base.arguments import real
from minigrad.random import Generator, rand
from minigrad.tensor import Tensor

__all__ = ["Check"]


class Check:
    """One check: func, its inputs and outputs, and the tolerances.

    inputs, indices                 all arguments; the positions of the inputs that require a gradient
    outputs                         all results of func
    differentiable_outputs          the outputs that require a gradient
    generator                       of this check only: the check does not change the random numbers of the program
    role, hint                      text of gradgradcheck for the message: about input i and output o, and about zero derivatives
    """

    def __init__(self, fn, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes):
        self.fn, self.inputs = callable_argument(fn, "func", "gradcheck"), as_tuple(inputs)
        self.eps, self.atol, self.rtol, self.nondet_tol = [real(value, name, "gradcheck") for value, name in (
            (eps, "eps"), (atol, "atol"), (rtol, "rtol"), (nondet_tol, "nondet_tol"))]
        self.check_grad_dtypes = check_grad_dtypes
        self.tensors = [x for x in self.inputs if isinstance(x, Tensor)]
        self.indices = find_differentiable(self.inputs)
        self.generator = Generator()
        self.role: Callable[[int, int], str] = lambda i, o: ""
        self.hint = ""
        self.expect_inputs()
        self.outputs = call_function(fn, self.inputs)
        self.differentiable_outputs = [y for y in self.outputs if y.requires_grad]

    def expect_inputs(self):
        """Raise unless an input requires a gradient, and finite differences can be computed."""
        if not self.indices:
            raise TensorValueError("MG-E266", "gradcheck expects at least one input tensor to require gradient, but none of them "
                                   "have requires_grad=True.", fix="x.requires_grad_() on the inputs to check")
        for i in self.indices:
            x = self.inputs[i]
            if x.dtype.name not in ("float64", "complex128"):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
                    f"fail if all the inputs are not of double precision floating point or complex: {x.dtype.name} has too few "
                    "digits for finite differences. Use x.double().", UserWarning, stacklevel=4)
            if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape)):
                raise AutogradError(
                    "MG-E266", f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly.",
                    found=f"shape {tuple(x.shape)} with strides {x.stride()}",
                    fix="You should call .contiguous on the input before passing it to gradcheck.")

    def run(self, undefined, batched, batched_forward, forward, backward, fast):
        """Run all checks, in the order of PyTorch."""
        if not self.differentiable_outputs:
            return self.expect_constant()
        compare = self.compare_projections if fast else self.compare_jacobians
        compare(forward, backward)
        if forward and undefined:
            expect_undefined_tangents_handled(self)
        if batched_forward:
            expect_batched_forward(self)
        if not backward:
            return
        for o in self.output_indices() if batched else ():
            expect_batched(self, o)
        expect_linear(self)
        if undefined:
            expect_undefined_handled(self)

    def output_indices(self):
        """The positions of the outputs that require a gradient."""
        return [o for o, y in enumerate(self.outputs) if y.requires_grad]

    def expect_constant(self):
        """Raise unless all finite differences are zero: no output requires a gradient."""
        for i in self.indices:
            for o, J in enumerate(numerical_jacobian(self.fn, self.inputs, self.inputs[i], self.outputs, self.eps)):
                if J.any():
                    cause, fix = (("func detaches the outputs from the inputs, by .detach(), .data, .item(), NumPy or no_grad",
                                   "compute only with ops of minigrad") if is_grad_enabled() else
                                  ("gradients are disabled", "call gradcheck outside of no_grad"))
                    raise GradcheckError(
                        "MG-E265", "Numerical gradient for function expected to be zero", found=f"output {o} requires no gradient, "
                        f"but changes with input {i}, by up to {np.abs(J).max():.4g} per unit{self.role(i, o)}",
                        cause=cause, fix=self.hint or fix)

    def compare_jacobians(self, forward, backward):
        """Compare all entries of the Jacobians, for each output and each input."""
        xs = [self.inputs[i] for i in self.indices]
        numerical = [numerical_jacobian(self.fn, self.inputs, x, self.outputs, self.eps) for x in xs]
        if backward:
            for o in self.output_indices():
                jacobians, absent = backward_jacobian(self.outputs[o], xs, self)
                for k, i in enumerate(self.indices):
                    expect_equal(jacobians[k], numerical[k][o], self, i, o, absent=absent[k])
        if forward:
            for k, i in enumerate(self.indices):
                jacobians = forward_jacobian(self.fn, self.inputs, i, self.outputs, self)
                for o in self.output_indices():
                    expect_equal(jacobians[o], numerical[k][o], self, i, o, forward=True)

    # ---- fast mode ---------------------------------------------------------------------------------------

    def draw_direction(self, x):
        """Draw a random direction in the space of `x`: real, of length 1, without negative components."""
        u = rand(*x.shape, dtype=x.dtype.to_real(), generator=self.generator).to(x.device)
        return u / (u * u).sum().sqrt()

    def draw_tangent(self, x):
        """Draw a random tangent of `x`."""
        real, *imaginary = [self.draw_direction(x) * unit for unit in part_units(x)]
        return (real + imaginary[0]).to(x.dtype) if imaginary else real

    def compare_projections(self, forward, backward):
        """Compare v'Ju, for one random u for each part of an input and one v for each output; in forward mode Ju."""
        xs = [self.inputs[i] for i in self.indices]
        directions = [[self.draw_direction(x) for _ in part_units(x)] for x in xs]
        flat = [flatten(u) for u in directions]                       # (parts of x, elements)
        numerical = [numerical_jvp(self.fn, self.inputs, x, self.outputs, u, self.eps) for x, u in zip(xs, directions)]
        for o in self.output_indices() if backward else ():
            v = self.draw_direction(self.outputs[o])
            weights = flatten([v])[0]
            for k, product in enumerate(backward_vjp(self.outputs[o], xs, v, self)):
                a = (product * flat[k][:, :, None]).sum(1)              # (parts of x, parts of the output)
                n = numerical[k][o] @ weights
                scale = flat[k].sum() * weights.sum()
                self.expect_projection(a[:, None, :, None], n[:, None, :, None], self.indices[k], o, scale)
        for k, i in enumerate(self.indices if forward else ()):
            products = forward_jvp(self.fn, self.inputs, i, self.outputs, directions[k], self)
            for o in self.output_indices():
                self.expect_projection(products[o][:, None], numerical[k][o][:, None], i, o, flat[k].sum(), forward=True)

    def expect_projection(self, analytical, numerical, i, o, scale, forward=False):
        """Compare two products, with a tolerance that has their scale. If they differ, compare all entries for a better message."""
        for a, n in zip(to_matrices(analytical, forward), to_matrices(numerical, forward)):
            if not find_differences(a, n, self.atol * scale, self.rtol).any():
                continue
            whole = numerical_jacobian(self.fn, self.inputs, self.inputs[i], self.outputs, self.eps)[o]
            absent = False
            if forward:
                found = forward_jacobian(self.fn, self.inputs, i, self.outputs, self)[o]
            else:
                (found,), (absent,) = backward_jacobian(self.outputs[o], [self.inputs[i]], self)
            expect_equal(found, whole, self, i, o, forward, absent)
            mode = "computed with forward mode " if forward else ""
            raise GradcheckError(
                "MG-E260", f"Jacobian {mode}mismatch for output {o} with respect to input {i},\nnumerical:\n {n}\nanalytical:\n {a}"
                "\nFast gradcheck failed but element-wise differences are small. This means that the test might've passed in "
                "slow_mode!",
                found="the numbers are projections v'Ju for random directions u and v",
                fix="run it with fast_mode=False; if that passes, use a larger rtol or atol")


def flatten(directions):
    """Convert tensors of one shape to an array with one row for each."""
    return np.array([u.cpu().numpy().reshape(-1) for u in directions])
