# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The number of threads that share a loop over a large array."""

import os

cdef extern from *:
    """
    #ifdef _OPENMP
    #define MG_HAS_OPENMP 1
    #else
    #define MG_HAS_OPENMP 0
    #endif
    """
    int HAS_OPENMP "MG_HAS_OPENMP"

threads = 1
MOST = 1024     # threads that OpenMP can still start


def set_num_threads(int n):
    """Use `n` threads; without OpenMP there is only one."""
    global threads
    if not 1 <= n <= MOST:
        raise ValueError(f"between 1 and {MOST} threads, not {n}")
    threads = n if HAS_OPENMP else 1


def get_num_threads():
    """The number of threads in use."""
    return threads


def has_openmp():
    """Whether the kernels were compiled with OpenMP."""
    return bool(HAS_OPENMP)


# GNU OpenMP's threads do not survive a fork, and a child process that used them would wait for ever. Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: set_num_threads(1))
