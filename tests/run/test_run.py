"""`python -m minigrad.run` and `mg.as_torch()`: unchanged PyTorch programs, what is missing, what goes wrong, both libraries compared."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

import minigrad as mg
from minigrad.run.check import find_missing, torch_names
from minigrad.run.compare import Comparison, first_difference, report
from minigrad.run.watch import Losses, Recorder, Why

WITH_TORCH = importlib.util.find_spec("torch") is not None

PROGRAM = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import SGD

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(torch.__version__, torch.Tensor.__module__.split(".")[0], len(sys.argv))
"""


def start(*args, cwd, **env):
    return subprocess.run([sys.executable, "-m", "minigrad.run", *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]), **env})


@pytest.fixture
def script(tmp_path):
    def write(text=PROGRAM, name="train.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), "utf-8")
        return path
    return write


def test_run(script, tmp_path):
    done = start(script(), 2, "--epochs", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2.13.0 minigrad 3\n"), done.stderr


def test_its_neighbours_can_be_imported(script, tmp_path):
    script("import torch\nTWO = torch.tensor(2)", "helper.py")
    done = start(script("from helper import TWO\nprint(TWO, __name__)"), cwd=tmp_path)
    assert done.stdout == "tensor(2) __main__\n", done.stderr


def test_a_missing_name_says_what_to_do(script, tmp_path):
    path = script("import torch\ntorch.no_such_function(1)")
    done = start(path, cwd=tmp_path)
    assert done.returncode == 1
    assert "module 'torch' has no attribute 'no_such_function': this program runs on minigrad" in done.stderr
    assert f"if a name is missing: python -m minigrad.run --check {path}" in done.stderr


def test_check(script, tmp_path):
    path = script("""
        import torch
        from torch import nn, no_such_name
        import torch.nn.functional as F
        import torch.no_such_module
        x = F.no_such_function(torch.ones(2)).relu()
        x.record_stream(None)
        nn.NoSuchLayer(torch.nn.Linear(2, 3))
        """)
    done = start("--check", path, cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]] == [
        "torch.no_such_name", "torch.no_such_module", "torch.nn.functional.no_such_function", "Tensor.record_stream", "torch.nn.NoSuchLayer"]
    assert lines[-1] == f"{path}: 5 names missing"
    done = start("--check", script(), cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"{path}: no names missing")


def test_check_follows_imports_under_other_names():
    found = find_missing("import torch.nn as n\nfrom torch import optim as o\nn.Linear; o.Nope; n.Nope.foo; n.Linear.foo; t = {}; t.items()")
    assert [m.name for m in found] == ["torch.nn.Linear.foo", "torch.nn.Nope", "torch.optim.Nope"]


def test_own_methods_are_not_missing():
    assert not find_missing("import torch\nclass A:\n    def record_stream(self): ...\nA().record_stream()")


def test_record(script, tmp_path):
    done = start("--record", 2, "--out", "page.html", script(), cwd=tmp_path)
    assert "written: page.html" in done.stderr
    assert "mg-step" in (tmp_path / "page.html").read_text("utf-8")
    done = start("--record", 9, "--out", "none.html", script(), cwd=tmp_path)
    assert "--record 9: the program ran 3 backwards; nothing was recorded" in done.stderr
    assert not (tmp_path / "none.html").exists()


@pytest.mark.parametrize(("args", "message"), [
    (["nothing.py"], "there is no file nothing.py"), (["--record", "0", "train.py"], "--record counts from 1"), ([], "required: script")])
def test_wrong_options(script, tmp_path, args, message):
    script()
    done = start(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


# ---- why does it not train ---------------------------------------------------------------------------------------------------------

def loop(w, optimizer, loss, steps=3, zero=True):
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        loss(w).backward()
        optimizer.step()


def findings(program):
    with Why().watching(mg) as why:
        program()
    return why.findings()


def two():
    return [mg.ones(3, requires_grad=True), mg.ones(2, requires_grad=True)]


@pytest.mark.parametrize(("program", "message"), [
    (lambda: None, "No backward ran"),
    (lambda: two()[0].sum().backward(), "No optimiser made a step"),
    (lambda: loop(w := two(), mg.optim.SGD(w, lr=0.1), lambda w: w[0].sum()), "1 of 2 parameters of SGD never got a gradient: shapes (2,)"),
    (lambda: loop(w := two(), mg.optim.Adam(w, lr=0.1), lambda w: (w[0] * w[1].sum() - 9).relu().sum()), "of 2 parameters of Adam were always 0"),
    (lambda: loop(w := two(), mg.optim.SGD(w, lr=0.0), lambda w: w[0].sum() + w[1].sum()), "The learning rate of SGD is 0."),
    (lambda: loop(w := two(), mg.optim.SGD(w, lr=1e-12), lambda w: w[0].sum() + w[1].sum()), "No parameter of SGD moved"),
    (lambda: loop(w := two(), mg.optim.SGD(w, lr=0.1), lambda w: w[0].sum() + w[1].sum(), zero=False), "zero_grad() of SGD was never called"),
    (lambda: loop(w := two(), mg.optim.SGD(w, lr=0.1), lambda w: (w[0].sum() + w[1].sum()) * float("inf")), "The loss became inf at backward 1"),
], ids=["no backward", "no step", "not in the graph", "zeros", "rate 0", "tiny rate", "no zero_grad", "inf"])
def test_why(program, message):
    assert any(message in finding for finding in findings(program))


def test_why_finds_nothing_where_nothing_is_wrong():
    def program():
        w = two()
        loop(w, mg.optim.Adam(w, lr=0.1), lambda w: (w[0] * w[1].sum()).pow(2).sum())
    assert findings(program) == []


def test_watching_ends_with_its_block():
    before = mg.autograd.backward, mg.optim.SGD.step, mg.optim.Optimizer.zero_grad
    with Losses().watching(mg) as losses:
        x = mg.tensor(3.0, requires_grad=True)
        (x * x).backward()
        mg.autograd.backward([x * 2])
        mg.autograd.backward([x, x], [mg.ones(()), mg.ones(())])
    assert losses.values == [9.0, 6.0, None]
    assert (mg.autograd.backward, mg.optim.SGD.step, mg.optim.Optimizer.zero_grad) == before
    (x * x).backward()
    assert len(losses.values) == 3


def test_a_failing_backward_is_watched_once():
    with Recorder(5, "unused").watching(mg) as recorder:
        x = mg.tensor(3.0, requires_grad=True)
        y = x * x
        y.backward()
        with pytest.raises(RuntimeError):
            y.backward()
    assert recorder.count == 2 and not recorder.saved


# ---- two libraries -----------------------------------------------------------------------------------------------------------------

def test_first_difference():
    nan = float("nan")
    assert first_difference([1.0, 2.0, nan, None], [1.0, 2.00001, nan, None]) is None
    assert first_difference([1.0, 2.0], [1.0, 2.1]) == 1
    assert first_difference([1.0, None], [1.0, 2.1]) == 1
    assert first_difference([1.0], [1.0, 2.1]) == 1
    assert first_difference([nan], [1.0]) == 0


def test_report():
    lines = report(Comparison([1.0, 2.0, 3.0], [1.0, 2.5], (0, 1)), 1e-4)
    assert lines[:3] == ["backwards: 3 on minigrad, 2 on PyTorch", "the run on PyTorch ended with exit status 1",
                         "the first loss that differs by more than 0.0001 is that of backward 2:"]
    assert [line.split()[:3] for line in lines[4:]] == [["1", "1", "1"], ["2", "2", "2.5"], ["3", "3", "-"]]
    assert lines[5].endswith("<- first")
    assert report(Comparison([], [], (0, 0)), 1e-4)[-1] == "no loss to compare: the program runs no backward"


@pytest.mark.skipif(not WITH_TORCH, reason="compares with PyTorch, which is not installed")
def test_compare(script, tmp_path):
    done = start("--compare", script(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "minigrad.run: backwards: 3 on minigrad, 3 on PyTorch\n"
                                                 "minigrad.run: all losses agree to 0.0001\n"), done.stderr
    other = PROGRAM.replace("loss.backward()", "(loss * (2 if step == 1 and 'minigrad' in torch.Tensor.__module__ else 1)).backward()")
    done = start("--compare", script(other), cwd=tmp_path)
    assert done.returncode == 1
    assert "the first loss that differs by more than 0.0001 is that of backward 2:" in done.stdout


@pytest.mark.skipif(WITH_TORCH, reason="PyTorch is installed")
def test_compare_without_pytorch(script, tmp_path):
    done = start("--compare", script(), cwd=tmp_path)
    assert done.returncode == 2
    assert "--compare needs PyTorch to compare with: pip install torch" in done.stderr


# ---- in a notebook -----------------------------------------------------------------------------------------------------------------

NOTEBOOK = """
import minigrad as mg
spec = mg.nn.functional.__spec__
with mg.as_torch() as hook:
    import torch, torch.nn.functional, torch.utils.data as data
    from torch import *
    assert torch.nn.functional is mg.nn.functional and data is mg.utils.data and torch.Tensor is mg.Tensor
    assert mg.nn.functional.__spec__ is spec and mg.nn.functional.__name__ == "minigrad.nn.functional"
    assert type(randn(2)) is mg.Tensor and "randn" in dir(torch)
    torch.answer = 42
    assert mg.answer == 42
    try:
        import torch.no_such_module
    except ModuleNotFoundError as error:
        print(error)
    print(repr(hook))
import sys
print([name for name in sys.modules if name.split(".")[0] == "torch"])
"""


def test_as_torch():
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "No module named 'torch.no_such_module': this program runs on minigrad, which lacks it. `python -m minigrad.run --check` "
        "lists all names that a file would need", "<import torch: minigrad>", "[]"], done.stderr


@pytest.mark.skipif(not WITH_TORCH, reason="imports PyTorch, which is not installed")
def test_as_torch_after_pytorch():
    import torch
    assert torch.__name__ == "torch"
    with pytest.raises(RuntimeError, match=r"PyTorch has been imported already"):
        mg.as_torch()


@pytest.mark.skipif(not WITH_TORCH, reason="asks PyTorch, which is not installed")
def test_torch_names_are_pytorchs():
    """torch_names.json has no name that PyTorch lacks."""
    import torch
    for module, names in torch_names().items():
        found = torch.Tensor if module == "torch.Tensor" else importlib.import_module(module)
        assert [name for name in names if not hasattr(found, name)] == [], module
