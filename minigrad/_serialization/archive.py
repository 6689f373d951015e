"""The file around a pickle: PyTorch's zip files, and its older files.

    model.pt (zip, not compressed)          before PyTorch 1.6: pickles one after the other
      archive/data.pkl                        a magic number, a version, facts about the machine
      archive/data/0, 1, ...  storages        the object
      archive/byteorder                       the list of the keys of its storages
      archive/version                         each storage: number of elements, then the elements

Each storage begins at a multiple of 64 bytes, so that it can be mapped into memory.

Mirrors ``torch/serialization.py``, and ``caffe2/serialize/inline_container.cc``.
"""

import io
import sys
import zipfile
from typing import Any

import numpy as np

from minigrad._serialization import unpickler
from minigrad._serialization.errors import SaveError, UnsafeFileError
from minigrad._serialization.pickler import dump
from minigrad._serialization.storages import Locations, Storage, StorageType

__all__ = ["LEGACY", "load_legacy", "load_zip", "write_zip"]

LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."      # the pickle of the magic number with which an older file begins
ALIGNMENT = 64


def write_zip(obj):
    """Return the bytes of a file with `obj`. The same object gives the same bytes."""
    try:
        data, memories = dump(obj)
    except RecursionError:
        raise SaveError("MG-E403", "save(): the object is nested too deeply") from None
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        add(archive, file, "data.pkl", data)
        add(archive, file, ".format_version", b"1")
        add(archive, file, ".storage_alignment", str(ALIGNMENT).encode())
        add(archive, file, "byteorder", sys.byteorder.encode())
        for i, memory in enumerate(memories):
            add(archive, file, f"data/{i}", memory.data if memory.size else b"")
        add(archive, file, "version", b"3\n")
    return file.getvalue()


def add(archive, file, name, content):
    """Add an entry whose content begins at a multiple of `ALIGNMENT`: an extra field of its header fills the space."""
    entry = zipfile.ZipInfo(f"archive/{name}")
    start = file.tell() + 30 + len(entry.filename) + 4
    padding = -start % ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(entry, content)


def load_zip(stream, path, map_location, weights_only, mmap, options):
    """Read a zip file of PyTorch or minigrad. `path` is its name or None; `mmap` maps the storages instead of reading them."""
    called = path or "the file"
    try:
        archive = zipfile.ZipFile(stream)
        entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
        if "constants.pkl" in entries:
            raise SaveError("MG-E403", f"{called} is a TorchScript program, which minigrad cannot run",
                            fix="in PyTorch: torch.save(torch.jit.load(f).state_dict(), g)")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
            raise ValueError("an entry is compressed")
        data = archive.read(entries["data.pkl"])
        order = archive.read(entries["byteorder"]).decode() if "byteorder" in entries else sys.byteorder
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise UnsafeFileError("MG-E403", f"{called} is not a file that save() wrote, or it is damaged: {error}") from None
    locations, storages = Locations(map_location), {}

    def persistent_load(pid):
        kind, key, location, numel = check_id(pid)
        if key not in storages:
            content = map_entry(stream, path, entries[f"data/{key}"]) if mmap else \
                np.frombuffer(archive.read(entries[f"data/{key}"]), np.uint8).copy()
            length = numel * kind.itemsize
            if content.size < length:
                raise ValueError(f"storage {key} has {content.size} bytes instead of {length}")
            content = content[:length]
            storages[key] = Storage(kind, content, locations.find(location, content), order != sys.byteorder)
        return storages[key]
    return read_pickle(io.BytesIO(data), persistent_load, called, weights_only, options)


def map_entry(stream, path, entry):
    """Map the bytes of an entry into memory. Writes change the memory and not the file."""
    stream.seek(entry.header_offset + 26)
    name, extra = np.frombuffer(stream.read(4), "<u2").tolist()
    start = entry.header_offset + 30 + name + extra
    if not entry.file_size:
        return np.empty(0, np.uint8)
    mapped = np.memmap(path, np.uint8, "c", start, (entry.file_size,)).view(np.ndarray)
    return mapped if start % 16 == 0 else mapped.copy()     # numbers at odd addresses


def check_id(pid):
    """Return (type, key, location, number of elements) of the persistent id of a storage."""
    tag, kind, key, location, numel = pid[:5]
    if tag != "storage" or not isinstance(kind, StorageType) or not isinstance(key, (str, int)) or type(numel) is not int \
            or numel < 0:
        raise ValueError("a wrong reference to a storage")
    return kind, key, location, numel


def read_pickle(stream, persistent_load, called, weights_only, options):
    """Read one pickle, safely or with Python's reader."""
    if weights_only:
        return unpickler.load(stream, persistent_load, called)
    return unpickler.PythonUnpickler(stream, persistent_load, **options).load()


def load_legacy(data, path, map_location, weights_only, options):
    """Read a file as PyTorch wrote it before version 1.6."""
    called, stream = path or "the file", io.BytesIO(data)
    locations, found = Locations(map_location), {}

    def refuse(pid):
        raise ValueError("a storage in the head of the file")

    def persistent_load(pid):
        kind, key, location, numel = check_id(pid)
        if len(pid) > 5 and pid[5] is not None:
            raise ValueError("a view of a storage")
        if numel * kind.itemsize > len(data):
            raise ValueError(f"storage {key} is larger than the file")
        if key not in found:        # its numbers come after the pickle
            content = np.zeros(numel * kind.itemsize, np.uint8)
            where = locations.find(location, content)
            if where.type != "cpu":
                raise ValueError('an older file can only be loaded to the CPU: minigrad.load(f, map_location="cpu")')
            found[key] = (kind, content, Storage(kind, content, where))
        return found[key][2]
    for _ in range(2):
        unpickler.load(stream, refuse, called)
    facts: Any = unpickler.load(stream, refuse, called)
    swap = (facts.get("little_endian", True) if isinstance(facts, dict) else True) != (sys.byteorder == "little")
    obj = read_pickle(stream, persistent_load, called, weights_only, options)
    try:
        for key in unpickler.load(stream, refuse, called):
            kind, content, storage = found[key]
            numel = int.from_bytes(stream.read(8), "big" if swap and sys.byteorder == "little" else "little")
            part = stream.read(content.size)
            if numel * kind.itemsize != content.size or len(part) != content.size:
                raise ValueError(f"storage {key} has another length")
            content[:] = np.frombuffer(part, np.uint8)
            before = storage.array
            storage.load(kind, content, swap)
            before[:] = storage.array       # tensors refer to the first array
    except (ValueError, KeyError, TypeError) as error:
        raise UnsafeFileError("MG-E403", f"{called} is damaged: {error}") from None
    return obj
