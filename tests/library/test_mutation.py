"""Operators that write to their arguments, and outputs that share memory."""

import numpy as np
import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define


def numpy_fill(m):
    """Writes to x, past every version counter."""
    def fill(x: m.Tensor, n: float) -> None:
        x.numpy()[...] = n
    return define(m, fill, mutates_args={"x"})


@pytest.mark.parametrize("result", [lambda x: x, lambda x: x[:2], lambda x: x.detach(), lambda x: x.view(2, 2)],
                         ids=["itself", "view", "detached", "reshaped"])
def test_an_output_may_not_alias_an_input(m, result):
    """custom_op/B-20: whether or not gradients are recorded."""
    def f(x: m.Tensor) -> m.Tensor:
        return result(x)
    op = define(m, f)
    for x in (m.ones(4), m.ones(4, requires_grad=True)):
        with raises(RuntimeError, "may not alias any inputs"):
            op(x)
    with m.no_grad(), raises(RuntimeError, "may not alias any inputs"):
        op(x)


def test_an_output_may_not_alias_another(m):
    """custom_op/B-20"""
    def both(x: m.Tensor) -> tuple[m.Tensor, m.Tensor]:
        y = x + 1
        return y, y[:2]

    def some(x: m.Tensor) -> list[m.Tensor]:
        y = x + 1
        return [y, y]

    def one(x: m.Tensor) -> list[m.Tensor]:
        return [x]
    for f in (both, some, one):
        with raises(RuntimeError, "may not alias any inputs"):
            define(m, f)(m.ones(4))


@pytest.mark.differs(
    what="A kernel that returns its input's memory, by way of NumPy",
    there="It is not noticed.",
    here="RuntimeError: the two tensors would not share a version.")
@ours
def test_an_output_on_the_memory_of_an_input(m):
    """custom_op/B-20: through NumPy, where PyTorch does not see it; the two would not share a version."""
    def f(x: m.Tensor) -> m.Tensor:
        return m.from_numpy(x.numpy()[1:])
    with raises(RuntimeError, "may not alias any inputs"):
        define(m, f)(m.ones(4))


def test_a_declared_write_counts(m):
    """custom_op/B-21: once per call, and the tensor's own writes too."""
    op = numpy_fill(m)
    x = m.ones(2)
    assert op(x, 7) is None and value(x) == [7, 7] and x._version == 1
    op(x[:1], 8)
    assert value(x) == [8, 7] and x._version == 2

    def add(x: m.Tensor, y: m.Tensor) -> None:
        x.add_(y)
    op = define(m, add, mutates_args="unknown")
    x, y = m.ones(2), m.ones(2)
    op(x, y)
    assert (x._version, y._version) == (2, 1) and value(x) == [2, 2]


def test_a_declared_write_to_lists_and_options(m):
    """custom_op/B-21"""
    def f(xs: list[m.Tensor], y: m.Tensor | None, z: m.Tensor) -> m.Tensor:
        for x in xs:
            x.numpy()[...] = 5
        return z + 1
    op = define(m, f, mutates_args=("xs", "y"))
    a, b, c = m.ones(1), m.ones(1), m.ones(1)
    assert value(op([a, b], None, c)) == [2] and (a._version, b._version, c._version) == (1, 1, 0)
    op([a], b, c)
    assert (a._version, b._version, value(a)) == (2, 2, [5])


def test_an_earlier_save_notices(m):
    """custom_op/T-04"""
    op = numpy_fill(m)
    x = leaf(m, 1.0, 2.0)
    y = x * 2
    z = y * y
    with m.no_grad():
        op(y, 0.0)
    with raises(RuntimeError, "modified by an inplace operation"):
        z.sum().backward()


def test_an_undeclared_write_goes_unnoticed(m):
    """custom_op/B-22: at the call. opcheck finds it."""
    def f(x: m.Tensor) -> m.Tensor:
        x.numpy()[...] = 9
        return x + 1
    x = m.ones(1)
    assert value(define(m, f)(x)) == [10] and x._version == 0
    with raises(Exception, "is not defined as mutable but was mutated"):
        m.library.opcheck(define(m, f), (m.ones(1),), test_utils="test_schema")


@pytest.mark.differs(
    what="A custom op that writes to a leaf which requires a gradient",
    there="It is allowed.",
    here="RuntimeError, as for each write in place.")
@ours
def test_a_leaf_may_not_be_written_to(m):
    """custom_op/B-23: PyTorch lets it happen."""
    op = numpy_fill(m)
    x = leaf(m, 1.0, 2.0)
    for target, key in [(x, "a leaf Variable that requires grad is being used in an in-place operation"),
                        (x[:1], "a view of a leaf Variable that requires grad is being used in an in-place operation")]:
        with raises(RuntimeError, key):
            op(target, 7)
    assert value(x) == [1, 2] and x._version == 0
    with m.no_grad():
        op(x, 7)
    assert value(x) == [7, 7] and x._version == 1


@pytest.mark.differs(
    what="The backward of a tensor that a custom op without a formula has written to",
    there="The gradient passes as if nothing had been written, and is wrong.",
    here="RuntimeError: no formula was registered.")
@ours
def test_what_was_written_to_has_no_derivative(m):
    """The gradient must not pass by the write as if it had not been. (In PyTorch it does, and is wrong.)"""
    op = numpy_fill(m)
    for view in (False, True):
        x = leaf(m, 1.0, 2.0)
        y = x * 2
        op(y[:1] if view else y, 7)
        assert value(y)[0] == 7 and y._version == 1
        assert y.grad_fn.name().startswith("CopySlices" if view else "GeneratedBackwardFor_tests_fill")
        with raises(RuntimeError, "no autograd formula was registered"):
            y.sum().backward()
    constant = m.ones(2)
    op(constant, 3)
    assert not constant.requires_grad


@ours
def test_a_write_with_an_output(m):
    def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        x.numpy()[...] = 5
        return y * 2
    op = define(m, f, mutates_args={"x"})
    x, y = leaf(m, 1.0, 1.0), leaf(m, 2.0, 2.0)
    inner = x * 1
    z = op(inner, y)
    assert value(z) == [4, 4] and value(inner) == [5, 5] and inner.grad_fn is z.grad_fn and inner._version == 1
    assert value(op(m.ones(2), y)) == [4, 4]
    inner = x * 1
    with raises(RuntimeError, "must return a single Variable"):
        op(inner[:1], y)
    assert value(inner) == [1, 1] and inner._version == 0


def test_no_formula_for_what_is_not_functional(m):
    """custom_op/B-24"""
    with raises(RuntimeError, "for non-functional operator"):
        numpy_fill(m).register_autograd(lambda ctx, g: g)

    def nothing(x: m.Tensor) -> None: ...
    with raises(RuntimeError, "for non-functional operator"):
        define(m, nothing).register_autograd(lambda ctx: None)


@ours
def test_writes_are_announced(m):
    """Saved tensors survive under allow_mutation_on_saved_tensors: they are copied before the kernel writes."""
    op = numpy_fill(m)
    x = leaf(m, 1.0, 2.0)
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        with m.no_grad():
            op(y, 0.0)
        z.sum().backward()
    assert np.allclose(value(x.grad), [8, 16])
    y = x * 2
    with m.debug(), m.no_grad():
        op(y, 0.0)
        assert [write.op for write in m.debug.versions(y).writes] == [op._qualname]
