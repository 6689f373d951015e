"""One run of gradcheck: the checks, in PyTorch's order.

    1. can it be checked?           an input that requires a gradient; elements that do not share memory
    2. no output requires one       then finite differences have to be zero, and that is all
    3. the Jacobians                backward mode, forward mode; whole, or by projections in fast mode
    4. the rest                     undefined tangents, batches, gradients of zeros, undefined gradients

Where an error says "input 1" or "output 1", func's argument and result number 1 are meant. (PyTorch counts those that
require a gradient only.)

Mirrors ``_gradcheck_helper``, ``_slow_gradcheck`` and ``_fast_gradcheck`` of ``torch/autograd/gradcheck.py``.
"""

import warnings
from collections.abc import Callable

import numpy as np

from minigrad import autograd
from minigrad._arguments import callable_argument
from minigrad.autograd._gradcheck.analytical import backward_jacobian, backward_vjp, differentiable, forward_jacobian, forward_jvp
from minigrad.autograd._gradcheck.contracts import (
    expect_batched,
    expect_batched_forward,
    expect_linear,
    expect_undefined_handled,
    expect_undefined_tangents_handled,
)
from minigrad.autograd._gradcheck.numerical import as_tuple, numerical_jacobian, numerical_jvp, outputs_of, parts
from minigrad.autograd._gradcheck.report import differ, expect_equal, matrices
from minigrad.autograd.gradcheck import GradcheckError
from minigrad.errors import AutogradError, TensorValueError
from minigrad.ops.base.rule import real
from minigrad.random import Generator, rand
from minigrad.tensor import Tensor

__all__ = ["Check"]


class Check:
    """What is checked, and how: func, the inputs, the outputs, the tolerances.

    inputs, indices                 all arguments; the positions of those that are differentiated
    outputs                         all that func returns
    differentiable_outputs          those that require a gradient
    generator                       of its own, so that a check neither depends on the random numbers of the program nor uses them
    role, hint                      what gradgradcheck has to say of input i and output o, and of derivatives that are zero
    """

    def __init__(self, fn, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes):
        self.fn, self.inputs = callable_argument(fn, "func", "gradcheck"), as_tuple(inputs)
        self.eps, self.atol, self.rtol, self.nondet_tol = [real(value, name, "gradcheck") for value, name in (
            (eps, "eps"), (atol, "atol"), (rtol, "rtol"), (nondet_tol, "nondet_tol"))]
        self.check_grad_dtypes = check_grad_dtypes
        self.tensors = [x for x in self.inputs if isinstance(x, Tensor)]
        self.indices = differentiable(self.inputs)
        self.generator = Generator()
        self.role: Callable[[int, int], str] = lambda i, o: ""
        self.hint = ""
        self.expect_inputs()
        self.outputs = outputs_of(fn, self.inputs)
        self.differentiable_outputs = [y for y in self.outputs if y.requires_grad]

    def expect_inputs(self):
        """Something to differentiate, that differences can be taken of."""
        if not self.indices:
            raise TensorValueError("MG-E266", "gradcheck expects at least one input tensor to require gradient, but none of them "
                                   "have requires_grad=True.", fix="x.requires_grad_() on the inputs to be checked")
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
        """All checks, in PyTorch's order."""
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
        for o in self.compared() if batched else ():
            expect_batched(self, o)
        expect_linear(self)
        if undefined:
            expect_undefined_handled(self)

    def compared(self):
        """The positions of the outputs that require a gradient."""
        return [o for o, y in enumerate(self.outputs) if y.requires_grad]

    def expect_constant(self):
        """Where no output has a derivative, finite differences have to find none either."""
        for i in self.indices:
            for o, J in enumerate(numerical_jacobian(self.fn, self.inputs, self.inputs[i], self.outputs, self.eps)):
                if J.any():
                    cause, fix = (("all ways from the inputs to the outputs are detached, by .detach(), .data, .item(), NumPy or "
                                   "no_grad", "compute with tensors all the way") if autograd.grad_mode.is_grad_enabled() else
                                  ("gradients are disabled", "call it outside of no_grad"))
                    raise GradcheckError(
                        "MG-E265", "Numerical gradient for function expected to be zero", found=f"output {o} requires no gradient, "
                        f"but changes with input {i}, by up to {np.abs(J).max():.4g} per unit{self.role(i, o)}",
                        cause=cause, fix=self.hint or fix)

    def compare_jacobians(self, forward, backward):
        """All entries of the Jacobians of all outputs by all inputs."""
        xs = [self.inputs[i] for i in self.indices]
        numerical = [numerical_jacobian(self.fn, self.inputs, x, self.outputs, self.eps) for x in xs]
        if backward:
            for o in self.compared():
                jacobians, absent = backward_jacobian(self.outputs[o], xs, self)
                for k, i in enumerate(self.indices):
                    expect_equal(jacobians[k], numerical[k][o], self, i, o, absent=absent[k])
        if forward:
            for k, i in enumerate(self.indices):
                jacobians = forward_jacobian(self.fn, self.inputs, i, self.outputs, self)
                for o in self.compared():
                    expect_equal(jacobians[o], numerical[k][o], self, i, o, forward=True)

    # ---- fast mode ---------------------------------------------------------------------------------------

    def direction(self, x):
        """A random direction in the space of `x`: real, no component negative, of length 1."""
        u = rand(*x.shape, dtype=x.dtype.to_real(), generator=self.generator).to(x.device)
        return u / (u * u).sum().sqrt()

    def tangent(self, x):
        """A random tangent of `x`."""
        real, *imaginary = [self.direction(x) * unit for unit in parts(x)]
        return (real + imaginary[0]).to(x.dtype) if imaginary else real

    def compare_projections(self, forward, backward):
        """v'Ju for one random u per part of an input, and one v per output; in forward mode Ju."""
        xs = [self.inputs[i] for i in self.indices]
        directions = [[self.direction(x) for _ in parts(x)] for x in xs]
        flat = [flattened(u) for u in directions]                       # (parts of x, elements)
        numerical = [numerical_jvp(self.fn, self.inputs, x, self.outputs, u, self.eps) for x, u in zip(xs, directions)]
        for o in self.compared() if backward else ():
            v = self.direction(self.outputs[o])
            weights = flattened([v])[0]
            for k, product in enumerate(backward_vjp(self.outputs[o], xs, v, self)):
                a = (product * flat[k][:, :, None]).sum(1)              # (parts of x, parts of the output)
                n = numerical[k][o] @ weights
                scale = flat[k].sum() * weights.sum()
                self.expect_projection(a[:, None, :, None], n[:, None, :, None], self.indices[k], o, scale)
        for k, i in enumerate(self.indices if forward else ()):
            products = forward_jvp(self.fn, self.inputs, i, self.outputs, directions[k], self)
            for o in self.compared():
                self.expect_projection(products[o][:, None], numerical[k][o][:, None], i, o, flat[k].sum(), forward=True)

    def expect_projection(self, analytical, numerical, i, o, scale, forward=False):
        """Compare products, with the tolerance scaled as they are; if they differ, the whole Jacobians say more."""
        for a, n in zip(matrices(analytical, forward), matrices(numerical, forward)):
            if not differ(a, n, self.atol * scale, self.rtol).any():
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
                found="these are projections, v'Ju, on random directions",
                fix="run it with fast_mode=False; if that passes, allow more: rtol, atol")


def flattened(directions):
    """Tensors of one shape as an array, a row each."""
    return np.array([u.cpu().numpy().reshape(-1) for u in directions])
