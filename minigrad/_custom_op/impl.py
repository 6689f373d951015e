"""The operator of the first generation: a schema, and functions that are registered one by one.

    op = CustomOp("mylib::mul", "(Tensor x, Tensor y) -> Tensor")
    @op.impl()                          computes the output
    @op.impl_save_for_backward()        the first function of the formula
    @op.impl_backward()                 the second function; with both, there is an autograd kernel

Mirrors ``torch/_custom_op/impl.py``. It is deprecated: use `minigrad.library.custom_op`.
"""

import sys
import warnings
import weakref
from collections import namedtuple

from minigrad._custom_op.autograd import autograd_kernel_indirection, construct_autograd_kernel
from minigrad.errors import AutogradError
from minigrad.library._custom_ops import parse_name
from minigrad.library._schema import parse_schema

FuncAndLocation = namedtuple("FuncAndLocation", "func location")

# The types that a differentiable operator may return.
RETURNS = ("Tensor", "Tensor[]", "SymInt", "int", "bool", "float")


class CustomOp:
    """An operator with a schema. Its constructor warns that the class is deprecated. Mirrors ``torch._custom_op.impl.CustomOp``."""

    def __init__(self, qualname, schema):
        warnings.warn("CustomOp is deprecated: please use minigrad.library.custom_op instead.", DeprecationWarning, stacklevel=2)
        namespace, self._opname, overload = parse_name(qualname)
        self._qualname = f"{namespace}::{self._opname}"
        self._schema = parse_schema(self._qualname, overload, schema)
        self._impls = {}
        self._output_differentiability = None
        self._entry = autograd_kernel_indirection(self)

    def __repr__(self):
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args, **kwargs):
        positional, keywords = self._schema.bind(args, kwargs)
        return self._entry(*positional, *keywords.values())

    def _opoverload(self, *args):
        """Compute the output, in the present grad mode."""
        if not self._has_impl("cpu"):
            raise AutogradError("MG-E284", f"{self} has no implementation", fix="@op.impl()")
        n = len(self._schema.positional)
        return self._schema.check_output(self._get_impl("cpu").func(
            *args[:n], **{a.name: x for a, x in zip(self._schema.keywords, args[n:])}))

    # ---- registering ---------------------------------------------------------------------------------------

    def _has_impl(self, kind):
        """Whether a function of this kind is registered."""
        return kind in self._impls

    def _get_impl(self, kind):
        """Return the function of this kind, and the line that registered it."""
        return self._impls[kind]

    def _register_impl(self, kind, func, depth=2):
        """Register `func`, and the line of the program that registers it."""
        if self._has_impl(kind):
            raise AutogradError(
                "MG-E284", f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._get_impl(kind).location}. This is not supported.",
                fix="make a second operator, or remove one of the two registrations")
        frame = sys._getframe(depth)
        self._impls[kind] = FuncAndLocation(func, f"{frame.f_code.co_filename}:{frame.f_lineno}")

    def impl(self):
        """Decorator: register the function that computes the output."""
        def inner(func):
            self._register_impl("cpu", func)
            return func
        return inner

    def impl_save_for_backward(self):
        """Decorator: register ``(inputs, output) -> saved``. See `construct_autograd_kernel`."""
        def inner(func):
            self._check_can_register_backward()
            self._register_impl("save_for_backward", func)
            self._construct()
            return func
        return inner

    def impl_backward(self, output_differentiability=None):
        """Decorator: register ``(ctx, saved, *grads) -> dict``. See `construct_autograd_kernel`.

        Args:
            output_differentiability (list of bool, optional): whether each output has a derivative.

        Raises:
            RuntimeError: `output_differentiability` is not a list with a bool for each output.
        """
        returns = self._schema.returns
        if output_differentiability is not None and not (
                isinstance(output_differentiability, list) and len(output_differentiability) == len(returns)
                and all([isinstance(x, bool) for x in output_differentiability])):
            raise AutogradError(
                "MG-E286", "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with "
                f"length equal to the number of outputs of this CustomOp got: {output_differentiability}",
                expected=f"a list of {len(returns)}", fix=f"output_differentiability={[True] * len(returns)}")

        def inner(func):
            self._check_can_register_backward()
            self._register_impl("backward", func)
            self._output_differentiability = output_differentiability
            self._construct()
            return func
        return inner

    def _construct(self):
        """Make the autograd kernel, if both functions of the formula are registered."""
        if self._has_impl("backward") and self._has_impl("save_for_backward"):
            op = weakref.proxy(self)        # the kernel refers to its operator weakly
            self._register_impl("autograd", construct_autograd_kernel(
                self._schema, self._output_differentiability, self, lambda *args: op._opoverload(*args),
                self._get_impl("save_for_backward").func, self._get_impl("backward").func), 1)

    def _check_can_register_backward(self):
        """Raise `RuntimeError` unless the operator writes to nothing, and returns tensors or numbers."""
        def wrong(detail):
            return AutogradError(
                "MG-E286", f"Cannot use torch._custom_ops APIs to register backward for {detail}. Got operator {self} with schema: "
                f"{self._schema}", fix="let the operator return new tensors, and write to none of its arguments")
        if not self._schema.returns:
            raise wrong("operator with no returns")
        if not self._schema.is_functional():
            raise wrong("non-functional operator")
        if any([str(r.type) not in RETURNS for r in self._schema.returns]):
            raise wrong(f"operator with return not in {', '.join(RETURNS)}")
