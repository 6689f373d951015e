"""Test an operator on copies of sample arguments: does it agree with its schema and its registered functions?

    test_schema                     it writes only to `mutates_args`, and returns new memory
    test_autograd_registration      an output that requires a gradient has a formula
    test_faketensor                 the function of register_fake gives the shapes and dtypes of the outputs
    test_gradcheck                  the formula agrees with finite differences, in float64
    test_double_backward            the derivative of the formula agrees with finite differences

Mirrors ``torch.library.opcheck`` and ``torch/testing/_internal/optests``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import AutogradError, MinigradError, TensorValueError
from minigrad.library._autograd import flatten
from minigrad.library._custom_ops import CustomOpDef
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class OpCheckError(MinigradError):
    """A test of `opcheck` failed. The `__cause__` is the error of the test.

    Mirrors ``torch.testing._internal.optests.generate_tests.OpCheckError``.

    >>> from minigrad.library import OpCheckError, custom_op, opcheck
    >>> @custom_op("docs::clear", mutates_args=())
    ... def clear(x: mg.Tensor) -> int:
    ...     x.zero_()
    ...     return 0
    >>> try:
    ...     opcheck(clear, (mg.ones(2),))
    ... except OpCheckError as error:
    ...     print(error.what)
    opcheck(op, ...): test_schema failed with Argument x is not defined as mutable but was mutated
    """


def opcheck(op: CustomOpDef, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, *,
            test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration"), raise_exception: bool = True,
            atol: float | None = None, rtol: float | None = None) -> dict[str, Any]:
    """Test an operator on copies of sample arguments.

    Args:
        op (CustomOpDef): the operator.
        args (sequence): the positional arguments. For the tests of the backward, tensors must require gradients.
        kwargs (dict, optional): the keyword arguments.
        test_utils (str or sequence of str): the tests to run:

            * ``"test_schema"``: it writes only to the arguments in `mutates_args`, and its outputs share no memory with an input
              or another output. If there is a function of `register_fake`, ``"test_faketensor"`` runs too;
            * ``"test_autograd_registration"``: if an output requires a gradient, there is a formula;
            * ``"test_faketensor"``: the function of `register_fake` returns outputs of the right shape and dtype;
            * ``"test_gradcheck"``, ``"test_double_backward"``: the first and the second derivative agree with finite
              differences, on float64 copies. PyTorch does not have these two.
        raise_exception (bool): raise the first failure. Otherwise the result has the errors.
        atol, rtol (float, optional): the tolerances of the derivatives. Pass both, or neither.

    Returns:
        dict: name of the test -> ``"SUCCESS"``, or the exception.

    Raises:
        OpCheckError: a test failed. Its cause is the error of the test.
        ValueError: `op` is not an operator; a test is unknown; or only one of atol and rtol is there.

    Mirrors ``torch.library.opcheck``.

    >>> from minigrad.library import custom_op, opcheck
    >>> @custom_op("docs::clear_and_copy", mutates_args=())
    ... def clear_and_copy(x: mg.Tensor) -> mg.Tensor:
    ...     y = x.clone()
    ...     x.zero_()
    ...     return y
    >>> x = mg.ones(2)
    >>> results = opcheck(clear_and_copy, (x,), raise_exception=False)
    >>> results["test_schema"].what, results["test_autograd_registration"]
    ('Argument x is not defined as mutable but was mutated', 'SUCCESS')
    >>> x
    tensor([1., 1.])
    """
    if (atol is None) != (rtol is None):
        raise TensorValueError("MG-E281", "opcheck(op, ...): if you specify one of rtol/atol, you must specify both",
                               found=f"atol={atol}, rtol={rtol}")
    if not isinstance(op, CustomOpDef):
        raise TensorValueError("MG-E281", f"opcheck(op, ...): op must be instance of CustomOpDef, got {type(op)}",
                               fix='pass the result of custom_op, or minigrad.library.get_op("namespace::name")')
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(TESTS):
        raise TensorValueError("MG-E281", f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of "
                               f"{tuple(TESTS)} but it was not")
    tolerances = {} if atol is None else {"atol": atol, "rtol": rtol}
    results = {}
    for name in names:
        try:
            TESTS[name](op, tuple(args), dict(kwargs or {}), tolerances)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                what = error.what if isinstance(error, MinigradError) else error
                raise OpCheckError("MG-E282", f"opcheck(op, ...): {name} failed with {what}", where=repr(op)) from error
            results[name] = error
    return results


def copy_value(value, copy):
    """Return `value`, or a new list or tuple, with ``copy(x)`` for each tensor x."""
    if isinstance(value, Tensor):
        return copy(value)
    return type(value)([copy_value(x, copy) for x in value]) if isinstance(value, (list, tuple)) else value


def copy_tensor(x):
    """Return a copy without a history. It requires a gradient if `x` does."""
    return x.detach().clone().requires_grad_(x.requires_grad)


def copy_arguments(op, args, kwargs, copy=copy_tensor):
    """Return copies of the arguments, converted by the schema: pairs of `Argument` and value."""
    inputs, keywords = op._schema.bind(args, kwargs)
    return [*zip(op._schema.positional, copy_value(inputs, copy)),
            *zip(op._schema.keywords, copy_value(list(keywords.values()), copy))]


def run_operator(op, pairs, function=None):
    """Call the operator, or `function` instead, with these arguments. Return the flat list of outputs."""
    output = (function or op)(*[x for a, x in pairs if not a.kwarg_only], **{a.name: x for a, x in pairs if a.kwarg_only})
    output = op._schema.check_output(output)
    return flatten(op._schema.returns, output if isinstance(output, tuple) else (output,))


def have_equal_bytes(x, y):
    """Whether all bytes of two tensors are equal: NaN is equal to itself."""
    return x.numpy(force=True).tobytes() == y.numpy(force=True).tobytes()


def test_schema(op, args, kwargs, tolerances):
    """Raise if the operator writes to another argument than the schema says."""
    pairs = copy_arguments(op, args, kwargs)
    before = copy_value([x for _, x in pairs], copy_tensor)
    with no_grad():
        run_operator(op, pairs)
    for (argument, after), old in zip(pairs, before):
        for x, y in zip(flatten((argument,), (after,)), flatten((argument,), (old,))):
            if isinstance(x, Tensor) and not argument.is_write and not have_equal_bytes(x, y):
                raise AutogradError("MG-E283", f"Argument {argument.name} is not defined as mutable but was mutated",
                                    expected=str(op._schema), fix=f'mutates_args={{"{argument.name}"}}, or write to a clone')
    if op._fake is not None:
        test_faketensor(op, args, kwargs, tolerances)


def test_autograd_registration(op, args, kwargs, tolerances):
    """Raise if an output requires a gradient, and there is no formula."""
    pairs = copy_arguments(op, args, kwargs, lambda x: copy_tensor(x).clone())      # not a leaf: the operator may write to it
    with enable_grad():
        outputs = run_operator(op, pairs)
    written = [x for a, value in pairs if a.is_write for x in flatten((a,), (value,))]
    if op._formula.backward is None and any([isinstance(x, Tensor) and x.requires_grad for x in (*outputs, *written)]):
        raise AutogradError("MG-E283", f"{op} returned a tensor that requires a gradient, but no autograd formula was registered",
                            fix="op.register_autograd(backward); or call it with tensors that require no gradient")


def test_faketensor(op, args, kwargs, tolerances):
    """Raise if the function of `register_fake` returns other shapes or dtypes than the operator."""
    if op._fake is None:
        raise AutogradError("MG-E283", f"There was no fake impl registered for {op}.", fix="op.register_fake(fn)")
    with no_grad():
        pairs = copy_arguments(op, args, kwargs)
        fake, real = run_operator(op, pairs, op._fake), run_operator(op, pairs)
    expected, found = [[(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else type(x).__name__ for x in outputs]
                       for outputs in (real, fake)]
    if expected != found:
        raise AutogradError("MG-E283", f"the register_fake function of {op} makes other outputs than the operator does",
                            expected=str(expected), found=str(found))


def make_derivative_test(check):
    """Make the test that calls `check`, "gradcheck" or "gradgradcheck", for the operator."""
    def test(op, args, kwargs, tolerances):
        leaves = []

        def copy(x):
            if not x.requires_grad:
                return copy_tensor(x)
            leaves.append(x.detach().double().clone().requires_grad_())
            return leaves[-1]

        pairs = copy_arguments(op, args, kwargs, copy)
        if not leaves:
            raise AutogradError("MG-E283", f"none of the arguments for {op} requires a gradient, so there is nothing to check",
                                fix="x.requires_grad_()")

        def function(*tensors):
            replace = dict(zip(map(id, leaves), tensors))
            outputs = run_operator(op, [(a, copy_value(x, lambda t: replace.get(id(t), t))) for a, x in pairs])
            return tuple([x for x in outputs if isinstance(x, Tensor) and x.requires_grad])

        getattr(import_module("minigrad.autograd.gradcheck"), check)(function, tuple(leaves), **tolerances)
    return test


TESTS = {"test_schema": test_schema, "test_autograd_registration": test_autograd_registration, "test_faketensor": test_faketensor,
         "test_gradcheck": make_derivative_test("gradcheck"), "test_double_backward": make_derivative_test("gradgradcheck")}
