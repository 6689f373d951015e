"""save and load: load returns what save wrote, a file is complete or absent, and errors say what to do."""

import builtins
import json
import struct

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

safetensors = pytest.importorskip("safetensors.numpy")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same(a, b):
    """Whether two nestings are equal, tensors by dtype, shape and bits."""
    if isinstance(a, mg.Tensor):
        return isinstance(b, mg.Tensor) and a.dtype is b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


DTYPES = [mg.bool, mg.uint8, mg.int8, mg.int16, mg.int32, mg.int64, mg.float16, mg.float32, mg.float64,
          mg.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)], ids=str)
def test_every_dtype(path, dtype, shape):
    x = {"x": mg.tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape)).to(dtype)}
    mg.save(x, path)
    assert same(mg.load(path), x)


@pytest.mark.parametrize("obj", [
    {}, [], (), None, 3, 2.5, "text", True, mg.tensor(1.5), [mg.ones(2), (mg.zeros(1), None)], {"a": {"b": [1, {"c": mg.ones(1)}]}},
    {0: mg.ones(1), 1: {"step": 3}}, {"a.b": mg.ones(1), "a": {"b": mg.zeros(1)}}, {"": mg.ones(1)}, {"ünïcode ∂": mg.ones(1)},
    {"x": float("inf"), "y": -0.0, "z": float("nan"), "big": 2**80}, {"tensor": mg.ones(2), "a": [mg.zeros(2)]},
    {"1": mg.ones(1), 1: mg.zeros(1)}, {"a": [mg.ones(1)], "a.0": mg.zeros(1)},
], ids=repr)
def test_nestings(path, obj):
    mg.save(obj, path)
    assert same(mg.load(path), obj)


def test_odd_strides_and_gradients(path):
    x = mg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    obj = {"t": x.t(), "part": x[1:, ::2], "expanded": x[:1].expand(5, 4), "leaf": x, "parameter": nn.Parameter(mg.ones(1))}
    mg.save(obj, path)
    back = mg.load(path)
    assert all((back[k].numpy() == v.detach().numpy()).all() and not back[k].requires_grad for k, v in obj.items())
    back["t"].add_(1)       # memory of its own, writable


def test_shared_memory_is_saved_twice(path):
    """Tensors that share a storage come back as two: the format knows names and numbers only."""
    x = mg.zeros(4)
    mg.save({"x": x, "again": x, "part": x[:2]}, path)
    back = mg.load(path)
    back["x"].fill_(1)
    assert back["again"].tolist() == [0] * 4 and back["part"].tolist() == [0, 0]


def test_model_and_optimizer(path):
    def made():
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        return model, mg.optim.Adam(model.parameters(), lr=0.1, amsgrad=True)

    def train(model, optimizer):
        optimizer.zero_grad()
        (model(mg.ones(2, 3)) ** 2).sum().backward()
        optimizer.step()
    model, optimizer = made()
    train(model, optimizer)
    mg.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    other, later = made()
    saved = mg.load(path)
    other.load_state_dict(saved["model"])
    later.load_state_dict(saved["optimizer"])
    assert saved["epoch"] == 3 and later.param_groups[0]["betas"] == (0.9, 0.999)
    train(model, optimizer)
    train(other, later)
    assert all(same(a.detach(), b.detach()) for a, b in zip(model.parameters(), other.parameters()))


# ---- other libraries -----------------------------------------------------------------------------------------


def test_others_read_a_state_dict(path):
    model = nn.Linear(2, 3)
    mg.save(model.state_dict(), path)
    found = safetensors.load_file(path)
    assert list(found) == ["bias", "weight"] or set(found) == {"bias", "weight"}
    np.testing.assert_array_equal(found["weight"], model.weight.detach().numpy())


def test_a_file_from_elsewhere(path):
    safetensors.save_file({"w": np.ones((2, 2), np.float32)}, path, {"format": "np"})
    assert same(mg.load(path), {"w": mg.ones(2, 2)})


def test_torch_reads_it(path):
    pytest.importorskip("torch")
    from safetensors.torch import load_file
    mg.save({"w": mg.tensor([1.0, 2.0])}, path)
    assert load_file(path)["w"].tolist() == [1, 2]


# ---- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("obj, words", [
    ({"model": nn.ReLU()}, "cannot save a ReLU (at model)"), ({"f": len}, "cannot save a builtin"), ({(1, 2): mg.ones(1)},
            "key of type tuple"),
    ([{1, 2}], "cannot save a set (at 0)"), ({"x": np.ones(1)}, "cannot save a ndarray (at x)"), (1j, "cannot save a complex"),
    ({"c": mg.ones(1, dtype=mg.complex128)}, "complex128"),
], ids=["module", "function", "key", "set", "array", "complex", "complex tensor"])
def test_what_cannot_be_saved(path, obj, words):
    with pytest.raises(TypeError) as caught:
        mg.save(obj, path)
    assert words in str(caught.value)
    assert not path.exists() and not list(path.parent.iterdir())


def test_missing_file(path):
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors"):
        mg.load(path)


@pytest.mark.parametrize("content", [b"", b"no safetensors at all", struct.pack("<Q", 10**12) + b"{}", struct.pack("<Q", 2) + b"{]",
                                     struct.pack("<Q", 8) + json.dumps({"x": 1}).encode()])
def test_files_that_are_none(path, content):
    path.write_bytes(content)
    with pytest.raises(TypeError, match="is not a safetensors file"):
        mg.load(path)


def test_a_file_cut_short(path):
    mg.save({"w": mg.ones(100)}, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(TypeError, match="is not a safetensors file"):
        mg.load(path)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"])
def test_an_interrupted_write_leaves_the_old_file(path, monkeypatch, error):
    mg.save({"w": mg.ones(3)}, path)

    class Failing:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *exc_info):
            self.file.close()

        def write(self, data):
            self.file.write(data[:20])
            raise error
    real = open
    monkeypatch.setattr(builtins, "open", lambda f, mode="r", *a, **k: Failing(real(f, mode, *a, **k)) if "w" in mode else real(f,
            mode, *a, **k))
    with pytest.raises(type(error)):
        mg.save({"w": mg.zeros(3)}, path)
    monkeypatch.undo()
    assert same(mg.load(path), {"w": mg.ones(3)}) and [p.name for p in path.parent.iterdir()] == [path.name]


def test_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        mg.save({}, tmp_path / "nowhere" / "model.safetensors")


def test_path_as_text_and_overwriting(path):
    mg.save({"w": mg.ones(1)}, str(path))
    mg.save({"w": mg.zeros(1)}, str(path))
    assert mg.load(str(path))["w"].item() == 0


def test_without_safetensors(path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "safetensors":
            raise ImportError("No module named 'safetensors'")
        return real(name, *args, **kwargs)
    monkeypatch.setattr(builtins, "__import__", without)
    for call in (lambda: mg.save({}, path), lambda: mg.load(path)):
        with pytest.raises(ImportError, match=r"pip install minigrad-autograd\[save\]"):
            call()
