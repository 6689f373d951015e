"""The types of arguments and results: from type hints, as a schema writes them, and what fits them.

    hint                        list[Tensor]        Tensor | None       int         float | None
    in a schema                 Tensor[]            Tensor?             SymInt      float?
    in an error message         List[Tensor]        Optional[Tensor]    int         Optional[float]

A value that fits is converted, as PyTorch does it: an int given for a float becomes one, a tuple given for a list a list.
(``SymInt`` is what PyTorch writes for an int: under compilation it may be symbolic. Here it never is.)

Mirrors the table of types in ``torch/_library/infer_schema.py``, and what the dispatcher does with arguments.
"""

import collections.abc
import functools
import numbers
import operator
import types
import typing

from minigrad._core.graph.metadata import Device, DType
from minigrad.dtypes import as_device, device
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor

Number = int | float | bool


class Misfit(Exception):
    """A value does not fit its type. `args[0]` is an element of a list, if that is the reason."""


def _tensor(value):
    if isinstance(value, Tensor):
        return value
    raise Misfit


def _integer(value):
    try:
        return operator.index(value)
    except (TypeError, MinigradError):
        raise Misfit from None


def _float(value):
    if isinstance(value, (float, int)) or hasattr(type(value), "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, MinigradError):
            raise Misfit from None
    raise Misfit


def _bool(value):
    if isinstance(value, int) or type(value).__name__ == "bool":       # or NumPy's bool
        return bool(value)
    raise Misfit


def _number(value):
    if isinstance(value, numbers.Number):
        return value
    raise Misfit


def _instance(cls):
    def convert(value):
        if isinstance(value, cls):
            return value
        raise Misfit
    return convert


def _device(value):
    if isinstance(value, (str, Device)):
        return as_device(value)     # pyright: ignore[reportArgumentType]: in stubs a Device is that of minigrad.dtypes
    raise Misfit


# In a schema -> in an error message, and the conversion.
KINDS = {
    "Tensor": ("Tensor", _tensor), "SymInt": ("int", _integer), "int": ("int", _integer), "float": ("float", _float),
    "bool": ("bool", _bool), "Scalar": ("number", _number), "str": ("str", _instance(str)),
    "ScalarType": ("dtype", _instance(DType)), "Device": ("Device", _device),
}
# Hint -> in a schema.
HINTS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", numbers.Number: "Scalar", str: "str", DType: "ScalarType",
         Device: "Device", device: "Device"}
NUMBERS = {int, float, bool, complex}
IN_LISTS = ("Tensor", "SymInt", "float", "bool", "Scalar")


class Type:
    """The type of an argument or result.

    kind                `Tensor`, `SymInt`, ...: of the value, or of the elements of a list
    is_list             it is a list of these
    optional            it may be None
    optional_elements   its elements may be None
    size                a number may be given for a list, and means that many of it
    """

    def __init__(self, kind, is_list=False, optional=False, optional_elements=False, size=None):
        self.kind = kind
        self.is_list = is_list
        self.optional = optional
        self.optional_elements = optional_elements
        self.size = size
        self._name, self._convert = KINDS[kind]

    def text(self, alias=None):
        """As a schema writes it. `alias` marks memory that is written to: ``Tensor(a!)``."""
        brackets = "" if not self.is_list else "[]" if self.size is None else f"[{self.size}]"
        return (self.kind + (f"({alias})" if alias else "") + "?" * self.optional_elements + brackets + "?" * self.optional)

    def __str__(self):
        return self.text()

    def __eq__(self, other):
        return isinstance(other, Type) and self.text() == other.text()

    def __hash__(self):
        return hash(self.text())

    @property
    def name(self):
        """As an error message says it."""
        name = f"Optional[{self._name}]" if self.optional_elements else self._name
        name = f"List[{name}]" if self.is_list else name
        return f"Optional[{name}]" if self.optional else name

    def is_tensor_like(self):
        """Whether it is a tensor, an optional one, or a list of such."""
        return self.kind == "Tensor"

    def convert(self, value):
        """`value` as a kernel gets it. Raises `Misfit`."""
        if value is None and self.optional:
            return None
        if not self.is_list:
            return self._convert(value)
        if isinstance(value, (str, bytes)) or (isinstance(value, Tensor) and self.kind == "Tensor"):
            raise Misfit
        if self.size is not None and isinstance(value, numbers.Number):
            value = [value] * self.size
        try:
            values = list(value)    # pyright: ignore[reportArgumentType]
        except TypeError:
            raise Misfit from None
        try:
            return [None if x is None and self.optional_elements else self._convert(x) for x in values]
        except Misfit:
            raise Misfit(f"its elements are {', '.join(sorted({type(x).__name__ for x in values}))}") from None


def type_of_hint(hint):
    """The `Type` that a hint means, or None if there is none."""
    try:
        if hint in HINTS:
            return Type(HINTS[hint])
    except TypeError:       # not hashable
        return None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if types.NoneType in inner:
            rest = [t for t in inner if t is not types.NoneType]
            found = type_of_hint(functools.reduce(operator.or_, rest)) if rest else None
            if found is not None:
                found.optional = True
            return found
        return Type("Scalar") if set(inner) <= NUMBERS else None
    if origin in (list, collections.abc.Sequence) and inner:
        found = type_of_hint(inner[0])
        if found is None or found.is_list or found.kind not in IN_LISTS or (found.optional and found.kind != "Tensor"):
            return None
        return Type(found.kind, is_list=True, optional_elements=found.optional)
    return None
