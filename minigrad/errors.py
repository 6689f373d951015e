"""Errors that teach: what happened, to which tensor and node, expected and found, what to do.

    RuntimeError: Trying to backward through the graph a second time: MulBackward0 has let go of what it saved.
      node:  MulBackward0
      fix:   call the first backward with retain_graph=True, or run the forward again
      help:  minigrad.explain("MG-E101")

Every error has a code, and every code a text (`explain`; the texts are in ``errors.md``). There is one class for each builtin that
PyTorch raises, so that ``except RuntimeError`` catches here what it catches there; the first line
keeps the words by which people search for the error.

This file imports nothing of minigrad, so that every layer may raise from it.
"""

import builtins
import functools
import importlib
import operator
import os

__all__ = [
    "ArgumentError", "AutogradAssertionError", "AutogradError", "AutogradNotImplementedError", "AutogradTypeError",
    "LinAlgError", "MinigradError", "NumberOverflowError", "OutOfMemoryError", "OutOfRangeError", "ShapeError", "TensorTypeError",
    "TensorValueError", "UnknownOperatorError", "catalogue", "explain",
]


class _NamedForWhatItIs(type):
    """The class of the error classes: an error that nobody catches is printed as the builtin error that it is.

        RuntimeError: one of the variables needed for gradient computation has been modified ...

    is what people search for, and what PyTorch prints. So the name that a traceback shows is that of the first builtin class that
    an error derives from; `repr` shows the class itself. A class that PyTorch has too keeps its name: `own_name`.
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

    `code` is the entry of the catalogue; the other arguments become the lines of the message, those
    that are None being left out.

    Each error is also a builtin one, as PyTorch's are, and a traceback shows it by that name.
    """

    own_name = False

    def __init__(self, code, what, *, tensor=None, node=None, expected=None, found=None, where=None, cause=None,
                 fix=None):
        self.code = code
        self.what = what
        lines: list[str] = [what]
        for label, text in (("tensor", tensor), ("node", node), ("expected", expected), ("found", found), ("where", where),
                            ("cause", cause), ("fix", fix)):
            if text is not None:
                lines.append(f"  {label + ':':<10}" + text.replace("\n", "\n" + 12 * " "))
        lines.append(f'  {"help:":<10}minigrad.explain("{code}")')
        super().__init__("\n".join(lines))

    def __reduce__(self):
        return _rebuild, (type(self).home, self.code, self.what, self.args)


def _rebuild(home, code, what, args):
    module, name = home
    cls = operator.attrgetter(name)(importlib.import_module(module))
    error = cls.__new__(cls, *args)
    error.code, error.what, error.args = code, what, args
    return error


class AutogradError(MinigradError, RuntimeError):
    """The graph, the engine or a gradient is not as it has to be."""


class AutogradTypeError(MinigradError, TypeError):
    """Something that autograd was given is of the wrong type."""


class AutogradNotImplementedError(MinigradError, NotImplementedError):
    """A method that has to be defined is not there."""


class AutogradAssertionError(MinigradError, AssertionError):
    """Autograd is not where it has to be, or what PyTorch asserts of its arguments does not hold."""


class ShapeError(MinigradError, RuntimeError):
    """Shapes, dtypes or devices of tensors do not go together."""


class OutOfMemoryError(MinigradError, RuntimeError, MemoryError):
    """There is no room for another tensor, in the memory of the CPU or of a GPU. Mirrors ``torch.OutOfMemoryError``.

    >>> try:
    ...     x = mg.empty(1 << 60, device="cuda" if mg.cuda.is_available() else "cpu")
    ... except (mg.OutOfMemoryError, MemoryError, RuntimeError, ValueError):
    ...     print("a smaller batch")
    a smaller batch
    """

    own_name = True


class LinAlgError(MinigradError, RuntimeError):
    """A matrix has no inverse, or no such decomposition."""

    own_name = True


class NumberOverflowError(MinigradError, OverflowError):
    """A number is too large for every dtype."""


class TensorTypeError(MinigradError, TypeError):
    """An op was given something that it cannot take."""


class TensorValueError(MinigradError, ValueError):
    """An argument of the right type has a value that makes no sense."""


class OutOfRangeError(MinigradError, IndexError):
    """An index or a dimension lies outside the tensor."""


class UnknownOperatorError(MinigradError, AttributeError):
    """There is no operator of this name."""


class ArgumentError(MinigradError, RuntimeError):
    """An argument is missing, or contradicts another."""


def explain(code=None):
    """The text behind an error code, without a network.

    Args:
        code (str, optional): such as ``"MG-E101"``. Without it, the list of all codes.

    Raises:
        KeyError: there is no such code.

    Example:
        >>> import minigrad as mg
        >>> print(mg.explain("MG-E101").splitlines()[0])
        MG-E101  Backward through the graph a second time
    """
    texts = catalogue()
    if code is None:
        return "\n".join(f"{c}  {title}" for c, (title, _) in texts.items())
    if not isinstance(code, str) or code not in texts:
        raise KeyError(f"no error code {code!r}; minigrad.explain() lists them all")
    title, text = texts[code]
    return f"{code}  {title}\n\n{text}\n"


@functools.cache
def catalogue():
    """Code -> (title, text), as ``errors.md`` beside this file has them. Read when somebody asks: no import waits for it."""
    with open(os.path.join(os.path.dirname(__file__), "errors.md"), encoding="utf-8") as file:
        sections = file.read().split("\n## ")[1:]
    return {heading[:7]: (heading[8:], text.strip()) for heading, _, text in (s.partition("\n") for s in sections)}
