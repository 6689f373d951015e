"""Forward transforms: `jvp`, and `linearize`, which keeps the graph for many tangents.

    jvp             one forward pass with dual tensors (``minigrad/autograd/forward_ad.py``), without a graph
    linearize       one call, then two backwards for each tangent

There is only one level of dual tensors. A `jvp` inside a `jvp` takes two backwards; its tensors are dual for the outer `jvp`.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument
from minigrad.autograd._jacobians import make_pushforward
from minigrad.autograd.forward_ad import enter_dual_level, exit_dual_level, make_dual, unpack_dual
from minigrad.autograd.grad_mode import inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad
from minigrad.creation import zeros_like
from minigrad.errors import AutogradError
from minigrad.func._arguments import check_numbers, flatten_outputs, flatten_tensors, format_spec, split_aux
from minigrad.func._levels import Level
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

JVP = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
        has_aux: bool = False) -> Any:
    """The outputs of `func`, and the Jacobian-vector product: the derivative of the outputs in the direction of the tangents.

    Args:
        func (Callable): takes trees of tensors, and returns a tree of tensors.
        primals (tuple): the arguments of `func`: trees of floating point or complex tensors.
        tangents (tuple): trees with the structure and the shapes of the primals.
        strict (bool): raise, instead of returning zeros, if an output depends on no primal.
        has_aux (bool): `func` returns ``(output, aux)``. aux is a tree of tensors, which jvp returns too.

    Returns:
        tuple: ``(output, jvp_out)`` or ``(output, jvp_out, aux)``; jvp_out has the structure of the output.

    Raises:
        RuntimeError: primals is not a tuple, has no leaf, or has a leaf that is not a tensor; the structure or a shape of
            the tangents differs; an output is not a tensor; aux is missing; `strict` finds an independent output.
        ValueError: the dtype of a primal or tangent is integral or bool.

    Mirrors ``torch.func.jvp``.

    >>> x, y = mg.tensor([1., 2.]), mg.tensor(3.)
    >>> mg.func.jvp(lambda x, y: x * y, (x, y), (mg.tensor([1., 0.]), mg.tensor(10.)))
    (tensor([3., 6.]), tensor([13., 20.]))
    """
    leaves, spec, directions = flatten_primals(primals, tangents)
    point, found = push_forward(func, leaves, lambda new: tree_unflatten(new, spec), directions, has_aux)
    if strict and any([dy is None for dy in found]):
        raise AutogradError("MG-E253", "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                            "This is not allowed with strict=True.", fix="leave strict=True out to get zeros")
    return point.make_result(found)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The outputs of `func`, and its linear approximation at the primals: the function v -> J v.

    Args:
        func (Callable): takes trees of tensors, and returns a tree of tensors.
        *primals: the arguments of `func`: trees of tensors.

    Returns:
        tuple: ``(output, jvp_fn)``. ``jvp_fn(*tangents)`` returns a tree with the structure of the output. `func` is called once.
        Its graph lives as long as `jvp_fn`.

    Raises:
        RuntimeError: an output is not a tensor. `jvp_fn` raises it if the structure, a shape or a dtype of the tangents differs
            from the primals.
        ValueError: a leaf of the primals is not a tensor.

    Mirrors ``torch.func.linearize``.

    >>> output, jvp_fn = mg.func.linearize(lambda x: x * x, mg.tensor([1., 2.]))
    >>> jvp_fn(mg.tensor([1., 0.])), jvp_fn(mg.tensor([0., 1.]))
    (tensor([2., 0.]), tensor([0., 4.]))
    """
    leaves, spec = flatten_tensors(primals)
    point = Linearization(func, leaves, lambda new: tree_unflatten(new, spec), False, "linearize(f, *primals)")

    def jvp_fn(*tangents):
        directions, given = tree_flatten(tangents)
        if given != spec:
            raise AutogradError("MG-E258", f"Expected the tangents {format_spec(given)} to have the same argspec as the "
                                f"primals {format_spec(spec)}", fix="pass one tangent for each primal")
        for i, (t, x) in enumerate(zip(directions, leaves)):
            for what in ("shape", "dtype"):
                if getattr(t, what, None) != getattr(x, what):
                    raise AutogradError("MG-E258", f"tangent:{i} with {what} {getattr(t, what, type(t))} in flattened pytree "
                                        f"doesn't match the {what} {getattr(x, what)} of the corresponding primal.")
        return point.make_result(point.push(directions))[1]

    return point.output, jvp_fn


class Point:
    """The result of a function at one point: its outputs as a tree and as a list, and aux."""

    def __init__(self, result, has_aux, call):
        self.has_aux = has_aux
        self.output, self.aux = split_aux(result, has_aux, call)
        self.outputs, self.spec = flatten_outputs(self.output, call)

    def make_result(self, tangents):
        """Return ``(output, J v)`` or ``(output, J v, aux)``, as trees. A tangent of None becomes zeros."""
        tangents = [zeros_like(y).detach() if dy is None else dy for dy, y in zip(tangents, self.outputs)]
        tangents = tree_unflatten(tangents, self.spec)
        return (self.output, tangents, self.aux) if self.has_aux else (self.output, tangents)


def push_forward(func, leaves, arguments, directions, has_aux):
    """Call `func` with ``arguments(leaves)``. Return ``(Point, J v)``: J v is a list, with None for an output without a tangent.

    It takes one forward pass with dual tensors. If this or another thread already runs such a pass, it takes two backwards.
    """
    try:
        level = enter_dual_level()      # of two threads, one enters, and the other gets the error
    except AutogradError:
        point = Linearization(func, leaves, arguments, has_aux, JVP)
        return point, point.push(directions)
    try:
        with ExitStack() as modes:
            if is_inference_mode_enabled():                 # which computes no tangents
                modes.enter_context(inference_mode(False))
                modes.enter_context(no_grad())
            # An op has a tangent only if an operand is not an inference tensor: clone them.
            duals = [make_dual(x.clone() if x.is_inference() else x, v) for x, v in zip(leaves, directions)]
            point = Point(callable_argument(func, "func", "jvp")(*arguments(duals)), has_aux, JVP)
            unpacked = [unpack_dual(y) for y in point.outputs]
            point.outputs = [y if dual.tangent is None else dual.primal for y, dual in zip(point.outputs, unpacked)]
            point.output = tree_unflatten(point.outputs, point.spec)
            return point, [dual.tangent for dual in unpacked]
    finally:
        exit_dual_level(level=level)


class Linearization(Point):
    """The result of a function at one point, and `push`, the map v -> J v, which uses the graph of the call.

    `leaves` are the tensors to differentiate, and ``arguments(leaves)`` the arguments of `func`. See
    ``minigrad/autograd/_jacobians.py``.
    """

    def __init__(self, func, leaves, arguments, has_aux, call):
        self.level = level = Level()
        with inference_mode(False):                         # which enables gradients too
            variables = [level.make_variable(x) for x in leaves]
            super().__init__(callable_argument(func, "func", call.partition("(")[0])(*arguments(variables)), has_aux, call)
            level.end()
            self.wanted = any([level.leads_outside(y) for y in self.outputs])
            self.output, self.aux = level.detach_results((self.output, self.aux))
            _, self._push = make_pushforward(self.outputs, variables)

    def push(self, directions):
        """Return J v as a list, with None for an output that depends on no variable."""
        create_graph = is_grad_enabled() and (self.wanted or any([v.requires_grad for v in directions]))
        with inference_mode(False):
            return self.level.detach_results(self._push(directions, create_graph))


def flatten_primals(primals, tangents):
    """Check and flatten both. Return ``(leaves of the primals, their spec, leaves of the tangents)``."""
    if not isinstance(primals, tuple):
        raise AutogradError("MG-E255", f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
                            found=type(primals).__name__, fix="(x,) for a single argument")
    leaves, spec = tree_flatten(primals)
    directions, given = tree_flatten(tangents)
    if not leaves:
        raise AutogradError("MG-E255", f"{JVP}: Expected primals to contain at least one Tensor.")
    if spec != given:
        raise AutogradError("MG-E258", f"{JVP}: Expected primals and tangents to have the same python structure. For example, if "
                            "primals is a tuple of 3 tensors, tangents also must be.", expected=format_spec(spec),
                            found=format_spec(given), fix="pass a tuple with one tangent for each primal")
    for what, trees in (("primals", leaves), ("tangents", directions)):
        for x in trees:
            if not isinstance(x, Tensor):
                raise AutogradError("MG-E255", f"{JVP}: Expected {what} to only contain Tensors, got {type(x)}",
                                    fix="convert a number with mg.tensor(...)")
        check_numbers(trees, what[:-1])
    for x, t in zip(leaves, directions):
        if x.shape != t.shape:
            raise AutogradError("MG-E258", f"{JVP}: Trying to set a forward gradient that has a different size than that of the "
                                "original Tensor, this is not supported.", expected=f"shape {list(x.shape)}",
                                found=f"shape {list(t.shape)}", fix="expand it; or mg.zeros_like(x), for a constant primal")
    return leaves, spec, directions
