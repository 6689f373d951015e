"""`mg.testing.check_script`: the options --check and --hint of a script with exercises."""

import pytest

import minigrad as mg

SCRIPT = """print("right")          # what the script prints is not shown
import minigrad as mg

if __name__ == "__main__":
    mg.testing.check_script(__file__)

@mg.testing.exercise(1)
def check_one(one):
    assert one() == 1, f"{one()} instead of 1"

check_one.hints = ["A number.", "The first one."]

@mg.testing.exercise(2)
def check_two(two):
    assert two() == 2, f"{two()} instead of 2"

@mg.testing.exercise(3)
def check_three(three):
    assert three() == 3
"""
ONE, TWO, THREE = ("check_one(lambda: 1)\n", "check_two(lambda: 2)\n", "check_three(lambda: 3)\n")


@pytest.fixture
def said(tmp_path, capsys):
    """What a script with these lines at its end says to these options, its errors, and its exit status."""
    def run(end, *options):
        path = tmp_path / "exercises.py"
        path.write_text(SCRIPT + end, "utf-8")
        with pytest.raises(SystemExit) as ended:
            mg.testing.check_script(path, options)
        out, err = capsys.readouterr()
        return out.splitlines(), err, ended.value.code
    return run


def test_all_are_right(said):
    assert said(ONE + TWO + THREE, "--check") == (["exercise 1: right", "exercise 2: right", "exercise 3: right"], "", 0)


def test_each_wrong_answer_gets_a_sentence(said):
    out, _, status = said("check_one(lambda: 2)\n" + TWO + "def three():\n    raise NotImplementedError\ncheck_three(three)\n", "--check")
    assert out == ["not yet: exercise 1. 2 instead of 1", "exercise 2: right",
                   "not yet: exercise 3. Replace `raise NotImplementedError` with your answer."]
    assert status == 1


def test_an_exercise_is_right_if_every_answer_is(said):
    out, _, status = said("check_one(lambda: 2)\n" + ONE + TWO + "check_two(lambda: 3)\n", "--check")
    assert out == ["not yet: exercise 1. 2 instead of 1", "not yet: exercise 2. 3 instead of 2",
                   "not yet: exercise 3. Its check was not called."]
    assert status == 1


def test_an_assertion_without_a_message_is_a_sentence_too(said):
    assert said("check_three(lambda: 4)\n", "--check")[0][2] == "not yet: exercise 3. The check does not accept your answer."


def test_a_script_that_ends_early(said):
    out, _, status = said(ONE + "print(no_such_name)\n" + TWO, "--check")
    assert out == ["exercise 1: right", "not yet: exercise 2. Its check was not called.", "not yet: exercise 3. Its check was not called.",
                   f"The script ends in line {SCRIPT.count(chr(10)) + 2}: NameError: name 'no_such_name' is not defined"]
    assert status == 1
    out, _, status = said("if\n", "--check")
    assert out[0].startswith(f"The script ends in line {SCRIPT.count(chr(10)) + 1}: SyntaxError") and status == 1


def test_hints(said):
    assert said("", "--hint", "1") == (["hint 1 of 2: A number.", "The next hint: --hint 1 2"], "", 0)
    assert said("", "--hint", "1", "2") == (["hint 2 of 2: The first one."], "", 0)
    assert said("", "--hint", "2") == (["Exercise 2 has no hints."], "", 0)
    _, errors, status = said("", "--hint", "7")
    assert "there is no exercise 7; there are 1, 2, 3" in errors and status == 2


def test_checks_raise_again_afterwards(said):
    said(ONE, "--check")

    @mg.testing.exercise(1)
    def check(answer):
        raise AssertionError("not 1")
    with pytest.raises(AssertionError, match="not 1"):
        check(2)


def test_wrong_arguments_are_explained():
    with pytest.raises(TypeError, match=r"check_script\(\): argument 'path' must be str or os.PathLike, not int(?s:.*)MG-E201"):
        mg.testing.check_script(0)
    with pytest.raises(TypeError, match=r"check_script\(\): argument 'arguments' must be sequence of str, not int(?s:.*)MG-E201"):
        mg.testing.check_script("exercises.py", 0)
