"""`expect_error`: a deliberate error, in a text that is run.

    with mg.testing.expect_error(RuntimeError, code="MG-E101"):
        loss.backward()                 the error is printed as Python prints it, and the program goes on

A page that says "this fails" becomes wrong the day it no longer does, and nobody notices: a notebook's tag `raises-exception` lets
a cell fail, and lets it succeed as well. Here no error is an error, and so is another one.
"""

import traceback

from minigrad.errors import MinigradError

__all__ = ["NotRaisedError", "expect_error"]


class NotRaisedError(MinigradError, AssertionError):
    """The error that `expect_error` waited for did not come, or another one did.

    >>> try:
    ...     with mg.testing.expect_error(RuntimeError):
    ...         y = mg.ones(2) + 1
    ... except mg.testing.NotRaisedError as error:
    ...     print(error.code)
    MG-E288
    """

    __module__ = "minigrad.testing"


class expect_error:
    """Context manager: the block has to fail, with this error. It is printed, and goes no further.

    Args:
        error (type or tuple of types): the class, or a class above it; as after `except`.
        code (str, optional): of an error of minigrad, such as ``"MG-E101"``. Any, if it is not given.
        quiet (bool): print nothing.

    What ``with ... as caught`` gives has the error as ``caught.value``, for a look at it afterwards.

    Raises:
        AssertionError: the block ended without an error, or with one of another class or code; that is then the ``__cause__``.
            Exceptions that are no errors (KeyboardInterrupt, SystemExit) pass.
        TypeError: `error` is no class of exceptions.

    PyTorch has nothing like it; ``pytest.raises`` is its model.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.testing.expect_error(RuntimeError, code="MG-E108"):
    ...     (x * x).backward()
    RuntimeError: grad can be implicitly created only for scalar outputs
      found:    shape [2]
      ...
      help:     minigrad.explain("MG-E108")
    """

    def __init__(self, error, code=None, *, quiet=False):
        classes = error if isinstance(error, tuple) else (error,)
        if not classes or not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
            raise TypeError(f"expect_error() wants a class of exceptions, or a tuple of them; not {error!r}")
        self.error, self.code, self.quiet = error, code, quiet
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        if kind is None:
            raise NotRaisedError("MG-E288", f"{self._expected()} was to be raised, and nothing was",
                                 fix="the lines in the block run without an error: see whether the text around them is still true")
        if isinstance(value, self.error) and (self.code is None or getattr(value, "code", None) == self.code):
            # Without the frames nothing in the block is kept alive: a text may go on and speak of who holds what.
            self.value = value.with_traceback(None)
            if not self.quiet:
                print("".join(traceback.format_exception_only(value)).rstrip())
            return True
        if not isinstance(value, Exception):
            return False
        code = getattr(value, "code", None)
        first = (str(value).splitlines() or [""])[0]
        raise NotRaisedError("MG-E288", f"{self._expected()} was to be raised, and another error was",
                             found=f"{kind.__name__}{f' {code}' if isinstance(code, str) else ''}: {first}") from value

    def _expected(self):
        classes = self.error if isinstance(self.error, tuple) else (self.error,)
        return " or ".join([c.__name__ for c in classes]) + (f" {self.code}" if self.code else "")
