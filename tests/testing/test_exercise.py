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
    assert threading.active_count() <= before      # a thread of an earlier test may have ended meanwhile


def test_in_a_browser_there_are_no_threads(monkeypatch, capsys):
    def start(thread):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, "start", start)
    check_double(lambda x: 2 * x)
    assert capsys.readouterr().out == "right\n"


@mg.testing.exercise(4)
def check_square(square):
    for x in (1, 2):
        if square(x) != x * x:      # pytest adds to the message of an assert
            raise AssertionError(f"square({x}) is {square(x)} instead of {x * x}")


check_square.hints = ["first", "second", "third"]
check_square.wrong = {"1 instead of 4": "A square is no power of 0.", "is 2 instead of 1": "That is the double.",
                      "unsupported operand type": "A number, not a text."}


@pytest.mark.parametrize("answer, said", [
    (lambda x: 2 * x, "^square\\(1\\) is 2 instead of 1\nThat is the double.$"),
    (lambda x: x ** 0, "^square\\(2\\) is 1 instead of 4\nA square is no power of 0.$"),
    (lambda x: 10 * x * x + 1 - 10 * x, "^square\\(2\\) is 21 instead of 4$"),          # 1 instead of 4 is another number
    (lambda x: x * x + (x - 1) * 0.5, "^square\\(2\\) is 4.5 instead of 4$"),
    (lambda x: "2" - x, "^unsupported operand type.*\nA number, not a text.$"),
])
def test_typical_wrong_answers(answer, said):
    with pytest.raises(AssertionError, match=said):
        check_square(answer)


@pytest.mark.parametrize("answer, found", [(4, True), (4.0, True), (4.5, False), (40, False), ("x4", False)])
def test_a_sentence_is_about_a_whole_number(answer, found):
    @mg.testing.exercise(5)
    def check_three(answer):
        raise AssertionError(f"not {answer}. See page 3")
    check_three.wrong = {"not 4": "You counted yourself."}
    with pytest.raises(AssertionError) as error:
        check_three(answer)
    assert str(error.value).endswith("You counted yourself.") == found


def test_hints_come_one_at_a_time(capsys):
    for _ in range(4):
        check_square.hint()
    check_square.hint(1)
    check_square.hint()
    check_double.hint()
    assert capsys.readouterr().out.splitlines() == [
        "hint 1 of 3: first", "hint 2 of 3: second", "hint 3 of 3: third", "hint 3 of 3: third", "hint 1 of 3: first",
        "hint 2 of 3: second", "Exercise 2 has no hints."]


def test_a_cell_with_points_needs_an_answer():
    with pytest.raises(AssertionError, match=r"^not yet: exercise 4\. Replace"):
        check_square.grade(stub)
    with pytest.raises(AssertionError, match="That is the double"):
        check_square.grade(lambda x: 2 * x)
    check_square.grade(lambda x: x * x)


def ends(x):
    raise SystemExit


def says_right(x):
    print("right")
    return 0


@pytest.mark.parametrize("answer, said", [
    (lambda x: x * x, "right"), (stub, "not yet: exercise 4. Replace `raise NotImplementedError` with your answer."),
    (ends, "not yet: exercise 4. Your answer ends the program."), (says_right, "not yet: exercise 4. square(1) is 0 instead of 1"),
    (lambda x: x / 0, "not yet: exercise 4. ZeroDivisionError: division by zero"),
    (calls_itself, "not yet: exercise 4. a function calls itself for each node"),
])
def test_verdict(answer, said, capsys):
    assert check_square.verdict(answer).startswith(said)
    assert capsys.readouterr().out == ""
