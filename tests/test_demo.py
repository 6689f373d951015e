"""The demo: it learns, writes its files, and ends cleanly when interrupted."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import minigrad as mg

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")

from minigrad.demo import __main__ as command
from minigrad.demo import data, train

PICTURES = ["loss.png", "misread.png", *(["graph.png"] if importlib.util.find_spec("pygraphviz") else [])]
FILES = sorted([*PICTURES, "model.safetensors"])


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run the command in this process with a small budget: (exit status, output, names of the files written)."""
    monkeypatch.setattr(command, "interpreted_speed", lambda: 1e6)      # starts another Python
    monkeypatch.setattr(command, "speed", lambda: 4e6)
    before = mg.get_num_threads()

    def go(*arguments):
        status = command.main(["--out", str(tmp_path / "out"), *arguments])
        folder = tmp_path / "out"
        return status, capsys.readouterr(), sorted(p.name for p in folder.iterdir()) if folder.exists() else []
    yield go
    mg.set_num_threads(before)


def is_png(path):
    content = path.read_bytes()
    return content.startswith(b"\x89PNG") and content.rstrip().endswith(b"IEND\xaeB`\x82")


def test_one_epoch(run, tmp_path):
    status, said, files = run("--epochs", "1", "--batch-size", "128")
    assert status == 0 and files == FILES
    assert all(is_png(tmp_path / "out" / name) for name in PICTURES)
    assert "1437 handwritten digits to learn from, 360 to be tested on" in said.out
    for line in (r"test accuracy +\d+\.\d\d% in \d+\.\d s", r"a training step +\d+\.\d\d ms for 128 digits",
                 r"backward, \w+ +[\d,]+ nodes a second"):
        assert re.search(line, said.out), f"no line {line!r} in {said.out}"
    model = train.network()
    model.load_state_dict(mg.load(tmp_path / "out" / "model.safetensors"))
    _, test = data.digits(seed=0)
    assert f"{train.accuracy(model, *test):.2%}" in said.out


def test_it_learns():
    training, test = data.digits()
    model = train.network()

    class Silent:
        def update(self):
            pass

        def set_postfix(self, **numbers):
            pass
    history = train.train(model, training, test, 4, 64, 4e-3, Silent())
    assert len(history.accuracies) == 4 and not history.interrupted
    assert history.accuracies[-1] > 0.6 and sum(history.losses[-5:]) < 0.75 * sum(history.losses[:5])


def test_the_same_seed_gives_the_same_numbers(run):
    def accuracy(text):
        return re.search(r"test accuracy +(\S+)", text)[1]
    first, second = [accuracy(run("--epochs", "1", "--seed", "3", "--batch-size", "256")[1].out) for _ in range(2)]
    assert first == second


def interrupt_after(monkeypatch, module, name, calls):
    """Make a function raise KeyboardInterrupt at its n-th call."""
    real, count = getattr(module, name), [0]

    def function(*args, **kwargs):
        count[0] += 1
        if count[0] >= calls:
            raise KeyboardInterrupt
        return real(*args, **kwargs)
    monkeypatch.setattr(module, name, function)


def test_interrupted_while_training(run, tmp_path, monkeypatch):
    """The parameters are saved, the pictures are drawn, and the exit status is the one of Ctrl-C."""
    interrupt_after(monkeypatch, train.F, "cross_entropy", 4)
    status, said, files = run("--epochs", "1")
    assert status == 130 and "interrupted after 3 of 23 steps" in said.out and files == FILES
    assert all(is_png(tmp_path / "out" / name) for name in PICTURES)


def test_interrupted_at_once(run, monkeypatch):
    interrupt_after(monkeypatch, train.F, "cross_entropy", 1)
    status, said, files = run("--epochs", "1")
    assert status == 130 and "interrupted after 0 of 23 steps" in said.out and files == []


@pytest.mark.parametrize("name", ["loss_curve", "misread_digits", "expression_graph"])
def test_interrupted_while_drawing(run, tmp_path, monkeypatch, name):
    """Ctrl-C in the middle of a picture leaves those before it, and no half of it."""
    if name == "expression_graph":
        pytest.importorskip("pygraphviz")
    import matplotlib.figure
    real = os.replace
    target = {"loss_curve": "loss.png", "misread_digits": "misread.png", "expression_graph": "graph.png"}[name]
    monkeypatch.setattr(os, "replace", lambda a, b: interrupt_after(monkeypatch, os, "replace", 1) or os.replace(a, b)
                        if str(b).endswith(target) else real(a, b))
    with pytest.raises(KeyboardInterrupt):      # __main__ turns it into a message, see below
        run("--epochs", "1", "--batch-size", "512")
    monkeypatch.undo()
    assert matplotlib.figure and not [p.name for p in (tmp_path / "out").iterdir() if p.name not in FILES]
    assert not (tmp_path / "out" / target).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c(tmp_path):
    """A real SIGINT to a real process: a message, status 130, no traceback, no unfinished file."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen([sys.executable, "-m", "minigrad.demo", "--epochs", "100000", "--out", str(tmp_path)], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             # processes in the background of a shell ignore SIGINT, and so do their children
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert "minigrad" in child.stdout.readline() and "handwritten" in child.stdout.readline()
        time.sleep(0.5)     # into the training
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 130 and "interrupted" in out + err and "Traceback" not in out + err
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--batch-size", "-1"], ["--threads", "0"], ["--epochs", "x"]])
def test_bad_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2 and "error" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert command.main(["--epochs", "1"]) == 2
    assert "the demo needs the package sklearn.datasets: pip install 'minigrad-autograd[demo]'" in capsys.readouterr().err


def test_moved():
    x = mg.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert data.shift(x, 1, 0).tolist() == [[[[0, 0], [1, 2]]]] and data.shift(x, 0, -1).tolist() == [[[[2, 0], [4, 0]]]]
    assert data.shift(x, 0, 0).tolist() == x.tolist()


def test_batches_hold_everything_once():
    images = mg.zeros(10, 1, 8, 8)
    labels = mg.arange(10)
    seen = [int(n) for _, chosen in data.batches(images, labels, 4) for n in chosen.tolist()]
    assert sorted(seen) == list(range(10))


def test_split_is_fair():
    (images, labels), (_, test_labels) = data.digits()
    assert images.shape[1:] == (1, 8, 8) and images.dtype is mg.float32 and labels.dtype is mg.int64
    counts = [sum(v == d for v in test_labels.tolist()) for d in range(10)]
    assert min(counts) >= 34 and max(counts) <= 38
