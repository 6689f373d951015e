"""`swap`: replace one part while a ``with`` block or a function runs.

    Student     the user's function: it counts its calls, and makes the errors that name it
    Swap        the context manager: `enter` puts the part in, `exit` puts back what was there before

Each file of `_engine`, `_operators` and `_classes` has the swaps of some parts: a function from a `Student` to (enter, exit).
"""

import contextlib
import importlib
import inspect
import os
import threading

from minigrad._arguments import instance
from minigrad.errors import AutogradError, AutogradTypeError
from minigrad.grading.parts import PARTS

__all__ = ["Student", "Swap", "SwapError", "swap"]

# part -> the module with its swap, a function of the same name
HOMES = {
    **dict.fromkeys(("run_backward", "count_dependencies", "ready_queue", "add_gradients", "accumulate_grad", "call_hooks", "vjp"),
                    "minigrad.grading._engine"),
    **dict.fromkeys(("saved_tensor", "forward", "kernel", "cuda_kernel"), "minigrad.grading._operators"),
    **dict.fromkeys(("optimizer_step", "layer"), "minigrad.grading._classes"),
}
NOTHING = object()
_counting = threading.Lock()


class SwapError(AutogradError):
    """A part that was swapped returned something wrong, or was never used. It is a `RuntimeError`.

    >>> x = mg.tensor(2., requires_grad=True)
    >>> try:
    ...     with mg.grading.swap("add_gradients", lambda old, new: None):
    ...         (x * x).backward()
    ... except mg.grading.SwapError as error:
    ...     print(error.code)
    MG-E181
    """


class Student:
    """The user's function or class for a part.

    Args:
        part (str): the name of the part.
        function (callable): the function or class.
        of (optional): the op or class that ``of=`` names.
    """

    def __init__(self, part, function, of=None):
        self.part, self.function, self.of = part, function, of
        self.calls = 0

    def __call__(self, *args):
        self.count()
        return self.function(*args)

    def count(self):
        """Count a call: of the function, of `pop` of a queue, of `pack` of what is saved."""
        with _counting:
            self.calls += 1

    def error(self, message, expected=None, found=NOTHING, fix=None, function=None):
        """A `SwapError` about `found`, which `function` returned: by default the user's whole function."""
        function = self.function if function is None else function
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return SwapError("MG-E181", f"{name}, swapped in for {self.part}, {message}", expected=expected,
                         found=None if found is NOTHING else describe(found),
                         where=place(function), fix=fix or f"PARTS[{self.part!r}] says what it gets and must return")


def describe(value):
    """A value in a few words, for messages."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{type(value).__name__} of {value.dtype}, shape {list(value.shape)}"
    text = repr(value)
    short = text if len(text) <= 60 else text[:57] + "..."
    return short if value is None else f"{type(value).__name__} {short}"


def place(function):
    """``file:line`` of a function or class, or None if Python does not know it."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    if code is not None:
        return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    try:
        lines, number = inspect.getsourcelines(function if inspect.isclass(function) else type(function))
        return f"{os.path.basename(inspect.getsourcefile(function) or '?')}:{number}" if lines else None
    except (OSError, TypeError):
        return None


class Swap(contextlib.ContextDecorator):
    """A part that is replaced while a ``with`` block or a decorated function runs. `swap` makes it.

    `calls` is the number of times that minigrad has called the part.

    >>> import numpy as np
    >>> part = mg.grading.swap("kernel", np.exp, of="exp")
    >>> with part:
    ...     mg.tensor([0.]).exp()
    tensor([1.])
    >>> part
    <swap of kernel: 1 calls>
    """

    def __init__(self, student, enter, leave):
        self._student, self._enter, self._leave = student, enter, leave
        self._before = []

    @property
    def calls(self):
        """How many times minigrad has called the part."""
        return self._student.calls

    def __enter__(self):
        self._before.append(self._enter())
        return self

    def __exit__(self, *exc_info):
        self._leave(self._before.pop())

    def check_used(self):
        """Check that minigrad has called the part.

        Raises:
            SwapError: it was never called. It is a `RuntimeError`.

        >>> part = mg.grading.swap("add_gradients", lambda old, new: old + new)
        >>> x = mg.tensor(2., requires_grad=True)
        >>> with part:
        ...     (x * x).backward()
        >>> part.check_used()
        >>> part.calls
        1
        """
        if self.calls == 0:
            student = self._student
            name = getattr(student.function, "__qualname__", type(student.function).__qualname__)
            raise SwapError("MG-E182", f"your function was not used: {name}, swapped in for {student.part}, was never called",
                            where=place(student.function),
                            fix="run something that needs the part inside `with mg.grading.swap(...):`, on minigrad's own engine")

    def __repr__(self):
        return f"<swap of {self._student.part}: {self.calls} calls>"


def swap(part, function, *, of=None):
    """Replace one part of minigrad with your own function or class. Use it in a ``with`` statement or as a decorator.

    Args:
        part (str): the name of the part: a key of `PARTS`, which says what your function gets and must return.
        function (callable): your function; for "ready_queue" and "saved_tensor" a class.
        of (str or class, optional): for a part that exists several times, which one: the name of an op for "vjp", "forward",
            "kernel" and "cuda_kernel", a class for "optimizer_step" and "layer".

    Returns:
        Swap: a context manager, with `calls` and `check_used`.

    Raises:
        RuntimeError: there is no such part or op (`SwapError`).
        TypeError: `function` cannot be called, or `of` is missing.

    Everything but the part is minigrad's own. A part of the engine is replaced for the backwards of all threads, an op for the
    calling thread. When the block ends, also by an error, the part is minigrad's again. Swaps of different parts may be combined.

    >>> class FirstMadeFirst:
    ...     def __init__(self):
    ...         self.nodes = []
    ...     def push(self, node):
    ...         self.nodes.append(node)
    ...     def pop(self):
    ...         return self.nodes.pop(0)
    >>> x = mg.tensor(2., requires_grad=True)
    >>> with mg.grading.swap("ready_queue", FirstMadeFirst) as part:
    ...     (x * x).backward()
    >>> x.grad, part.calls > 0
    (tensor(4.), True)
    """
    if instance(part, str, "part", "swap") not in HOMES:
        raise SwapError("MG-E180", f"there is no part {part!r}", expected=", ".join(HOMES), fix="a key of mg.grading.PARTS")
    if not callable(function):
        raise AutogradTypeError("MG-E180", f"swap({part!r}): your part must be callable", expected=PARTS[part].signature,
                                found=type(function).__name__, fix="pass the function or the class itself, not its result")
    if (of is None) != (not PARTS[part].of):
        message, rest = ("needs of=", ", of=...)") if of is None else ("takes no of=", ")")
        raise AutogradTypeError("MG-E180", f"swap({part!r}) {message}", expected=PARTS[part].of or None,
                                fix=f"swap({part!r}, function{rest}")
    student = Student(part, function, of)
    enter, leave = getattr(importlib.import_module(HOMES[part]), part)(student)
    return Swap(student, enter, leave)
