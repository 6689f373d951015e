"""The examples train, and to the loss that PyTorch reaches from the same weights and the same data: within 2%."""

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytest.importorskip("tqdm")

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in ("common", "lenet", "gpt"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name, options", [
    ("lenet", ["--steps", "60", "--batch-size", "16"]),
    ("gpt", ["--steps", "60", "--batch-size", "4", "--length", "16", "--width", "32", "--heads", "2", "--write", "0"])])
def test_losses_are_torchs(example, name, options):
    losses = example(name).main(["--library", "both", *options])
    ours, theirs = [example("common").final(losses[library]) for library in ("minigrad", "torch")]
    assert ours == pytest.approx(theirs, rel=0.02)
    assert ours < 0.9 * losses["minigrad"][0]


def test_a_trained_model_writes(example, capsys):
    example("gpt").main(["--steps", "2", "--batch-size", "2", "--length", "8", "--width", "16", "--heads", "2", "--write", "20"])
    assert "loss" in capsys.readouterr().out
