"""How a program comes to several ranks: ``mpiexec -n 4 python train.py`` starts it four times, and MPI connects the four.

    mpiexec ---> rank 0   python train.py ---> init_process_group() ---> communicator
            ---> rank 1   python train.py ---> init_process_group() ---> communicator
            ...

MPI is a package, mpi4py, and a library that it finds: pip install "minigrad-autograd[mpi]" brings both. A program that mpiexec has
not started runs as one rank, and MPI is not even loaded.
"""

import importlib.util
import os
import shutil
import sys
import time
import traceback
import warnings

from minigrad.distributed._errors import DistBackendError

__all__ = ["INSTALL", "abort_on_errors", "is_mpi_available", "mpiexec", "world"]

INSTALL = 'pip install "minigrad-autograd[mpi]"'
# What the launchers of MPICH, Open MPI and Slurm tell their processes.
RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
LAUNCHED = (*RANKS, "PMI_SIZE")
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
# From the abort of a rank on, MPICH's mpiexec throws away what it has not read yet: in one run of seven, the whole error.
SECONDS_TO_READ = 0.5


def is_mpi_available():
    """Whether mpi4py is installed. Mirrors ``torch.distributed.is_mpi_available``.

    >>> isinstance(mg.distributed.is_mpi_available(), bool)
    True
    """
    return importlib.util.find_spec("mpi4py") is not None


def mpiexec():
    """Return the path of the launcher of mpi4py's MPI: beside this Python, or else on the PATH; or None."""
    beside = os.path.dirname(sys.executable)
    return shutil.which("mpiexec", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


def world():
    """Return the communicator of all ranks, or None if this process runs alone.

    Raises:
        ModuleNotFoundError: mpiexec has started this process, and mpi4py is not installed.
        DistBackendError: mpi4py finds no MPI, or another MPI than mpiexec belongs to.
    """
    if not any(name in os.environ for name in LAUNCHED):
        warnings.warn("minigrad.distributed: this program runs as one rank, because it was not started by mpiexec. For four ranks: "
                      f"mpiexec -n 4 python {os.path.basename(sys.argv[0]) or 'train.py'}"
                      + ("" if is_mpi_available() else f", after {INSTALL}"), UserWarning, stacklevel=4)
        return None
    if not is_mpi_available():
        raise ModuleNotFoundError(f"mpiexec has started this program, but the package mpi4py is missing: {INSTALL}", name="mpi4py")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise DistBackendError("MG-E610", "mpi4py is installed, but finds no MPI library", cause=str(error), fix=INSTALL) from error
    ranks = next((int(os.environ[name]) for name in SIZES if name in os.environ), 1)
    if MPI.COMM_WORLD.size == 1 and ranks > 1:
        raise DistBackendError("MG-E610", f"mpiexec has started {ranks} processes, and MPI connects this one with no other",
                               cause="mpiexec belongs to another MPI than the one of mpi4py, which is "
                                     + MPI.Get_library_version().partition("\n")[0].strip(),
                               fix=f"start with the mpiexec beside this Python, after {INSTALL}: "
                                   f"{os.path.join(os.path.dirname(sys.executable), 'mpiexec')} -n {ranks} python train.py")
    return MPI.COMM_WORLD


def abort_on_errors(communicator):
    """From now on an error that ends this rank ends all ranks, which would wait for it for ever."""
    before = sys.excepthook

    def report(kind, error, trace):
        if sys.excepthook is not report:        # somebody else's hook calls us
            return before(kind, error, trace)
        head = f"rank {communicator.rank} failed, so all ranks stop:\n"
        if before is sys.__excepthook__:        # in one piece: the ranks share a terminal
            sys.stderr.write(head + "".join(traceback.format_exception(kind, error, trace)))
        else:
            sys.stderr.write(head)
            before(kind, error, trace)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(SECONDS_TO_READ)
        communicator.Abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = report
