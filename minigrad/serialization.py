"""Saving and loading. Mirrors ``torch/serialization.py``.

    save(obj, "model.pt")               a zip file as PyTorch writes it: torch.load reads it
    save(obj, "model.safetensors")      the format safetensors, which other libraries read too
    load(f)                             reads both, and PyTorch's files

`load` runs no code of the file: it makes tensors, numbers, strings, and containers of them. Anything else in a file is an error.
Only ``load(f, weights_only=False)`` does what Python's ``pickle`` does, which may run any code.

Read next: ``_serialization/__init__.py``.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import listed
from minigrad.errors import TensorTypeError, TensorValueError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from typing import Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]


def save(obj: Any, f: str | PathLike[str] | Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:
    """Save a state dict, or any nesting of dicts, lists and tuples of tensors, numbers, strings and None.

    ``torch.load`` reads the file. Tensors on one memory stay on one memory. You can also save a module or an object of your own,
    but only ``load(f, weights_only=False)`` reads it: save ``model.state_dict()`` instead.

    Args:
        obj: what to save.
        f (str, path or file): a file name, or an object with ``write``. A name with the ending ``.safetensors`` chooses the format
            safetensors, which has tensors, numbers, strings and None only, and saves tensors of a GPU as tensors of the CPU. A file
            with a name appears complete or not at all.
        pickle_module, pickle_protocol, _use_new_zipfile_serialization: accepted as in PyTorch.

    Raises:
        TypeError: `f` is not a file, or the format safetensors cannot hold `obj`.
        AttributeError: `obj` contains a function or class that cannot be found by its name, such as a lambda.
        OSError: the file cannot be written.
        ImportError: the package safetensors is missing, for a name with its ending (``pip install minigrad-autograd[save]``).

    Mirrors ``torch.save``.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
    >>> mg.save({"w": mg.tensor([1., 2.])}, path)
    >>> mg.load(path)
    {'w': tensor([1., 2.])}
    """
    if hasattr(f, "write"):
        from minigrad._serialization.archive import write_zip
        if isinstance(f, io.TextIOBase):
            raise not_binary("save", f, "wb")
        f.write(write_zip(obj))     # pyright: ignore[reportAttributeAccessIssue]
        return
    path = _path(f, "save")
    if path.endswith(".safetensors"):
        from minigrad._serialization.safetensors_format import write
    else:
        from minigrad._serialization.archive import write_zip as write
    _write(path, write(obj))


def _write(path, data):
    """Write a file that appears complete or not at all: first under a temporary name in the same folder, then renamed.

    The bytes are on the disk before the name is, so a machine that loses its power has the old file or the new one. A process that
    is killed leaves the temporary file. Its name is random, so no other process can write to it or put a link there.
    """
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:      # a device or a pipe, which must not be replaced by a file
            file.write(data)
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}")
    # O_EXCL: fail if the name exists, even as a link
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None      # the name that the program knows
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def not_binary(function, f, mode):
    """Return the error for a file of text."""
    from minigrad._serialization.errors import SaveError
    return SaveError("MG-E403", f"{function}(): argument 'f' must be a binary file, not a file of text ({type(f).__name__})",
                     fix=f"open(name, {mode!r})")


def _path(f, function):
    """Return the file name `f` as a str; raise `SaveError` if it is not one."""
    try:
        path = os.fsdecode(f)
    except TypeError:
        from minigrad._serialization.errors import SaveError
        raise SaveError("MG-E403", f"{function}(): argument 'f' must be the name of a file, not {type(f).__name__}") from None
    if "\0" in path:
        from minigrad._serialization.errors import SaveError
        raise SaveError("MG-E403", f"{function}(): argument 'f' contains a null character, which a file name must not")
    return path


def load(f: str | PathLike[str] | Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Load an object that `save` or ``torch.save`` wrote, or a dict (name -> tensor) from any safetensors file.

    By default no code of the file runs.

    Args:
        f (str, path or file): a file name, or an object with ``read``.
        map_location (optional): the device of the tensors: a device or its name for all; a dict from name to name; or a function of
            the storage and the name of its device, which returns a storage. By default, the device where each tensor was.
        pickle_module: accepted as in PyTorch.
        weights_only (bool): False to load modules and other objects. This runs the code that the file names: it is for files that
            you have made yourself.
        mmap (bool): read the numbers when they are first used. `f` must be a file name.
        pickle_load_args: ``encoding`` and ``errors`` of Python's unpickler, with ``weights_only=False``.

    Raises:
        pickle.UnpicklingError: the file is damaged, or contains something that could run code.
        OSError: the file does not exist (``FileNotFoundError``) or cannot be read.
        RuntimeError: a tensor was on a GPU, there is none, and `map_location` is missing.
        TypeError: `f` is not a file; or a ``.safetensors`` file is damaged, or has a dtype that minigrad does not support.
        ValueError: `mmap`, and `f` is not a file name.
        ImportError: the package safetensors is missing, for a file of this format (``pip install minigrad-autograd[save]``).

    Mirrors ``torch.load``.

    >>> import io
    >>> file = io.BytesIO()
    >>> mg.save([mg.tensor(1.), 5], file); _ = file.seek(0)
    >>> mg.load(file)
    [tensor(1.), 5]
    """
    weights_only = weights_only is None or bool(weights_only)
    if not weights_only:
        warnings.warn("load(weights_only=False) runs the code that the file names: use it only for files that you trust",
                      stacklevel=2)
    if hasattr(f, "read"):
        if mmap:
            raise TensorValueError("MG-E403", "f must be a file path in order to use the mmap argument",
                                   found=type(f).__name__)
        if isinstance(f, io.TextIOBase):
            raise not_binary("load", f, "rb")
        return _load(io.BytesIO(f.read()), None, map_location, weights_only, False, pickle_load_args)   # pyright: ignore
    path = _path(f, "load")
    if path.endswith(".safetensors"):
        from minigrad._serialization.safetensors_format import import_package
        import_package()
    with open(path, "rb") as stream:
        return _load(stream, path, map_location, weights_only, bool(mmap), pickle_load_args)


def _load(stream, path, map_location, weights_only, mmap, options):
    """Load from an open file. The first bytes say which format it has."""
    from minigrad._serialization import archive
    from minigrad._serialization.errors import UnsafeFileError
    head = stream.read(len(archive.LEGACY))
    stream.seek(0)
    if path is not None and path.endswith(".safetensors"):
        from minigrad._serialization.safetensors_format import read
        return _move(read(stream.read(), path), map_location)
    if head.startswith(b"PK"):
        return archive.load_zip(stream, path, map_location, weights_only, mmap, options)
    if mmap:
        raise UnsafeFileError("MG-E403", "mmap can only be used with files saved with the zip format",
                              fix="load it without mmap, and save it again")
    if head == archive.LEGACY:
        return archive.load_legacy(stream.read(), path, map_location, weights_only, options)
    if head[8:9] == b"{":
        from minigrad._serialization.safetensors_format import read
        return _move(read(stream.read(), path or "the file"), map_location)
    raise UnsafeFileError("MG-E403", f"{path or 'the file'} is not a file that save() wrote, or it is damaged",
                          expected="a zip file of save or torch.save, or a safetensors file")


def _move(obj, map_location):
    """Return an object of a safetensors file with its tensors on the device `map_location`."""
    from minigrad.tensor import Tensor
    if isinstance(obj, Tensor):
        from minigrad._serialization.storages import Locations
        return obj.to(Locations(map_location).find("cpu", obj._array))
    if map_location is None:
        return obj
    if isinstance(obj, dict):
        return {key: _move(value, map_location) for key, value in obj.items()}
    return type(obj)([_move(value, map_location) for value in obj]) if isinstance(obj, (list, tuple)) else obj


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow files to contain objects of these classes, and calls of these functions.

    Mirrors ``torch.serialization.add_safe_globals``.

    Args:
        safe_globals (iterable): classes and functions, or pairs of one and its name in the file, such as ``"package.module.Name"``.

    >>> mg.serialization.add_safe_globals([range]); mg.serialization.get_safe_globals()
    [<class 'range'>]
    >>> mg.serialization.clear_safe_globals()
    """
    from minigrad._serialization import unpickler
    for thing, name in [named_global(thing) for thing in listed(safe_globals, "safe_globals", "add_safe_globals")]:
        unpickler.safe_globals[name] = thing


def named_global(thing):
    """Return (class or function, its name in a file) for an element of `safe_globals`."""
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[1], str):
        return thing
    if not callable(thing) or not hasattr(thing, "__qualname__"):
        raise TensorTypeError("MG-E201", "add_safe_globals(): argument 'safe_globals' must be classes and functions, or pairs of "
                              f"one and its name, not {type(thing).__name__}")
    return thing, f"{thing.__module__}.{thing.__qualname__}"


def get_safe_globals() -> list[Any]:
    """The classes and functions that `add_safe_globals` has allowed. Mirrors ``torch.serialization.get_safe_globals``.

    >>> mg.serialization.get_safe_globals()
    []
    """
    from minigrad._serialization import unpickler
    return list(unpickler.safe_globals.values())


def clear_safe_globals() -> None:
    """Allow none of them any more. Mirrors ``torch.serialization.clear_safe_globals``.

    >>> mg.serialization.clear_safe_globals()
    """
    from minigrad._serialization import unpickler
    unpickler.safe_globals.clear()


class safe_globals:
    """Context manager: `add_safe_globals` for a while. Mirrors ``torch.serialization.safe_globals``.

    >>> with mg.serialization.safe_globals([range]):
    ...     mg.serialization.get_safe_globals()
    [<class 'range'>]
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = listed(safe_globals, "safe_globals", "safe_globals")

    def __enter__(self) -> None:
        from minigrad._serialization import unpickler
        self._before = dict(unpickler.safe_globals)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc_info: Any) -> None:
        from minigrad._serialization import unpickler
        unpickler.safe_globals.clear()
        unpickler.safe_globals.update(self._before)
