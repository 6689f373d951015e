"""Files of PyTorch are read here, and files of minigrad there."""

import io
import warnings
from collections import OrderedDict

import numpy as np
import pytest
import torch

import minigrad as mg
from minigrad import nn

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def through(writer, reader, obj, **options):
    """What `reader` loads of what `writer` saves."""
    file = io.BytesIO()
    writer.save(obj, file)
    file.seek(0)
    return reader.load(file, **options)


def numbers(x):
    """A tensor of either library as (dtype, shape, bytes)."""
    return str(x.dtype).partition(".")[2], tuple(x.shape), x.detach().numpy().tobytes()


@pytest.mark.parametrize("writer, reader", [(mg, torch), (torch, mg), (mg, mg)], ids=["there", "here", "both"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)], ids=str)
def test_dtypes_and_shapes(writer, reader, dtype, shape):
    array = np.arange(int(np.prod(shape))).reshape(shape)
    x = writer.tensor(array).to(getattr(writer, dtype))
    assert numbers(through(writer, reader, x)) == numbers(x)


def content(m):
    x = m.arange(12.0).reshape(3, 4)
    weight = m.nn.Parameter(m.ones(2), requires_grad=False)
    state = OrderedDict(a=m.ones(1))
    return {"x": x, "t": x.t(), "part": x[1:, ::2], "expanded": m.ones(1, 3).expand(5, 3), "leaf": m.ones(1, requires_grad=True), "parameter": weight,
            "state": state, 3: None, "tuple": (1, 2.5, -(2 ** 70), True), "text": "ünï", "list": [[], {}, ()], "set": {1, 2}, "bytes": b"\0\xff",
            "complex": 1j, "frozen": frozenset([1]), "size": m.Size([2, 3]), "dtype": m.float16, "device": m.device("cpu"), "array": np.arange(3.0),
            "number": np.float64(1.5), "inf": float("inf")}


def plain(x):
    """An object of either library without what tells which one it is."""
    if isinstance(x, (mg.Tensor, torch.Tensor)):
        return (numbers(x), x.requires_grad, type(x).__name__)
    if isinstance(x, dict):
        return type(x).__name__, [(key, plain(value)) for key, value in x.items()]
    if isinstance(x, np.ndarray):
        return x.dtype, x.tolist()
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return [plain(value) for value in x]
    return repr(x).replace("minigrad", "torch")


@pytest.mark.parametrize("writer, reader", [(mg, torch), (torch, mg), (mg, mg)], ids=["there", "here", "both"])
def test_containers(writer, reader):
    obj = content(writer)
    options = {}
    if reader is torch:     # which allows neither NumPy's arrays nor frozensets
        del obj["array"], obj["number"], obj["frozen"]
    found = through(writer, reader, obj, **options)
    assert plain(found) == plain(obj)


@pytest.mark.parametrize("writer, reader", [(mg, torch), (torch, mg), (mg, mg)], ids=["there", "here", "both"])
def test_memory_that_tensors_share(writer, reader):
    x = writer.zeros(4)
    found = through(writer, reader, {"x": x, "again": x, "part": x[1:3], "other": writer.zeros(4)})
    found["x"][1] = 5
    assert found["again"].tolist() == [0, 5, 0, 0] and found["part"].tolist() == [5, 0] and found["other"].tolist() == [0] * 4


def test_dtypes_that_are_not_here():
    import pickle
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.uint16"):
        through(torch, mg, torch.ones(2, dtype=torch.uint16))


def model_and_optimizer(m):
    m.manual_seed(0)
    model = m.nn.Sequential(m.nn.Conv2d(1, 2, 3), m.nn.BatchNorm2d(2), m.nn.ReLU(), m.nn.Flatten(), m.nn.Linear(8, 3))
    return model, m.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)


def step(m, model, optimizer):
    optimizer.zero_grad()
    x = m.arange(32.0).reshape(2, 1, 4, 4) / 10
    loss = (model(x) ** 2).sum()
    loss.backward()
    optimizer.step()
    return loss.item()


@pytest.mark.parametrize("writer, reader", [(mg, torch), (torch, mg)], ids=["there", "here"])
def test_a_training_goes_on_in_the_other_library(writer, reader):
    model, optimizer = model_and_optimizer(writer)
    for _ in range(2):
        step(writer, model, optimizer)
    saved = through(writer, reader, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2})
    other, later = model_and_optimizer(reader)
    assert str(other.load_state_dict(saved["model"])) == "<All keys matched successfully>"
    later.load_state_dict(saved["optimizer"])
    losses = [step(m, *pair) for m, pair in ((writer, (model, optimizer)), (reader, (other, later)), (writer, (model, optimizer)),
                                             (reader, (other, later)))]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5) and losses[2] == pytest.approx(losses[3], rel=1e-5)


def test_versions_in_a_state_dict():
    state = through(torch, mg, torch.nn.BatchNorm1d(2).state_dict())
    assert state._metadata[""]["version"] == 2
    assert through(mg, torch, nn.BatchNorm1d(2).state_dict())._metadata[""]["version"] == 2


@pytest.mark.parametrize("mmap", [False, True])
def test_files_with_a_name(tmp_path, mmap):
    x = torch.arange(1000.0)
    torch.save({"x": x, "b": torch.ones(3, dtype=torch.bool), "none": torch.zeros(0)}, tmp_path / "there.pt")
    mg.save({"x": mg.arange(1000.0), "b": mg.ones(3, dtype=mg.bool), "none": mg.zeros(0)}, tmp_path / "here.pt")
    before = (tmp_path / "there.pt").read_bytes()
    for name in ("there.pt", "here.pt"):
        for m in (mg, torch):
            found = m.load(str(tmp_path / name), mmap=mmap)
            assert found["x"].sum().item() == 499500 and found["b"].all() and found["none"].shape == (0,)
            found["x"] += 1
    assert (tmp_path / "there.pt").read_bytes() == before


def test_older_files(tmp_path):
    obj = {"x": torch.arange(6.0).reshape(2, 3).t(), "i": torch.arange(3), "b": torch.tensor([True, False]), "h": torch.ones(2, dtype=torch.bfloat16),
           "state": torch.nn.Linear(2, 1).state_dict(), "n": 3}
    torch.save(obj, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    found = mg.load(tmp_path / "old.pt")
    assert found["x"].tolist() == obj["x"].tolist() and found["i"].tolist() == [0, 1, 2] and found["b"].tolist() == [True, False] and found["n"] == 3
    assert found["h"].tolist() == [1, 1] and found["h"].dtype is mg.bfloat16 and nn.Linear(2, 1).load_state_dict(found["state"])
    data = (tmp_path / "old.pt").read_bytes()
    import pickle
    for end in (30, 200, len(data) - 3):
        with pytest.raises(pickle.UnpicklingError):
            mg.load(io.BytesIO(data[:end]))


def saved_on(device):
    """A file whose tensor was on `device`."""
    file = io.BytesIO()
    torch.save({"x": torch.arange(3.0)}, file)
    return file.getvalue().replace(b"X\x03\0\0\0cpu", b"X" + len(device).to_bytes(4, "little") + device.encode())


def repack(data):
    """The same zip file with a pickle of another length."""
    import zipfile
    old, new = zipfile.ZipFile(io.BytesIO(ORIGINAL())), io.BytesIO()
    with zipfile.ZipFile(new, "w") as archive:
        for name in old.namelist():
            archive.writestr(name, data if name.endswith("data.pkl") else old.read(name))
    return new.getvalue()


def ORIGINAL():
    file = io.BytesIO()
    torch.save({"x": torch.arange(3.0)}, file)
    return file.getvalue()


def gpu_file(device="cuda:0"):
    import zipfile
    text = zipfile.ZipFile(io.BytesIO(ORIGINAL())).read("archive/data.pkl")
    return repack(text.replace(b"X\x03\0\0\0cpu", b"X" + len(device).to_bytes(4, "little") + device.encode()))


@pytest.mark.skipif(mg.cuda.is_available() or torch.cuda.is_available(), reason="for machines without a GPU")
def test_map_location():
    for m in (mg, torch):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a"):
            m.load(io.BytesIO(gpu_file()))
        seen = []

        def keep(storage, location, seen=seen):
            seen.append((location, storage.nbytes()))
            return storage
        for where in ("cpu", m.device("cpu"), {"cuda:0": "cpu"}, keep, lambda storage, location: storage):
            assert m.load(io.BytesIO(gpu_file()), map_location=where)["x"].tolist() == [0, 1, 2]
        assert seen == [("cuda:0", 12)]
        with pytest.raises(RuntimeError):
            m.load(io.BytesIO(gpu_file()), map_location={"cuda:1": "cpu"})
        with pytest.raises(RuntimeError):
            m.load(io.BytesIO(gpu_file()), map_location=lambda storage, location: None)


def test_a_whole_module_of_torch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        found = through(torch, mg, model, weights_only=False)
    assert isinstance(found, nn.Sequential)
    np.testing.assert_allclose(found(mg.ones(1, 2)).detach().numpy(), model(torch.ones(1, 2)).detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("change", [lambda s, m: s.pop("weight"), lambda s, m: s.update(other=m.ones(1)), lambda s, m: s.update(weight=m.ones(3)),
                                    lambda s, m: (s.pop("bias"), s.update(a=m.ones(1), weight=m.ones(2, 2)))])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("assign", [True, False])
def test_messages_of_load_state_dict(change, strict, assign):
    found = []
    for m in (mg, torch):
        layer = m.nn.Linear(2, 1)
        state = m.nn.Linear(2, 1).state_dict()
        change(state, m)
        try:
            found.append(str(layer.load_state_dict(state, strict=strict, assign=assign)))
        except RuntimeError as error:
            found.append(str(error).partition("\n  where:")[0].replace("minigrad", "torch"))
    assert found[0] == found[1]
