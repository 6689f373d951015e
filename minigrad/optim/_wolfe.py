"""How far to go along a direction: until the strong Wolfe conditions hold.

    f(t) <= f(0) + c₁ t f'(0)           it goes down enough for a step of this length
    |f'(t)| <= c₂ |f'(0)|               it does not go down much further

First the step grows until two points have such a t between them (a bracket), then the bracket is cut, each time where a cubic
with the values and slopes of its ends has its minimum. Nocedal & Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6;
Schmidt, "minFunc", 2005, whose safeguards these are.

Mirrors ``_strong_wolfe`` of ``torch/optim/lbfgs.py``.
"""

import math
from collections import namedtuple

__all__ = ["strong_wolfe"]

# A point of the line: step, value, gradient (a tensor), and slope along the direction.
Point = namedtuple("Point", ("t", "f", "g", "slope"))

C1, C2 = 1e-4, 0.9


def cubic_minimum(a, b, bounds=None):
    """The step at which the cubic through two points, with their slopes, has its minimum; within `bounds`."""
    low, high = bounds or sorted((a.t, b.t))
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:         # it has none
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(evaluate, t, start, size, tolerance_change=1e-9, max_ls=25):
    """A step that fulfils the strong Wolfe conditions, or the best one that was found.

    Args:
        evaluate (callable): step -> `Point`.
        t (float): the step to try first.
        start (Point): with the step 0.
        size (float): the largest number of the direction.
        tolerance_change (float): a bracket that moves no parameter by more is not cut further.
        max_ls (int): how often it is cut or enlarged at most.

    Returns:
        (point, how often `evaluate` was called)
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
        if min(last - t, t - first) < margin:       # near an end: the second time, and at the end itself, take a tenth at least
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
    """Which end of the bracket is the lower one, and which the higher."""
    return (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
