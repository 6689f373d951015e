"""Modes that see every op as it runs, below autograd, and may compute another result.

    with Mode():
        x * b           Mode.__torch_dispatch__(func, types, args, kwargs)
                        func == "mul", args == (x, b); func(*args) runs it

The mechanism is in ``_core/record/interceptor.py``. Mirrors ``torch/utils/_python_dispatch.py``.
"""

from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.primitive import Primitive
from minigrad.ops import REGISTRY
from minigrad.ops.base.inplace_pairs import run

__all__ = ["Operator", "TorchDispatchMode", "operator"]


class Operator(str):
    """An op that a mode gets: a string, the name of the op, which can be called.

    The name is the name of a rule in ``minigrad/ops``: ``"mul"``, ``"mm"``, ``"sum_dim"``. An op whose name ends with an underscore
    writes to its first argument: ``"mul_"``. The name of a custom operator is ``"namespace.name.default"``. You can compare an
    Operator with a string, and use it as the key of a dict.

    Mirrors PyTorch's ``OpOverload``.

    >>> from minigrad.utils._python_dispatch import operator
    >>> mul = operator("mul")
    >>> mul == "mul", mul(mg.tensor([2.]), 3.)
    (True, tensor([6.]))
    """

    primitive: Primitive    # the op of the core
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
    """Return the `Operator` with this name.

    Args:
        name (str): the name of a rule, such as ``"mul"``, or of a custom operator.

    Returns:
        Operator: the op.

    Raises:
        KeyError: there is no op with this name.

    PyTorch has its operators as attributes of ``torch.ops``.

    >>> from minigrad.utils._python_dispatch import operator
    >>> operator("add_").in_place
    True
    """
    if name in CUSTOM:
        return CUSTOM[name]
    return get_operator(REGISTRY.get(name) or REGISTRY[name.removesuffix("_")], name.endswith("_"))


def get_operator(primitive, in_place):
    """Return the operator that runs `primitive`. It is created on first use. A custom operator is an operator already."""
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
CUSTOM = {}         # name -> custom operator; `custom_op` adds them


class TorchDispatchMode:
    """Context manager: in this thread, every op inside calls `__torch_dispatch__`.

    The mode is below autograd. It sees the ops of the forward, the ops of the backward and in-place ops. Gradients are disabled
    while it runs. Its result gets the place in the graph that the result of the op would have. The ops inside
    `__torch_dispatch__` go to the next outer mode.

    The result of a view op (``func.is_view``) shares memory with its first argument only if `func` computed the result.

    Mirrors ``torch.utils._python_dispatch.TorchDispatchMode``. In minigrad, functions that create a tensor without another tensor
    (`zeros`, `rand`) are not ops, and the mode does not see them.

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
        """Compute the result of an op. A subclass defines it.

        Args:
            func (Operator): the op. A custom operator is one op, ``namespace.name.overload``.
            types (tuple): always empty.
            args (tuple): the arguments of the op. For a custom operator, trailing default values are left out.
            kwargs (dict): the keyword-only arguments of a custom operator; empty for other ops.

        Returns:
            Tensor or tuple of Tensors: the result of ``func(*args, **kwargs)``, or another one instead.
        """
        raise NotImplementedError

    def _intercept(self, op, args, in_place, **keywords):
        return self.__torch_dispatch__(get_operator(op, in_place), (), args, keywords)

    def __enter__(self):
        state = current()
        state.set_interceptors((*state.interceptors, self._intercept))
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.set_interceptors(state.interceptors[:-1])
