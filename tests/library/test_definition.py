"""Making operators: names, type hints, schemas, `mutates_args`; and the checks of a call against them."""
# ruff: noqa: UP006, UP007, UP035, UP045, RUF013, B006, F821
# The old spellings of hints are hints too.

import collections.abc
import functools
from typing import List, Optional, Sequence, Tuple, Union

import numpy as np
import pytest

import minigrad
from minigrad.library import _schema
from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define


def infer(m, function, mutates_args=(), **options):
    return m.library.infer_schema(function, mutates_args=mutates_args, **options)


def test_decorator_and_direct_call(m):
    """custom_op/B-01"""
    @m.library.custom_op("tests::decorated", mutates_args=())
    def decorated(x: m.Tensor) -> m.Tensor:
        return x + 1

    def function(x: m.Tensor) -> m.Tensor:
        return x + 2
    direct = m.library.custom_op("tests::direct", function, mutates_args=())
    assert repr(decorated) == "<CustomOpDef(tests::decorated)>" and repr(direct) == "<CustomOpDef(tests::direct)>"
    assert value(decorated(m.ones(2))) == [2, 2] and value(direct(m.ones(2))) == [3, 3]
    with pytest.raises(TypeError, match="mutates_args"):
        m.library.custom_op("tests::direct", function)


@pytest.mark.parametrize("name", ["no_namespace", "a::b::c"])
def test_names_without_namespace_are_value_errors(m, name):
    """custom_op/B-02"""
    with pytest.raises(ValueError):
        m.library.custom_op(name, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


@pytest.mark.differs(
    what='`custom_op("a.b::c", ...)` and other bad names',
    there="The parser of schemas raises an error about one character.",
    here="ValueError, which shows the form `namespace::name`.")
@ours
@pytest.mark.parametrize("name", ["::b", "a::", "a b::c", "a.b::c", "a::b.c.d", "", 3])
def test_a_bad_name_is_told_what_a_name_is(m, name):
    """custom_op/B-02: in one class, with a clear text."""
    with raises(ValueError, "\"namespace::name\""):
        m.library.custom_op(name, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_overloads_have_a_name_of_their_own(m):
    op = m.library.custom_op("tests::over.load", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert op(leaf(m, 1.0, 1.0)).grad_fn.name() == "GeneratedBackwardFor_tests_over_loadBackward"


# ---- type hints -----------------------------------------------------------------------------------------------


def test_every_type_of_parameter(m):
    """custom_op/B-04: in the words of PyTorch."""
    number = Union[int, float, bool]
    def f(a: m.Tensor, b: int, c: float, d: bool, e: str, f: number, g: m.dtype, h: m.device) -> m.Tensor: ...
    assert infer(m, f) == ("(Tensor a, SymInt b, float c, bool d, str e, Scalar f, ScalarType g, Device h) -> Tensor")

    def g(a: List[m.Tensor], b: Sequence[int], c: list[float], d: collections.abc.Sequence[bool], e: list[number]) -> None: ...
    assert infer(m, g) == "(Tensor[] a, SymInt[] b, float[] c, bool[] d, Scalar[] e) -> ()"

    def h(a: Optional[m.Tensor], b: Optional[int] = None, c: Optional[List[float]] = None, d: Optional[str] = None,
          e: Optional[m.dtype] = None, f: Optional[m.device] = None) -> None: ...
    assert infer(m, h) == "(Tensor? a, SymInt? b=None, float[]? c=None, str? d=None, ScalarType? e=None, Device? f=None) -> ()"

    def k(a: List[Optional[m.Tensor]]) -> None: ...
    assert infer(m, k) == "(Tensor?[] a) -> ()"

    def i(a: m.Tensor | None, b: int | None = None) -> None: ...
    assert infer(m, i) == "(Tensor? a, SymInt? b=None) -> ()"


def test_every_type_of_result(m):
    """custom_op/B-04"""
    for hint, text in [(m.Tensor, "Tensor"), (List[m.Tensor], "Tensor[]"), (list[m.Tensor], "Tensor[]"), (int, "SymInt"),
                       (float, "float"), (bool, "bool"), (Union[int, float, bool], "Scalar"), (None, "()"),
                       (Tuple[m.Tensor, int], "(Tensor, SymInt)"), (tuple[list[m.Tensor], m.Tensor], "(Tensor[], Tensor)")]:
        def f(x): ...
        f.__annotations__ = {"x": m.Tensor, "return": hint}
        assert infer(m, f) == f"(Tensor x) -> {text}"
    for hint in (str, list[int], Optional[m.Tensor], dict, Tuple[m.Tensor, ...]):
        f.__annotations__["return"] = hint
        with raises(ValueError, "Return has unsupported type"):
            infer(m, f)


def test_defaults_and_keyword_only(m):
    def f(x: m.Tensor, n: int = -3, *, s: float = 0.5, name: str = "a", flag: bool = True, t: m.dtype = m.float32) -> m.Tensor: ...
    assert infer(m, f, op_name="f") == (
        'f(Tensor x, SymInt n=-3, *, float s=0.5, str name="a", bool flag=True, ScalarType t=float32) -> Tensor')


def test_hints_that_are_strings(m):
    def f(x: "Tensor", n: "int" = 2) -> "Tensor": ...
    globals()["Tensor"] = m.Tensor
    try:
        assert infer(m, f) == "(Tensor x, SymInt n=2) -> Tensor"
    finally:
        del globals()["Tensor"]

    def g(x: "Nowhere") -> "int": ...
    with raises(ValueError, "Unsupported type annotation"):
        infer(m, g)


def test_hints_that_are_wrong(m):
    """custom_op/B-03, custom_op/T-02"""
    def unannotated(x) -> m.Tensor: ...
    def no_return(x: m.Tensor): ...
    def pair(x: Tuple[m.Tensor, m.Tensor]) -> m.Tensor: ...
    def table(x: dict) -> m.Tensor: ...
    def varargs(*x: m.Tensor) -> m.Tensor: ...
    def varkwargs(**x: m.Tensor) -> m.Tensor: ...
    def positional(x: m.Tensor, /) -> m.Tensor: ...
    def default(x: m.Tensor, n: List[int] = [1]) -> m.Tensor: ...
    for function, key in [(unannotated, "must have a type annotation"), (no_return, "No return type annotation"),
                          (pair, "We do not support Tuple inputs"), (table, "has unsupported type"),
                          (varargs, "do not support positional-only args, varargs"),
                          (varkwargs, "do not support positional-only args, varargs"),
                          (positional, "do not support positional-only args, varargs"),
                          (default, "unsupported default value type")]:
        with raises(ValueError, key):
            define(m, function)
        with raises(ValueError, "infer_schema(func): "):
            infer(m, function)


@pytest.mark.differs(
    what="A custom op with the parameter `n: int = None`",
    there="It is accepted.",
    here="ValueError: the type has to allow None.")
@ours
def test_a_default_of_none_needs_optional(m):
    def f(x: m.Tensor, n: int = None) -> m.Tensor: ...
    with raises(ValueError, "Parameter n is None by default"):
        define(m, f)


@ours
def test_a_callable_without_signature(m):
    with raises(ValueError, "infer_schema(func): "):
        define(m, type("Callable", (), {"__name__": "f", "__call__": 3})())


def test_tensors_by_keyword_only(m):
    """custom_op/B-07"""
    def f(x: m.Tensor, *, y: m.Tensor) -> m.Tensor: ...
    with raises(NotImplementedError, "kwarg-only Tensor args"):
        define(m, f)


# ---- mutates_args and schemas ----------------------------------------------------------------------------------


def test_what_is_written_to_is_in_the_schema(m):
    """custom_op/B-05"""
    def f(x: m.Tensor, ys: list[m.Tensor], z: Optional[m.Tensor], n: int) -> None: ...
    assert infer(m, f, {"x"}) == "(Tensor(a0!) x, Tensor[] ys, Tensor? z, SymInt n) -> ()"
    assert infer(m, f, ["z", "ys"]) == "(Tensor x, Tensor(a1!)[] ys, Tensor(a2!)? z, SymInt n) -> ()"
    assert infer(m, f, "unknown") == "(Tensor(a0!) x, Tensor(a1!)[] ys, Tensor(a2!)? z, SymInt n) -> ()"


def test_mutates_args_that_are_not_there(m):
    """custom_op/B-05, custom_op/T-02"""
    def f(x: m.Tensor, n: int) -> None: ...
    with raises(ValueError, "in mutates_args were not found"):
        define(m, f, mutates_args=["y"])
    with raises(ValueError, "can be mutated"):
        define(m, f, mutates_args=["n"])
    with raises(ValueError, "mutates_args must either be a sequence"):
        define(m, f, mutates_args="x")


def test_an_explicit_schema(m):
    """custom_op/B-06"""
    def f(x, n=2):
        return x * n
    op = define(m, f, schema="(Tensor x, int n=2) -> Tensor")
    assert value(op(m.ones(1), 3)) == [3] and value(op(m.ones(1))) == [2]
    with raises(ValueError, "Please make these consistent"):
        define(m, f, schema="(Tensor(a!) x, int n=2) -> Tensor")
    with raises(ValueError, "Please make these consistent"):
        define(m, f, mutates_args=["x"], schema="(Tensor x, int n=2) -> Tensor")
    define(m, f, mutates_args=["x"], schema="(Tensor(a!) x, int n=2) -> ()")


@pytest.mark.parametrize("schema", ["Tensor x -> Tensor", "(Tensor x)", "(Tensor) -> Tensor", "(nonsense x) -> Tensor",
                                    "(Tensor x, int n=hello) -> Tensor", ""])
def test_a_schema_that_cannot_be_read(m, schema):
    if schema == "(Tensor) -> Tensor" and m is not minigrad:
        pytest.skip("PyTorch lets an argument be nameless")
    with pytest.raises(RuntimeError):
        define(m, lambda x: x, schema=schema)


@ours
@pytest.mark.parametrize("schema", [
    "(Tensor x, Tensor(a!)[] ys, Tensor?[] zs) -> (Tensor, Tensor[])", '(Device d="cpu", ScalarType t=float32) -> Scalar',
    '(Tensor? x=None, *, SymInt[2] k=[1, 2], str s="a, b", float f=inf) -> ()', "() -> Tensor",
    "(Tensor x, bool b=False, SymInt? i=None) -> (Tensor out, float scale)", "(Tensor x) -> (Tensor)"])
def test_a_schema_is_written_as_it_was_read(m, schema):
    assert str(_schema.parse_schema("ns::op", "default", schema)) == "ns::op" + schema


# ---- calls ------------------------------------------------------------------------------------------------------


def echo(m, hint):
    """An operator that notes the value of its second argument."""
    seen = []

    def f(x, a):
        seen.append(a)
    f.__annotations__ = {"x": m.Tensor, "a": hint, "return": None}
    op = define(m, f)

    def call(a):
        seen.clear()
        op(m.ones(1), a)
        return seen[0]
    return call


def test_arguments_are_converted(m):
    """custom_op/B-09: as PyTorch does it; nothing is cut off."""
    for hint, given, got in [
            (int, True, 1), (int, np.int64(4), 4), (float, 2, 2.0), (float, True, 1.0), (float, np.float32(0.5), 0.5), (bool, 1, True),
            (list[int], (1, 2), [1, 2]), (list[int], [True], [1]), (list[float], [1, 2.5], [1.0, 2.5]), (list[bool], (1,), [True]),
            (Optional[int], None, None), (Optional[list[int]], (1,), [1]), (Union[int, float, bool], 1.5, 1.5), (str, "s", "s"),
            (m.dtype, m.float64, m.float64), (m.device, "cpu", m.device("cpu")), (list[int], (), [])]:
        found = echo(m, hint)(given)
        assert found == got and type(found) is type(got), (hint, given)
    x = m.ones(2)
    found = echo(m, list[m.Tensor])((x, x))
    assert type(found) is list and found[1] is x
    assert echo(m, int)(m.tensor(3)) == 3


@pytest.mark.parametrize("hint, given, expected", [
    (int, 1.5, "int"), (int, "a", "int"), (int, None, "int"), (float, "a", "float"), (float, 1j, "float"), (list[int], 3, "List[int]"),
    (list[int], [1.0], "List[int]"), (list[float], 1.0, "List[float]"), (Optional[int], 1.5, "Optional[int]"),
    (str, 3, "str"), (Union[int, float, bool], "a", "number")], ids=str)
def test_arguments_of_the_wrong_type(m, hint, given, expected):
    """custom_op/B-09, custom_op/T-02: the expected type, the argument's name, the type that was found."""
    with raises(RuntimeError, f"Expected a value of type '{expected}' for argument 'a' but instead found type "
                f"'{type(given).__name__}'"):
        echo(m, hint)(given)


def test_tensors_of_the_wrong_type(m):
    """custom_op/B-09"""
    def f(x: m.Tensor, y: Optional[m.Tensor], zs: list[m.Tensor]) -> None: ...
    op, t = define(m, f), m.ones(1)
    for args, key in [(("a", t, [t]), "'Tensor' for argument 'x' but instead found type 'str'"),
                      ((np.ones(1), t, [t]), "'Tensor' for argument 'x' but instead found type 'ndarray'"),
                      ((t, 3, [t]), "'Optional[Tensor]' for argument 'y' but instead found type 'int'"),
                      ((t, t, t), "'List[Tensor]' for argument 'zs' but instead found type 'Tensor'"),
                      ((t, t, [None]), "'List[Tensor]' for argument 'zs' but instead found type 'list'")]:
        with raises(RuntimeError, "Expected a value of type " + key):
            op(*args)
    op(t, None, ())


@pytest.mark.differs(
    what="`op(None)`, where the schema asks for a tensor",
    there="The kernel is called with None.",
    here="RuntimeError, as for any other wrong type.")
@ours
def test_none_is_no_tensor(m):
    """custom_op/B-09: PyTorch hands it to the kernel."""
    def f(x: m.Tensor) -> None: ...
    with raises(RuntimeError, "Expected a value of type 'Tensor'"):
        define(m, f)(None)


def test_the_number_of_arguments(m):
    """custom_op/B-09: too many, too few, twice, unknown; and by keyword."""
    def f(x: m.Tensor) -> m.Tensor:
        return x + 1
    op, t = define(m, f), m.ones(1)
    with raises(RuntimeError, "expected at most 1 argument(s)"):
        op(t, t)
    with raises(RuntimeError, "is missing value for argument 'x'"):
        op()
    assert value(op(x=t)) == [2]

    def g(x: m.Tensor, n: int = 1, *, k: int = 2) -> int:
        return 10 * n + k
    op = define(m, g)
    with raises(RuntimeError, "takes 2 positional argument(s) but 3 was/were given"):
        op(t, 1, 2)
    with raises(RuntimeError, "Unknown keyword argument 'y'"):
        op(t, y=t)
    with raises(RuntimeError, "Argument 'x' specified both as positional and keyword argument"):
        op(t, x=t)
    assert (op(t), op(t, k=3), op(n=4, x=t)) == (12, 13, 42)


@ours
def test_the_message_shows_the_schema(m):
    def f(x: m.Tensor, n: int = 2) -> m.Tensor: ...
    op = define(m, f)
    with pytest.raises(RuntimeError) as caught:
        op(m.ones(1), 1.5)
    assert f"expected: {op._qualname}(Tensor x, SymInt n=2) -> Tensor" in str(caught.value) and "1.5 at position 1" in str(caught.value)


def returning(m, hint, result):
    def f(x):
        return result(x)
    f.__annotations__ = {"x": m.Tensor, "return": hint}
    return define(m, f)


def test_results_of_the_wrong_type(m):
    """custom_op/B-11"""
    x = m.ones(2)
    for hint, result in [(m.Tensor, lambda x: "a"), (m.Tensor, lambda x: 1.5), (m.Tensor, lambda x: (x + 1, x + 2)),
                         (None, lambda x: x + 1), (int, lambda x: 1.5), (Tuple[m.Tensor, m.Tensor], lambda x: x + 1)]:
        with pytest.raises((RuntimeError, TypeError)):
            returning(m, hint, result)(x)


@pytest.mark.differs(
    what="A kernel that returns None, or three results instead of two",
    there="None is returned to the caller. Three instead of two crash the process.",
    here="RuntimeError, which names the operator.")
@ours
def test_results_of_the_wrong_type_are_runtime_errors(m):
    """custom_op/B-11: one class of error for wrong results, with the operator's name. PyTorch accepts None, and crashes for a third result."""
    x = m.ones(2)
    for hint, result, key in [
            (m.Tensor, lambda x: None, "to return a value of type 'Tensor' but it returned NoneType"),
            (m.Tensor, lambda x: (x + 1,), "but it returned tuple"), (m.Tensor, lambda x: [x + 1], "but it returned list"),
            (tuple[m.Tensor], lambda x: x + 1, "to return a tuple of 1 but it returned Tensor"),
            (list[m.Tensor], lambda x: x + 1, "type 'List[Tensor]' but it returned Tensor"),
            (tuple[m.Tensor, m.Tensor], lambda x: (x + 1, x + 2, x + 3), "to return 2 values but it returned 3"),
            (tuple[m.Tensor, int], lambda x: (x + 1, "a"), "type 'int' at position 1 but it returned str"),
            (tuple[m.Tensor, m.Tensor], lambda x: x + 1, "to return a tuple of 2 but it returned Tensor"),
            (None, lambda x: x + 1, "to return None but it returned something else instead")]:
        with raises(RuntimeError, key):
            returning(m, hint, result)(x)


def test_results_are_converted(m):
    """custom_op/B-04, custom_op/B-11"""
    x = m.ones(1)
    for hint, result, got in [(int, lambda x: True, 1), (float, lambda x: 3, 3.0), (Union[int, float, bool], lambda x: 2.5, 2.5),
                              (None, lambda x: None, None), (bool, lambda x: True, True)]:
        found = returning(m, hint, result)(x)
        assert found == got and type(found) is type(got)
    for hint, result, got in [(Tuple[m.Tensor, m.Tensor], lambda x: [x + 1, x + 2], ([2], [3])),
                              (List[m.Tensor], lambda x: (x + 1, x + 2), [[2], [3]]),
                              (Tuple[m.Tensor], lambda x: (x + 1,), ([2],)),
                              (Tuple[List[m.Tensor], m.Tensor], lambda x: ([x + 1], x + 2), ([[2]], [3]))]:
        found = returning(m, hint, result)(x)
        assert type(found) is type(got) and value(found) == list(got)


@pytest.mark.differs(
    what='Type hints as strings, such as `"Optional[int]"`',
    there="ValueError, if the function's module has not imported the name.",
    here="The usual names need no import.")
@ours
def test_the_usual_hints_need_no_import(m):
    """As strings; PyTorch promises it too, but looks in the function's module alone."""
    def f(x: "Tensor", n: "Optional[int]" = None, t: "dtype | None" = None) -> "List[Tensor]": ...
    assert infer(m, f) == "(Tensor x, SymInt? n=None, ScalarType? t=None) -> Tensor[]"


@ours
def test_an_optional_list_of_tensors(m):
    """custom_op/B-04: PyTorch has no such type."""
    def f(x: m.Tensor, ys: list[m.Tensor] | None = None) -> m.Tensor:
        return x.clone() if ys is None else x + sum(ys)
    op = define(m, f)
    op.register_autograd(lambda ctx, g: (g, [g] * 2 if isinstance(ctx.needs_input_grad[1], list) else None))
    x, y, z = leaf(m, 1.0), leaf(m, 2.0), leaf(m, 3.0)
    (op(x) + op(x, [y, z])).backward()
    assert (value(x.grad), value(y.grad), value(z.grad)) == (2, 1, 1)


def test_a_partial_function(m):
    def f(x: m.Tensor, n: int, k: int = 3) -> m.Tensor:
        return x * n * k
    partial = functools.partial(f, k=5)
    if m is not minigrad:       # which looks for __globals__
        partial.__globals__ = f.__globals__
    assert infer(m, partial) == "(Tensor x, SymInt n, *, SymInt k=5) -> Tensor"


@ours
def test_an_object_that_can_be_called(m):
    class Scale:
        __name__ = "scale"

        def __call__(self, x: m.Tensor, n: int = 2) -> m.Tensor:
            return x * n
    assert value(define(m, Scale())(m.ones(1), 3)) == [3]
