"""Building blocks for derivatives of functions. ``functional.py`` and ``func/`` share them.

    gradients(y, x, u)      Jᵀ u, by one backward; None for an x that no y depends on
    make_pushforward(y, x)  the map v -> J v, by two backwards: Note [Forwards by two backwards]
    jacobian_rows(y, x)     J by rows, one backward for each element of y
    jacobian_columns(...)   J by columns, one call of v -> J v for each element of x

x and y are sequences of tensors. J has a block for each pair of tensors, of shape ``y.shape + x.shape``.

Note [Forwards by two backwards]
    The gradients g(u) = Jᵀ u are linear in u. So their gradient with respect to u, for a grad_output v, is J v: exact up to
    rounding, whatever u is. The function must be twice differentiable, and is called only once.

Mirrors ``torch/autograd/functional.py``.
"""

from minigrad.autograd._backward import grad
from minigrad.creation import zeros, zeros_like
from minigrad.ops.shape.cat_split import stack


def gradients(outputs, inputs, vectors=None, create_graph=False, retain_graph=None):
    """The gradients of `inputs`, summed over the outputs that require a gradient; None for an input that none depends on."""
    vectors = vectors or [None] * len(outputs)
    chosen = [(y, v) for y, v in zip(outputs, vectors) if y is not None and y.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    return grad([y for y, _ in chosen], inputs, [v for _, v in chosen], retain_graph, create_graph, allow_unused=True)


def make_pushforward(outputs, inputs):
    """Return ``(g, push)``: the gradients g of `inputs` for a dummy grad_output, and the function v -> J v.

    See Note [Forwards by two backwards]. ``push(v, create_graph)`` returns None for an output that depends on no input.
    """
    dummies = [zeros_like(y, requires_grad=True) if y.requires_grad else None for y in outputs]
    pulled = gradients(outputs, inputs, dummies, create_graph=True)
    wanted = [u for u in dummies if u is not None]

    def push(vectors, create_graph):
        found = iter(gradients(pulled, wanted, vectors, create_graph, True) if wanted else ())
        return [None if u is None else next(found) for u in dummies]

    return pulled, push


def unit_vectors(x):
    """Yield, for each element of `x`, a tensor like `x` that is 1 at that element and 0 elsewhere."""
    for i in range(x.numel()):
        unit = zeros(x.numel(), dtype=x.dtype, device=x.device)
        unit[i] = 1
        yield unit.view(x.shape)


def jacobian_rows(outputs, inputs, create_graph=False, check=None):
    """The Jacobian by rows: for each output a tuple of its blocks.

    If `check` is given, call ``check(i, k, g)`` with each row g of block (i, k). g is None if no gradient arrived.
    """
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
    """The Jacobian by columns: for each output a tuple of its blocks. `push` is the function v -> J v."""
    nothing = [zeros_like(x) for x in inputs]
    found = [[] for _ in outputs]
    for k, x in enumerate(inputs):
        images = [push([*nothing[:k], unit, *nothing[k + 1:]]) for unit in unit_vectors(x)]
        for i, y in enumerate(outputs):
            found[i].append(block([image[i] for image in images], -1, y, x, y.dtype))
    return [tuple(blocks) for blocks in found]


def block(slices, dim, y, x, dtype):
    """The block of output y and input x, stacked from its rows or columns. Either all of these are None or none is."""
    shape = tuple(y.shape) + tuple(x.shape)
    if not slices or slices[0] is None:
        return zeros(shape, dtype=dtype, device=y.device)
    return stack(slices, dim).reshape(shape)    # pyright: ignore[reportAttributeAccessIssue]
