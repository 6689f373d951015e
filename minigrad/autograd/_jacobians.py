"""The steps of which derivatives of functions are made: ``functional.py`` and ``func/`` share them.

    gradients(y, x, u)      Jᵀ u, a backward; what has no history, or no part in y, gives None
    linearized(y, x)        the map v -> J v, two backwards: Note [Forwards by two backwards]
    jacobian_rows(y, x)     J by rows, a backward for each element of y
    jacobian_columns(...)   J by columns, a push for each element of x

x and y are sequences of tensors, and J has a block for each pair of them, of shape ``y.shape + x.shape``.

Note [Forwards by two backwards]
    The gradients g(u) = Jᵀ u are linear in u, and known for any u. So their own gradient with respect to u, in the direction v,
    is J v, exact to rounding. It takes nothing but a function that can be differentiated twice, and calls it once.

Mirrors ``torch/autograd/functional.py``.
"""

from minigrad import autograd
from minigrad.creation import zeros, zeros_like
from minigrad.ops.shape.cat_split import stack


def gradients(outputs, inputs, vectors=None, create_graph=False, retain_graph=None):
    """The gradients of those outputs that have one; None for an input that has no part in them."""
    vectors = vectors or [None] * len(outputs)
    chosen = [(y, v) for y, v in zip(outputs, vectors) if y is not None and y.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    return autograd.grad([y for y, _ in chosen], inputs, [v for _, v in chosen], retain_graph, create_graph, allow_unused=True)


def linearized(outputs, inputs):
    """``(g, push)``: the gradients g of the outputs in an unspecified direction, and the function v -> J v.

    See Note [Forwards by two backwards]. ``push(v, create_graph)`` has None for an output that depends on no input.
    """
    dummies = [zeros_like(y, requires_grad=True) if y.requires_grad else None for y in outputs]
    pulled = gradients(outputs, inputs, dummies, create_graph=True)
    wanted = [u for u in dummies if u is not None]

    def push(vectors, create_graph):
        found = iter(gradients(pulled, wanted, vectors, create_graph, True) if wanted else ())
        return [None if u is None else next(found) for u in dummies]

    return pulled, push


def unit_vectors(x):
    """The tensors of the shape and dtype of `x` that are 1 at one place, in order."""
    for i in range(x.numel()):
        unit = zeros(x.numel(), dtype=x.dtype, device=x.device)
        unit[i] = 1
        yield unit.view(x.shape)


def jacobian_rows(outputs, inputs, create_graph=False, check=None):
    """The Jacobian by rows: for each output a tuple of its blocks. ``check(i, k, g)`` is shown each row g that did (not) arrive."""
    found = []
    for i, y in enumerate(outputs):
        rows = [gradients((y,), inputs, (unit,), create_graph, True) for unit in unit_vectors(y)]
        if check is not None:
            for row in rows:
                for k, g in enumerate(row):
                    check(i, k, g)
        found.append(tuple([block([row[k] for row in rows], 0, y, x, x.dtype) for k, x in enumerate(inputs)]))
    return found


def jacobian_columns(outputs, inputs, push):
    """The Jacobian by columns, `push` being v -> J v: for each output a tuple of its blocks."""
    nothing = [zeros_like(x) for x in inputs]
    found = [[] for _ in outputs]
    for k, x in enumerate(inputs):
        images = [push([*nothing[:k], unit, *nothing[k + 1:]]) for unit in unit_vectors(x)]
        for i, y in enumerate(outputs):
            found[i].append(block([image[i] for image in images], -1, y, x, y.dtype))
    return [tuple(blocks) for blocks in found]


def block(slices, dim, y, x, dtype):
    """The block of the output y and the input x, of its rows or columns. A graph leads from y to x or not, for all of them."""
    shape = tuple(y.shape) + tuple(x.shape)
    if not slices or slices[0] is None:
        return zeros(shape, dtype=dtype, device=y.device)
    return stack(slices, dim).reshape(shape)    # pyright: ignore[reportAttributeAccessIssue]
