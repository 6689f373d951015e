"""The types of arguments and results: type hints, their names in a schema, and the conversion of values.

    hint                        list[Tensor]        Tensor | None       int         float | None
    in a schema                 Tensor[]            Tensor?             SymInt      float?
    in an error message         List[Tensor]        Optional[Tensor]    int         Optional[float]

A value is converted as in PyTorch: an int becomes a float if the type is float, and a tuple becomes a list if the type is a list.
(PyTorch writes ``SymInt`` for an int, because an int may be symbolic under compilation. In minigrad it is an ordinary int.)

Mirrors the table of types in ``torch/_library/infer_schema.py``, and the conversions of PyTorch's dispatcher.
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
    """A value does not fit its type. For a list with wrong elements, `args[0]` names the types of the elements."""


def _convert_tensor(value):
    if isinstance(value, Tensor):
        return value
    raise Misfit


def _convert_integer(value):
    try:
        return operator.index(value)
    except (TypeError, MinigradError):
        raise Misfit from None


def _convert_float(value):
    if isinstance(value, (float, int)) or hasattr(type(value), "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, MinigradError):
            raise Misfit from None
    raise Misfit


def _convert_bool(value):
    if isinstance(value, int) or type(value).__name__ == "bool":       # or NumPy's bool
        return bool(value)
    raise Misfit


def _convert_number(value):
    if isinstance(value, numbers.Number):
        return value
    raise Misfit


def _make_converter(cls):
    """Return the conversion for a class: it only checks the class."""
    def convert(value):
        if isinstance(value, cls):
            return value
        raise Misfit
    return convert


def _convert_device(value):
    if isinstance(value, (str, Device)):
        return as_device(value)     # pyright: ignore[reportArgumentType]: the stubs have the Device of minigrad.dtypes
    raise Misfit


# The name in a schema -> the name in an error message, and the function that converts a value.
KINDS = {
    "Tensor": ("Tensor", _convert_tensor), "SymInt": ("int", _convert_integer), "int": ("int", _convert_integer),
    "float": ("float", _convert_float), "bool": ("bool", _convert_bool), "Scalar": ("number", _convert_number),
    "str": ("str", _make_converter(str)), "ScalarType": ("dtype", _make_converter(DType)), "Device": ("Device", _convert_device),
}
# Type hint -> the name in a schema.
HINTS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", numbers.Number: "Scalar", str: "str", DType: "ScalarType",
         Device: "Device", device: "Device"}
NUMBERS = {int, float, bool, complex}
IN_LISTS = ("Tensor", "SymInt", "float", "bool", "Scalar")


class Type:
    """The type of an argument or result.

    kind                `Tensor`, `SymInt`, ...: the kind of the value, or of the elements of a list
    is_list             the value is a list
    optional            the value may be None
    optional_elements   the elements of the list may be None
    size                the value may be one number, which becomes a list with `size` equal elements
    """

    def __init__(self, kind, is_list=False, optional=False, optional_elements=False, size=None):
        self.kind = kind
        self.is_list = is_list
        self.optional = optional
        self.optional_elements = optional_elements
        self.size = size
        self._name, self._convert = KINDS[kind]

    def format(self, alias=None):
        """The name in a schema. `alias` marks memory that the operator writes to: ``Tensor(a!)``."""
        brackets = "" if not self.is_list else "[]" if self.size is None else f"[{self.size}]"
        return (self.kind + (f"({alias})" if alias else "") + "?" * self.optional_elements + brackets + "?" * self.optional)

    def __str__(self):
        return self.format()

    def __eq__(self, other):
        return isinstance(other, Type) and self.format() == other.format()

    def __hash__(self):
        return hash(self.format())

    @property
    def name(self):
        """The name in an error message."""
        name = f"Optional[{self._name}]" if self.optional_elements else self._name
        name = f"List[{name}]" if self.is_list else name
        return f"Optional[{name}]" if self.optional else name

    def is_tensor_like(self):
        """Whether values are tensors, optional tensors, or lists of tensors."""
        return self.kind == "Tensor"

    def convert(self, value):
        """Convert `value` for the kernel. Raise `Misfit` if it does not fit."""
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


def parse_hint(hint):
    """Return the `Type` of a type hint, or None if the hint is not supported."""
    try:
        if hint in HINTS:
            return Type(HINTS[hint])
    except TypeError:       # not hashable
        return None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if types.NoneType in inner:
            rest = [t for t in inner if t is not types.NoneType]
            found = parse_hint(functools.reduce(operator.or_, rest)) if rest else None
            if found is not None:
                found.optional = True
            return found
        return Type("Scalar") if set(inner) <= NUMBERS else None
    if origin in (list, collections.abc.Sequence) and inner:
        found = parse_hint(inner[0])
        if found is None or found.is_list or found.kind not in IN_LISTS or (found.optional and found.kind != "Tensor"):
            return None
        return Type(found.kind, is_list=True, optional_elements=found.optional)
    return None
