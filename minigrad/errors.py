"""Errors that teach: what happened, to which tensor and node, expected and found, what to do.

    RuntimeError: Trying to backward through the graph a second time: MulBackward0 has released its saved values.
      node:  MulBackward0
      where: hw.py, line 12: loss.backward()
      fix:   run the forward again before each backward ...
      help:  mg.explain("MG-E101")

Every error has a code, and every code has a text in ``errors.md``, which `mg.explain` shows (``_explain.py``). There is a class for
each kind of mistake and each builtin error that PyTorch raises, so ``except RuntimeError`` catches the same errors here as there.
The first line of a message keeps the words that people search for.

This file imports nothing of minigrad except ``_user_line.py``, so that every layer may raise from it.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import operator
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ArgumentError", "AutogradAssertionError", "AutogradError", "AutogradNotImplementedError", "AutogradTypeError", "DeviceError",
    "DtypeError", "GradcheckError", "LinAlgError", "MinigradError", "NumberOverflowError", "OutOfMemoryError", "OutOfRangeError",
    "ScalarError", "ShapeError", "TensorTypeError", "TensorValueError", "UnknownOperatorError", "catalogue",
]


class _NamedForWhatItIs(type):
    """The metaclass of the errors: a traceback shows an error under the name of its builtin base.

        RuntimeError: one of the variables needed for gradient computation has been modified ...

    is what PyTorch prints and people search for. So a traceback shows the name of the first builtin class that an error derives
    from, and `repr` shows the class itself. A class that PyTorch has too keeps its own name: `own_name`.
    """

    home: tuple[str, str]       # the module and the name in it
    own_name: bool              # whether a traceback shows the name of the class itself

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls.home = (cls.__module__, cls.__qualname__)
        builtin = next(base for base in cls.__mro__ if getattr(builtins, base.__name__, None) is base)
        if builtin is not Exception and not cls.own_name:
            cls.__module__, cls.__qualname__ = "builtins", builtin.__name__

    def __repr__(cls):
        return f"<class '{'.'.join(cls.home)}'>"


class MinigradError(Exception, metaclass=_NamedForWhatItIs):
    """Base of all errors that minigrad raises on purpose.

    `code` is the entry of the catalogue. The other arguments become the lines of the message, except those that are None. `where`
    is the running line of the program that uses minigrad, unless it is given.

    Each error is also a builtin error, as in PyTorch, and a traceback shows that name.

    >>> try:
    ...     mg.ones(2) + mg.ones(3)
    ... except mg.errors.MinigradError as error:
    ...     print(error.code, error.what)
    MG-E204 The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
    """

    own_name = False
    __str__ = Exception.__str__     # that of KeyError shows its message as a string in quotes

    def __init__(self, code: str, what: str, *, tensor: str | None = None, node: str | None = None, expected: str | None = None,
                 found: str | None = None, where: str | None = None, cause: str | None = None, fix: str | None = None) -> None:
        self.code = code
        self.what = what
        if where is None:
            from minigrad._user_line import user_line  # with the first error
            where = user_line()
        lines: list[str] = [what]
        for label, text in (("tensor", tensor), ("node", node), ("expected", expected), ("found", found), ("where", where),
                            ("cause", cause), ("fix", fix)):
            if text is not None:
                lines.append(f"  {label + ':':<10}" + text.replace("\n", "\n" + 12 * " "))
        lines.append(f'  {"help:":<10}mg.explain("{code}")')
        super().__init__("\n".join(lines))

    def __reduce__(self) -> Any:
        return _rebuild, (type(self).home, self.code, self.what, self.args)


def _rebuild(home, code, what, args):
    module, name = home
    cls = operator.attrgetter(name)(importlib.import_module(module))
    error = cls.__new__(cls, *args)
    error.code, error.what, error.args = code, what, args
    return error


class AutogradError(MinigradError, RuntimeError):
    """The graph, the engine or a gradient is in a state that an operation does not allow.

    >>> try:
    ...     mg.ones(2).sum().backward()
    ... except mg.errors.AutogradError as error:
    ...     print(error.code)
    MG-E110
    """


class AutogradTypeError(MinigradError, TypeError):
    """An argument of autograd has the wrong type.

    >>> try:
    ...     mg.ones(2, device=2.5)
    ... except mg.errors.AutogradTypeError as error:
    ...     print(error.code)
    MG-E202
    """


class AutogradNotImplementedError(MinigradError, NotImplementedError):
    """A method that must be defined is missing, or an op is not implemented for this dtype or option.

    >>> try:
    ...     mg.autograd.Function.apply(mg.ones(2))
    ... except mg.errors.AutogradNotImplementedError as error:
    ...     print(error.code)
    MG-E140
    """


class AutogradAssertionError(MinigradError, AssertionError):
    """A context of autograd is used in the wrong place, or arguments violate an assertion that PyTorch makes too.

    >>> try:
    ...     mg.optim.swa_utils.AveragedModel(mg.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)
    ... except mg.errors.AutogradAssertionError as error:
    ...     print(error.code)
    MG-E364
    """


class GradcheckError(AutogradError):
    """`gradcheck` or `gradgradcheck` has found a derivative that is wrong. Mirrors ``torch.autograd.gradcheck.GradcheckError``.

    >>> from minigrad.autograd.gradcheck import GradcheckError
    >>> x = mg.ones(2, dtype=mg.float64, requires_grad=True)
    >>> try:
    ...     mg.autograd.gradcheck(lambda x: x.detach() * x, x)
    ... except GradcheckError as error:
    ...     print(error.code, *[line for line in str(error).splitlines() if "cause" in line])
    MG-E260   cause:    analytical = 1/2 * numerical: a constant factor is wrong, or one of several equal terms is missing
    """

    __module__ = "minigrad.autograd.gradcheck"      # its public name, which tracebacks, pickles and stubs show
    own_name = True


class ShapeError(MinigradError, RuntimeError):
    """Shapes of tensors do not fit together, or a shape is impossible.

    >>> try:
    ...     mg.zeros(2, -1)
    ... except mg.errors.ShapeError as error:
    ...     print(error.code)
    MG-E206
    """


class DtypeError(MinigradError, RuntimeError):
    """An op cannot use this dtype, or the dtypes of its tensors do not go together.

    >>> try:
    ...     mg.ones(2, 2) @ mg.ones(2, 2, dtype=mg.float64)
    ... except mg.errors.DtypeError as error:
    ...     print(error.code)
    MG-E203
    """


class DeviceError(MinigradError, RuntimeError):
    """A device does not exist, has failed, or is not the device of another tensor of the op.

    >>> try:
    ...     mg.zeros(2, device="toaster")
    ... except mg.errors.DeviceError as error:
    ...     print(error.code)
    MG-E202
    """


class ScalarError(MinigradError, RuntimeError):
    """One number was expected, and the tensor has several, or none.

    >>> try:
    ...     bool(mg.ones(2))
    ... except mg.errors.ScalarError as error:
    ...     print(error.code)
    MG-E208
    """


class OutOfMemoryError(MinigradError, RuntimeError, MemoryError):
    """The memory of the CPU or of a GPU has no room for another tensor. Mirrors ``torch.OutOfMemoryError``.

    >>> try:
    ...     x = mg.empty(1 << 60, device="cuda" if mg.cuda.is_available() else "cpu")
    ... except (mg.OutOfMemoryError, MemoryError, RuntimeError, ValueError):
    ...     print("a smaller batch")
    a smaller batch
    """

    own_name = True


class LinAlgError(MinigradError, RuntimeError):
    """A matrix has no inverse, or the decomposition does not exist.

    >>> try:
    ...     mg.linalg.inv(mg.zeros(2, 2))
    ... except mg.errors.LinAlgError as error:
    ...     print(error.code)
    MG-E340
    """

    own_name = True


class NumberOverflowError(MinigradError, OverflowError):
    """A number is too large for every dtype.

    >>> try:
    ...     mg.nn.functional.dropout(mg.ones(2), 10 ** 400)
    ... except mg.errors.NumberOverflowError as error:
    ...     print(error.code)
    MG-E302
    """


class TensorTypeError(MinigradError, TypeError):
    """An argument of an op has the wrong type.

    >>> try:
    ...     mg.sum("abc")
    ... except mg.errors.TensorTypeError as error:
    ...     print(error.code)
    MG-E201
    """


class TensorValueError(MinigradError, ValueError):
    """An argument has the right type but an impossible value.

    >>> try:
    ...     mg.tensor(2 ** 70)
    ... except mg.errors.TensorValueError as error:
    ...     print(error.code)
    MG-E306
    """


class OutOfRangeError(MinigradError, IndexError):
    """An index or a dimension is out of range.

    >>> try:
    ...     mg.ones(2).sum(5)
    ... except mg.errors.OutOfRangeError as error:
    ...     print(error.code)
    MG-E301
    """


class UnknownOperatorError(MinigradError, AttributeError):
    """No operator has this name.

    >>> try:
    ...     mg.library.get_op("mine::missing")
    ... except mg.errors.UnknownOperatorError as error:
    ...     print(error.code)
    MG-E280
    """


class ArgumentError(MinigradError, RuntimeError):
    """An argument is missing, contradicts another, or has a value that makes no sense here.

    >>> try:
    ...     mg.stack([])
    ... except mg.errors.ArgumentError as error:
    ...     print(error.code)
    MG-E302
    """


@functools.cache
def catalogue() -> dict[str, tuple[str, str]]:
    """Return code -> (title, text), from ``errors.md`` beside this file.

    >>> len(mg.errors.catalogue()) > 100
    True
    """
    with open(os.path.join(os.path.dirname(__file__), "errors.md"), encoding="utf-8") as file:
        sections = file.read().split("\n## ")[1:]
    return {heading[:7]: (heading[8:], text.strip()) for heading, _, text in (s.partition("\n") for s in sections)}
