"""The ops and programs of ``benchmarks/everyday.py`` do the same in both libraries."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad as mg  # noqa: E402
from benchmarks import everyday  # noqa: E402
from benchmarks.everyday_programs import PROGRAMS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(m, text):
    """What an expression gives, or a statement writes, as an array or a Python object."""
    m.manual_seed(0)
    scope = everyday.names(m, 8)
    if everyday.is_statement(text):
        exec(text, scope)
        found = scope["into"]
    else:
        found = eval(text, scope)
    if isinstance(found, tuple) and not isinstance(found, m.Size):
        found = found[0]
    return np.asarray(found.detach().numpy()) if isinstance(found, m.Tensor) else found


@pytest.mark.parametrize("text", [text for texts in everyday.OPS.values() for text in texts.split("; ")])
def test_an_op_gives_the_same_numbers(text):
    ours, theirs = numbers(mg, text), numbers(torch, text)
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)
    else:
        assert ours == pytest.approx(theirs) if isinstance(theirs, float) else tuple(np.ravel(ours)) == pytest.approx(tuple(np.ravel(theirs)))


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__doc__)
def test_a_program_runs_in_both(make):
    for m, name in ((mg, "minigrad"), (torch, "torch")):
        run = make(m, name)
        run()
        run()


def test_the_table_is_written(tmp_path, capsys):
    pytest.importorskip("rich")
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    try:
        assert everyday.main(["--only", "comparing: x", "--below", "1000", "--markdown", str(tmp_path / "table.md")]) == 0
    finally:
        if cores is not None:
            os.sched_setaffinity(0, cores)
    text = (tmp_path / "table.md").read_text("utf-8")
    shown = capsys.readouterr().out
    assert "| comparing: x < y, 8 x 8 |" in text and "* ops, forward: 4, median ratio" in text and "comparing: x.isnan(), 8 x 8" in shown
    assert text.startswith("Measured on ")
    with pytest.raises(SystemExit):
        everyday.main(["--sizes", "4"])
