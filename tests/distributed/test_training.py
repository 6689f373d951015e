"""Training on several ranks: the state of optimizers, checkpoints, clipping. training.py has what the ranks do."""

import os
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.distributed import checkpoint
from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from minigrad.distributed.optim import ZeroRedundancyOptimizer
from tests.distributed.launch import ended, several, start

EXAMPLES = Path(__file__).parents[2] / "examples/gpt.py"


def run(ranks, name, *arguments):
    process = start(name, ranks, 60, *arguments, module="training")
    out = ended(process)
    assert process.returncode == 0 and out.count("all right") == ranks, out


@several
@pytest.mark.parametrize("name, ranks", [("zero", 1), ("zero", 2), ("zero", 4), ("clipping", 2), ("clipping", 4)])
def test_training(mpi, name, ranks):
    run(ranks, name)


@several
@pytest.mark.parametrize("model, package", [("digits", "sklearn"), ("gpt", "tqdm")])
def test_the_loss_curve_of_one_process(mpi, model, package):
    """pipelining_backward/Q-01: each schedule and DDP, on four ranks, to 1e-9."""
    pytest.importorskip(package)
    if model == "gpt" and not EXAMPLES.exists():
        pytest.skip("the network is in examples/, which a wheel has not")
    run(4, "curves", model)


@several
def test_a_checkpoint_on_another_number_of_ranks(mpi, tmp_path):
    for before, ranks in ((0, 2), (3, 4), (6, 1)):
        run(ranks, "checkpoints", str(tmp_path), str(before))
    for kind in ("zero", "plain"):
        assert os.listdir(tmp_path / kind / "9") == ["state.pt"]
        assert mg.load(tmp_path / kind / "9/state.pt")["step"] == 9


@several
def test_errors_of_all_ranks(mpi, tmp_path):
    run(3, "cannot_save", str(tmp_path))
    assert mg.load(tmp_path / "2/state.pt")["model"]["weight"].shape == (3, 2)


@several
def test_the_writing_rank_is_killed(mpi, tmp_path):
    process = start("killed_while_saving", 3, 60, str(tmp_path), module="training")
    out = ended(process)
    assert process.returncode != 0 and "all right" not in out
    complete = [name for name in os.listdir(tmp_path) if not name.startswith(".")]
    half = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert complete == ["state.pt"] and len(half) == 1, out
    size = os.path.getsize(tmp_path / "state.pt")
    assert 0 < os.path.getsize(tmp_path / half[0]) < size
    state = {"w": mg.zeros(10_000)}
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert (state["w"] == 1).all()


# ---- one rank ----


@pytest.mark.parametrize("more, error, words", [
    ({"optimizer_class": mg.nn.Linear}, TypeError, "a class of optimizers, got 'Linear'"),
    ({"optimizer_class": "AdamW"}, TypeError, "a class of optimizers, got 'AdamW'"),
    ({"optimizer_class": mg.optim.LBFGS}, NotImplementedError, "LBFGS needs all gradients at once"),
    ({"parameters_as_bucket_view": True}, NotImplementedError, "parameters_as_bucket_view=True"),
    ({"overlap_with_ddp": True}, NotImplementedError, "overlap_with_ddp=True"),
    ({"params": []}, ValueError, "an empty parameter list"),
    ({"lr": -1}, ValueError, "Invalid learning rate: -1"),
])
def test_mistakes_with_zero(alone, more, error, words):
    arguments = {"params": [mg.nn.Parameter(mg.ones(2))], "optimizer_class": mg.optim.AdamW, **more}
    with pytest.raises(error, match=words):
        ZeroRedundancyOptimizer(**arguments)


def test_zero_without_a_group():
    with pytest.raises(ValueError, match="has not been initialized"):
        ZeroRedundancyOptimizer([mg.nn.Parameter(mg.ones(2))], mg.optim.AdamW)


@pytest.mark.differs(
    what="`ZeroRedundancyOptimizer.state_dict`, a step after `consolidate_state_dict`",
    there="The state before the step.",
    here="RuntimeError.")
def test_a_state_that_is_old(alone):
    p = mg.nn.Parameter(mg.ones(2))
    optimizer = ZeroRedundancyOptimizer([p], mg.optim.AdamW)
    optimizer.consolidate_state_dict()
    assert optimizer.state_dict()["state"] == {}
    p.grad = mg.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match="consolidate_state_dict"):
        optimizer.state_dict()


@pytest.mark.parametrize("call, error, words", [
    ("save([1], checkpoint_id=path)", TypeError, "takes a dict, got list"),
    ("save({})", TypeError, "'checkpoint_id' must be the name of a folder, not NoneType"),
    ("save({}, checkpoint_id=path, planner=3)", NotImplementedError, "planner"),
    ("load({}, checkpoint_id=path, storage_reader=3)", NotImplementedError, "storage_reader"),
    ("load({'w': 1}, checkpoint_id=path / 'other')", FileNotFoundError, "other"),
    ("load({'v': 1}, checkpoint_id=path)", RuntimeError, "Missing key in checkpoint state_dict: v"),
    ("load({'w': mg.ones(3)}, checkpoint_id=path)", RuntimeError, r"saved \(2,\) and current: \(3,\) for w"),
    ("load({'more': [0, {'a': 1, 'b': 2}]}, checkpoint_id=path)", RuntimeError, "Missing key in checkpoint state_dict: more.1.b"),
])
def test_mistakes_with_checkpoints(tmp_path, call, error, words):
    checkpoint.save({"w": mg.ones(2), "more": [5, {"a": 6}]}, checkpoint_id=tmp_path)
    state = {"more": [0, {"a": 0}]}
    checkpoint.load(state, checkpoint_id=str(tmp_path))
    assert state == {"more": [5, {"a": 6}]}
    with pytest.raises(error, match=words):
        eval(call, {"save": checkpoint.save, "load": checkpoint.load, "path": tmp_path, "mg": mg})


def test_a_checkpoint_with_a_part_is_not_loaded(tmp_path):
    checkpoint.save({"w": mg.ones(2), "more": [5]}, checkpoint_id=tmp_path)
    state = {"w": mg.zeros(2), "more": [0], "last": 0}
    with pytest.raises(RuntimeError, match="Missing key in checkpoint state_dict: last"):
        checkpoint.load(state, checkpoint_id=tmp_path)
    assert state["w"].tolist() == [0, 0] and state["more"] == [0]


def test_hooks_refuse_what_is_no_bucket():
    for hook, state in ((default_hooks.allreduce_hook, None), (default_hooks.fp16_compress_hook, None),
                        (default_hooks.top_k_hook, default_hooks.TopK(0.5))):
        with pytest.raises(TypeError, match="'bucket' must be GradBucket, not Tensor"):
            hook(state, mg.ones(2))
    with pytest.raises(TypeError, match="'state' must be TopK"):
        default_hooks.top_k_hook(None, mg.ones(2))
