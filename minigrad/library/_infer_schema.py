"""Infer the schema of a function from its type hints.

    def scale(x: Tensor, n: int = 2) -> Tensor          (Tensor x, SymInt n=2) -> Tensor

Mirrors ``torch/_library/infer_schema.py``.
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from typing import TYPE_CHECKING

from minigrad._core.graph.metadata import Device, DType
from minigrad.errors import TensorValueError
from minigrad.library._schema import REQUIRED, Argument, FunctionSchema
from minigrad.library._types import KINDS, parse_hint
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

# A hint that is a string may use these names, even if the module of the function does not import them.
USUAL = {"Tensor": Tensor, "dtype": DType, "device": Device, "Optional": typing.Optional, "Union": typing.Union,
         "List": list, "Tuple": tuple, "Sequence": collections.abc.Sequence}


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None,
                 tags: Any = ()) -> str:
    """Return the schema of a function as text, from its type hints.

    Args:
        prototype_function (Callable): a function with a hint for each parameter and for the result. A parameter may be Tensor, int,
            float, bool, str, `Number`, dtype or device; a list or sequence of Tensor, int, float, bool or Number; or
            ``Optional`` of one of these. The result may be Tensor, a list of Tensor, int, float, bool, Number, a tuple of
            these, or None.
        mutates_args (iterable of str, or "unknown"): the names of the parameters that the function writes to; "unknown" means all
            tensors.
        op_name (str, optional): the name at the beginning of the schema.
        tags: accepted as in PyTorch, and ignored.

    Returns:
        str: the schema.

    Raises:
        ValueError: a hint is missing or not supported; a parameter is positional-only, ``*args`` or ``**kwargs``; a default is
            neither None, a number, a string, a dtype nor a device; `mutates_args` has a name that is not a tensor parameter.

    Mirrors ``torch.library.infer_schema``.

    >>> from minigrad.library import infer_schema
    >>> def scale(x: mg.Tensor, n: int = 2, *, out_scale: float | None = None) -> mg.Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, SymInt n=2, *, float? out_scale=None) -> Tensor'
    >>> infer_schema(scale, mutates_args={"x"}, op_name="scale")
    'scale(Tensor(a0!) x, SymInt n=2, *, float? out_scale=None) -> Tensor'
    """
    return str(make_schema(prototype_function, mutates_args, op_name or ""))


def make_schema(function, mutates_args, name):
    """Make the `FunctionSchema` of a function. See `infer_schema`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise TensorValueError("MG-E270", f"infer_schema(func): {error}", found=type(function).__name__,
                               fix="pass a function with type hints, or a schema") from error
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise TensorValueError(
                "MG-E271", "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                "'unknown'.", found=repr(mutates_args), fix=f"mutates_args=({mutates_args!r},)")
        mutated = None
    else:
        mutated = set(mutates_args)

    def wrong(what, code="MG-E270", fix=None):
        return TensorValueError(code, f"infer_schema(func): {what}", found=f"a function with the signature {signature}", fix=fix)

    hints = resolve_hints(function, signature, wrong)
    arguments = []
    for i, (key, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.",
                        fix="name each parameter, and remove / from the signature; use a list for any number of tensors")
        if parameter.annotation is parameter.empty:
            raise wrong(f"Parameter {key} must have a type annotation.", fix=f"{key}: Tensor")
        kind = parse_hint(hints[key])
        if kind is None:
            pair = typing.get_origin(hints[key]) is tuple
            raise wrong(f"Parameter {key} has unsupported type {parameter.annotation}. "
                        + "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. " * pair
                        + f"The valid types are: {', '.join(KINDS)}, lists of them and Optional.",
                        fix=f"{key}: list[...]" if pair else "see minigrad.library.infer_schema for the types")
        default = parameter.default
        if default is parameter.empty:
            default = REQUIRED
        elif not (default is None or isinstance(default, (int, float, str, DType, Device))):
            raise wrong(f"Parameter {key} has an unsupported default value type {type(default)}.",
                        fix=f"{key}: Optional[...] = None, and replace None by the default inside the function")
        elif default is None and not kind.optional:
            raise wrong(f"Parameter {key} is None by default, which is not a {kind}.", fix=f"{key}: Optional[...] = None")
        writes = kind.is_tensor_like() if mutated is None else key in mutated
        if writes and not kind.is_tensor_like():
            raise wrong(f"Parameter {key} is in mutable_args but only Tensors or collections of Tensors can be mutated",
                        "MG-E271")
        arguments.append(Argument(key, kind, default, parameter.kind is parameter.KEYWORD_ONLY, f"a{i}!" if writes else None))
    unknown = (mutated or set()) - set(signature.parameters)
    if unknown:
        raise wrong(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
                    "names of all args that the custom op mutates, or just the string 'unknown' if you don't know.", "MG-E271")
    if signature.return_annotation is signature.empty:
        raise wrong("No return type annotation was provided. Please add one.", fix="-> Tensor, or -> None")
    return FunctionSchema(name, "", arguments, parse_return(hints["return"], signature, wrong),
                          typing.get_origin(hints["return"]) is tuple)


def resolve_hints(function, signature, wrong):
    """Return the dict name -> hint; hints that are strings are evaluated.

    The hints are from the signature, which also exists for partials and callable objects.
    """
    hints = {p.name: p.annotation for p in signature.parameters.values()} | {"return": signature.return_annotation}
    annotated = types.SimpleNamespace(__annotations__={name: hint for name, hint in hints.items() if hint is not signature.empty})
    code = inspect.unwrap(getattr(function, "func", function))
    try:
        return typing.get_type_hints(annotated, {**USUAL, **getattr(code, "__globals__", {})})
    except Exception as error:      # the expression of the program may raise any error
        raise wrong(f"Unsupported type annotation. It is not a type. ({type(error).__name__}: {error}).",
                    fix="import the types at the top of the module of the function") from error


def parse_return(hint, signature, wrong):
    """Return the list of results for the hint of the return value."""
    if hint is type(None):
        return []
    hints = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    kinds = list(map(parse_hint, hints))
    for kind in kinds:
        if kind is None or kind.optional or kind.optional_elements or (kind.is_list and kind.kind != "Tensor") or (
                kind.kind in ("str", "ScalarType", "Device")):
            raise wrong(f"Return has unsupported type {signature.return_annotation}. The valid types are: Tensor, list[Tensor], "
                        "int, float, bool, Number, and tuples of these.", fix="-> Tensor, or -> tuple[Tensor, int]")
    return [Argument("", kind) for kind in kinds]
