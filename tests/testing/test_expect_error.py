"""expect_error: the expected error is printed and goes no further; no error, or another one, is itself an error."""

import gc
import weakref

import pytest

import minigrad as mg
from minigrad.testing import NotRaisedError, expect_error


def fails():
    (mg.ones(2, requires_grad=True) * 2).backward()     # MG-E108, an AutogradError, which is a RuntimeError


@pytest.mark.parametrize("error", [RuntimeError, mg.errors.AutogradError, Exception, (KeyError, RuntimeError)])
@pytest.mark.parametrize("code", [None, "MG-E108"])
def test_the_error_is_printed_and_stops(capsys, error, code):
    with expect_error(error, code=code) as caught:
        fails()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "RuntimeError: grad can be implicitly created only for scalar outputs"
    assert said[-1] == '  help:     mg.explain("MG-E108")'
    assert caught.value.code == "MG-E108"


def test_errors_of_python_have_no_code(capsys):
    with expect_error(ZeroDivisionError):
        int(1 / 0)
    assert capsys.readouterr().out == "ZeroDivisionError: division by zero\n"


def test_quiet(capsys):
    with expect_error(RuntimeError, quiet=True) as caught:
        fails()
    assert capsys.readouterr().out == "" and caught.value.code == "MG-E108"


def test_nothing_raised():
    with pytest.raises(NotRaisedError, match="expected RuntimeError MG-E108, but nothing was raised") as caught:
        with expect_error(RuntimeError, code="MG-E108"):
            pass
    assert isinstance(caught.value, AssertionError) and caught.value.code == "MG-E288"


@pytest.mark.parametrize("error, code, found", [
    (RuntimeError, "MG-E101", "found:    AutogradError MG-E108: grad can be"),
    ((KeyError, IndexError), None, "expected KeyError or IndexError, but another error was raised"),
    (KeyError, "MG-E108", "found:    AutogradError MG-E108"),
])
def test_another_error(error, code, found):
    with pytest.raises(NotRaisedError) as caught:
        with expect_error(error, code=code):
            fails()
    assert found in str(caught.value)
    assert caught.value.__cause__.code == "MG-E108"


def test_a_code_is_asked_of_an_error_without_one():
    with pytest.raises(NotRaisedError, match="found:    ZeroDivisionError: division by zero"):
        with expect_error(ZeroDivisionError, code="MG-E108"):
            int(1 / 0)


def test_an_error_without_words():
    with pytest.raises(NotRaisedError, match="found:    ValueError: "):
        with expect_error(KeyError):
            raise ValueError


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_passes(stop):
    with pytest.raises(stop):
        with expect_error(RuntimeError):
            raise stop


@pytest.mark.parametrize("wrong", ["MG-E101", (), None, 3, (RuntimeError, "MG-E101"), RuntimeError("x")])
def test_not_a_class(wrong):
    with pytest.raises(TypeError, match="wants a class of exceptions"):
        expect_error(wrong)


def test_nothing_is_kept_alive(no_collection):
    """The error has no frames, so it keeps none of their tensors alive."""
    def block():
        x = mg.ones(2, requires_grad=True)
        gone = weakref.ref(x)
        with expect_error(RuntimeError, quiet=True) as caught:
            (x * 2).backward()
        return caught, gone

    caught, gone = block()
    assert caught.value.__traceback__ is None
    assert gone() is None, gc.get_referrers(gone())


def test_modes_are_as_before():
    with expect_error(RuntimeError, quiet=True), mg.no_grad():
        fails()
    assert mg.is_grad_enabled()
