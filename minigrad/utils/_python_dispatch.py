"""Modes that see every op as it runs, below autograd, and may compute something else in its place.

    with Mode():
        x * b           Mode.__torch_dispatch__(func, types, args, kwargs)
                        func == "mul", args == (x, b); func(*args) runs it

The mechanism is in ``_core/record/interceptor.py``. Mirrors ``torch/utils/_python_dispatch.py``.
"""

from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.primitive import Primitive
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.rule import REGISTRY

__all__ = ["Operator", "TorchDispatchMode", "operator"]


class Operator(str):
    """An op as a mode sees it: its name, which can be called.

    The names are those of the rules in ``minigrad/ops``: ``"mul"``, ``"mm"``, ``"sum_dim"``. One that ends with an underscore
    writes to its first argument: ``"mul_"``. A custom operator is called ``"namespace.name.default"``. Being strings, they can be
    compared with strings, and be the keys of dicts.

    The counterpart of PyTorch's ``OpOverload``.

    >>> from minigrad.utils._python_dispatch import operator
    >>> mul = operator("mul")
    >>> mul == "mul", mul(mg.tensor([2.]), 3.)
    (True, tensor([6.]))
    """

    primitive: Primitive    # what the core runs
    in_place: bool          # whether the result is written to the first argument

    @property
    def is_view(self):
        """Whether the result shares the memory of the first argument."""
        return self.primitive.view

    def __call__(self, *args):
        """Run the op."""
        if self.in_place:
            return apply_inplace(self.primitive, args[0], args[1:])
        return run(self.primitive, args)

    def __repr__(self):
        return f"<operator {self}>"


def operator(name):
    """The `Operator` of this name.

    Raises:
        KeyError: there is no such op.

    >>> from minigrad.utils._python_dispatch import operator
    >>> operator("add_").in_place
    True
    """
    if name in CUSTOM:
        return CUSTOM[name]
    return operator_of(REGISTRY.get(name) or REGISTRY[name.removesuffix("_")], name.endswith("_"))


def operator_of(primitive, in_place):
    """The operator that runs `primitive`, made on first use; a custom operator is one already."""
    if isinstance(primitive, Operator):
        return primitive
    found = _operators.get((primitive, in_place))
    if found is None:
        found = Operator(primitive.name + "_" * (in_place and not primitive.name.endswith("_")))
        found.primitive = primitive
        found.in_place = in_place
        _operators[primitive, in_place] = found
    return found


_operators = {}
CUSTOM = {}         # name -> `Operator` of those that `custom_op` has made, which see to it


class TorchDispatchMode:
    """Context manager: in this thread, every op that runs inside goes through `__torch_dispatch__`.

    The mode sits below autograd: it sees the ops of forward and backward formulas and in-place writes alike, gradients are
    off while it runs, and what it returns gets the place in the graph that the op's own result would have had. Ops that
    `__torch_dispatch__` runs go to the next mode outward.

    Views (``func.is_view``) share memory with their first argument only if `func` itself made them.

    Mirrors ``torch.utils._python_dispatch.TorchDispatchMode``. Functions that make tensors of no other tensor (`zeros`, `rand`)
    are no ops here and are not seen.

    >>> from minigrad.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with Names():
    ...     y = (2 * x).exp().sum()
    mul
    exp
    sum
    >>> y.grad_fn.name()
    'SumBackward0'
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run `func`, an `Operator`, on `args`: return its result, or a tensor (or tuple of tensors) in its place.

        A custom operator is one op, ``namespace.name.overload``; `args` lack trailing arguments that are the default. `kwargs` has
        those arguments of it that cannot be given by position, and is empty for all other ops; `types` is always empty.
        """
        raise NotImplementedError

    def _intercept(self, op, args, in_place, **keywords):
        return self.__torch_dispatch__(operator_of(op, in_place), (), args, keywords)

    def __enter__(self):
        state = current()
        state.set_interceptors((*state.interceptors, self._intercept))
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.set_interceptors(state.interceptors[:-1])
