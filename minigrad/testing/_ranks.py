"""`run_ranks`: a program on several ranks, from within a page, a notebook or a test.

    run_ranks(PROGRAM, ranks=2)
        mpiexec ---> rank 0   python program.py  ---> a file   \\
                ---> rank 1   python program.py  ---> a file   /  read in the order of the ranks: rank 0: ...
                                                                                                 rank 1: ...

Each rank writes to its own file, so the lines of two ranks do not mix, and a page is the same each time it is built. The launcher
is the mpiexec beside this Python, which belongs to the MPI that mpi4py finds. Read before: ``minigrad/distributed/_launch.py``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from os import PathLike
from pathlib import Path

from minigrad.errors import TensorValueError

__all__ = ["RankOutputs", "run_ranks"]

# What mpiexec starts, with the names of the variables that may have the rank. It sends the output into the file of the rank, notes
# its process id, and becomes the program.
START = """
import os, sys
rank = next(os.environ[name] for name in sys.argv[1:] if name in os.environ)
with open(rank + ".pid", "w") as file:
    file.write(str(os.getpid()))
file = os.open(rank + ".out", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.dup2(file, 1)
os.dup2(file, 2)
os.execv(sys.executable, [sys.executable, "-u", "program.py"])
"""
# A program that mpiexec has started may call run_ranks: its ranks are none of those that exist.
OUTER = ("PMI_", "PMIX_", "OMPI_COMM_", "HYDI_", "MPI_LOCAL")
RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)      # the last line of a traceback


class RankOutputs(list[str]):
    """What each rank has printed: a list with one text per rank. It is shown as lines that begin with ``rank 0:``.

    >>> mg.testing.RankOutputs(["3", "4"])
    rank 0: 3
    rank 1: 4
    """

    __module__ = "minigrad.testing"

    def __repr__(self) -> str:
        return "\n".join([f"rank {rank}: {line}" for rank, text in enumerate(self) for line in text.splitlines()])


def run_ranks(program: str | PathLike[str], ranks: int = 4, timeout: float = 180) -> RankOutputs:
    """Run a program on several ranks, and return what each has printed. Afterwards none of the ranks is left.

    Args:
        program (str or os.PathLike): the text of the program; or the path of its file, as a `pathlib.Path`.
        ranks (int): how many ranks mpiexec starts.
        timeout (number): after this many seconds all ranks are killed.

    Returns:
        RankOutputs: a text for each rank, in order: what it has printed, also to stderr. It is empty if MPI is not installed: then
        a warning says what to install, and nothing runs.

    Raises:
        RuntimeError: a rank has failed. The message has the last line of what it printed, and the traceback shows all of it. Or
            the ranks have not ended within `timeout`.
        ValueError: `ranks` is not a positive int.
        FileNotFoundError: there is no such file.

    On Linux and macOS. The ranks import the minigrad of this process, interpreted or compiled as ``MINIGRAD_PURE`` says, and use
    one thread each.
    Without a counterpart in PyTorch; ``torch.testing._internal`` has classes that start the ranks of its own tests.

    >>> program = '''
    ... import minigrad.distributed as dist
    ... dist.init_process_group()
    ... print("one of", dist.get_world_size())
    ... '''
    >>> mg.testing.run_ranks(program, ranks=2)                  # doctest: +SKIP
    rank 0: one of 2
    rank 1: one of 2
    """
    from minigrad.distributed import _launch

    if not isinstance(ranks, int) or ranks < 1:
        raise TensorValueError("MG-E612", f"run_ranks() starts at least one rank, got ranks={ranks!r}", fix="pass ranks=4, say")
    text = program if isinstance(program, str) else Path(program).read_text("utf-8")
    launcher = _launch.mpiexec()
    if launcher is None or not _launch.is_mpi_available():
        warnings.warn(f"run_ranks: MPI is not installed, so the program did not run: {_launch.INSTALL}", UserWarning, stacklevel=2)
        return RankOutputs()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(text, "utf-8")
        command = [launcher, "-n", str(ranks), sys.executable, "-S", "-c", START, *_launch.RANKS]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        late = False
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            late, said = True, ""
        finally:
            end_all(process, folder)
        outputs = RankOutputs([read(folder, rank) for rank in range(ranks)])
    if late or process.returncode:
        raise failure(outputs, said, timeout if late else None)
    return outputs


def environment():
    """The variables of the ranks: they find this minigrad, and do not compete for the cores."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUTER)}
    paths = [str(Path(__file__).parents[2]), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def end_all(process, folder):
    """Kill what is left: the ranks, which mpiexec may have put into sessions of their own, and mpiexec."""
    if process.poll() is None:
        for file in Path(folder).glob("*.pid"):
            kill(os.kill, file.read_text())
        kill(os.killpg, process.pid)
    process.communicate()


def kill(how, number):
    """Kill a process or a group of processes, if it still exists."""
    try:
        how(int(number), signal.SIGKILL)
    except (ProcessLookupError, ValueError):        # it has ended; or has not written its number yet
        pass


def read(folder, rank):
    """What a rank has printed, without the name of the temporary folder."""
    file = Path(folder, f"{rank}.out")
    text = file.read_text("utf-8", "replace") if file.exists() else ""
    return text.replace(os.path.realpath(folder) + os.sep, "").replace(folder + os.sep, "").rstrip()


def failure(outputs, said, timeout):
    """The error for ranks that failed, or, with `timeout`, that were late."""
    from minigrad.distributed import DistBackendError

    if timeout is not None:
        error = DistBackendError("MG-E610", f"run_ranks: {len(outputs)} ranks have not ended within {timeout:g} s, and are killed",
                                 cause="a rank waits for another, or computes for longer",
                                 fix="look for the rank that printed least, below; or pass a longer timeout=")
    else:
        found = {rank: lines[-1] for rank, text in enumerate(outputs) if (lines := RAISED.findall(text))}
        which = f"rank {', '.join(map(str, found))} of {len(outputs)}" if found else f"one of {len(outputs)} ranks"
        signals = [line for line in said.splitlines() if "signal" in line]      # mpiexec says so
        error = DistBackendError("MG-E610", f"run_ranks: {which} has failed, so all have ended",
                                 cause=next(iter([*found.values(), *signals]), "it has not said why"),
                                 fix="read what the ranks have printed, below")
    if any(outputs):
        error.add_note(repr(outputs))
    return error
