"""How many references a tensor has if only the engine holds it: measured once, when minigrad is imported.

    graph_task.py        may a buffer be added to in place?              Note [Adding in place]
    accumulate_grad.py   may a gradient become .grad as it is?           Note [Stealing a gradient]

Both compare a reference count with the number of references that the engine itself has at that moment: a variable of the
caller, and perhaps an argument. The number differs between compiled and interpreted code, and between versions of Python
(3.14 lends some arguments instead of counting them). So it is not a constant: we measure it. We send two gradients through
the calls of a backward: one that only the engine holds, and one that a variable holds too. We take the number with which
the engine takes over the first gradient and not the second.

If no number does both, the engine always copies, which is correct.
"""

from minigrad._core.engine.execute import execute
from minigrad._core.engine.graph_task import adds_in_place
from minigrad._core.graph.accumulate_grad import grad_accumulator, set_sole_owner

__all__ = ["measure"]

NEVER = -1          # a count that no object has
COUNTS = range(1, 6)


def measure(make):
    """Set the two numbers. ``make(requires_grad)`` returns a small tensor that only the caller holds."""
    set_sole_owner(find_count(COUNTS, lambda count, alone: steals_gradient(make, count, alone)))
    adds_in_place(find_count(COUNTS, lambda count, alone: adds_in_buffer(make, count, alone)), [make(False)], make(False))


def find_count(counts, takes_over):
    """The only one of `counts` with which a gradient is taken over if it is alone, and not otherwise; else NEVER."""
    found = [count for count in counts if takes_over(count, True) and not takes_over(count, False)]
    return found[0] if len(found) == 1 else NEVER


def steals_gradient(make, count, alone):
    """Whether a backward makes the gradient that reaches a leaf its ``.grad``, without a copy."""
    set_sole_owner(count)
    leaf = make(True)
    grads = [make(False)]
    same = id(grads[0])
    held = None if alone else grads[0]
    execute([(grad_accumulator(leaf), 0)], grads, False, False)
    del held
    return id(leaf.grad) == same


def adds_in_buffer(make, count, alone):
    """Whether a node's buffer adds a second gradient to the first one in place."""
    first = [make(False)]
    held = None if alone else first[0]
    found = adds_in_place(count, first, make(False))
    del held
    return found
