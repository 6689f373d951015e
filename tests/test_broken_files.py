"""Broken, hostile or foreign files, and folders that others write to: load gives a clear error, or the content of the file."""

import json
import os
import random
import stat
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg

pytest.importorskip("safetensors.numpy")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def file_of(header, data=b""):
    """The bytes of a file: `header` is a dict, text or bytes."""
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(1,), start=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def noted(structure):
    """A file with one tensor, x, and the nesting `structure`."""
    text = structure if isinstance(structure, str) else json.dumps(structure)
    return file_of({"__metadata__": {"minigrad": text}, "x": entry()}, bytes(4))


BROKEN = {
    "nothing": b"", "short": b"\0\0\0", "length": struct.pack("<Q", 2 ** 63) + b"{}", "length alone": struct.pack("<Q", 2),
    "no JSON": file_of("{'x': 1}"), "no object": file_of("[1, 2]"), "half an object": file_of('{"x": {"dtype": "F32"'), "not UTF-8": file_of(b'{"\xff": 1}'),
    "a number": file_of("3"), "deep": file_of("[" * 100_000 + "]" * 100_000), "deep metadata": file_of('{"__metadata__": ' + "[" * 100_000),
    "metadata of numbers": file_of({"__metadata__": {"a": 1}}), "metadata a list": file_of({"__metadata__": []}),
    "no dtype": file_of({"x": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "no offsets": file_of({"x": {"dtype": "F32", "shape": [1]}}, bytes(4)),
    "unknown dtype": file_of({"x": entry("F31")}, bytes(4)), "beyond the end": file_of({"x": entry(end=8, shape=(2,))}, bytes(4)),
    "backwards": file_of({"x": entry(start=4, end=0)}, bytes(4)), "negative": file_of({"x": entry(start=-4, end=0)}, bytes(4)),
    "wrong size": file_of({"x": entry(shape=(3,))}, bytes(4)), "hole": file_of({"x": entry(start=4, end=8)}, bytes(8)),
    "overlap": file_of({"x": entry(), "y": entry()}, bytes(4)), "too much data": file_of({"x": entry()}, bytes(8)),
    "negative size": file_of({"x": entry(shape=(-1,))}, bytes(4)), "huge size": file_of({"x": entry(shape=(2 ** 62, 2 ** 62, 0), end=0)}),
    "overflowing size": file_of({"x": entry(shape=(2 ** 33, 2 ** 33), end=0)}), "70 dimensions": file_of({"x": entry(shape=(1,) * 70)}, bytes(4)),
    "float size": file_of({"x": entry(shape=(1.5,))}, bytes(4)), "pickle": b"\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94.", "zip": b"PK\3\4" + bytes(60),
    "nesting no JSON": noted("{"), "nesting a list": noted([]), "nesting a number": noted("3"), "nesting empty": noted({}), "two kinds": noted({"value": 1, "list": []}),
    "unknown kind": noted({"object": []}), "missing tensor": noted({"tensor": "y"}), "tensor a list": noted({"tensor": ["x"]}),
    "list of numbers": noted({"list": [1]}), "list a number": noted({"list": 3}), "dict of one": noted({"dict": [["a"]]}), "dict a text": noted({"dict": "ab"}),
    "key a list": noted({"dict": [[[], {"value": 1}]]}), "key a dict": noted({"dict": [[{}, {"value": 1}]]}), "null": noted("null"),
    "deep nesting": noted('{"list": [' * 50_000 + "]}" * 50_000), "a huge number": noted('{"value": ' + "9" * 5000 + "}"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file(path, name):
    """differences/F-01."""
    path.write_bytes(BROKEN[name])
    with pytest.raises(TypeError, match="MG-E403"):
        mg.load(path)


def test_changed_bytes(path):
    """differences/F-01: a good file with bytes that are other ones, missing, or twice there loads or is refused."""
    mg.save({"w": mg.ones(2, 3), "b": [mg.zeros(2, dtype=mg.int64), None, (1.5, "text")], 3: mg.tensor([True, False])}, path)
    good = path.read_bytes()
    chance = random.Random(0)
    refused = 0
    for i in range(3000):
        changed = bytearray(good)
        for _ in range(chance.choice([1, 1, 2, 5])):
            at = chance.randrange(len(changed)) if i % 2 else chance.randrange(min(len(changed), 420))
            match chance.randrange(4):
                case 0:
                    changed[at] = chance.randrange(256)
                case 1:
                    changed[at] ^= 1 << chance.randrange(8)
                case 2:
                    del changed[at:at + chance.randrange(1, 20)]
                case 3:
                    changed[at:at] = changed[at:at + chance.randrange(1, 20)]
        path.write_bytes(changed)
        try:
            mg.load(path)
        except TypeError as error:
            assert error.code == "MG-E403"
            refused += 1
    assert 0 < refused < 3000


def test_bfloat16(path):
    """differences/F-01."""
    pytest.importorskip("ml_dtypes")
    numbers = np.array([1.0, -2.5, 3.140625, np.inf, 2.0 ** 120, 0.0], np.float32)
    data = (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
    path.write_bytes(file_of({"x": entry("BF16", (2, 3), 0, 12), "none": entry("BF16", (0,), 12, 12)}, data))
    loaded = mg.load(path)
    assert loaded["x"].dtype is mg.bfloat16 and loaded["x"].tolist() == numbers.reshape(2, 3).tolist()
    assert loaded["none"].dtype is mg.bfloat16 and loaded["none"].shape == (0,)
    loaded["x"].add_(1)
    mg.save({"x": loaded["x"]}, path)
    again = mg.load(path)["x"]
    assert again.dtype is mg.bfloat16 and again.tolist() == loaded["x"].tolist()


@pytest.mark.parametrize("dtype, size", [("F8_E4M3", 1), ("F8_E5M2", 1), ("U16", 2), ("U32", 4), ("U64", 8)])
def test_foreign_dtypes_are_named(path, dtype, size):
    """differences/F-01."""
    path.write_bytes(file_of({"weight": entry(dtype, (3,), 0, 3 * size)}, bytes(3 * size)))
    with pytest.raises(TypeError, match=f"'weight' has the dtype {dtype}"):
        mg.load(path)


def test_bools_are_0_or_1(path):
    """differences/F-01: a byte of 2 would be neither."""
    path.write_bytes(file_of({"x": entry("BOOL", (3,), 0, 3)}, bytes([0, 2, 255])))
    x = mg.load(path)["x"]
    assert x.tolist() == [False, True, True] and x.numpy().view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize("f", [None, 3, 1.5, [], {}, "a\0b"], ids=repr)
def test_what_is_no_name(f):
    """differences/F-03."""
    for call in (lambda: mg.load(f), lambda: mg.save({}, f)):
        with pytest.raises(TypeError, match="MG-E403"):
            call()


@pytest.mark.parametrize("make", [
    lambda: {"__metadata__": mg.ones(1)}, lambda: {"\ud800": mg.ones(1)}, lambda: {"a": object()}, lambda: {1.5: mg.ones(1)},
    lambda: (lambda x: x.append(x) or x)([]), lambda: (lambda x: x.update(a=x) or x)({}),
], ids=["metadata", "no text", "object", "float key", "list in itself", "dict in itself"])
def test_what_no_file_can_hold(path, make):
    """differences/F-02, H-01: the error comes before anything is written."""
    path.write_bytes(b"before")
    with pytest.raises(TypeError, match="MG-E403"):
        mg.save(make(), path)
    assert path.read_bytes() == b"before" and os.listdir(path.parent) == [path.name]


def test_metadata_deeper_down(path):
    """differences/F-02: only a whole name is reserved."""
    obj = {"a": {"__metadata__": mg.ones(1)}, "minigrad": mg.zeros(1)}
    mg.save(obj, path)
    assert mg.load(path)["a"]["__metadata__"].tolist() == [1]


def test_links_are_not_followed(tmp_path):
    """differences/F-02: the name of the temporary file cannot be guessed, and save does not change the target of a link at the path."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    target = tmp_path / "model"
    for name in ("model.part", "model.tmp", ".model.part"):
        (tmp_path / name).symlink_to(victim)
    target.symlink_to(victim)
    mg.save({"x": mg.ones(1)}, target)
    assert victim.read_text() == "mine" and not target.is_symlink() and mg.load(target)["x"].tolist() == [1]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_any_new_file(tmp_path):
    """differences/F-02."""
    (tmp_path / "other").touch()
    mg.save({}, tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
def test_a_device_stays_one():
    """differences/F-02."""
    mg.save({"x": mg.ones(1)}, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_two_processes_save_to_one_path(path):
    """differences/F-02: at any time the file is complete, and one of the two has written it."""
    code = ("import sys, minigrad as mg\n"
            "for i in range(60): mg.save({'x': mg.full((20_000,), float(sys.argv[1])), 'who': int(sys.argv[1])}, sys.argv[2])")
    mg.save({"x": mg.zeros(20_000), "who": 0}, path)
    writers = [subprocess.Popen([sys.executable, "-c", code, str(k), str(path)], cwd=ROOT) for k in (1, 2)]
    try:
        while any(w.poll() is None for w in writers):
            found = mg.load(path)
            assert (found["x"] == found["who"]).all()
    finally:
        codes = [w.wait() for w in writers]
    assert codes == [0, 0] and os.listdir(path.parent) == [path.name]
