"""Count the instructions of a part of a program, which runs under valgrind."""

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig

from benchmarks.two_speeds import ROOT

__all__ = ["counter", "lacking", "run"]

# A function that counts n calls of another. The macros are orders to valgrind, which needs no other process for them.
COUNTER = """
#include <Python.h>
#include <valgrind/callgrind.h>
PyObject *counted(PyObject *f, int n) {
    PyObject *done = Py_None;
    CALLGRIND_START_INSTRUMENTATION;
    for (int i = 0; i < n && done; i++) {
        done = PyObject_CallNoArgs(f);
        Py_XDECREF(done);
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS;
    return done ? Py_NewRef(Py_None) : NULL;
}
"""


def lacking(*programs):
    """Those of `programs`, and of valgrind and gcc, that are not here."""
    return [name for name in ("valgrind", "gcc", *programs) if shutil.which(name) is None]


def counter(folder):
    """Called by the counted program: the function ``counted(f, n)``. The ith call of it writes its counts to a file ``.i``."""
    source, library = f"{folder}/counter.c", f"{folder}/counter.so"
    with open(source, "w") as file:
        file.write(COUNTER)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}", source, "-o", library], check=True)
    counted = ctypes.PyDLL(library).counted
    counted.argtypes, counted.restype = (ctypes.py_object, ctypes.c_int), ctypes.py_object
    return counted


def run(program, out):
    """Run the Python text `program` under valgrind, compiled and on one thread. The counts of a `counter` go to files ``out.i``."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "MINIGRAD_PURE": "0"}
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", sys.executable,
                    "-c", program], cwd=ROOT, env=environment, check=True)
