"""Kernels for devices, and switching them off."""

import logging

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define


def constant(m):
    """An operator: each of its kernels returns a different number, the function itself 0."""
    def f(x: m.Tensor) -> m.Tensor:
        return x * 0
    return define(m, f)


def test_register_kernel(m):
    """custom_op/B-70: as a decorator, directly, by the function of the module; each replaces the one before."""
    op, x = constant(m), m.ones(1)
    assert value(op(x)) == [0]

    @op.register_kernel("cpu")
    def first(x):
        return x * 1
    assert value(op(x)) == [1] and value(first(x)) == [1]
    op.register_kernel("cpu", lambda x: x * 2)
    assert value(op(x)) == [2]
    op.register_kernel(["cpu", "cuda"])(lambda x: x * 3)
    assert value(op(x)) == [3]
    m.library.register_kernel(op, "cpu", lambda x: x * 4)
    assert value(op(x)) == [4]
    m.library.register_kernel(op._qualname, "cpu")(lambda x: x * 5)
    assert value(op(x)) == [5]


def test_a_kernel_for_all(m):
    """custom_op/B-70"""
    op, x = constant(m), m.ones(1)
    op.register_kernel(None, lambda x: x * 6)
    assert value(op(x)) == [6]


def test_a_kernel_is_below_the_formula(m):
    op = constant(m)
    op.register_autograd(lambda ctx, g: g * 10)
    op.register_kernel("cpu", lambda x: x * 7)
    x = leaf(m, 1.0)
    y = op(x)
    y.backward()
    assert (value(y), value(x.grad)) == (7, 10)


def test_no_kernel_for_the_device(m):
    """custom_op/B-70"""
    def f(x: m.Tensor) -> m.Tensor:
        return x + 1
    op = define(m, f, device_types="cuda")
    with raises(NotImplementedError, f"Could not run '{op._qualname}' with arguments from the 'CPU' backend"):
        op(m.ones(1))
    op.register_kernel("cpu", lambda x: x + 2)
    assert value(op(m.ones(1))) == [3]


def test_the_device_of_a_factory(m):
    def f(n: int, device: m.device) -> m.Tensor:
        return m.ones(n)
    assert value(define(m, f, device_types="cpu")(2, "cpu")) == [1, 1]

    def g(n: int) -> m.Tensor:
        return m.ones(n)
    assert value(define(m, g)(2)) == [1, 1]
    with raises(ValueError, "Functions without tensor inputs are required to have a `device"):
        define(m, g, device_types="cpu")


def test_set_kernel_enabled(m, caplog):
    """custom_op/B-71: disabled, the original function is used; nested, and put back after an error."""
    op, x = constant(m), m.ones(1)
    op.register_kernel("cpu", lambda x: x * 1)
    with op.set_kernel_enabled("cpu", False):
        assert value(op(x)) == [0]
        with op.set_kernel_enabled("cpu"):
            assert value(op(x)) == [1]
        assert value(op(x)) == [0]
    assert value(op(x)) == [1]
    with pytest.raises(KeyError), op.set_kernel_enabled("cpu", False):
        raise KeyError
    assert value(op(x)) == [1]
    op.register_kernel("cpu", lambda x: x * 2)
    assert value(op(x)) == [2] and not caplog.records


def test_set_kernel_enabled_warns(m, caplog):
    """custom_op/B-71"""
    op = constant(m)
    op.register_kernel("cpu", lambda x: x * 1)
    logger = logging.getLogger("minigrad.library" if m.__name__ == "minigrad" else "torch._library.custom_ops")
    logger.propagate, before = True, logger.propagate
    try:
        with caplog.at_level(logging.WARNING):
            with op.set_kernel_enabled("cpu"):
                pass
            with op.set_kernel_enabled("cpu", False), op.set_kernel_enabled("cpu", False):
                pass
            with op.set_kernel_enabled("cuda", False):
                pass
    finally:
        logger.propagate = before
    said = [record.getMessage() for record in caplog.records]
    if said or m.__name__ == "minigrad":        # torch's logging may be set up so that nothing gets here
        assert "already enabled" in said[0] and "already disabled" in said[1] and "no kernel was registered" in said[2]


@ours
def test_operators_are_found_by_name(m):
    """In PyTorch torch.ops.ns.name; minigrad.ops are the rules of the built-in ops."""
    op = m.library.custom_op("tests::found", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert m.library.get_op("tests::found") is op


@ours
def test_the_package_is_imported_on_demand():
    """`import minigrad` does not wait for it."""
    import subprocess
    import sys
    program = ("import sys, minigrad as mg; assert 'minigrad.library' not in sys.modules; mg.library.custom_op; "
               "from minigrad.library import opcheck; assert 'optree' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True)
