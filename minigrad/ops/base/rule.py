"""What an op is made of: one class, in which the formula, the forward and the derivatives stand together.

    @op("mul")
    class Mul(Elementwise):
        \"\"\"z = x y\"\"\"

        def vjp_x(g, y):                # dx = g ȳ
            return g * conj(y)

        def vjp_y(g, x):                # dy = g x̄
            return g * conj(x)

The class is a table of formulas; its functions take no ``self``.

    forward(k, x, y, ...)   works on arrays, with `k` the kernels of the device. Its parameters name the
                            inputs and the other arguments; the first `inputs` of them are tensors.
    vjp_x(g, ...)           the vector-Jacobian product: the gradient of input x, given that of the output.
                            Works on tensors, so that double backward needs nothing more. What it needs
                            besides `g` it names as parameters, and exactly that is saved: an input, the
                            output ``z``, another argument, ``x_shape``, the shape of input x, or
                            ``x_by_columns``, whether that matrix lies column by column. No
                            formula for an input means that it has no derivative.
    vjp(g, needs, ...)      one formula for all inputs, where they share work. `needs` tells which.
    jvp_x(t, ...)           the Jacobian-vector product: the tangent of the output, given that of input x.
                            The contributions of the inputs are added. `Elementwise` and `Linear` derive it.
    jvp(ts, ...)            one for all inputs; `ts` has a tangent or None for each, and at least one has one. None
                            as a result means zero. An op without any of them refuses dual tensors.

The bases derive what can be derived, so that no formula ever handles broadcasting (the engine sums a
gradient down to the shape of its tensor), type promotion, undefined gradients or needs_input_grad.

`op` makes a `Primitive` of the class (``_core/record/primitive.py``), keeps it as ``Mul.op`` and enters it in
`REGISTRY`, which the gradient checks, the device parity tests and the table in the docs walk over.

Mirrors PyTorch's ``tools/autograd/derivatives.yaml``, one file for what there is spread over many.
"""

import functools
import math
import operator

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.apply import binary, call, unary

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.record.primitive import Primitive
from minigrad._core.record.promotion import promote
from minigrad.errors import (
    AutogradNotImplementedError,
    NumberOverflowError,
    OutOfRangeError,
    ShapeError,
    TensorTypeError,
    TensorValueError,
)
from minigrad.kernels.contract import NUMBER
from minigrad.ops.base.out import into

__all__ = ["BOOL", "INT64", "NUMBERS", "REGISTRY", "Elementwise", "Linear", "Op", "View", "conj", "constant", "dimension",
           "dimensions", "flag", "in_words", "integer", "integers", "named", "number", "op", "outside", "real", "tensor_argument",
           "tensor_error", "truth", "two_operands", "unary_function", "wrong_type"]

# What counts as a number: NumPy's too.
NUMBERS = (bool, int, float, complex, np.number, np.bool_)
LARGE = 1 << 63             # no int64 reaches it
LARGEST_FLOAT = int(np.finfo(np.float64).max)

BOOL = named_dtype("bool")
INT64 = named_dtype("int64")
FLOAT16 = named_dtype("float16")
WRITTEN_AS: dict = {FLOAT16: named_dtype("float64")}  # PyTorch makes inf of what is too large for it in `full`, `where`, `x[i] = n`

# name -> Primitive of every op
REGISTRY = {}


class Op:
    """Base of all ops: one class holds the formula, the forward and the derivatives."""

    inputs = None           # how many of forward's first arguments are tensors; None: as many as have a vjp
    variadic = False        # the first argument is a tuple of tensors
    outputs = ("z",)        # how formulas call the results
    kernel = None           # name of the kernel that is the whole forward; `params` then names its arguments
    commutative = False     # two operands whose order does not matter
    floats_only = False     # integers are converted to the default dtype
    refuses_bool = None     # message of the error for operands that are all bool
    refuses_any_bool = None     # the same if only one of them is
    refuses_complex = None  # message of the error for complex operands
    result = None           # dtype of the result, if it is not that of the operands
    casts = False           # in place: the result is converted, whatever the dtype of the target
    op: Primitive           # made of the class by the decorator
    differentiable = True
    no_derivative = None    # PyTorch's name of an op that has none: a backward through it raises
    view = False            # the result shares the storage of the input
    always_recorded = False     # even if all its tensors are inference tensors: PyTorch makes a normal one on the way
    torch_names = {"x": "self", "y": "other", "z": "result"}    # for node._saved_self and its like
    hidden = ()             # what formulas need and PyTorch does not save: the node has no attribute for it
    constants: dict = {}    # what PyTorch saves and is always the same here: name -> number

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        """Tangents of the outputs (one, or a list), given those of the tensor inputs (None: zero)."""
        joint = formula_of(cls, "jvp")
        if joint is not None:
            return joint[0](tangents, *values_of(cls.op, joint[1], args, outs))
        inputs = tangents[:cls.op.inputs] if not cls.op.variadic else tangents     # the others have no derivative
        return add_tangents([cls.jvp_from(i, tangent, args, outs) for i, tangent in enumerate(inputs) if tangent is not None])

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        """What the tangent of input i contributes to that of the output."""
        if cls.op.variadic or not hasattr(cls, "jvp_" + cls.op.params[i]):
            raise no_forward_mode(cls)
        formula, needs = formula_of(cls, "jvp_" + cls.op.params[i])
        return formula(tangent, *values_of(cls.op, needs, args, outs))


class Elementwise(Op):
    """z[i] = f(x[i], y[i]): the Jacobian is diagonal, so that the jvp is the vjp, conjugated twice."""

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        z = outs[0]
        if z.dtype is FLOAT16:      # what the inputs contribute may be large, and their sum small again
            args, outs, tangents = in_single(args), in_single(outs), in_single(tangents)
        total = super().jvp_of(args, outs, tangents)
        if total is not None:
            if total.shape != z.shape:
                total = total.expand(z.shape)
            if z.dtype is FLOAT16:
                return total.to(FLOAT16)
            if total.dtype is not z.dtype:      # x was promoted: x + 1j is complex, and so is its tangent
                total = total.to(promote(total.dtype, z.dtype))
        return total

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        if cls.op.formulas[i] is None or cls.no_derivative or hasattr(cls, "jvp_" + cls.op.params[i]):
            return super().jvp_from(i, tangent, args, outs)
        formula, needs = cls.op.formulas[i]
        return conj(formula(conj(tangent), *values_of(cls.op, needs, args, outs)))


def in_single(values):
    """Values with the tensors of float16 among them in float32."""
    return [v.float() if isinstance(v, TensorBase) and v.dtype is FLOAT16 else v for v in values]


class Linear(Op):
    """z is linear in each input while the others are held: the jvp is the op on the tangent in its place."""

    @classmethod
    def jvp_from(cls, i, tangent, args, outs):
        return call(cls.op, (*args[:i], tangent, *args[i + 1:]))


class View(Linear):
    """The result looks at the memory of x in another way."""

    view = True


def op(name, node_name=None):
    """Class decorator: enter the op in the registry as `name`.

    `node_name` is that of its nodes without "Backward", such as ``"Pow1"`` for ``PowBackward1``, or, not ending in a
    digit, their whole name; by default the name of the class followed by a 0.
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
            rule.variadic, forward, formulas[:inputs], joint, NUMBER[rule.kernel] if rule.kernel else -1,
            rule.commutative, rule.floats_only, rule.result, rule.differentiable, rule.view)
        REGISTRY[name] = rule.op
        return rule
    return register


def one_kernel(name):
    """The forward of an op that is this kernel."""
    def forward(k, *args):
        return getattr(k, name)(*args)
    return forward


def names_of(function):
    """The names of a function's parameters, also if it is decorated."""
    code = getattr(function, "__wrapped__", function).__code__
    return code.co_varnames[:code.co_argcount]


def formula_of(rule, name, skip=1):
    """The formula called `name` and the names of what it needs, or None."""
    function = getattr(rule, name, None)
    return None if function is None else (function, names_of(function)[skip:])


def without_derivative(name):
    """The formula of an op that has no derivative: a part of a gradient that nobody can compute is never dropped in silence."""
    def formula(g):
        raise AutogradNotImplementedError(
            "MG-E307", f"the derivative for {name} is not implemented.",
            fix="detach() what goes into this op, so that no gradient is expected to pass")
    return formula, ()


def values_of(op, names, args, outs):
    """The values that a formula names, from an op's arguments and results."""
    found = []
    for name in names:
        if name in op.params:
            found.append(args[op.params.index(name)])
        elif name in op.outputs:
            found.append(outs[op.outputs.index(name)])
        elif name.endswith("_shape"):
            found.append(tuple(args[op.params.index(name.removesuffix("_shape"))].shape))
        else:
            found.append(False)     # in which layout the vjp computes makes no difference here
    return found


def no_forward_mode(rule):
    """The error for an op with a dual input and no jvp."""
    return AutogradNotImplementedError(
        "MG-E300", f"Trying to use forward AD with {rule.op.name} that does not support it because it has not been implemented "
        "yet.",
        fix="give its rule a jvp beside the vjp (see minigrad/ops/base/rule.py), detach() the dual inputs, or use reverse mode")


def add_tangents(parts):
    """The sum of those that are not None."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


# ---- public functions ----------------------------------------------------------------------------------


def unary_function(rule):
    """The public function of an elementwise op on one tensor. Its documentation is that of the rule."""
    name = rule.op.name

    def function(input, *, out=None):
        if out is not None:
            return into(out, function, input)
        return unary(rule.op, tensor_argument(name, input))
    return named(function, name, rule.__doc__)


def two_operands(op, x, y):
    """Run an elementwise op, of whose operands one may be a number."""
    result = binary(op, x, y)
    if result is NotImplemented:
        numbers = (bool, int, float, complex)
        if isinstance(x, (TensorBase, *numbers)):
            raise tensor_error(op.name, y, "other", 2)
        raise tensor_error(op.name, x, "input", 1)
    return result


def named(function, name, doc):
    """`function` under the name and documentation by which users know it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "minigrad"
    return function


# ---- what public functions and rules share -------------------------------------------------------------


def conj(x):
    """The complex conjugate of a tensor or number: x itself, at no cost, when it is real."""
    if isinstance(x, TensorBase):
        return x.conj() if cython.cast(TensorBase, x)._meta.dtype.is_complex else x
    return x.conjugate() if type(x) is complex else x


def tensor_argument(function, x, name="input", position=1):
    """Raise `TypeError` unless `x` is a tensor."""
    if not isinstance(x, TensorBase):
        raise tensor_error(function, x, name, position)
    return x


def tensor_error(function, x, name, position):
    """The error for an argument that has to be a tensor."""
    return TensorTypeError(
        "MG-E201", f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}",
        fix="make it one with minigrad.tensor(...)")


def constant(x):
    """A result that an op has saved, without its history: its formula counts elsewhere how the gradient depends on it."""
    return x.detach() if current().grad_enabled else x


def outside(index, size):
    """A number of the int tensor `index` that is not in [0, size), or None. On a GPU it is looked for there, and waited for."""
    if size == 0:
        return index.detach().reshape(-1)[0].item() if index.numel() else None
    return index._meta.backend.kernels.class_outside(index._array, size, 0)


def integer(value, name, function="", expected="int"):
    """`value` as an int. Raises `TypeError` for what is none, such as a bool, and `ValueError` for one of more than 64 bits."""
    if type(value) is not int:
        try:
            value = operator.index(None if isinstance(value, (bool, np.bool_)) else value)
        except TypeError:
            raise wrong_type(function, name, expected, value, "MG-E206") from None
    if not -LARGE <= value < LARGE:
        raise TensorValueError("MG-E302", f"{function}(): argument '{name}': Overflow when unpacking long long",
                               expected="an integer of 64 bits", found=f"one of {value.bit_length()} bits")
    return value


def integers(values, name, function):
    """`values`, a tuple or list of ints, as a tuple. Raises as `integer` does."""
    if not isinstance(values, (tuple, list)):
        raise wrong_type(function, name, "tuple of ints", values, "MG-E206")
    return tuple([integer(n, name, function, "tuple of ints") for n in values])


def number(value, name, function, expected="Number"):
    """`value`, a number. Of a 0-d tensor without history it is the number that it holds; all else raises `TypeError`.

    What requires a gradient is refused: the result would not depend on it in the graph.
    """
    if isinstance(value, NUMBERS):
        if type(value) is int and abs(value) > LARGEST_FLOAT:
            raise NumberOverflowError("MG-E302", f"{function}(): argument '{name}' is too large for a float")
        return value
    if isinstance(value, TensorBase) and value.ndim == 0 and not value.requires_grad:
        return value.item()
    raise wrong_type(function, name, expected, value)


def converted(value, dtype):
    """The number `value`, real if `dtype` is. Raises `RuntimeError` if `dtype` cannot hold it; `bool` holds any.

    No dtype holds a finite number beyond its largest, an integer no nan or inf, a real one no imaginary part. An unsigned integer
    holds what is below 0 as its two's complement.
    """
    if dtype is BOOL:
        return bool(value)
    if not dtype.is_complex and not value.imag:
        value = value.real
    parts = (value.real, value.imag) if dtype.is_complex else (value,)
    least, most = range_of(dtype.to_real() if dtype.is_complex else dtype)
    for part in parts:
        if isinstance(part, (complex, np.complexfloating)) or not (
                least <= part <= most or (dtype.differentiable and not -math.inf < part < math.inf)):
            raise ShapeError("MG-E203", f"value cannot be converted to type {dtype.name} without overflow", found=str(value),
                             expected=f"numbers from {least} to {most}")
    return value


@functools.cache
def range_of(dtype):
    """The least and the largest number that a real `dtype` can hold."""
    if dtype.differentiable:
        return -float(np.finfo(dtype.numpy).max), float(np.finfo(dtype.numpy).max)
    most = int(np.iinfo(dtype.numpy).max)
    return (int(np.iinfo(dtype.numpy).min) if np.iinfo(dtype.numpy).min else -most), most


def real(value, name, function):
    """`value`, a number that is not complex. Raises as `number` does."""
    value = number(value, name, function, "float")
    if isinstance(value, (complex, np.complexfloating)):
        raise wrong_type(function, name, "float", value)
    return value


def wrong_type(function, name, expected, value, code="MG-E201"):
    """The error for an argument of the wrong type."""
    fix = None
    if isinstance(value, TensorBase):
        fix = "x.detach(), if it is a constant: there is no derivative with respect to it" if value.requires_grad else "x.item()"
    return TensorTypeError(code, f"{function}(): argument '{name}' must be {expected}, not {type(value).__name__}", fix=fix)


def truth(value, name, function):
    """Whether an argument is true, where PyTorch takes anything. Raises `TypeError` for an array, which is neither."""
    if value is True or value is False:
        return value
    try:
        return bool(value)
    except ValueError:
        raise wrong_type(function, name, "bool", value) from None


def in_words(value):
    """`value` for a message, if that is short: of a list that holds itself only the type."""
    return str(value) if value is None or isinstance(value, (str, *NUMBERS)) else f"a {type(value).__name__}"


def flag(value, name, function):
    """`value`, a bool. Raises `TypeError` for anything else."""
    if value is not True and value is not False:
        raise wrong_type(function, name, "bool", value)
    return value


def dimension(dim, ndim):
    """`dim` counted from the front. Raises `IndexError` if there is no such dimension, `TypeError` if it is no int."""
    if type(dim) is not int:
        dim = integer(dim, "dim")
    bound: cython.Py_ssize_t = ndim if ndim > 1 else 1
    at: cython.Py_ssize_t
    try:
        at = dim
    except OverflowError:       # compiled alone
        at = bound
    if not -bound <= at < bound:
        raise OutOfRangeError("MG-E301", f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but "
                              f"got {dim})")
    return at + bound if at < 0 else at


def dimensions(dim, ndim):
    """A dim argument (None: all, a number, or several) as a sorted tuple counted from the front."""
    if dim is None:
        return tuple(range(ndim))
    if not isinstance(dim, (tuple, list)):
        dim = (dim,)
    dims = [dimension(d, ndim) for d in dim]
    for d in dims:
        if dims.count(d) > 1:
            raise ShapeError("MG-E205", f"dim {d} appears multiple times in the list of dims")
    return tuple(sorted(dims)) if ndim else ()
