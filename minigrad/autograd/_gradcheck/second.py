"""What gradgradcheck checks: the gradient of func, as a function of the inputs and of the gradients of its outputs.

    gradients(x, ..., g, ...) = autograd.grad(func(x, ...), (x, ...), (g, ...), create_graph=True)

Mirrors ``gradgradcheck`` of ``torch/autograd/gradcheck.py``.
"""

from minigrad import autograd
from minigrad._arguments import callable_argument
from minigrad.autograd._gradcheck.analytical import differentiable
from minigrad.autograd._gradcheck.numerical import as_tuple, outputs_of, uniform
from minigrad.autograd._gradcheck.run import Check
from minigrad.dtypes import float64
from minigrad.random import Generator

__all__ = ["second_check"]


def second_check(func, inputs, grad_outputs, gaps, eps, atol, rtol, nondet_tol, check_grad_dtypes):
    """The `Check` of the gradients of `func`; see `gradgradcheck` for the arguments."""
    inputs = as_tuple(inputs)
    callable_argument(func, "func", "gradgradcheck")
    if grad_outputs is None:
        draw = Generator()
        outputs = [y for y in outputs_of(func, inputs) if y.requires_grad]
        grad_outputs = [random_gradient(y, gaps, draw) for y in outputs]
    grad_outputs = as_tuple(grad_outputs)
    n = len(inputs)
    of_inputs = differentiable(inputs)
    of_gradients = differentiable(grad_outputs)
    arrived = []    # the inputs whose gradients are the outputs of `gradients`

    def gradients(*args):
        xs, gs = args[:n], args[n:]
        for group, indices in ((xs, of_inputs), (gs, of_gradients)):
            for i in indices:       # forward mode gives detached ones
                group[i].requires_grad_()
        outputs = [y for y in outputs_of(func, xs) if y.requires_grad]
        found = autograd.grad(outputs, [xs[i] for i in of_inputs], gs, create_graph=True, allow_unused=True) if outputs else ()
        arrived[:] = [i for i, g in zip(of_inputs, found) if g is not None]
        return tuple([g for g in found if g is not None])

    check = Check(gradients, inputs + grad_outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    check.role = lambda i, o: (f"; output {o} is the gradient of input {arrived[o]}, and input {i} "
                               + ("is that of func" if i < n else f"is grad_output {i - n}"))
    check.hint = ("for a second derivative backward has to compute with ctx.saved_tensors, by ops that are recorded: not with "
                  "tensors that are detached, or made in forward and kept as attributes of ctx")
    return check


def random_gradient(y, gaps, generator):
    """A leaf like the output `y`, of numbers between -1 and 1."""
    dtype = y.dtype if y.dtype.is_floating_point or y.dtype.is_complex else float64
    g = uniform((*y.shape, 2) if gaps else tuple(y.shape), dtype, generator).to(y.device)
    return (g[..., 0] if gaps else g).detach().requires_grad_()
