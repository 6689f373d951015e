"""Transforms in the direction of a tangent: `jvp`, and `linearize`, which keeps the graph for many tangents.

    jvp             one pass forward with dual tensors (``minigrad/autograd/forward_ad.py``), nothing kept
    linearize       one call, then two backwards for each tangent

There is one level of dual tensors. A `jvp` within a `jvp` takes two backwards, on tensors that are dual for the outer one.

Mirrors ``torch/_functorch/eager_transforms.py``.
"""

import threading
from contextlib import ExitStack

from minigrad._arguments import callable_argument
from minigrad.autograd._jacobians import linearized
from minigrad.autograd.forward_ad import enter_dual_level, exit_dual_level, make_dual, unpack_dual
from minigrad.autograd.grad_mode import inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad
from minigrad.creation import zeros_like
from minigrad.errors import AutogradError
from minigrad.func._arguments import check_numbers, drawn, flat_outputs, flat_tensors, with_aux
from minigrad.func._levels import Level
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_flatten, tree_unflatten

_entering = threading.Lock()        # of two threads at once, one gets the level
JVP = "jvp(f, primals, tangents)"


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The outputs of `func`, and its Jacobian-vector product: how they move when the primals move by the tangents.

    Args:
        func: trees of tensors -> a tree of tensors.
        primals (tuple): the arguments, all tensors.
        tangents (tuple): of the structure and shapes of the primals.
        strict (bool): an error where an output depends on no primal, instead of zeros.
        has_aux (bool): `func` returns ``(output, aux)``, and aux, a tree of tensors, is passed on.

    Returns:
        tuple: ``(output, jvp_out)`` or ``(output, jvp_out, aux)``; jvp_out has the structure of the output.

    Raises:
        RuntimeError: primals is no tuple, has no tensor, or something else; tangents do not go with it; the outputs are not all
            tensors; no aux; what `strict` finds.
        ValueError: primals or tangents are integers.

    Mirrors ``torch.func.jvp``.

    >>> x, y = mg.tensor([1., 2.]), mg.tensor(3.)
    >>> mg.func.jvp(lambda x, y: x * y, (x, y), (mg.tensor([1., 0.]), mg.tensor(10.)))
    (tensor([3., 6.]), tensor([13., 20.]))
    """
    leaves, spec, directions = checked(primals, tangents)
    point, moved = pushed(func, leaves, lambda new: tree_unflatten(new, spec), directions, has_aux)
    if strict and any([dy is None for dy in moved]):
        raise AutogradError("MG-E253", "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                            "This is not allowed with strict=True.", fix="leave strict=True out to get zeros")
    return point.result(moved)


def linearize(func, *primals):
    """The outputs of `func`, and its linear approximation there: the function v -> J v.

    Args:
        func: trees of tensors -> a tree of tensors.
        primals: the arguments, all tensors.

    Returns:
        tuple: ``(output, jvp_fn)``. ``jvp_fn(*tangents)`` returns a tree like the output. `func` is called once, and its graph kept
        as long as `jvp_fn` is.

    Raises:
        RuntimeError: the outputs are not all tensors. By `jvp_fn`: the tangents do not go with the primals in structure, shape or
            dtype.
        ValueError: a leaf of the primals is no tensor.

    Mirrors ``torch.func.linearize``.

    >>> output, jvp_fn = mg.func.linearize(lambda x: x * x, mg.tensor([1., 2.]))
    >>> jvp_fn(mg.tensor([1., 0.])), jvp_fn(mg.tensor([0., 1.]))
    (tensor([2., 0.]), tensor([0., 4.]))
    """
    leaves, spec = flat_tensors(primals)
    point = Linearization(func, leaves, lambda new: tree_unflatten(new, spec), False, "linearize(f, *primals)")

    def jvp_fn(*tangents):
        directions, given = tree_flatten(tangents)
        if given != spec:
            raise AutogradError("MG-E258", f"Expected the tangents {drawn(given)} to have the same argspec as the primals "
                                f"{drawn(spec)}", fix="one argument for each of the primals")
        for i, (t, x) in enumerate(zip(directions, leaves)):
            for what in ("shape", "dtype"):
                if getattr(t, what, None) != getattr(x, what):
                    raise AutogradError("MG-E258", f"tangent:{i} with {what} {getattr(t, what, type(t))} in flattened pytree "
                                        f"doesn't match the {what} {getattr(x, what)} of the corresponding primal.")
        return point.result(point.push(directions))[1]

    return point.output, jvp_fn


class Point:
    """What a function has returned at a point: its outputs, flat and as a tree, and aux."""

    def __init__(self, result, has_aux, call):
        self.has_aux = has_aux
        self.output, self.aux = with_aux(result, has_aux, call)
        self.outputs, self.spec = flat_outputs(self.output, call)

    def result(self, moved):
        """``(output, J v)`` or ``(output, J v, aux)``, as trees. None moves by zero."""
        moved = [zeros_like(y).detach() if dy is None else dy for dy, y in zip(moved, self.outputs)]
        moved = tree_unflatten(moved, self.spec)
        return (self.output, moved, self.aux) if self.has_aux else (self.output, moved)


def pushed(func, leaves, arguments, directions, has_aux):
    """``(Point, J v)`` of `func` at ``arguments(leaves)``: the tangents of its outputs as a list, None for what does not move.

    By one pass forward with dual tensors; or, if such a pass is on its way already, of which there can be only one, by two
    backwards on its dual tensors.
    """
    try:
        with _entering:
            level = enter_dual_level()
    except AutogradError:
        point = Linearization(func, leaves, arguments, has_aux, JVP)
        return point, point.push(directions)
    try:
        with ExitStack() as modes:
            if is_inference_mode_enabled():                 # where there are no tangents
                modes.enter_context(inference_mode(False))
                modes.enter_context(no_grad())
            # (Ops of inference tensors alone have no tangents.)
            duals = [make_dual(x.clone() if x.is_inference() else x, v) for x, v in zip(leaves, directions)]
            point = Point(callable_argument(func, "func", "jvp")(*arguments(duals)), has_aux, JVP)
            unpacked = [unpack_dual(y) for y in point.outputs]
            point.outputs = [y if dual.tangent is None else dual.primal for y, dual in zip(point.outputs, unpacked)]
            point.output = tree_unflatten(point.outputs, point.spec)
            return point, [dual.tangent for dual in unpacked]
    finally:
        exit_dual_level(level=level)


class Linearization(Point):
    """A function at a point, and `push`, the map v -> J v, by the graph of one call. See ``minigrad/autograd/_jacobians.py``.

    `leaves` are the tensors that move, and ``arguments(leaves)`` what `func` is called with.
    """

    def __init__(self, func, leaves, arguments, has_aux, call):
        self.level = level = Level()
        with inference_mode(False):                         # which enables gradients too
            variables = [level.variable(x) for x in leaves]
            super().__init__(callable_argument(func, "func", call.partition("(")[0])(*arguments(variables)), has_aux, call)
            level.end()
            self.wanted = any([level.leads_outside(y) for y in self.outputs])
            self.output, self.aux = level.released((self.output, self.aux))
            _, self._push = linearized(self.outputs, variables)

    def push(self, directions):
        """J v, as a list; None for an output that depends on no variable."""
        create_graph = is_grad_enabled() and (self.wanted or any([v.requires_grad for v in directions]))
        with inference_mode(False):
            return self.level.released(self._push(directions, create_graph))


def checked(primals, tangents):
    """``(leaves of the primals, their spec, leaves of the tangents)``"""
    if not isinstance(primals, tuple):
        raise AutogradError("MG-E255", f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
                            found=type(primals).__name__, fix="(x,) for a single one")
    leaves, spec = tree_flatten(primals)
    directions, given = tree_flatten(tangents)
    if not leaves:
        raise AutogradError("MG-E255", f"{JVP}: Expected primals to contain at least one Tensor.")
    if spec != given:
        raise AutogradError("MG-E258", f"{JVP}: Expected primals and tangents to have the same python structure. For example, if "
                            "primals is a tuple of 3 tensors, tangents also must be.", expected=drawn(spec), found=drawn(given),
                            fix="a tuple with a tangent for each of the primals")
    for what, trees in (("primals", leaves), ("tangents", directions)):
        for x in trees:
            if not isinstance(x, Tensor):
                raise AutogradError("MG-E255", f"{JVP}: Expected {what} to only contain Tensors, got {type(x)}",
                                    fix="mg.tensor(...) of a number")
        check_numbers(trees, what[:-1])
    for x, t in zip(leaves, directions):
        if x.shape != t.shape:
            raise AutogradError("MG-E258", f"{JVP}: Trying to set a forward gradient that has a different size than that of the "
                                "original Tensor, this is not supported.", expected=f"shape {list(x.shape)}",
                                found=f"shape {list(t.shape)}", fix="expand it, or mg.zeros_like(x) for no move at all")
    return leaves, spec, directions
