"""A line search: find a step t along a direction for which the strong Wolfe conditions hold.

    f(t) <= f(0) + c₁ t f'(0)           sufficient decrease: f goes down enough for a step of this length
    |f'(t)| <= c₂ |f'(0)|               curvature: f would not go down much further

First the step grows until such a t is between two points, which form a bracket. Then the bracket shrinks: the next point is the
minimum of the cubic with the values and slopes at both ends. The algorithms are 3.5 and 3.6 of Nocedal & Wright, "Numerical
optimization", 2006. The safeguards are those of Schmidt, "minFunc", 2005.

Mirrors ``_strong_wolfe`` of ``torch/optim/lbfgs.py``.
"""

import math
from collections import namedtuple

__all__ = ["strong_wolfe"]

# A point on the line: the step, the value, the gradient (a tensor), and the slope along the direction.
Point = namedtuple("Point", ("t", "f", "g", "slope"))

C1, C2 = 1e-4, 0.9


def cubic_minimum(a, b, bounds=None):
    """Return the minimum, within `bounds`, of the cubic that has the values and slopes of two points."""
    low, high = bounds or sorted((a.t, b.t))
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:         # the cubic has no minimum
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(evaluate, t, start, size, tolerance_change=1e-9, max_ls=25):
    """Find a step for which the strong Wolfe conditions hold, or the best step within `max_ls` rounds.

    Args:
        evaluate (callable): step -> `Point`.
        t (float): the step to try first.
        start (Point): the point at step 0.
        size (float): the largest absolute value of the direction.
        tolerance_change (float): stop when the bracket moves no parameter by more than this.
        max_ls (int): the largest number of rounds, each of which enlarges or shrinks the bracket.

    Returns:
        (point, number of calls of `evaluate`)
    """
    def descends_enough(point):
        return not point.f > start.f + C1 * point.t * start.slope

    def flat_enough(point):
        return abs(point.slope) <= -C2 * start.slope

    before, point = start, evaluate(t)
    rounds, done = 0, False
    while rounds < max_ls:
        if not descends_enough(point) or (rounds > 1 and point.f >= before.f):
            bracket = [before, point]
            break
        if flat_enough(point):
            bracket, done = [point, point], True
            break
        if point.slope >= 0:
            bracket = [before, point]
            break
        bounds = point.t + 0.01 * (point.t - before.t), point.t * 10
        before, point = point, evaluate(cubic_minimum(before, point, bounds))
        rounds += 1
    else:
        bracket = [start, point]

    evaluations, stuck = 1 + rounds, False
    low, high = sides(bracket)
    while not done and rounds < max_ls:
        first, last = sorted(end.t for end in bracket)
        if (last - first) * size < tolerance_change:
            break
        t = cubic_minimum(*bracket)
        margin = 0.1 * (last - first)
        if min(last - t, t - first) < margin:       # near an end: the second time, or at the end itself, move a tenth away
            if stuck or t >= last or t <= first:
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = evaluate(t)
        evaluations += 1
        rounds += 1
        if not descends_enough(point) or point.f >= bracket[low].f:
            bracket[high] = point
            low, high = sides(bracket)
        else:
            done = flat_enough(point)
            if not done and point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    return bracket[low], evaluations


def sides(bracket):
    """Return the indices of the end with the lower value and of the end with the higher value."""
    return (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
