"""run_ranks: what the ranks print comes in order; a failing rank, a late one and a missing MPI each say what to do."""

import os
import time

import pytest

from minigrad.distributed import _launch
from minigrad.testing import RankOutputs, run_ranks
from tests.distributed.launch import check_mpi, several

RING = """
import minigrad as mg
import minigrad.distributed as dist
dist.init_process_group()
rank = dist.get_rank()
x = mg.ones(2) * rank
dist.all_reduce(x)
print("one of", dist.get_world_size())
print(x)
"""
FAILS = """
import minigrad.distributed as dist
dist.init_process_group()
print("ready")
if dist.get_rank() == 1:
    raise ArithmeticError("three is too many")
dist.barrier()
"""
HANGS = """
import os, time
print(os.getpid())
time.sleep(600 if os.environ["PMI_RANK"] == "1" else 0)
"""


@pytest.fixture(scope="module")
def mpi():
    check_mpi()


@several
@pytest.mark.usefixtures("mpi")
def test_the_output_comes_rank_by_rank(tmp_path):
    found = run_ranks(RING, ranks=2)
    assert list(found) == ["one of 2\ntensor([1., 1.])"] * 2
    assert repr(found).splitlines() == [f"rank {rank}: {line}" for rank in (0, 1) for line in ("one of 2", "tensor([1., 1.])")]
    file = tmp_path / "ring.py"
    file.write_text("print(1 + 2)")
    assert list(run_ranks(file, ranks=3)) == ["3"] * 3


@several
@pytest.mark.usefixtures("mpi")
def test_a_failing_rank_says_why():
    with pytest.raises(RuntimeError, match="rank 1 of 2 has failed") as caught:
        run_ranks(FAILS, ranks=2)
    assert caught.value.code == "MG-E610" and "cause:    ArithmeticError: three is too many" in str(caught.value)
    (note,) = caught.value.__notes__
    assert "rank 0: ready" in note and 'rank 1:   File "program.py", line 6, in <module>' in note
    with pytest.raises(RuntimeError, match=r"rank (0|1|0, 1) of 2 has failed"):      # before MPI starts; the first may end the other
        run_ranks("1 / 0", ranks=2)
    with pytest.raises(RuntimeError, match=r"(?s)one of 2 ranks has failed.*Killed \(signal 9\)"):
        run_ranks("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ranks=2)


@several
@pytest.mark.usefixtures("mpi")
def test_late_ranks_are_killed():
    with pytest.raises(RuntimeError, match="2 ranks have not ended within 5 s, and are killed") as caught:
        run_ranks(HANGS, ranks=2, timeout=5)
    for line in caught.value.__notes__[0].splitlines():
        assert_gone(int(line.rpartition(" ")[2]))


def assert_gone(number):
    for _ in range(50):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {number} is still there")


@pytest.mark.parametrize("missing", ["mpiexec", "is_mpi_available"])
def test_without_mpi_it_says_what_to_install(monkeypatch, missing):
    monkeypatch.setattr(_launch, missing, lambda: None)
    with pytest.warns(UserWarning, match=r'MPI is not installed, so the program did not run: pip install "minigrad-autograd\[mpi\]"'):
        assert run_ranks(RING) == [] and repr(RankOutputs()) == ""


def test_arguments(tmp_path):
    with pytest.raises(ValueError, match="at least one rank, got ranks=0"):
        run_ranks(RING, ranks=0)
    with pytest.raises(FileNotFoundError):
        run_ranks(tmp_path / "nothing.py")
