"""One definition, two methods: ``x.lerp(y, w)`` and ``x.lerp_(y, w)``.

    @in_place_too
    def lerp(input, end, weight):       returns the op and its arguments:  (Lerp.op, (input, end, weight))

    lerp(x, y, w)       call(op, args)              a new tensor
    x.lerp_(y, w)       apply_inplace(op, x, args[1:])      into x

The decorator costs 0.2 us a call. So the ops in the inner loops of small networks (+, exp, relu) are written out instead.

Mirrors the code that PyTorch generates from the ``variants`` of ``aten/src/ATen/native/native_functions.yaml``.
"""

import inspect
from collections.abc import Callable
from typing import Any

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import binary, call, unary
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Elementwise, named

__all__ = ["IN_PLACE", "in_place_too", "run"]

# name with the underscore -> in-place method
IN_PLACE = {}


def in_place_too(prepare) -> Callable[..., Any]:
    """Decorator: make a public function and an in-place method of `prepare`, which returns (op, arguments of the op)."""
    name = prepare.__name__
    signature = inspect.signature(prepare)

    def function(*args, out=None, **kwargs):
        if out is not None:
            return into(out, function, *args, **kwargs)
        if tensor_first and (args or first.name in kwargs):
            tensor_argument(name, args[0] if args else kwargs[first.name])
        op, operands = prepare(*args, **kwargs)
        return explain_misfit(run, op, operands)

    def method(self, *args, **kwargs):
        op, operands = prepare(self, *args, **kwargs)
        return explain_misfit(apply_inplace, op, self, operands[1:])

    first, *rest = signature.parameters.values()
    tensor_first = "Number" not in str(first.annotation)        # the others check this argument themselves
    function.__signature__ = signature.replace(return_annotation="Tensor", parameters=[
        first, *rest, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None")])
    method.__signature__ = signature.replace(parameters=[first.replace(name="self"), *rest])
    text = prepare.__doc__.replace(f".{name}(", f".{name}_(").replace(f"``torch.{name}``", f"``torch.Tensor.{name}_``")
    IN_PLACE[name + "_"] = named(method, name + "_", "In place: " + text)
    return named(function, name, prepare.__doc__)


def run(op, operands) -> Any:
    """Run `op`. An elementwise op with one kernel promotes its operands and accepts numbers."""
    if op.kernel < 0 or not issubclass(op.rule, Elementwise):
        return call(op, operands)
    return unary(op, operands[0]) if len(operands) == 1 else binary(op, operands[0], operands[1])
