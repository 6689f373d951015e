"""Derivatives of functions: Jacobians, Hessians, and their products with vectors, of ``f: tensors -> tensors``.

    vjp(f, x, v)        (f(x), vᵀ J)            one backward
    jvp(f, x, v)        (f(x), J v)             two backwards
    jacobian(f, x)      J                       one backward for each element of f(x)
    hessian(f, x)       H, of an f that returns one number
    vhp(f, x, v)        (f(x), vᵀ H)            a backward through a backward
    hvp(f, x, v)        (f(x), H v)             the same by two more backwards, as jvp; slower

`f` takes and returns a tensor or a tuple of tensors. The results are tuples where `f` has tuples. `f` is called once, on fresh
variables with the values of `x`. A tensor that `f` takes from its closure is constant, even if it is `x` itself. Gradients are
enabled during the call, also under `no_grad` and `inference_mode`.

    create_graph=True   the results can be differentiated again with respect to the inputs and v
    strict=True         an error where f does not depend on an input, instead of zeros

Mirrors ``torch/autograd/functional.py``. For functions of dicts and lists, and to compose derivatives: ``minigrad.func``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad.autograd._functional_arguments import (
    as_given,
    as_tuple,
    check_first,
    check_outputs,
    check_second,
    check_single,
    check_vector,
    fill_missing,
    independent,
    prepare,
)
from minigrad.autograd._jacobians import gradients, jacobian_columns, jacobian_rows, make_pushforward
from minigrad.autograd.grad_mode import inference_mode
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradNotImplementedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from minigrad.types import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

OUTPUTS = "outputs of the user-provided function"
OF_INPUT = "the input to the user-provided function is"


def vjp(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], v: Tensor | tuple[Tensor, ...] | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func`, and the vector-Jacobian product vᵀ J.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        v (Tensor or tuple of Tensor, optional): of the shapes of the outputs. None means 1, for a single number.
        create_graph (bool): record the computation, so that the results can be differentiated.
        strict (bool): raise, instead of returning zeros, where an output does not depend on an input.

    Returns:
        tuple: the outputs, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, outputs or v are neither a tensor nor a tuple of tensors.
        RuntimeError: v has not the shapes of the outputs; `strict` finds an independent input.

    Mirrors ``torch.autograd.functional.vjp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.vjp(lambda x: x * x, x, mg.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with inference_mode(False):                 # which enables gradients too
        is_inputs_tuple, inputs, is_outputs_tuple, outputs = call_on_variables(func, inputs, "vjp", create_graph, strict)
        v = check_vector(v, outputs, is_outputs_tuple, "the user-provided function returns", create_graph, "vjp")
        product = fill_missing(gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph)
        return as_given(outputs, is_outputs_tuple, create_graph), as_given(product, is_inputs_tuple, create_graph)


def jvp(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], v: Tensor | tuple[Tensor, ...] | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func`, and the Jacobian-vector product J v: the derivative in the direction v.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`. None means 1, for a single number.
        create_graph (bool): record the computation, so that the results can be differentiated.
        strict (bool): raise, instead of returning zeros, where an output does not depend on an input.

    Returns:
        tuple: the outputs, and the product, which has the shapes of the outputs.

    Raises:
        TypeError: inputs, outputs or v are neither a tensor nor a tuple of tensors.
        RuntimeError: v has not the shapes of the inputs; `strict` finds an independent input.

    It takes two backwards, so `func` must be twice differentiable. ``minigrad.func.jvp`` needs only one forward pass.
    Mirrors ``torch.autograd.functional.jvp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.jvp(lambda x: (x * x).sum(), x, mg.tensor([1., 10.]))
    (tensor(5.), tensor(42.))
    """
    with inference_mode(False):
        is_given_tuple, given = as_tuple(inputs, "inputs", "jvp")
        v = check_vector(v, given, is_given_tuple, OF_INPUT, create_graph, "jvp")
        _, inputs, is_outputs_tuple, outputs = call_on_variables(func, inputs, "jvp", create_graph, strict)
        pulled, push = make_pushforward(outputs, inputs)
        check_first(pulled, strict)
        product = fill_missing(push(v, create_graph), outputs)
        for i, g in enumerate(product if strict and create_graph else ()):
            check_second(g, i)
        return as_given(outputs, is_outputs_tuple, create_graph), as_given(product, is_outputs_tuple, create_graph)


def jacobian(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: Literal['reverse-mode', 'forward-mode'] = "reverse-mode") -> Any:
    """The Jacobian: the derivative of each element of the outputs with respect to each element of the inputs.

    Args:
        func: tensors -> a tensor or a tuple of tensors.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        create_graph (bool): record the computation, so that the result can be differentiated.
        strict (bool): raise, instead of returning zeros, where an output does not depend on an input.
        vectorize (bool): in PyTorch, compute all rows together. Here it changes nothing.
        strategy (str): ``"reverse-mode"`` computes a row at a time; ``"forward-mode"`` a column at a time, which is better
            for fewer inputs than outputs. Forward mode needs ``vectorize=True``, as in PyTorch.

    Returns:
        Tensor, or nested tuples of them: of shape ``output.shape + input.shape``, first by output, then by input.

    Raises:
        TypeError: inputs or outputs are neither a tensor nor a tuple of tensors.
        RuntimeError: an output is complex, in reverse mode; `strict` finds an independent input; `strict` is combined with
            `vectorize` or ``"forward-mode"``.
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
        is_inputs_tuple, inputs, is_outputs_tuple, outputs = call_on_variables(func, inputs, "jacobian", create_graph, strict)
        if strategy == "forward-mode":
            _, push = make_pushforward(outputs, inputs)
            found = jacobian_columns(outputs, inputs, lambda v: push(v, False))
        else:
            check_real(outputs)
            found = jacobian_rows(outputs, inputs, create_graph, row_check(create_graph) if strict else None)
        return as_given(tuple([as_given(blocks, is_inputs_tuple, create_graph) for blocks in found]), is_outputs_tuple)


def hessian(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: Literal['reverse-mode', 'forward-mode'] = "reverse-mode") -> Any:
    """The Hessian of a function that returns one number: the Jacobian of its gradient.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        create_graph (bool): record the computation, so that the result can be differentiated.
        strict (bool): raise, instead of returning zeros, where the gradient does not depend on an input.
        vectorize (bool): as for `jacobian`.
        outer_jacobian_strategy (str): the `strategy` of the `jacobian` call that differentiates the gradient.

    Returns:
        Tensor, or a tuple of tuples of them: block i, j has the shape ``inputs[i].shape + inputs[j].shape``.

    Raises:
        TypeError: inputs or the output are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; `strict` finds an independent input.
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


def vhp(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], v: Tensor | tuple[Tensor, ...] | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, and the product vᵀ H of a vector with its Hessian.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`. None means 1, for a single number.
        create_graph (bool): record the computation, so that the results can be differentiated.
        strict (bool): raise, instead of returning zeros, where the gradient does not depend on an input.

    Returns:
        tuple: the output, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, the output or v are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; v has not the shapes of the inputs; `strict` finds an independent input.

    Mirrors ``torch.autograd.functional.vhp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.vhp(lambda x: x[0] ** 2 * x[1], x, mg.tensor([1., 0.]))
    (tensor(2.), tensor([4., 2.]))
    """
    with inference_mode(False):
        is_tuple, inputs, v, output, firsts = differentiate_once(func, inputs, v, "vhp", create_graph, strict)
        check_first(firsts, strict)
        product = fill_missing(gradients(firsts, inputs, v, create_graph), inputs, strict, create_graph, "jacobian", "hessian")
        return as_given(output, False, create_graph), as_given(product, is_tuple, create_graph)


def hvp(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...], v: Tensor | tuple[Tensor, ...] | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, and the product H v of its Hessian with a vector.

    Where the second derivatives are continuous, H is symmetric and `vhp` returns the same. `vhp` is faster.

    Args:
        func: tensors -> a tensor with one element.
        inputs (Tensor or tuple of Tensor): the point at which `func` is differentiated.
        v (Tensor or tuple of Tensor, optional): of the shapes of `inputs`. None means 1, for a single number.
        create_graph (bool): record the computation, so that the results can be differentiated.
        strict (bool): raise, instead of returning zeros, where the gradient does not depend on an input.

    Returns:
        tuple: the output, and the product, which has the shapes of `inputs`.

    Raises:
        TypeError: inputs, the output or v are neither a tensor nor a tuple of tensors.
        RuntimeError: the output is not one number; v has not the shapes of the inputs; `strict` finds an independent input.

    Mirrors ``torch.autograd.functional.hvp``.

    >>> x = mg.tensor([1., 2.])
    >>> mg.autograd.functional.hvp(lambda x: x[0] ** 2 * x[1], x, mg.tensor([1., 0.]))
    (tensor(2.), tensor([4., 2.]))
    """
    with inference_mode(False):
        is_tuple, inputs, v, output, firsts = differentiate_once(func, inputs, v, "hvp", create_graph, strict)
        check_first(firsts, strict)
        firsts = fill_missing(firsts, inputs)
        _, push = make_pushforward(firsts, inputs)
        product = fill_missing(push(v, create_graph), inputs, strict, create_graph, "jacobian", "hessian")
        return as_given(output, False, create_graph), as_given(product, is_tuple, create_graph)


# ---- steps ----------------------------------------------------------------------------------------------


def call_on_variables(func, inputs, function, create_graph, strict):
    """Call `func` on fresh variables. Return ``(is_inputs_tuple, variables, is_outputs_tuple, outputs)``."""
    is_inputs_tuple, inputs = as_tuple(inputs, "inputs", function)
    inputs = prepare(inputs, create_graph)
    is_outputs_tuple, outputs = as_tuple(callable_argument(func, "func", function)(*inputs), OUTPUTS, function)
    check_outputs(outputs, strict)
    return is_inputs_tuple, inputs, is_outputs_tuple, outputs


def differentiate_once(func, inputs, v, function, create_graph, strict):
    """The first half of a product with a Hessian: call `func`, and compute its gradients with ``create_graph=True``."""
    is_tuple, given = as_tuple(inputs, "inputs", function)
    v = check_vector(v, given, is_tuple, OF_INPUT, create_graph, function)
    _, inputs, is_output_tuple, output = call_on_variables(func, inputs, function, create_graph, False)
    check_single(output, is_output_tuple, function)
    check_outputs(output, strict)
    return is_tuple, inputs, v, output, gradients(output, inputs, create_graph=True)


def check_real(outputs):
    """Raise for a complex output: a row of the Jacobian is the gradient of a real number."""
    for y in outputs:
        if y.is_complex():
            raise AutogradError("MG-E252", "grad can be implicitly created only for real scalar outputs but got "
                                f"minigrad.{y.dtype.name}", fix="compute the Jacobians of .real and of .imag; or use "
                                'strategy="forward-mode", vectorize=True')


def row_check(create_graph):
    """The function that checks each row of a Jacobian in strict mode."""
    def check(i, k, g):
        if g is None:
            raise independent(f"Output {i} of the user-provided function is independent of input {k}.")
        if create_graph:
            check_second(g, k)
    return check


def check_strategy(strategy, vectorize, create_graph, strict):
    """Raise if the arguments cannot be combined."""
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
