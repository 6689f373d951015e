"""Custom operators under dispatch modes and selective checkpointing: one op, whatever they compute with."""

import importlib
import itertools

import pytest

NUMBER = itertools.count()      # of operators: PyTorch takes a name back some time after its operator has died


def utils(m, name):
    return importlib.import_module(f"{m.__name__}.utils.{name}")


def make(m, runs):
    """An operator that notes when its kernel runs, and its overload, which a mode sees."""
    @importlib.import_module(m.__name__ + ".library").custom_op(f"tests::waves{next(NUMBER)}", mutates_args=())
    def waves(x: m.Tensor, n: int = 2) -> m.Tensor:
        runs.append(n)
        return x.sin() * n

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    waves.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.n, None), setup_context=setup_context)
    return waves, waves._opoverload if hasattr(waves, "_opoverload") else waves.default


def test_a_mode_sees_one_op(m):
    """differences/M-06"""
    runs, seen = [], []
    waves, overload = make(m, runs)

    class Names(utils(m, "_python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), func is overload, len(args)))
            return func(*args, **(kwargs or {}))

    x = m.ones(2, requires_grad=True)
    with Names():
        waves(x)
        y = waves(x, n=3)
    name = str(overload)
    assert name.startswith("tests.waves") and name.endswith(".default")
    assert seen == [(name, True, 1), (name, True, 2)]
    assert runs == [2, 3]
    assert y.grad_fn.name() == f"GeneratedBackwardFor_{name.replace('.', '_')}Backward"


def test_a_mode_may_compute_something_else(m):
    """differences/M-06: its result gets the operator's node in the graph."""
    runs = []
    waves, overload = make(m, runs)

    class Instead(utils(m, "_python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0] * 100 if func is overload else func(*args, **(kwargs or {}))

    x = m.zeros(2, requires_grad=True)
    with Instead():
        y = waves(x + 1)
    assert y.tolist() == [100.0, 100.0]
    assert not runs
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([1.0806046] * 2)      # 2 cos(1): the formula is the operator's


@pytest.mark.parametrize("how", ["list", "policy", "recomputed"])
def test_selective_checkpointing(m, how):
    """differences/M-06: saved, its kernel runs once."""
    runs, asked = [], []
    waves, overload = make(m, runs)
    checkpoint = utils(m, "checkpoint")
    answers = checkpoint.CheckpointPolicy

    def policy(ctx, op, *args, **kwargs):
        asked.append(op is overload)
        return answers.MUST_SAVE if how == "policy" and op is overload else answers.MUST_RECOMPUTE

    x = m.ones(2, requires_grad=True)
    y = checkpoint.checkpoint(
        lambda x: waves(x.exp()).exp(), x, use_reentrant=False,
        context_fn=lambda: checkpoint.create_selective_checkpoint_contexts([overload] if how == "list" else policy))
    y.sum().backward()
    assert len(runs) == (2 if how == "recomputed" else 1)
    assert asked == ([] if how == "list" else [False, True, False])
    assert x.grad.tolist() == pytest.approx([-11.271785] * 2)


def test_writes_are_counted_once(m):
    """differences/M-06: also if a mode stands between."""
    @importlib.import_module(m.__name__ + ".library").custom_op("tests::doubled_in_place", mutates_args=("x",))
    def doubled(x: m.Tensor) -> None:
        x.numpy()[...] *= 2

    class Through(utils(m, "_python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = m.ones(2)
    doubled(x)
    once = x._version
    with Through(), Through():
        doubled(x)
    assert x.tolist() == [4.0, 4.0]
    assert x._version == 2 * once


def test_an_operator_without_its_overload_is_refused(m):
    """differences/W-04: the operator is accepted where a function takes one of its overloads."""
    waves, overload = make(m, [])
    packet = overload.overloadpacket if m.__name__ == "torch" else waves
    with pytest.raises(ValueError, match=r"Expected op in `op_list` to be an OpOverload but got: .*"
                                         r"Please update the OpOverloadPacket to a specific OpOverload"):
        utils(m, "checkpoint").create_selective_checkpoint_contexts([packet])
