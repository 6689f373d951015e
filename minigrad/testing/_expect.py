"""`expect_error`: a deliberate error, in a tutorial or notebook that is run.

    with mg.testing.expect_error(RuntimeError, code="MG-E101"):
        loss.backward()                 the error is printed as Python prints it, and the program goes on

A page that says "this fails" becomes wrong when the code no longer fails. The tag `raises-exception` of a notebook does not notice:
it allows a cell to fail, and also to succeed. Here it is an error if the block raises nothing, or another error.
"""

import traceback

from minigrad.errors import MinigradError

__all__ = ["NotRaisedError", "expect_error"]


class NotRaisedError(MinigradError, AssertionError):
    """The block of `expect_error` did not raise the expected error.

    >>> try:
    ...     with mg.testing.expect_error(RuntimeError):
    ...         y = mg.ones(2) + 1
    ... except mg.testing.NotRaisedError as error:
    ...     print(error.code)
    MG-E288
    """

    __module__ = "minigrad.testing"


class expect_error:
    """Context manager: the block must raise this error. The error is printed, and the program goes on.

    Args:
        error (type or tuple of types): the class of the error or a base class, as in an `except` clause.
        code (str, optional): the code of a minigrad error, such as ``"MG-E101"``. By default, any code.
        quiet (bool, optional): if True, print nothing.

    After ``with ... as caught``, ``caught.value`` is the error.

    Raises:
        AssertionError: the block raised nothing, or an error of another class or code, which is then the ``__cause__``. Exceptions
            that are no errors (KeyboardInterrupt, SystemExit) pass through.
        TypeError: `error` is not a class of exceptions.

    Without a counterpart in PyTorch; it follows ``pytest.raises``.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.testing.expect_error(RuntimeError, code="MG-E108"):
    ...     (x * x).backward()
    RuntimeError: grad can be implicitly created only for scalar outputs
      found:    shape [2]
      ...
      help:     mg.explain("MG-E108")
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
            raise NotRaisedError("MG-E288", f"expected {self._expected()}, but nothing was raised",
                                 fix="the block runs without an error: check whether the text around it is still true")
        if isinstance(value, self.error) and (self.code is None or getattr(value, "code", None) == self.code):
            # The frames of a traceback would keep the variables of the block alive.
            self.value = value.with_traceback(None)
            if not self.quiet:
                print("".join(traceback.format_exception_only(value)).rstrip())
            return True
        if not isinstance(value, Exception):
            return False
        code = getattr(value, "code", None)
        first = (str(value).splitlines() or [""])[0]
        raise NotRaisedError("MG-E288", f"expected {self._expected()}, but another error was raised",
                             found=f"{kind.__name__}{f' {code}' if isinstance(code, str) else ''}: {first}") from value

    def _expected(self):
        classes = self.error if isinstance(self.error, tuple) else (self.error,)
        return " or ".join([c.__name__ for c in classes]) + (f" {self.code}" if self.code else "")
