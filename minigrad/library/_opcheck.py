"""Does an operator do what its schema and its registrations say? Run it on copies of sample arguments, and look.

    test_schema                     it writes to nothing but `mutates_args`, and returns new memory
    test_autograd_registration      what requires a gradient has a formula
    test_faketensor                 register_fake tells the shapes and dtypes of the outputs
    test_gradcheck                  the formula agrees with finite differences, in float64
    test_double_backward            so does its derivative

Mirrors ``torch.library.opcheck`` and ``torch/testing/_internal/optests``.
"""

from importlib import import_module

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.errors import AutogradError, MinigradError, TensorValueError
from minigrad.library._autograd import flatten
from minigrad.library._custom_ops import CustomOpDef
from minigrad.tensor import Tensor


class OpCheckError(MinigradError):
    """An operator does not do what it says. The error that showed it is the `__cause__`.

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


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration"), raise_exception=True, atol=None,
            rtol=None):
    """Test an operator on sample arguments, of which it gets copies.

    Args:
        op (CustomOpDef): the operator.
        args (tuple), kwargs (dict, optional): what to call it with. For the tests of its backward let tensors require gradients.
        test_utils (str or sequence of str): which tests:

            * ``"test_schema"``: it writes to no argument but those in `mutates_args`, its outputs share memory with nothing, and
              are what `register_fake` says, if it was called;
            * ``"test_autograd_registration"``: if an output requires a gradient, a formula was registered;
            * ``"test_faketensor"``: what `register_fake` registered makes outputs of the right shape and dtype;
            * ``"test_gradcheck"``, ``"test_double_backward"``: the first and the second derivative agree with finite
              differences, on float64 copies. These PyTorch does not have.
        raise_exception (bool): raise the first failure; otherwise return it.
        atol, rtol (float, optional): how far the derivatives may be off. Both, or neither.

    Returns:
        dict: name of the test -> ``"SUCCESS"``, or the exception.

    Raises:
        OpCheckError: a test failed; its cause says why.
        ValueError: `op` is no operator; there is no such test; one of atol and rtol is missing.

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
                               fix='what custom_op returned, or minigrad.library.get_op("namespace::name")')
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


def copied(value, copy):
    """`value` with `copy` of each tensor, and the same lists."""
    if isinstance(value, Tensor):
        return copy(value)
    return type(value)([copied(x, copy) for x in value]) if isinstance(value, (list, tuple)) else value


def plain(x):
    """A copy of a tensor, without history but requiring a gradient as it does."""
    return x.detach().clone().requires_grad_(x.requires_grad)


def arguments_of(op, args, kwargs, copy=plain):
    """The arguments as the schema sees them, copied: pairs of `Argument` and value."""
    inputs, keywords = op._schema.bind(args, kwargs)
    return [*zip(op._schema.positional, copied(inputs, copy)), *zip(op._schema.keywords, copied(list(keywords.values()), copy))]


def run(op, pairs, function=None):
    """The outputs of the operator (or of what stands for it) on these arguments, with lists of tensors opened."""
    output = (function or op)(*[x for a, x in pairs if not a.kwarg_only], **{a.name: x for a, x in pairs if a.kwarg_only})
    output = op._schema.results(output)
    return flatten(op._schema.returns, output if isinstance(output, tuple) else (output,))


def same(x, y):
    """Whether two tensors are equal, byte by byte: NaN is equal to itself."""
    return x.numpy(force=True).tobytes() == y.numpy(force=True).tobytes()


def test_schema(op, args, kwargs, tolerances):
    pairs = arguments_of(op, args, kwargs)
    before = copied([x for _, x in pairs], plain)
    with no_grad():
        run(op, pairs)
    for (argument, after), old in zip(pairs, before):
        for x, y in zip(flatten((argument,), (after,)), flatten((argument,), (old,))):
            if isinstance(x, Tensor) and not argument.is_write and not same(x, y):
                raise AutogradError("MG-E283", f"Argument {argument.name} is not defined as mutable but was mutated",
                                    expected=str(op._schema), fix=f'mutates_args={{"{argument.name}"}}, or write to a clone')
    if op._fake is not None:
        test_faketensor(op, args, kwargs, tolerances)


def test_autograd_registration(op, args, kwargs, tolerances):
    pairs = arguments_of(op, args, kwargs, lambda x: plain(x).clone())      # no leaf: it may be written to
    with enable_grad():
        outputs = run(op, pairs)
    written = [x for a, value in pairs if a.is_write for x in flatten((a,), (value,))]
    if op._formula.backward is None and any([isinstance(x, Tensor) and x.requires_grad for x in (*outputs, *written)]):
        raise AutogradError("MG-E283", f"{op} returned a tensor that requires a gradient, but no autograd formula was registered",
                            fix="op.register_autograd(backward), or call it on tensors that require none")


def test_faketensor(op, args, kwargs, tolerances):
    if op._fake is None:
        raise AutogradError("MG-E283", f"There was no fake impl registered for {op}.", fix="op.register_fake(fn)")
    with no_grad():
        pairs = arguments_of(op, args, kwargs)
        fake, real = run(op, pairs, op._fake), run(op, pairs)
    expected, found = [[(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else type(x).__name__ for x in outputs]
                       for outputs in (real, fake)]
    if expected != found:
        raise AutogradError("MG-E283", f"what register_fake has registered for {op} makes other outputs than the operator does",
                            expected=str(expected), found=str(found))


def against_differences(check):
    """The test that compares the derivatives of an operator with finite differences: by `gradcheck` or `gradgradcheck`."""
    def test(op, args, kwargs, tolerances):
        leaves = []

        def copy(x):
            if not x.requires_grad:
                return plain(x)
            leaves.append(x.detach().double().clone().requires_grad_())
            return leaves[-1]

        pairs = arguments_of(op, args, kwargs, copy)
        if not leaves:
            raise AutogradError("MG-E283", f"none of the arguments for {op} requires a gradient, so there is nothing to check",
                                fix="x.requires_grad_()")

        def function(*tensors):
            replace = dict(zip(map(id, leaves), tensors))
            outputs = run(op, [(a, copied(x, lambda t: replace.get(id(t), t))) for a, x in pairs])
            return tuple([x for x in outputs if isinstance(x, Tensor) and x.requires_grad])

        getattr(import_module("minigrad.autograd.gradcheck"), check)(function, tuple(leaves), **tolerances)
    return test


TESTS = {"test_schema": test_schema, "test_autograd_registration": test_autograd_registration, "test_faketensor": test_faketensor,
         "test_gradcheck": against_differences("gradcheck"), "test_double_backward": against_differences("gradgradcheck")}
