"""A schema: the signature of an operator, as data and as text.

    mylib::scale(Tensor x, SymInt n=2, *, bool flip=False) -> Tensor
          name   arguments                                    returns
    mylib::fill_(Tensor(a0!) x, float value) -> ()              x is written to

It says what a call has to give (`bind` checks and converts that, and fills in the defaults), what the kernel has to return
(`results`), and which tensors it writes to.

Mirrors ``torch._C.FunctionSchema`` and its parser (``torch/csrc/jit/frontend/function_schema_parser.cpp``).
"""

import ast
import re

from minigrad.dtypes import as_dtype
from minigrad.errors import ArgumentError, AutogradError, MinigradError
from minigrad.library._types import KINDS, Misfit, Type

REQUIRED = object()     # the default of an argument that has none

_ITEM = re.compile(r"""
    (?P<kind>\w+) (?:\((?P<alias>\w+!?)\))?                             # ! is written to
    (?P<inner>\?(?=\[))? (?P<brackets>\[(?P<size>\d*)\])? (?P<optional>\?)?
    (?:\s+(?P<name>[A-Za-z_]\w*))? (?:\s*=\s*(?P<default>.+))?""", re.X | re.S)


class Argument:
    """One argument, or one result, of an operator: its name, `Type`, default, and whether it is written to."""

    def __init__(self, name, type, default=REQUIRED, kwarg_only=False, alias=None):
        self.name = name
        self.type = type
        self.default = default
        self.kwarg_only = kwarg_only
        self.alias = alias

    @property
    def is_write(self):
        return self.alias is not None and self.alias.endswith("!")

    @property
    def spreads(self):
        """Whether it is a list of tensors, each of which has its own gradient."""
        return self.type.is_list and self.type.kind == "Tensor"

    def __str__(self):
        text = self.type.text(self.alias) + (f" {self.name}" if self.name else "")
        return text if self.default is REQUIRED else f"{text}={written(self.default)}"


def written(default):
    """A default value as a schema writes it."""
    if isinstance(default, list):
        return "[" + ", ".join(map(written, default)) + "]"
    if default is None or isinstance(default, (bool, int, float, complex)):
        return str(default)
    text = str(default)
    return text.removeprefix("minigrad.") if text.startswith("minigrad.") else f'"{text}"'


class FunctionSchema:
    """The signature of an operator: names and types of its arguments, and which of them it writes to.

    positional, keywords    the arguments that may, and may not, be given by position
    writes                  those that are written to
    returns_tuple           the results come as a tuple: there are several, or a tuple of one was asked for
    """

    def __init__(self, name, overload_name, arguments, returns, returns_tuple):
        self.name = name
        self.overload_name = overload_name
        self.arguments = arguments
        self.returns = returns
        self.returns_tuple = returns_tuple
        self.positional = [a for a in arguments if not a.kwarg_only]
        self.keywords = [a for a in arguments if a.kwarg_only]
        self.writes = [a for a in arguments if a.is_write]
        self._names = {a.name for a in arguments}

    @property
    def is_mutable(self):
        return bool(self.writes)

    def is_functional(self):
        """Whether it only computes: writes to nothing, and returns something new."""
        return bool(self.returns) and all(a.alias is None for a in (*self.arguments, *self.returns))

    def __str__(self):
        parts = list(map(str, self.positional)) + ["*"] * bool(self.keywords) + list(map(str, self.keywords))
        returns = ", ".join(map(str, self.returns))
        returns = f"({returns})" if self.returns_tuple or not self.returns else returns
        overload = "" if self.overload_name in ("", "default") else "." + self.overload_name
        return f"{self.name}{overload}({', '.join(parts)}) -> {returns}"

    # ---- calls ------------------------------------------------------------------------------------------

    def bind(self, args, kwargs):
        """``(positional, keywords)``: the arguments of a call with all defaults, a list and a dict.

        Raises:
            RuntimeError: an argument is missing, surplus, given twice, or of a wrong type.
        """
        if len(args) > len(self.positional):
            n = len(self.positional)
            raise self._wrong(f"takes {n} positional argument(s) but {len(args)} was/were given." if self.keywords else
                              f"expected at most {n} argument(s) but received {len(args)} argument(s).")
        left = dict(kwargs)
        positional = []
        for i, argument in enumerate(self.positional):
            name = argument.name
            if i < len(args):
                if name in left:
                    raise self._wrong(f"Argument '{name}' specified both as positional and keyword argument.")
                positional.append(self._fitted(argument, args[i], i))
            else:
                positional.append(self._taken(argument, left, i))
        keywords = {a.name: self._taken(a, left, len(positional) + i) for i, a in enumerate(self.keywords)}
        if left:
            raise self._wrong(f"Unknown keyword argument '{next(iter(left))}' for operator '{self.name}'.")
        return positional, keywords

    def without_defaults(self, positional):
        """`positional` without what comes last and is the default."""
        n = len(positional)
        while n and self.positional[n - 1].default is not REQUIRED and _same(positional[n - 1], self.positional[n - 1].default):
            n -= 1
        return tuple(positional[:n])

    def _taken(self, argument, left, position):
        if argument.name in left:
            return self._fitted(argument, left.pop(argument.name), position)
        if argument.default is REQUIRED:
            raise self._wrong(f"is missing value for argument '{argument.name}'.")
        return list(argument.default) if isinstance(argument.default, list) else argument.default

    def _fitted(self, argument, value, position):
        try:
            return argument.type.convert(value)
        except Misfit as misfit:
            why = f"; {misfit}" if misfit.args else ""
            raise self._wrong(
                f"Expected a value of type '{argument.type.name}' for argument '{argument.name}' but instead found type "
                f"'{type(value).__name__}'.", f"{value!r:.80} at position {position}{why}") from None

    def _wrong(self, what, found=None):
        return ArgumentError("MG-E273", f"{self.name}() {what}", found=found, expected=str(self))

    def results(self, output):
        """What a kernel has returned, as the caller gets it: None, one value, or a tuple of them.

        Raises:
            RuntimeError: it is not what the schema says.
        """
        if not self.returns:
            if output is None:
                return None
            raise self._returned(f"to return None but it returned something else instead: {type(output).__name__}.")
        if not self.returns_tuple:
            return self._result(self.returns[0], output, "")
        if not isinstance(output, (tuple, list)):
            raise self._returned(f"to return a tuple of {len(self.returns)} but it returned {type(output).__name__}.")
        if len(output) != len(self.returns):
            raise self._returned(f"to return {len(self.returns)} values but it returned {len(output)}.")
        return tuple([self._result(r, x, f" at position {i}") for i, (r, x) in enumerate(zip(self.returns, output))])

    def _result(self, result, value, where):
        try:
            return result.type.convert(value)
        except Misfit:
            raise self._returned(f"to return a value of type '{result.type.name}'{where} but it returned "
                                 f"{type(value).__name__}.") from None

    def _returned(self, what):
        return AutogradError("MG-E274", f"Expected the kernel of {self.name} {what}", expected=str(self),
                             fix="let the function return what its type hints say")


# ---- the parser ---------------------------------------------------------------------------------------------


def parse_schema(name, overload_name, text):
    """The `FunctionSchema` of ``"(Tensor x, int n=2) -> Tensor"``.

    Raises:
        RuntimeError: it is no schema, or has a type that there is not.
    """
    found = re.fullmatch(r"\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*?)\s*", text, re.S)
    if not found:
        raise malformed(text, "expected (arguments) -> returns")
    arguments, kwarg_only = [], False
    for part in split(found["arguments"]):
        if part == "*":
            kwarg_only = True
        else:
            arguments.append(parse_item(part, text, kwarg_only, True))
    returns = found["returns"]
    is_tuple = returns.startswith("(") and returns.endswith(")")
    results = [parse_item(part, text, False, False) for part in split(returns[1:-1] if is_tuple else returns)]
    return FunctionSchema(name, overload_name, arguments, results, is_tuple and bool(results))


def parse_item(part, text, kwarg_only, named):
    found = _ITEM.fullmatch(part)
    if not found or (named and not found["name"]):
        raise malformed(text, f"expected a type and a name, found {part!r}")
    if found["kind"] not in KINDS:
        raise malformed(text, f"unknown type specifier {found['kind']!r}; there are {', '.join(KINDS)}")
    size = int(found["size"]) if found["size"] else None
    kind = Type(found["kind"], bool(found["brackets"]), bool(found["optional"]), bool(found["inner"]), size)
    default = REQUIRED
    if found["default"]:
        try:
            default = kind.convert(value_of(found["default"], kind))
        except (Misfit, ValueError, SyntaxError, TypeError, MinigradError):
            raise malformed(text, f"{found['default']} is no default value of type {kind}") from None
    return Argument(found["name"] or "", kind, default, kwarg_only, found["alias"])


def value_of(default, kind):
    """What a default value stands for."""
    if kind.kind == "ScalarType" and default != "None":
        from minigrad import dtypes
        return as_dtype({"float": dtypes.float32, "int": dtypes.int32, "bool": dtypes.bool_}.get(default)
                        or getattr(dtypes, default, None))
    if kind.kind == "Device" and re.fullmatch(r"[a-z]+(:\d+)?", default):
        return default
    if kind.kind == "float" and default in ("inf", "-inf", "nan"):
        return float(default)
    return ast.literal_eval(default)


def split(text):
    """The parts of a list at its outer commas."""
    parts = re.findall(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^,"'\[(])+""", text)
    return [part.strip() for part in parts if part.strip()]


def malformed(text, what):
    return ArgumentError("MG-E272", f"the schema {text!r} cannot be read: {what}",
                         fix="leave `schema` out, and give the function type hints: it is inferred from these")


def _same(value, default):
    """Whether an argument is what it would be by default. A tensor never is: it is not compared."""
    return type(value) is type(default) and not hasattr(value, "grad_fn") and value == default
