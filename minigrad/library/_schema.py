"""A schema: the signature of an operator, as data and as text.

    mylib::scale(Tensor x, SymInt n=2, *, bool flip=False) -> Tensor
          name   arguments                                    returns
    mylib::fill_(Tensor(a0!) x, float value) -> ()              the operator writes to x

`bind` checks and converts the arguments of a call, and adds the defaults. `check_output` checks the result of the kernel.

Mirrors ``torch._C.FunctionSchema`` and its parser (``torch/csrc/jit/frontend/function_schema_parser.cpp``).
"""

import ast
import re

from minigrad.dtypes import as_dtype
from minigrad.errors import ArgumentError, AutogradError, MinigradError
from minigrad.library._types import KINDS, Misfit, Type

REQUIRED = object()     # stands for the default of an argument without a default

_ITEM = re.compile(r"""
    (?P<kind>\w+) (?:\((?P<alias>\w+!?)\))?                             # !: written to
    (?P<inner>\?(?=\[))? (?P<brackets>\[(?P<size>\d*)\])? (?P<optional>\?)?
    (?:\s+(?P<name>[A-Za-z_]\w*))? (?:\s*=\s*(?P<default>.+))?""", re.X | re.S)


class Argument:
    """One argument or result of an operator: its name, `Type`, default, and whether the operator writes to it."""

    def __init__(self, name, type, default=REQUIRED, kwarg_only=False, alias=None):
        self.name = name
        self.type = type
        self.default = default
        self.kwarg_only = kwarg_only
        self.alias = alias

    @property
    def is_write(self):
        """Whether the operator writes to it."""
        return self.alias is not None and self.alias.endswith("!")

    @property
    def spreads(self):
        """Whether it is a list of tensors. Each tensor of the list has its own gradient."""
        return self.type.is_list and self.type.kind == "Tensor"

    def __str__(self):
        text = self.type.format(self.alias) + (f" {self.name}" if self.name else "")
        return text if self.default is REQUIRED else f"{text}={format_default(self.default)}"


def format_default(default):
    """The text of a default value in a schema."""
    if isinstance(default, list):
        return "[" + ", ".join(map(format_default, default)) + "]"
    if default is None or isinstance(default, (bool, int, float, complex)):
        return str(default)
    text = str(default)
    return text.removeprefix("minigrad.") if text.startswith("minigrad.") else f'"{text}"'


class FunctionSchema:
    """The signature of an operator: the names and types of its arguments, and the arguments that it writes to.

    positional, keywords    the positional arguments; the keyword-only arguments
    writes                  the arguments that the operator writes to
    returns_tuple           the result is a tuple: there are several results, or the schema has a tuple of one
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
        """Whether the operator writes to an argument."""
        return bool(self.writes)

    def is_functional(self):
        """Whether the operator writes to nothing, and returns new memory."""
        return bool(self.returns) and all(a.alias is None for a in (*self.arguments, *self.returns))

    def __str__(self):
        parts = list(map(str, self.positional)) + ["*"] * bool(self.keywords) + list(map(str, self.keywords))
        returns = ", ".join(map(str, self.returns))
        returns = f"({returns})" if self.returns_tuple or not self.returns else returns
        overload = "" if self.overload_name in ("", "default") else "." + self.overload_name
        return f"{self.name}{overload}({', '.join(parts)}) -> {returns}"

    # ---- calls ------------------------------------------------------------------------------------------

    def bind(self, args, kwargs):
        """Return ``(positional, keywords)``: the arguments of a call with all defaults, a list and a dict.

        Raises:
            RuntimeError: an argument is missing or unknown, has two values, or has a wrong type.
        """
        if len(args) > len(self.positional):
            n = len(self.positional)
            raise self._make_error(f"takes {n} positional argument(s) but {len(args)} was/were given." if self.keywords else
                              f"expected at most {n} argument(s) but received {len(args)} argument(s).")
        rest = dict(kwargs)
        positional = []
        for i, argument in enumerate(self.positional):
            name = argument.name
            if i < len(args):
                if name in rest:
                    raise self._make_error(f"Argument '{name}' specified both as positional and keyword argument.")
                positional.append(self._convert(argument, args[i], i))
            else:
                positional.append(self._take(argument, rest, i))
        keywords = {a.name: self._take(a, rest, len(positional) + i) for i, a in enumerate(self.keywords)}
        if rest:
            raise self._make_error(f"Unknown keyword argument '{next(iter(rest))}' for operator '{self.name}'.")
        return positional, keywords

    def drop_defaults(self, positional):
        """Return `positional` without the last arguments that have their default values."""
        n = len(positional)
        while n and _is_default(positional[n - 1], self.positional[n - 1].default):
            n -= 1
        return tuple(positional[:n])

    def _take(self, argument, rest, position):
        """Return the value of a keyword argument, and remove it from `rest`; or return the default."""
        if argument.name in rest:
            return self._convert(argument, rest.pop(argument.name), position)
        if argument.default is REQUIRED:
            raise self._make_error(f"is missing value for argument '{argument.name}'.")
        return list(argument.default) if isinstance(argument.default, list) else argument.default

    def _convert(self, argument, value, position):
        """Convert the value of an argument, or raise."""
        try:
            return argument.type.convert(value)
        except Misfit as misfit:
            why = f"; {misfit}" if misfit.args else ""
            raise self._make_error(
                f"Expected a value of type '{argument.type.name}' for argument '{argument.name}' but instead found type "
                f"'{type(value).__name__}'.", f"{value!r:.80} at position {position}{why}") from None

    def _make_error(self, what, found=None):
        """Return the error for a wrong call."""
        return ArgumentError("MG-E273", f"{self.name}() {what}", found=found, expected=str(self))

    def check_output(self, output):
        """Check and convert the result of a kernel. Return None, one value, or a tuple of values.

        Raises:
            RuntimeError: the result does not agree with the schema.
        """
        if not self.returns:
            if output is None:
                return None
            raise self._make_output_error(f"to return None but it returned something else instead: {type(output).__name__}.")
        if not self.returns_tuple:
            return self._convert_result(self.returns[0], output, "")
        if not isinstance(output, (tuple, list)):
            raise self._make_output_error(f"to return a tuple of {len(self.returns)} but it returned {type(output).__name__}.")
        if len(output) != len(self.returns):
            raise self._make_output_error(f"to return {len(self.returns)} values but it returned {len(output)}.")
        return tuple([self._convert_result(r, x, f" at position {i}") for i, (r, x) in enumerate(zip(self.returns, output))])

    def _convert_result(self, result, value, where):
        """Convert one result, or raise."""
        try:
            return result.type.convert(value)
        except Misfit:
            raise self._make_output_error(f"to return a value of type '{result.type.name}'{where} but it returned "
                                 f"{type(value).__name__}.") from None

    def _make_output_error(self, what):
        """Return the error for a wrong result of a kernel."""
        return AutogradError("MG-E274", f"Expected the kernel of {self.name} {what}", expected=str(self),
                             fix="let the function return the types in its type hints")


# ---- the parser ---------------------------------------------------------------------------------------------


def parse_schema(name, overload_name, text):
    """Parse a schema such as ``"(Tensor x, int n=2) -> Tensor"``, and return the `FunctionSchema`.

    Raises:
        RuntimeError: the text is not a schema, or has an unknown type.
    """
    found = re.fullmatch(r"\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*?)\s*", text, re.S)
    if not found:
        raise make_parse_error(text, "expected (arguments) -> returns")
    arguments, kwarg_only = [], False
    for part in split_list(found["arguments"]):
        if part == "*":
            kwarg_only = True
        else:
            arguments.append(parse_item(part, text, kwarg_only, True))
    returns = found["returns"]
    is_tuple = returns.startswith("(") and returns.endswith(")")
    results = [parse_item(part, text, False, False) for part in split_list(returns[1:-1] if is_tuple else returns)]
    return FunctionSchema(name, overload_name, arguments, results, is_tuple and bool(results))


def parse_item(part, text, kwarg_only, named):
    """Parse one argument or result of the schema `text`. Return the `Argument`."""
    found = _ITEM.fullmatch(part)
    if not found or (named and not found["name"]):
        raise make_parse_error(text, f"expected a type and a name, found {part!r}")
    if found["kind"] not in KINDS:
        raise make_parse_error(text, f"unknown type specifier {found['kind']!r}; there are {', '.join(KINDS)}")
    size = int(found["size"]) if found["size"] else None
    kind = Type(found["kind"], bool(found["brackets"]), bool(found["optional"]), bool(found["inner"]), size)
    default = REQUIRED
    if found["default"]:
        try:
            default = kind.convert(parse_default(found["default"], kind))
        except (Misfit, ValueError, SyntaxError, TypeError, MinigradError):
            raise make_parse_error(text, f"{found['default']} is not a default value of type {kind}") from None
    return Argument(found["name"] or "", kind, default, kwarg_only, found["alias"])


def parse_default(default, kind):
    """Return the value of the text of a default."""
    if kind.kind == "ScalarType" and default != "None":
        from minigrad import dtypes
        return as_dtype({"float": dtypes.float32, "int": dtypes.int32, "bool": dtypes.bool_}.get(default)
                        or getattr(dtypes, default, None))
    if kind.kind == "Device" and re.fullmatch(r"[a-z]+(:\d+)?", default):
        return default
    if kind.kind == "float" and default in ("inf", "-inf", "nan"):
        return float(default)
    return ast.literal_eval(default)


def split_list(text):
    """Split a list at its outer commas."""
    parts = re.findall(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^,"'\[(])+""", text)
    return [part.strip() for part in parts if part.strip()]


def make_parse_error(text, what):
    """Return the error for a schema that cannot be parsed."""
    return ArgumentError("MG-E272", f"the schema {text!r} cannot be read: {what}",
                         fix="leave `schema` out, and write type hints: the schema is inferred from them")


def _is_default(value, default):
    """Whether a value equals the default. A tensor is never compared, and counts as different."""
    return default is not REQUIRED and type(value) is type(default) and not hasattr(value, "grad_fn") and value == default
