"""`mg.testing.exercise`: a check ends, and answers in a sentence."""

import threading
import time

import pytest

import minigrad as mg


@mg.testing.exercise(2, hint="Think again.")
def check_double(double):
    """The check."""
    first, second = double(3), double(4)
    assert first + second == 14, "not the double"
    print("right")


def stub(x):
    raise NotImplementedError


def hidden(x):
    """A check may catch a RuntimeError, which a NotImplementedError is, and stumble over it."""
    try:
        stub(x)
    except RuntimeError as error:
        return error.code       # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("answer", [stub, hidden, [None, None], ["", ""], []])
def test_not_yet(answer, capsys):
    check_double(answer)
    assert capsys.readouterr().out.startswith("not yet: exercise 2.")


def test_right(capsys):
    check_double(lambda x: 2 * x)
    assert capsys.readouterr().out == "right\n"
    assert (check_double.__name__, check_double.__doc__) == ("check_double", "The check.")


def endless(x):
    while True:
        try:
            x + 1
        except Exception:       # an answer that catches everything
            continue


def calls_itself(x):
    return calls_itself(x)


@pytest.mark.parametrize("answer, said", [
    (lambda x: 3 * x, "^not the double"), (endless, "^exercise 2: stopped after 0.2 seconds. Think again.$"),
    (calls_itself, "^exercise 2: a function calls itself for each node"), (lambda x: None, "^exercise 2: the check got None .* a `return` missing"),
])
def test_wrong(answer, said, monkeypatch, capsys):
    monkeypatch.setattr("minigrad.testing._exercise.SECONDS", 0.2 if answer is endless else 60)
    with pytest.raises(AssertionError, match=said):
        check_double(answer)
    assert capsys.readouterr().out == ""


def test_other_errors_are_what_they_are():
    """An error of minigrad that is a NotImplementedError is no stub."""
    with pytest.raises(ZeroDivisionError):
        check_double(lambda x: x / 0)
    with pytest.raises(mg.errors.AutogradNotImplementedError):
        check_double(lambda x: mg.autograd.Function.apply(mg.ones(2)))


def test_no_thread_is_left():
    before = threading.active_count()
    check_double(lambda x: 2 * x)
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_in_a_browser_there_are_no_threads(monkeypatch, capsys):
    def start(thread):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, "start", start)
    check_double(lambda x: 2 * x)
    assert capsys.readouterr().out == "right\n"
