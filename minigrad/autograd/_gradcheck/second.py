"""The check of gradgradcheck: the gradient of func, as a function of the inputs and the grad_outputs.

    gradients(x, ..., g, ...) = autograd.grad(func(x, ...), (x, ...), (g, ...), create_graph=True)

Mirrors ``gradgradcheck`` of ``torch/autograd/gradcheck.py``.
"""

from minigrad._arguments import callable_argument
from minigrad.autograd._backward import grad
from minigrad.autograd._gradcheck.analytical import find_differentiable
from minigrad.autograd._gradcheck.numerical import as_tuple, call_function, draw_uniform
from minigrad.autograd._gradcheck.run import Check
from minigrad.dtypes import float64
from minigrad.random import Generator

__all__ = ["make_second_check"]


def make_second_check(func, inputs, grad_outputs, gaps, eps, atol, rtol, nondet_tol, check_grad_dtypes):
    """Make the `Check` for the gradients of `func`. See `gradgradcheck` for the arguments."""
    inputs = as_tuple(inputs)
    callable_argument(func, "func", "gradgradcheck")
    if grad_outputs is None:
        draw = Generator()
        outputs = [y for y in call_function(func, inputs) if y.requires_grad]
        grad_outputs = [draw_gradient(y, gaps, draw) for y in outputs]
    grad_outputs = as_tuple(grad_outputs)
    n = len(inputs)
    of_inputs = find_differentiable(inputs)
    of_gradients = find_differentiable(grad_outputs)
    arrived = []    # output k of `gradients` is the gradient of input arrived[k]

    def gradients(*args):
        xs, gs = args[:n], args[n:]
        for group, indices in ((xs, of_inputs), (gs, of_gradients)):
            for i in indices:       # forward mode passes detached tensors
                group[i].requires_grad_()
        outputs = [y for y in call_function(func, xs) if y.requires_grad]
        found = grad(outputs, [xs[i] for i in of_inputs], gs, create_graph=True, allow_unused=True) if outputs else ()
        arrived[:] = [i for i, g in zip(of_inputs, found) if g is not None]
        return tuple([g for g in found if g is not None])

    check = Check(gradients, inputs + grad_outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    check.role = lambda i, o: (f"; output {o} is the gradient of input {arrived[o]}, and input {i} "
                               + (f"is input {i} of func" if i < n else f"is grad_output {i - n}"))
    check.hint = ("for a second derivative, backward must compute with ctx.saved_tensors and ops of minigrad: not with detached "
                  "tensors, or tensors that forward has computed and stored as attributes of ctx")
    return check


def draw_gradient(y, gaps, generator):
    """Draw a leaf like the output `y`, with numbers between -1 and 1. `gaps`: it is not contiguous."""
    dtype = y.dtype if y.dtype.is_floating_point or y.dtype.is_complex else float64
    g = draw_uniform((*y.shape, 2) if gaps else tuple(y.shape), dtype, generator).to(y.device)
    return (g[..., 0] if gaps else g).detach().requires_grad_()
