"""From a kernel and the types of its arguments to machine code. Numba compiles it once; then a file keeps it.

    kernel in Python  ──numba──>  LLVM  ──NVVM──>  PTX  ──linker──>  cubin  ──driver──>  a function to start
                                                                       │
                                                              ~/.cache/minigrad/<name>.cubin

To compile takes about a second, to read the file a millisecond. MINIGRAD_CACHE names another folder, or "" for no folder. A folder
that other users can write to is not used.

Note [What a kernel is]
    Functions make kernels, from expressions that are functions too. So neither the name of a kernel nor its source file identifies
    it. The name of the saved file is therefore a hash of everything that numba would compile: the bytecode, its constants, and all
    that the code refers to in closures and among globals, with the functions there hashed in the same way. Any edit gives another
    name, so a stale file is never found. Numba has a cache too, but it confuses closures that have the same code and different
    functions in them.

Read next: ``launch.py``.
"""

import hashlib
import os
import stat
import tempfile
import types
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["fingerprint", "function_for"]


def cache_folder():
    """The folder of compiled kernels, or None to save nothing."""
    chosen = os.environ.get("MINIGRAD_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "minigrad")


def prepare_folder(path):
    """Make the folder `path` if it does not exist; return whether only this user may write to it.

    Its files run as machine code: a user who can write to the folder can run anything in this process.
    """
    if path is None:
        return False
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError:
        return False
    return os.name == "nt" or (found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


# ---- the identity of a kernel ---------------------------------------------------------------------------------


def fingerprint(function):
    """A hash of all that numba compiles for a Python function, the same in every process. See Note [What a kernel is]."""
    digest, seen, todo = hashlib.sha256(), {}, [function]
    while todo:
        value = todo.pop()
        value = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value       # numba's: dispatchers, intrinsics
        if id(value) in seen:
            digest.update(b"%d;" % seen[id(value)])
            continue
        if isinstance(value, types.FunctionType):
            seen[id(value)] = len(seen)
            todo += [value.__code__, value.__defaults__, *[c.cell_contents for c in value.__closure__ or ()]]
            todo += [value.__globals__[name] for name in global_names(value.__code__) if name in value.__globals__]
        elif isinstance(value, types.CodeType):
            digest.update(value.co_code + repr((value.co_names, value.co_freevars)).encode())
            todo += value.co_consts
        elif isinstance(value, tuple):
            digest.update(b"(%d" % len(value))
            todo += value
        elif isinstance(value, types.ModuleType):
            digest.update(value.__name__.encode() + source_of(value))
        elif isinstance(value, type):
            digest.update(f"{value.__module__}.{value.__qualname__};".encode())
        else:
            digest.update(f"{type(value).__name__} {value!r};".encode())
    return digest.hexdigest()


def global_names(code):
    """The global names in a code object, and in the code objects inside it."""
    found, todo = [], [code]
    while todo:
        code = todo.pop()
        found += code.co_names
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return found


@cache
def source_of(module):
    """The source of a module of minigrad, which the kernel may call. For other modules b"": see `versions`."""
    if not module.__name__.startswith("minigrad.") or not (getattr(module, "__file__", None) or "").endswith(".py"):
        return b""
    return Path(module.__file__).read_bytes()


# ---- compiling and saving ------------------------------------------------------------------------------------


@cache
def versions(index):
    """The versions that the machine code also depends on: of the compilers, and of the GPU."""
    from importlib.metadata import version

    from numba import cuda
    major, minor = cuda.gpus[index].compute_capability[:2]
    return f"{version('numba-cuda')} {version('numba')} sm_{major}{minor}"


def types_of(key):
    """Numba's types for the types in `key`, which `pack_arguments` of launch.py has written."""
    from numba import from_dtype
    from numba import types as nb
    found, i = [], 0
    while i < len(key):
        kind = chr(key[i])
        if kind == "i":
            found.append(nb.int64)
            i += 1
            continue
        what = key[i + 1]
        i += 2
        if kind == "t":
            found.append(nb.UniTuple(nb.int64, what))
        else:
            number = from_dtype(np.dtype(chr(what)))
            found.append(nb.Array(number, 1, "C") if kind == "a" else number)
    return tuple(found)


_loaded = []        # keeps the code on the GPU


def function_for(kernel, key, device):
    """The driver's handle of the function that `kernel` is for arguments of these types: read from a file, or compiled now."""
    name = None
    if prepare_folder(cache_folder()):
        what = f"{fingerprint(kernel.py_func)} {kernel.targetoptions!r} {key!r} {versions(device.index)}"
        name = cache_folder() / f"{kernel.py_func.__name__}-{hashlib.sha256(what.encode()).hexdigest()[:32]}.cubin"
        try:
            entry, _, code = name.read_bytes().partition(b"\n")
            return load_function(code, entry.decode())
        except OSError:
            pass
    compiled = kernel.compile(types_of(key))
    _loaded.append(compiled)
    library = compiled._codelibrary
    if name is not None:
        write_file(name, compiled.entry_name.encode() + b"\n" + bytes(library.get_cubin().code))
    return int(library.get_cufunc().handle)


def load_function(code, entry):
    """Load machine code; return the driver's handle of its function `entry`."""
    from cuda.core import ObjectCode
    function = ObjectCode.from_cubin(code).get_kernel(entry)
    _loaded.append(function)
    return int(function.handle)


def write_file(name, content):
    """Write a file as a whole, since other processes may be reading it. If the folder is not writable, do nothing."""
    try:
        handle, path = tempfile.mkstemp(dir=name.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(path, name)
    except OSError:
        pass
