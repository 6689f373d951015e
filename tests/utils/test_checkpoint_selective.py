"""Selective checkpointing: which results are saved, and how the recomputation finds them."""

import contextlib
import functools

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.utils.test_checkpoint import lib


def ops(m, *names):
    """The operators of these names."""
    if m.__name__ != "torch":
        return list(names)
    return [getattr(m.ops.aten, name).default if name != "mul" else m.ops.aten.mul.Tensor for name in names]


def plain_name(op):
    """The name of an operator in either library."""
    return str(op).removeprefix("aten.").partition(".")[0]


def executed(m, log):
    """A mode that notes the ops that are really run."""
    class Log(m.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if plain_name(func) not in ("detach", "add_"):
                log.append(plain_name(func))
            return func(*args, **(kwargs or {}))
    return Log()


def check(m, function, *args, policy, log=None, allow=False, **kwargs):
    def contexts():
        pair = lib(m).create_selective_checkpoint_contexts(policy, allow)
        return pair if log is None else (pair[0], both(executed(m, log), pair[1]))
    return lib(m).checkpoint(function, *args, use_reentrant=False, context_fn=contexts, **kwargs)


class both:
    """Two contexts, which may be entered several times."""

    def __init__(self, *contexts):
        self.contexts = contexts

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        for context in self.contexts:
            self.stack.enter_context(context)

    def __exit__(self, *exc_info):
        return self.stack.__exit__(*exc_info)


def block(x, w):
    return ((x @ w).sin() @ w).exp()


def inputs(m):
    x = m.tensor([[0.5, 1.], [1.5, 2.]], dtype=m.float64, requires_grad=True)
    return x, m.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=m.float64, requires_grad=True)


@pytest.mark.parametrize("saved, again", [([], ["mm", "sin", "mm", "exp"]), (["mm"], ["sin", "exp"]),
                                          (["exp"], ["mm", "sin", "mm"]), (["mm", "sin", "exp"], [])])
def test_list_of_operators(m, saved, again):
    """tensor_surface/P-40, tensor_surface/P-44"""
    x, w = inputs(m)
    log = []
    y = check(m, block, x, w, policy=ops(m, *saved), log=log)
    y.sum().backward()
    assert log == again
    expected = m.autograd.grad(block(x, w).sum(), (x, w))
    assert (value(x.grad), value(w.grad)) == (value(expected[0]), value(expected[1]))


def test_no_operators(m):
    """tensor_surface/P-40"""
    create = lib(m).create_selective_checkpoint_contexts
    with raises(ValueError, "Expected op in `op_list` to be an OpOverload"):
        create([m.mm])
    for wrong in (3, "mm", None):
        with raises(TypeError, "must be either a function or a list of ops"):
            create(wrong)


@ours
def test_unknown_name(m):
    with raises(ValueError, "Expected op in `op_list` to be an OpOverload but got: matmul"):
        lib(m).create_selective_checkpoint_contexts(["mm", "matmul"])


def test_policy(m):
    """tensor_surface/P-41"""
    calls = []
    policies = lib(m).CheckpointPolicy
    answers = {"mm": policies.MUST_SAVE, "sin": policies.PREFER_RECOMPUTE, "exp": True}

    def policy(ctx, op, *args, **kwargs):
        calls.append((plain_name(op), ctx.is_recompute, tuple(ctx.op_output.shape), len(args)))
        assert isinstance(ctx, lib(m).SelectiveCheckpointContext)
        return answers[plain_name(op)]
    x, w = inputs(m)
    log = []
    y = check(m, block, x, w, policy=policy, log=log)
    expected = [("mm", False, (2, 2), 2), ("sin", False, (2, 2), 1), ("mm", False, (2, 2), 2), ("exp", False, (2, 2), 1)]
    assert calls == expected
    y.sum().backward()
    assert calls == expected and log == ["sin"]


@pytest.mark.parametrize("name, saves", [("MUST_SAVE", True), ("PREFER_SAVE", True), ("MUST_RECOMPUTE", False),
                                         ("PREFER_RECOMPUTE", False)])
def test_each_policy(m, name, saves):
    """tensor_surface/P-41"""
    log = []
    x = leaf(m, 1.)
    check(m, lambda x: x.sin().exp(), x, policy=lambda *a, **k: lib(m).CheckpointPolicy[name], log=log).backward()
    assert log == ([] if saves else ["sin", "exp"])


@ours
@pytest.mark.parametrize("name", ["MUST_CPU_OFFLOAD", "PREFER_CPU_OFFLOAD"])
def test_offloading_is_saving(m, name):
    """tensor_surface/P-44"""
    log = []
    check(m, lambda x: x.sin().exp(), leaf(m, 1.), policy=lambda *a, **k: lib(m).CheckpointPolicy[name], log=log).backward()
    assert log == []


@pytest.mark.differs(
    what="A checkpoint policy that returns None",
    there="It is accepted.",
    here="TypeError: a policy has to decide for each op.")
@ours
def test_policy_has_to_decide(m):
    with raises(TypeError, "a policy returned NoneType for sin"):
        check(m, lambda x: x.sin(), leaf(m, 1.), policy=lambda ctx, op, *args: None)


def test_once(m):
    """tensor_surface/P-42"""
    y = check(m, lambda x: x.sin().exp(), leaf(m, 1.), policy=ops(m, "sin"))
    y.backward(retain_graph=True)
    with raises(RuntimeError, "Trying to backward an extra time"):
        y.backward()


def test_unknown_in_the_recomputation(m):
    """tensor_surface/P-42"""
    runs = []

    def f(x):
        runs.append(x)
        return (x.exp() if len(runs) == 1 else x.sin()).cos()
    y = check(m, f, leaf(m, 1.), policy=ops(m, "sin"))
    with raises(RuntimeError, "but not found in storage"):
        y.backward()


def test_matched_by_number(m):
    """tensor_surface/P-42: op by op, the n-th result for the n-th run."""
    def f(x):
        return (x.sin() * x.exp().sin() * x.cos().sin()).exp()
    x = leaf(m, 0.5, 1., dtype="float64")
    for policy in ([], ["sin"], ["sin", "mul"], ["cos", "exp"]):
        got, = m.autograd.grad(check(m, f, x, policy=ops(m, *policy)).sum(), x)
        assert value(got) == value(m.autograd.grad(f(x).sum(), x)[0])


@pytest.mark.parametrize("allow", [True, False])
def test_saved_result_written_to(m, allow):
    """tensor_surface/P-43"""
    x = leaf(m, 1.)
    y, z = check(m, lambda x: ((h := (x * 1).exp()), h.sin().exp()), x, policy=ops(m, "exp"), allow=allow)
    y.detach().add_(1)
    with contextlib.nullcontext() if allow else raises(RuntimeError, "selective activation checkpoint has been mutated"):
        z.backward()


def test_last_result_written_to(m):
    """tensor_surface/P-43: it is not needed, so it may change."""
    x, w = inputs(m)
    y = check(m, lambda x: x.sin() @ w, x, policy=ops(m, "mm"))
    y.add_(x)
    y.sum().backward()
    assert value(x.grad) == value(m.autograd.grad((x.sin() @ w + x).sum(), x)[0])


def test_writes_are_done_again(m):
    def f(x):
        y = x.exp()
        z = m.zeros(2, dtype=m.float64)
        z.add_(y)
        z[0] = 3 * y[1]
        return z.sin().cos()
    x = leaf(m, 0.5, 1., dtype="float64")
    got, = m.autograd.grad(check(m, f, x, policy=ops(m, "exp")).sum(), x)
    assert value(got) == value(m.autograd.grad(f(x).sum(), x)[0])


@ours
def test_views_are_taken_again(m):
    """The check holds for every policy, and for recomputed tensors."""
    asked = []

    def policy(ctx, op, *args):
        asked.append(op)
        return True
    x, _ = inputs(m)
    got = m.autograd.grad(check(m, lambda x: (x * 2).t()[0].view(2, 1).sin(), x, policy=policy).sum(), x)[0]
    assert asked == ["mul", "sin"]
    assert value(got) == value(m.autograd.grad((x * 2).t()[0].view(2, 1).sin().sum(), x)[0])


@ours
def test_ignored_ops(m):
    lib(m).SAC_IGNORED_OPS.add("sin")
    try:
        asked = []
        check(m, lambda x: x.sin().exp(), leaf(m, 1.), policy=lambda ctx, op, *a: bool(asked.append(op))).backward()
        assert asked == ["exp"]
    finally:
        lib(m).SAC_IGNORED_OPS.clear()


def test_as_a_partial(m):
    """tensor_surface/P-40: two contexts, forward and recompute."""
    context_fn = functools.partial(lib(m).create_selective_checkpoint_contexts, ops(m, "sin"))
    forward, again = context_fn()
    assert hasattr(forward, "__enter__") and hasattr(again, "__exit__")
    x = leaf(m, 1.)
    for _ in range(2):
        lib(m).checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False, context_fn=context_fn).backward()
    assert x.grad is not None
