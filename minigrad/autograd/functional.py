"""Derivatives of functions: Jacobians, Hessians, and their products with vectors, of ``f: tensors -> tensors``.

    vjp(f, x, v)        (f(x), vᵀ J)            one backward
    jvp(f, x, v)        (f(x), J v)             two
    jacobian(f, x)      J                       one backward for each element of f(x)
    hessian(f, x)       H, of an f that returns one number
    vhp(f, x, v)        (f(x), vᵀ H)            a backward through a backward
    hvp(f, x, v)        (f(x), H v)             the same with the trick of jvp, and slower; H is symmetric where f is smooth

`f` takes and returns a tensor or a tuple of tensors, and so do the results: a tuple where the user has one. It is called once,
on fresh variables with the values of `x`; a tensor that it takes from elsewhere is constant, even if that is `x` itself.
Gradients are enabled meanwhile, also under `no_grad` and `inference_mode`.

    create_graph=True   the results can be differentiated again, with respect to the inputs and v
    strict=True         an error where f does not depend on an input, instead of zeros

Mirrors ``torch/autograd/functional.py``. For functions of dicts and lists, and to compose derivatives: ``minigrad.func``.
"""

from minigrad._arguments import callable_argument
from minigrad.autograd._functional_arguments import (
    as_given,
    as_tuple,
    check_first,
    check_outputs,
    check_second,
    check_single,
    default_or_checked,
    filled,
    independent,
    prepared,
)
from minigrad.autograd._jacobians import gradients, jacobian_columns, jacobian_rows, linearized
from minigrad.autograd.grad_mode import inference_mode
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradNotImplementedError

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

OUTPUTS = "outputs of the user-provided function"
OF_INPUT = "the input to the user-provided function is"


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of `func`, and the vector-Jacobian product vᵀ J.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): where.
        v (Tensor or tuple of Tensor, optional): of the shapes of the outputs; None for 1 if there is one number.
        create_graph (bool): the results can be differentiated.
        strict (bool): an error instead of zeros where an output does not depend on an input.

    Returns:
        tuple: the outputs, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, outputs or v are neither a tensor nor a tuple of tensors.
        RuntimeError: v does not go with the outputs; what `strict` finds.

    Mirrors ``torch.autograd.functional.vjp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.vjp(lambda x: x * x, x, mg.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with inference_mode(False):                 # which enables gradients too
        is_inputs_tuple, inputs, is_outputs_tuple, outputs = called(func, inputs, "vjp", create_graph, strict)
        v = default_or_checked(v, outputs, is_outputs_tuple, "the user-provided function returns", create_graph, "vjp")
        product = filled(gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph)
        return as_given(outputs, is_outputs_tuple, create_graph), as_given(product, is_inputs_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of `func`, and the Jacobian-vector product J v: the derivative in the direction v.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): where.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`; None for 1 if there is one number.
        create_graph (bool): the results can be differentiated.
        strict (bool): an error instead of zeros where an output does not depend on an input.

    Returns:
        tuple: the outputs, and the product, which has the shapes of the outputs.

    Raises:
        TypeError: inputs, outputs or v are neither a tensor nor a tuple of tensors.
        RuntimeError: v does not go with the inputs; what `strict` finds.

    It takes two backwards, so `func` has to be twice differentiable; ``func.jvp`` does it in one pass forward.
    Mirrors ``torch.autograd.functional.jvp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.jvp(lambda x: (x * x).sum(), x, mg.tensor([1., 10.]))
    (tensor(5.), tensor(42.))
    """
    with inference_mode(False):
        is_given_tuple, given = as_tuple(inputs, "inputs", "jvp")
        v = default_or_checked(v, given, is_given_tuple, OF_INPUT, create_graph, "jvp")
        _, inputs, is_outputs_tuple, outputs = called(func, inputs, "jvp", create_graph, strict)
        pulled, push = linearized(outputs, inputs)
        check_first(pulled, strict)
        product = filled(push(v, create_graph), outputs)
        for i, g in enumerate(product if strict and create_graph else ()):
            check_second(g, i)
        return as_given(outputs, is_outputs_tuple, create_graph), as_given(product, is_outputs_tuple, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian: the derivative of each element of the outputs with respect to each element of the inputs.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): where.
        create_graph (bool): the result can be differentiated.
        strict (bool): an error instead of zeros where an output does not depend on an input.
        vectorize (bool): PyTorch computes all rows at once then; here it changes nothing.
        strategy (str): ``"reverse-mode"``, a row at a time, or ``"forward-mode"``, a column at a time: better where
            there are fewer inputs than outputs. PyTorch has forward mode with `vectorize` alone.

    Returns:
        Tensor, or nested tuples of them: of shape ``output.shape + input.shape``, first by output, then by input.

    Raises:
        TypeError: inputs or outputs are neither a tensor nor a tuple of tensors.
        RuntimeError: an output is complex, by rows; what `strict` finds; `strict` with `vectorize` or ``"forward-mode"``.
        NotImplementedError: ``"forward-mode"`` without `vectorize`, or with `create_graph`.
        AssertionError: there is no such strategy.

    Mirrors ``torch.autograd.functional.jacobian``.

    >>> mg.autograd.functional.jacobian(lambda x: x * x.sum(), mg.tensor([1., 2.]))
    tensor([[4., 1.],
            [2., 5.]])
    >>> x, y = mg.tensor([1., 2.]), mg.tensor(3.)
    >>> mg.autograd.functional.jacobian(lambda x, y: x * y, (x, y))
    (tensor([[3., 0.],
            [0., 3.]]), tensor([1., 2.]))
    """
    check_strategy(strategy, vectorize, create_graph, strict)
    with inference_mode(False):
        is_inputs_tuple, inputs, is_outputs_tuple, outputs = called(func, inputs, "jacobian", create_graph, strict)
        if strategy == "forward-mode":
            _, push = linearized(outputs, inputs)
            found = jacobian_columns(outputs, inputs, lambda v: push(v, False))
        else:
            check_real(outputs)
            found = jacobian_rows(outputs, inputs, create_graph, strictly(create_graph) if strict else None)
        return as_given(tuple([as_given(blocks, is_inputs_tuple, create_graph) for blocks in found]), is_outputs_tuple)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function that returns one number: the Jacobian of its gradient.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): where.
        create_graph (bool): the result can be differentiated.
        strict (bool): an error instead of zeros where the gradient does not depend on an input.
        vectorize (bool): as of `jacobian`.
        outer_jacobian_strategy (str): the `strategy` by which the gradient is differentiated.

    Returns:
        Tensor, or a tuple of tuples of them: block i, j has the shape ``inputs[i].shape + inputs[j].shape``.

    Raises:
        TypeError: inputs or the output are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; what `strict` finds.
        NotImplementedError, AssertionError: as `jacobian`.

    Mirrors ``torch.autograd.functional.hessian``.

    >>> mg.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], mg.tensor([1., 2.]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    check_strategy(outer_jacobian_strategy, vectorize, create_graph, strict)
    is_tuple, _ = as_tuple(inputs, "inputs", "hessian")

    def single(*inputs):
        output = func(*inputs)
        is_output_tuple, outputs = as_tuple(output, OUTPUTS, "hessian")
        check_single(outputs, is_output_tuple, "hessian")
        check_outputs(outputs, strict)
        return output.reshape(())

    def gradient(*inputs):
        first = jacobian(single, inputs, create_graph=True)
        check_first(first, strict)
        return first if is_tuple else first[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The output of `func`, and the product vᵀ H of a vector with its Hessian.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): where.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`; None for 1 if there is one number.
        create_graph (bool): the results can be differentiated.
        strict (bool): an error instead of zeros where the gradient does not depend on an input.

    Returns:
        tuple: the output, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, the output or v are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; v does not go with the inputs; what `strict` finds.

    Mirrors ``torch.autograd.functional.vhp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.vhp(lambda x: x[0] ** 2 * x[1], x, mg.tensor([1., 0.]))
    (tensor(2.), tensor([4., 2.]))
    """
    with inference_mode(False):
        is_tuple, inputs, v, output, firsts = twice(func, inputs, v, "vhp", create_graph, strict)
        check_first(firsts, strict)
        product = filled(gradients(firsts, inputs, v, create_graph), inputs, strict, create_graph, "jacobian", "hessian")
        return as_given(output, False, create_graph), as_given(product, is_tuple, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The output of `func`, and the product H v of its Hessian with a vector.

    As `vhp`, of which it is the transpose; where the second derivatives are continuous both are the same, and `vhp` is faster.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): where.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`; None for 1 if there is one number.
        create_graph (bool): the results can be differentiated.
        strict (bool): an error instead of zeros where the gradient does not depend on an input.

    Returns:
        tuple: the output, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, the output or v are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; v does not go with the inputs; what `strict` finds.

    Mirrors ``torch.autograd.functional.hvp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.hvp(lambda x: x[0] ** 2 * x[1], x, mg.tensor([1., 0.]))
    (tensor(2.), tensor([4., 2.]))
    """
    with inference_mode(False):
        is_tuple, inputs, v, output, firsts = twice(func, inputs, v, "hvp", create_graph, strict)
        check_first(firsts, strict)
        firsts = filled(firsts, inputs)
        _, push = linearized(firsts, inputs)
        product = filled(push(v, create_graph), inputs, strict, create_graph, "jacobian", "hessian")
        return as_given(output, False, create_graph), as_given(product, is_tuple, create_graph)


# ---- steps ----------------------------------------------------------------------------------------------


def called(func, inputs, function, create_graph, strict):
    """`func` called on fresh variables: ``(is inputs a tuple, the variables, is outputs a tuple, outputs)``."""
    is_inputs_tuple, inputs = as_tuple(inputs, "inputs", function)
    inputs = prepared(inputs, create_graph)
    is_outputs_tuple, outputs = as_tuple(callable_argument(func, "func", function)(*inputs), OUTPUTS, function)
    check_outputs(outputs, strict)
    return is_inputs_tuple, inputs, is_outputs_tuple, outputs


def twice(func, inputs, v, function, create_graph, strict):
    """What the products with a Hessian begin with: the number that `func` returns, and its gradients, to be differentiated."""
    is_tuple, given = as_tuple(inputs, "inputs", function)
    v = default_or_checked(v, given, is_tuple, OF_INPUT, create_graph, function)
    _, inputs, is_output_tuple, output = called(func, inputs, function, create_graph, False)
    check_single(output, is_output_tuple, function)
    check_outputs(output, strict)
    return is_tuple, inputs, v, output, gradients(output, inputs, create_graph=True)


def check_real(outputs):
    """A row of the Jacobian is the gradient of a real number."""
    for y in outputs:
        if y.is_complex():
            raise AutogradError("MG-E252", "grad can be implicitly created only for real scalar outputs but got "
                                f"minigrad.{y.dtype.name}", fix="take .real and .imag, and the Jacobian of each; or the columns: "
                                'strategy="forward-mode", vectorize=True')


def strictly(create_graph):
    """The check that strict mode makes of each row of a Jacobian."""
    def check(i, k, g):
        if g is None:
            raise independent(f"Output {i} of the user-provided function is independent of input {k}.")
        if create_graph:
            check_second(g, k)
    return check


def check_strategy(strategy, vectorize, create_graph, strict):
    """What goes together."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AutogradAssertionError("MG-E254", 'Expected strategy to be either "forward-mode" or "reverse-mode".',
                                     found=repr(strategy),
                                     fix='"forward-mode" if there are fewer inputs than outputs, otherwise "reverse-mode"')
    if strategy == "forward-mode":
        against = 'and `strategy="forward-mode"` are not supported together (yet).'
        if create_graph:
            raise AutogradNotImplementedError("MG-E254", f"jacobian: `create_graph=True` {against}", fix='strategy="reverse-mode"')
        if strict:
            raise AutogradError("MG-E254", f"jacobian: `strict=True` {against}", fix='strategy="reverse-mode"')
        if not vectorize:
            raise AutogradNotImplementedError("MG-E254", "Computing Jacobian using forward-AD or forward-over-reverse Hessian is "
                                              "only implemented for `vectorize=True`.", fix="vectorize=True")
    if strict and vectorize:
        raise AutogradError("MG-E254", "jacobian: `strict=True` and `vectorize=True` are not supported together.",
                            fix="strict=False or vectorize=False")
