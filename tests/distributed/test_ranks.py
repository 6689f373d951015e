"""Several ranks, which mpiexec starts: programs.py has what they do. Each run has a limit of time, and nothing may be left of it."""

import signal
import sys

import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import _launch
from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from tests.distributed.launch import ended, several, start


@several
@pytest.mark.parametrize("name, ranks", [("collectives", 4), ("collectives", 2), ("messages", 4), ("pipelines", 4), ("pipelines", 2),
                                         ("tied_over_ranks", 3), ("recorded", 4),
                                         ("data_parallel", 4), ("data_parallel", 2), ("unused_parameters", 3), ("hooks", 4)])
def test_ranks(mpi, name, ranks):
    process = start(name, ranks, 60)
    out = ended(process)
    assert process.returncode == 0 and out.count("all right") == ranks, out


@several
@pytest.mark.parametrize("name, seconds, words", [
    ("other_shapes", 60, ["DistBackendError", "rank 0: all_reduce SUM float32 (3,)", "rank 1: all_reduce SUM float32 (4,)", "MG-E611"]),
    ("other_collective", 60, ["rank 0: broadcast float32 (3,) from 0", "rank 2: all_reduce SUM float32 (3,)"]),
    ("one_does_not_come", 6, ["all_reduce SUM float32 (3,): nothing came from rank 1 within 6 s", "MG-E610"]),
    ("other_message", 60, ["rank 0 sends float32 (4,), and rank 1 receives it as float32 (3,)"]),
    ("one_raises", 60, ["rank 1 failed, so all ranks stop", "ValueError: my mistake"]),
    ("one_is_killed", 60, ["Killed"]),
    ("other_models", 60, ["DDP expects same model across all ranks, but rank 1 has other parameters than rank 0", "weight"]),
    ("one_uses_less", 60, ["Expected to have finished reduction in the prior iteration", "branches.1.bias", "find_unused_parameters=True"]),
    ("a_stage_hangs", 6, ["rank 2 waits at 2F0 for 1F0 of rank 1, which has not come within 6 s"]),
])
def test_a_failure_ends_all_ranks(mpi, name, seconds, words):
    process = start(name, 3, seconds)
    out = ended(process)
    assert process.returncode != 0 and "all right" not in out
    # Which rank is the first to report differs from run to run; of those that wait for each other, each says whom it misses.
    missing = [word for word in words if word not in out]
    assert not missing or (name == "a_stage_hangs" and "of rank 1, which has not come within 6 s" in out), out


@several
def test_ctrl_c(mpi):
    process, said = start("interrupted", 3, 60), ""
    while said.count("ready") < 3:
        letter = process.stdout.read(1)         # no lines: those of the ranks may lie within each other
        assert letter, said
        said += letter
    process.send_signal(signal.SIGINT)
    ended(process)
    assert process.returncode != 0


# ---- one rank ----


def test_one_rank_says_so(alone):
    assert any("runs as one rank" in text and "mpiexec -n 4 python" in text for text in alone)
    assert dist.is_available() and dist.is_initialized() and dist.get_backend() == "mpi" and "rank 0 of 1" in repr(dist.GroupMember.WORLD)


def test_collectives_of_one_rank(alone):
    x = mg.ones(2)
    assert dist.all_reduce(x) is None and dist.all_reduce(x, async_op=True).wait()
    dist.broadcast(x)
    dist.reduce(x, 0)
    parts, out = [mg.empty(2)], mg.empty(2)
    dist.all_gather(parts, x)
    dist.gather(x, parts)
    dist.scatter(out, [x])
    dist.reduce_scatter(out, [x])
    dist.all_gather_into_tensor(out, x)
    dist.reduce_scatter_tensor(out, x)
    dist.barrier()
    found, objects = [None], ["a"]
    dist.all_gather_object(found, 3)
    dist.broadcast_object_list(objects)
    assert x.tolist() == out.tolist() == parts[0].tolist() == [1, 1] and found == [3] and objects == ["a"]
    assert dist.get_world_size(dist.new_group()) == 1


@pytest.mark.parametrize("call, error, words", [
    ("dist.init_process_group()", ValueError, "trying to initialize the default process group twice!"),
    ("dist.all_reduce(3)", TypeError, "all_reduce takes tensors, got int"),
    ("dist.all_reduce(x.t())", ValueError, "Tensors must be contiguous"),
    ("dist.send(x, 1)", ValueError, "Global rank 1 is not part of group"),
    ("dist.send(x, 0)", ValueError, "should not be the same as the rank of the current process"),
    ("dist.send(x)", ValueError, "exactly one"),
    ("dist.recv(x, group_src=4)", ValueError, "group rank 4"),
    ("dist.broadcast(x, 0, group_src=0)", ValueError, "Cannot specify both"),
    ("dist.all_gather([x, x], x)", ValueError, "one tensor for each rank"),
    ("dist.all_gather([mg.ones(2)], x)", ValueError, "one tensor for each rank"),
    ("dist.all_gather(x, x)", TypeError, "takes a list of tensors, got Tensor"),
    ("dist.all_gather_into_tensor(mg.ones(7), x)", ValueError, "the elements of all 1 ranks"),
    ("dist.all_gather_object([], 3)", ValueError, "0 elements for 1 ranks"),
    ("dist.new_group([0, 0])", ValueError, "different ranks"),
    ("dist.new_group([3])", ValueError, "Global rank 3"),
    ("dist.all_reduce(x, group=3)", TypeError, "got int"),
    ("dist.P2POp(dist.send, x, 1)", ValueError, "isend or irecv is expected"),
    ("dist.batch_isend_irecv([x])", TypeError, "list of P2POp"),
    ("DDP(mg.nn.ReLU())", RuntimeError, "any parameters that require a gradient"),
    ("DDP(3)", TypeError, "wraps a Module, got int"),
    ("DDP(mg.nn.Linear(2, 1)).register_comm_hook(None, 3)", TypeError, "must be callable"),
    ("[m.register_comm_hook(None, len) for m in [DDP(mg.nn.Linear(2, 1))] * 2]", RuntimeError, "can only be called once"),
    ("TopK(0)", ValueError, "a share between 0 and 1"),
    ("dist.get_global_rank(dist.GroupMember.WORLD, 2)", ValueError, "Group rank 2"),
])
def test_mistakes(alone, call, error, words):
    with pytest.raises(error, match=words):
        eval(call, {"dist": dist, "mg": mg, "x": mg.ones(3, 2), "DDP": mg.nn.parallel.DistributedDataParallel, "TopK": default_hooks.TopK})


def test_a_gradient_that_was_not_expected(alone):
    """The output does not depend on the parameter, and the loss does."""
    net = mg.nn.Linear(2, 1)
    net.extra = mg.nn.Parameter(mg.ones(2))
    model = mg.nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
    out = model(mg.ones(1, 2))
    with pytest.raises(RuntimeError, match="mark a variable ready only once"):
        (out.sum() + net.extra.sum()).backward()


def test_without_a_group():
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.destroy_process_group, lambda: dist.all_reduce(mg.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


def test_mpi4py_is_missing(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setattr(_launch, "is_mpi_available", lambda: False)
    with pytest.raises(ModuleNotFoundError, match=r"mpi4py is missing: pip install \"minigrad-autograd\[mpi\]\""):
        dist.init_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize("text, error, words", [
    ("raise RuntimeError('cannot load MPI library')", RuntimeError, "finds no MPI library(?s:.*)cannot load MPI(?s:.*)pip install"),
    ("COMM_WORLD = type('Alone', (), {'size': 1, 'rank': 0})\ndef Get_library_version(): return 'MPICH Version: 5'", RuntimeError,
     "mpiexec has started 4 processes(?s:.*)another MPI than the one of mpi4py, which is MPICH Version: 5(?s:.*)mpiexec -n 4 python"),
])
def test_an_mpi_that_is_not_there(monkeypatch, tmp_path, text, error, words):
    """A package mpi4py that finds no MPI, or one that mpiexec does not belong to: each process would be rank 0 of 1."""
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py/__init__.py").touch()
    (tmp_path / "mpi4py/MPI.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "mpi4py"]:
        monkeypatch.delitem(sys.modules, name)
    for name in (*_launch.LAUNCHED, *_launch.SIZES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    try:
        with pytest.raises(error, match=words):
            dist.init_process_group()
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "mpi4py"]:
            del sys.modules[name]
    assert not dist.is_initialized()


def test_other_backends_are_served(monkeypatch):
    with pytest.warns(UserWarning, match="communicates by MPI, instead of by 'nccl'"):
        try:
            dist.init_process_group("nccl")
        finally:
            dist.destroy_process_group()


def test_a_group_made_by_hand():
    with pytest.raises(TypeError, match=r"argument 'communicator' must be a communicator of MPI or None, not str(?s:.*)init_process_group"):
        dist.ProcessGroup("world", [0], 1.0)
    with pytest.raises(TypeError, match="argument 'ranks' must be sequence of int, not int"):
        dist.ProcessGroup(None, 1, 1.0)
