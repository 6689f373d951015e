"""Files whose pickles would run code, and files that are damaged: load raises an error, and runs nothing."""

import collections
import io
import os
import pickle
import random
import struct
import subprocess
import zipfile

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad._serialization import archive

ran = []


def trap(*args):
    ran.append(args)
    return collections.OrderedDict()


class Call:
    """An object whose pickle calls a function."""

    def __init__(self, function, *args, state=None):
        self.parts = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.parts


class Trapped(collections.OrderedDict):
    def __setstate__(self, state):
        ran.append(state)

    def __setitem__(self, key, value):
        ran.append(key)


def file_of(data, byteorder=b"little", compress=zipfile.ZIP_STORED, **more):
    """A zip file like PyTorch's with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as out:
        out.writestr("x/data.pkl", data)
        out.writestr("x/byteorder", byteorder)
        out.writestr("x/data/0", bytes(16))
        for name, content in more.items():
            out.writestr(f"x/{name}", content)
    return file.getvalue()


def load(data, **options):
    return mg.load(io.BytesIO(data), **options)


STORAGE = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ"     # 4 elements


def tensor_pickle(offset=0, size=(4,), stride=(1,), storage=STORAGE):
    numbers = pickle.dumps((offset, tuple(size), tuple(stride), False), 2)[2:-1]
    # the tuple (offset, size, stride, False) is on the stack after the storage: take it apart by making a new one
    body = b"".join(pickle.dumps(part, 2)[2:-1] for part in (offset, tuple(size), tuple(stride), False))
    assert numbers
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + body + b"ccollections\nOrderedDict\n)RtR."


HOSTILE = {
    "os.system": pickle.dumps(Call(os.system, "touch /tmp/minigrad_was_here")), "eval": pickle.dumps(Call(eval, "1")),
    "exec": pickle.dumps({"a": [Call(exec, "1")]}), "a function of the program": pickle.dumps(Call(trap, 1)),
    "protocol 0": pickle.dumps(Call(trap, 1), 0), "protocol 2": pickle.dumps(Call(trap, 1), 2), "protocol 5": pickle.dumps(Call(trap, 1), 5),
    "popen": pickle.dumps(Call(subprocess.Popen, ["true"])), "getattr": pickle.dumps(Call(getattr, "a", "upper")),
    "import": pickle.dumps(Call(__import__, "os")), "a class of the program": pickle.dumps(Trapped(a=1)),
    "open": pickle.dumps(Call(open, "/tmp/minigrad_was_here", "w")), "a module": pickle.dumps(nn.Linear(2, 1)),
    "a tensor's own pickle": pickle.dumps(mg.ones(2)), "dotted": b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93(tR.",
    "inst": b"(S'true'\nios\nsystem\n.", "obj": b"(cos\nsystem\nS'true'\no.", "ext": b"\x80\x02\x82\x01.", "newobj_ex": b"\x80\x04}}}\x92.",
    "state of a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x0c\0\0\0__defaults__)sb.",
    "slots of a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}X\x0c\0\0\0__defaults__)s\x86b.",
    "state of a class": b"\x80\x02ctorch\nSize\n}X\x05\0\0\0numelK\x01sb.", "state of a tensor": tensor_pickle()[:-1] + b"}X\x04\0\0\0gradK\x01sb.",
    "call of a value": b"\x80\x02X\x01\0\0\0a)R.", "call of a storage type": b"\x80\x02ctorch\nFloatStorage\n)R.", "call of a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "call without a tuple": b"\x80\x02ccollections\nOrderedDict\n]R.", "append to a tuple": b"\x80\x02)K\x01a.", "item of a tensor": tensor_pickle()[:-1] + b"K\x00K\x01s.",
    "items of a list": b"\x80\x02](K\x00K\x01u.", "an array of objects": pickle.dumps(np.array([None, Call(trap)], object)),
    "a structured dtype": pickle.dumps(np.zeros(1, [("a", "f4")])), "persistent id in protocol 0": b"P0\n.",
    "buffers": b"\x80\x05\x97.", "storage of a made-up type": b"\x80\x02(X\x07\0\0\0storageX\x01\0\0\0aX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ.",
    "bytearray of a number": b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "_codecs of another kind": b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x03\0\0\0hex\x86R.",
    "scalar": pickle.dumps(Call(np.frombuffer, b"a")), "new object of a function": b"\x80\x02ctorch\ndevice\n)\x81.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_code_runs(name, tmp_path):
    ran.clear()
    for data in (file_of(HOSTILE[name]), archive.LEGACY + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + HOSTILE[name]):
        with pytest.raises(pickle.UnpicklingError):
            load(data)
    assert not ran and not os.path.exists("/tmp/minigrad_was_here")
    assert mg.Size([2]).numel() == 2


DAMAGED = {
    "nothing": b"", "text": b"no file at all, only some text", "zip alone": b"PK\3\4" + bytes(60), "empty zip": b"PK\5\6" + bytes(18), "a plain pickle": pickle.dumps({}),
    "no pickle": file_of(b""), "half a pickle": file_of(pickle.dumps({"a": list(range(100))}, 2)[:-20]), "no end": file_of(b"\x80\x02}"),
    "underflow": file_of(b"\x80\x02\x85."), "underflow of a call": file_of(b"\x80\x02R."), "empty stack": file_of(b"\x80\x02."), "no mark": file_of(b"\x80\x02t."),
    "missing memo": file_of(b"\x80\x02h\x07."), "unhashable key": file_of(b"\x80\x02}]K\x01s."), "odd items": file_of(b"\x80\x02}(K\x01u."),
    "compressed": file_of(pickle.dumps({}, 2), compress=zipfile.ZIP_DEFLATED), "TorchScript": file_of(pickle.dumps({}, 2), **{"constants.pkl": b""}),
    "beyond the end": file_of(tensor_pickle(size=(5,))), "beyond by offset": file_of(tensor_pickle(offset=1)), "beyond by stride": file_of(tensor_pickle(size=(2,), stride=(4,))),
    "negative offset": file_of(tensor_pickle(offset=-1)), "negative size": file_of(tensor_pickle(size=(-1,))), "negative stride": file_of(tensor_pickle(stride=(-1,))),
    "size and stride": file_of(tensor_pickle(size=(2, 2))), "a float": file_of(tensor_pickle(size=(2.0,))), "huge": file_of(tensor_pickle(size=(2 ** 62, 2 ** 62), stride=(0, 0))),
    "overflow": file_of(tensor_pickle(size=(2, 2), stride=(2 ** 63, 1))), "70 dimensions": file_of(tensor_pickle(size=(1,) * 70, stride=(1,) * 70)),
    "no storage": file_of(tensor_pickle(storage=b"K\x01")), "storage too long": file_of(tensor_pickle(storage=STORAGE.replace(b"K\x04", b"K\x05"))),
    "missing storage": file_of(tensor_pickle(storage=STORAGE.replace(b"\x000X", b"\x009X"))), "negative storage": file_of(tensor_pickle(storage=STORAGE.replace(b"K\x04", b"J\xff\xff\xff\xff"))),
    "a wrong id": file_of(b"\x80\x02K\x01Q."), "unknown dtype": file_of(b"\x80\x02ctorch\nuint16\n."),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(name):
    with pytest.raises((pickle.UnpicklingError, TypeError)) as caught:
        load(DAMAGED[name])
    assert caught.value.code == "MG-E403"


def test_the_files_of_these_tests_are_fine_otherwise():
    assert load(file_of(tensor_pickle())).tolist() == [0, 0, 0, 0]
    assert load(file_of(tensor_pickle(offset=1, size=(3, 0, 2), stride=(1, 1, 1)))).shape == (3, 0, 2)
    assert load(file_of(tensor_pickle(size=(1000, 1000), stride=(0, 0)))).shape == (1000, 1000)


def test_a_random_change_of_a_file():
    """Every byte of the pickle may change: an error of save and load, or another object, and nothing else."""
    file = io.BytesIO()
    mg.save({"a": [mg.ones(3), nn.Parameter(mg.zeros(2, 2))], "b": {"lr": 0.1, "betas": (0.9, 0.99), "name": "x"}}, file)
    data, rng = file.getvalue(), random.Random(0)
    end = data.index(b"byteorder")
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(end)] = rng.randrange(256)
        try:
            load(bytes(changed))
        except (mg.errors.MinigradError, pickle.UnpicklingError) as error:
            assert getattr(error, "code", "") in ("MG-E403", "MG-E202")
    for length in range(0, len(data), 97):
        with pytest.raises((pickle.UnpicklingError, TypeError)):
            load(data[:length])


def test_allowed_classes():
    file = io.BytesIO()
    mg.save({"range": range(3), "trap": Trapped()}, file)
    data = file.getvalue()
    with pytest.raises(pickle.UnpicklingError, match=r"contains builtins.range|contains __builtin__.*range"):
        load(data)
    assert mg.serialization.get_safe_globals() == []
    with mg.serialization.safe_globals([(range, "__builtin__.xrange"), range, Trapped]):
        assert load(data)["range"] == range(3)
    with pytest.raises(pickle.UnpicklingError):
        load(data)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)


def test_a_whole_module_only_on_request(tmp_path):
    model = Model()
    mg.save(model, tmp_path / "model.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"contains .*Model, which could run code(.|\n)*weights_only=False"):
        mg.load(tmp_path / "model.pt")
    with pytest.warns(UserWarning, match="runs the code that the file names"):
        found = mg.load(tmp_path / "model.pt", weights_only=False)
    x = mg.ones(3, 2)
    assert found(x).tolist() == model(x).tolist() and isinstance(found.layer.weight, nn.Parameter)


def test_wrong_arguments(tmp_path):
    mg.save({"w": mg.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="f must be a file path"):
        load(b"", mmap=True)
    (tmp_path / "old.pt").write_bytes(archive.LEGACY)
    with pytest.raises(pickle.UnpicklingError, match="mmap can only be used"):
        mg.load(tmp_path / "old.pt", mmap=True)
    with pytest.raises(TypeError, match="'map_location' must be"):
        mg.load(tmp_path / "model.pt", map_location=3)
    with pytest.raises(TypeError, match="must be the name of a file"):
        mg.save({}, 3)
    with pytest.raises(RuntimeError, match="cannot compute on mps"):
        mg.load(tmp_path / "model.pt", map_location="mps")
    with pytest.raises((AttributeError, pickle.PicklingError)):
        mg.save(lambda: 1, tmp_path / "other.pt")
    assert not (tmp_path / "other.pt").exists()
    endless = []
    for _ in range(100_000):
        endless = [endless]
    with pytest.raises(TypeError, match="nested too deeply"):
        mg.save(endless, io.BytesIO())


def test_struct_is_little_endian():
    """The other byte order is swapped."""
    numbers = struct.pack(">4f", 1, 2, 3, 4)
    data = file_of(tensor_pickle(), b"big").replace(bytes(16), numbers, 1)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file_of(tensor_pickle()))) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, numbers if name == "x/data/0" else b"big" if name == "x/byteorder" else old.read(name))
    assert data and load(file.getvalue()).tolist() == [1, 2, 3, 4]
