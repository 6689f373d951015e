"""Rules: one class for each op, with the formula, the forward and the derivatives side by side.

    @op("mul")
    class Mul(Elementwise):
        \"\"\"z = x y\"\"\"

        def vjp_x(g, y):                # dx = g ȳ
            return g * conj(y)

        def vjp_y(g, x):                # dy = g x̄
            return g * conj(x)

The class is a table of formulas; its functions take no ``self``.

    forward(k, x, y, ...)   computes the output. It works on arrays; `k` are the kernels of the device. Its
                            parameters name the inputs and the other arguments; the first `inputs` are tensors.
    vjp_x(g, ...)           the vector-Jacobian product: the gradient of input x, given the gradient of the
                            output. It works on tensors, so double backward needs no second formula. The names of
                            its other parameters say what the node saves: an input, the output ``z``, another
                            argument, ``x_shape`` (the shape of input x), or ``x_by_columns`` (whether the
                            matrix x is stored column by column). An input without a formula has no derivative.
    vjp(g, needs, ...)      one formula for all inputs, where they share work. `needs` has a bool for each input.
    jvp_x(t, ...)           the Jacobian-vector product: the tangent of the output, given the tangent of input x.
                            The contributions of the inputs are added. `Elementwise` and `Linear` derive it.
    jvp(ts, ...)            one formula for all inputs. `ts` has a tangent or None for each; at least one is not
                            None. A result of None means zero. An op without any jvp refuses dual tensors.

No formula handles broadcasting (the engine sums a gradient down to the shape of its tensor), type promotion,
undefined gradients or needs_input_grad. The base classes and the engine do it for all.

`op` makes a `Primitive` from the class (``_core/record/primitive.py``), stores it as ``Mul.op`` and adds it to
`REGISTRY`. The gradient checks, the device parity tests and the table in the docs go through the registry. `variant` makes an
op from the formulas of another, if only the name of the node or some class attributes differ.

Mirrors PyTorch's ``tools/autograd/derivatives.yaml``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cython
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.apply import binary, call, unary
from cython.cimports.minigrad.ops.base.arguments import tensor_argument

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.record.primitive import Primitive
from minigrad._core.record.promotion import promote
from minigrad.errors import AutogradNotImplementedError
from minigrad.kernels.contract import NUMBER
from minigrad.ops.base.arguments import tensor_error
from minigrad.ops.base.out import into
from minigrad.ops.base.registry import REGISTRY

if TYPE_CHECKING:
    from minigrad.types import Tensor

    # A formula takes no self. Type checkers give its first parameter the type of the class, and a base of type Any allows that.
    Table = Any
else:
    Table = object

__all__ = ["BOOL", "FLOAT64", "INT64", "Elementwise", "Linear", "Op", "View", "conj", "constant", "is_reduced", "named", "op",
           "two_operands", "unary_function", "variant"]

BOOL = named_dtype("bool")
INT64 = named_dtype("int64")
FLOAT64 = named_dtype("float64")


class Op(Table):
    """Base of all ops: one class holds the formula, the forward and the derivatives."""

    inputs = None           # how many of forward's first arguments are tensors; None: as many as have a vjp_x
    variadic = False        # the first argument is a tuple of tensors
    outputs = ("z",)        # the names of the results in formulas
    kernel = None           # name of the kernel that is the whole forward; `params` then names its arguments
    commutative = False     # two operands whose order does not matter
    floats_only = False     # integers are converted to the default dtype
    refuses_bool = None     # message of the error for operands that are all bool
    refuses_any_bool = None     # message of the error if at least one operand is bool
    refuses_complex = None  # message of the error for complex operands
    result = None           # dtype of the result; None: the dtype of the operands
    casts = False           # in place: the result is converted, whatever the dtype of the target
    write: Any = None       # in place: a method like `forward` that stores the result, of the shape and dtype of x, in x
    write_overlaps = False  # the other arguments of `write` may be in the memory of x
    op: Primitive           # set by the decorator
    differentiable = True
    no_derivative = None    # PyTorch's name of an op without a derivative: a backward through it raises
    # Each formula vjp_x has one op that reads g, which may then overwrite it: Note [Lending a gradient] in _core/record/op_node.py.
    # A rule whose formula reads g twice, or passes it to a function of its own, must not say so: tests/ops/test_lending.py.
    reads_g_once = False
    view: Any = False       # the result shares the storage of the input
    always_recorded = False     # even if all its tensors are inference tensors: PyTorch makes a normal tensor on the way
    torch_names = {"x": "self", "y": "other", "z": "result"}    # gives the names of a node's attributes: node._saved_self
    hidden = ()             # names that formulas need and PyTorch does not save: the node has no attribute for them
    constants: dict = {}    # values that PyTorch saves, and that never change here: name -> number

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        """Return the tangents of the outputs (one, or a list) for the given tangents of the tensor inputs (None: zero)."""
        joint = formula_of(cls, "jvp")
        if joint is not None:
            return joint[0](tangents, *values_of(cls.op, joint[1], args, outs))
        inputs = tangents[:cls.op.inputs] if not cls.op.variadic else tangents     # the others have no derivative
        return add_tangents([cls.jvp_from(i, tangent, args, outs) for i, tangent in enumerate(inputs) if tangent is not None])

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        """Return the contribution of input i's tangent to the tangent of the output."""
        found = None if cls.op.variadic else formula_of(cls, "jvp_" + cls.op.params[i])
        if found is None:
            raise no_forward_mode(cls)
        formula, needs = found
        return formula(tangent, *values_of(cls.op, needs, args, outs))


class Elementwise(Op):
    """z[i] = f(x[i], y[i]): the Jacobian is diagonal, so that the jvp is the vjp, conjugated twice."""

    write_overlaps = True

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        z = outs[0]
        if is_reduced(z.dtype):     # the contributions of the inputs may be large, and their sum small
            args, outs, tangents = in_single(args), in_single(outs), in_single(tangents)
        total = super().jvp_of(args, outs, tangents)
        if total is not None:
            if total.shape != z.shape:
                total = total.expand(z.shape)
            if is_reduced(z.dtype):
                return total.to(z.dtype)
            if total.dtype is not z.dtype:      # x was promoted: x + 1j is complex, and so is its tangent
                total = total.to(promote(total.dtype, z.dtype))
        return total

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        if cls.op.formulas[i] is None or cls.no_derivative or formula_of(cls, "jvp_" + cls.op.params[i]) is not None:
            return super().jvp_from(i, tangent, args, outs)
        formula, needs = cls.op.formulas[i]
        return conj(formula(conj(tangent), *values_of(cls.op, needs, args, outs)))


def is_reduced(dtype):
    """Whether `dtype` is float16 or bfloat16: formats for storing numbers, and not for computing."""
    return dtype.itemsize == 2 and dtype.is_floating_point


def in_single(values):
    """Return `values`, with float16 and bfloat16 tensors converted to float32."""
    return [v.float() if isinstance(v, TensorBase) and is_reduced(v.dtype) else v for v in values]


class Linear(Op):
    """z is linear in each input while the others are constant: the jvp is the op with the tangent instead of the input."""

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        return call(cls.op, (*args[:i], tangent, *args[i + 1:]))


class View(Linear):
    """The result looks at the memory of x in another way."""

    view = True


def op(name, node_name=None):
    """Class decorator: make the class's `Primitive`, and add it to the registry as `name`.

    Args:
        name (str): the name of the op.
        node_name (str, optional): the name of its nodes. If it ends in a digit, "Backward" is inserted: ``"Pow1"`` gives
            ``PowBackward1``. By default it is the name of the class followed by a 0.
    """
    def register(rule):
        stem = node_name or rule.__name__ + "0"
        backward = f"{stem[:-1]}Backward{stem[-1]}" if stem[-1].isdigit() else stem
        forward = getattr(rule, "forward", None)
        params = names_of(forward)[1:] if forward else tuple(rule.params)
        forward = forward or one_kernel(rule.kernel)
        formulas = tuple([without_derivative(rule.no_derivative) if rule.no_derivative else formula_of(rule, "vjp_" + name)
                          for name in params])
        inputs = rule.inputs if rule.inputs is not None else len([f for f in formulas if f is not None])
        joint = formula_of(rule, "vjp", skip=2)
        rule.op = Primitive(
            rule, name, backward, params, rule.outputs, inputs,
            rule.variadic, forward, rule.write, formulas[:inputs], joint, NUMBER[rule.kernel] if rule.kernel else -1,
            rule.commutative, rule.floats_only, rule.result, rule.differentiable, rule.view)
        REGISTRY[name] = rule.op
        return rule
    return register


def variant(rule, name, node_name, formula, **fields):
    """Make an op with the formulas of the class `rule` and nodes of another name. Add it to the registry as `name`.

    PyTorch has several nodes for some functions: ``x.sum()`` makes a SumBackward0, ``x.sum(0)`` a SumBackward1.

    Args:
        node_name (str): as for `op`.
        formula (str): the docstring of the new class.
        fields: the class attributes that differ, such as ``hidden``.

    Returns:
        type: the new class, a subclass of `rule`.
    """
    return op(name, node_name)(type(node_name, (rule,), {"__doc__": formula, "__module__": rule.__module__, **fields}))


def one_kernel(name):
    """Make the forward of an op that is the kernel `name` alone."""
    def forward(k, *args):
        return getattr(k, name)(*args)
    return forward


def names_of(function):
    """The names of a function's parameters, without those of its decorators."""
    code = getattr(function, "__wrapped__", function).__code__
    return code.co_varnames[:code.co_argcount]


def find_formula(rule, name, skip=1):
    """Return (the formula called `name`, the names of the values it needs), or None if the rule has no such formula."""
    function = getattr(rule, name, None)
    return None if function is None else (function, names_of(function)[skip:])


formula_of: Any = functools.cache(find_formula)     # forward-mode AD asks for each op that it runs

def without_derivative(name):
    """Make the formula of an op without a derivative. It raises, because a silent zero would be a wrong gradient."""
    def formula(g):
        raise AutogradNotImplementedError(
            "MG-E307", f"the derivative for {name} is not implemented.",
            fix="detach() what goes into this op, so that no gradient is expected to pass")
    return formula, ()


def values_of(op, names, args, outs):
    """Return the values for the parameter names of a formula, from an op's arguments and results."""
    found = []
    for name in names:
        if name in op.params:
            found.append(args[op.params.index(name)])
        elif name in op.outputs:
            found.append(outs[op.outputs.index(name)])
        elif name.endswith("_shape"):
            found.append(tuple(args[op.params.index(name.removesuffix("_shape"))].shape))
        else:
            found.append(False)     # x_by_columns: it changes the layout of the result, not its values
    return found


def no_forward_mode(rule):
    """Return the error for an op without a jvp that gets a dual tensor."""
    return AutogradNotImplementedError(
        "MG-E300", f"Trying to use forward AD with {rule.op.name} that does not support it because it has not been implemented "
        "yet.",
        fix="give its rule a jvp beside the vjp (see minigrad/ops/base/rule.py), detach() the dual inputs, or use reverse mode")


def add_tangents(parts) -> Any:
    """Return the sum of the tangents that are not None; None if all are."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


# ---- public functions ----------------------------------------------------------------------------------


def unary_function(rule):
    """Make the public function of an elementwise op on one tensor. It takes the docstring of the rule."""
    primitive, name = rule.op, rule.op.name

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return into(out, function, input)
        return unary(primitive, tensor_argument(name, input))
    return named(function, name, rule.__doc__)


def two_operands(op, x, y):
    """Run an elementwise op on two operands. One of them may be a number."""
    result = binary(op, x, y)
    if result is NotImplemented:
        numbers = (bool, int, float, complex)
        if isinstance(x, (TensorBase, *numbers)):
            raise tensor_error(op.name, y, "other", 2)
        raise tensor_error(op.name, x, "input", 1)
    return result


def named(function, name, doc):
    """Set the public name and docstring of `function`, and return it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "minigrad"
    return function


# ---- shared by public functions and rules -----------------------------------------------------------------


def conj(x) -> Any:
    """Return the complex conjugate of a tensor or number; x itself, at no cost, if it is real."""
    if isinstance(x, TensorBase):
        return x.conj() if cython.cast(TensorBase, x)._meta.dtype.is_complex else x
    return x.conjugate() if type(x) is complex else x


def constant(x):
    """Return a saved result of an op without its history. The op's formula already contains how the gradient depends on it."""
    return x.detach() if current().grad_enabled else x


def write_by_kernel(k, number, x, *others):
    """Store what the kernel of this number makes of `x` and `others` in x. The kernel writes there itself if it can."""
    in_place = k.in_place[number]
    if in_place is None:
        k.copy_(x, k.table[number](x, *others))
    else:
        in_place(x, *others, x)


