"""The hidden checks of homework 1: random expressions, many uses, long computations, several backwards."""

import functools
import math

import adapters

import minigrad as mg
from minigrad.grading import checks
from minigrad.grading.checks import fail, hide_errors, number, rng, visibility, weight

READ = "01_derivative_to_graph"
UNARY = ("sin", "exp", "tanh")
close = functools.partial(checks.close, read=READ, tolerance=1e-8, absolute=1e-10)


def expression(random, size, numbers, tensors):
    """The same random expression of the student's numbers and of minigrad's tensors."""
    numbers, tensors = list(numbers), list(tensors)
    for _ in range(size):
        i, j = random.randrange(len(numbers)), random.randrange(max(0, len(numbers) - 4), len(numbers))
        name = random.choice(("add", "mul", *UNARY))
        if name in UNARY:
            small = numbers[j] * 0.5        # so that exp does not overflow
            numbers.append(adapters.function(name)(small))
            tensors.append(getattr(tensors[j] * 0.5, name)())
        else:
            numbers.append(adapters.function("tanh")(adapters.function(name)(numbers[i], numbers[j])))
            tensors.append((tensors[i] + tensors[j] if name == "add" else tensors[i] * tensors[j]).tanh())
    number = adapters.function("add")(numbers[-1], adapters.function("mul")(numbers[-1], numbers[-2]))
    return number, tensors[-1] + tensors[-1] * tensors[-2]


def leaves(random):
    values = [random.uniform(-1.0, 1.0) for _ in range(3)]
    return [adapters.number()(v) for v in values], [mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in values]


@weight(15)
@number("1.2")
@visibility("after_published")
def test_local_derivatives():
    """The local derivatives agree with finite differences"""
    random, make = rng("1.2"), adapters.number()
    for name in UNARY:
        function = adapters.function(name)
        for _ in range(10):
            at, step = random.uniform(-2.0, 2.0), 1e-6
            z = function(make(at))
            slope = (function(make(at + step)).value - function(make(at - step)).value) / (2 * step)
            close(z.value, getattr(math, name)(at), f"{name}({at:.3f})")
            if len(z.edges) != 1 or not math.isclose(z.edges[0][1], slope, rel_tol=1e-6, abs_tol=1e-8):
                fail(f"{name} at {at:.3f}: expected one edge with the local derivative {slope:.6f}, found {[d for _, d in z.edges]}",
                     read=READ)
    x = make(3.0)
    if [local for _, local in adapters.function("mul")(x, x).edges] != [3.0, 3.0]:
        fail("mul(x, x) at x = 3: expected two edges, each with the local derivative 3", read=READ)


class Watched:
    """A number whose edges count how often they were asked for."""

    def __init__(self, *operands):
        self.pairs, self.asked, self.value, self.grad = tuple((x, 0.5) for x in operands), 0, 1.0, 0.0

    @property
    def edges(self):
        self.asked += 1
        if self.asked > 4:
            fail("the edges of a number were asked for more than four times: the cost grows with the number of paths", read=READ)
        return self.pairs


@weight(10)
@number("2.2")
@visibility("after_published")
def test_each_number_once():
    """A ladder with 2**60 paths: each number appears once"""
    number = Watched()
    for _ in range(60):
        number = Watched(number, number)
    found = list(adapters.backward_order()(number))
    if len(found) != 61 or len(set(map(id, found))) != 61:
        fail(f"61 numbers, each but the last with two edges to the next: expected a list of 61, found {len(found)}", read=READ)


@weight(5)
@number("2.3")
@visibility("after_published")
@hide_errors("A computation of 20,000 numbers was not ordered. Does backward_order call itself?")
def test_long_computation():
    """A computation of 20,000 numbers needs no recursion"""
    number = Watched()
    for _ in range(20_000):
        number = Watched(number)
    if len(list(adapters.backward_order()(number))) != 20_001:
        fail("20,001 numbers were not all in the order", read=READ)


@weight(15)
@number("3.2")
@visibility("after_published")
def test_random_expressions():
    """backward agrees with minigrad on random expressions"""
    random = rng("3.2")
    for size in (2, 4, 8, 16, 30):
        numbers, tensors = leaves(random)
        number, tensor = expression(random, size, numbers, tensors)
        expected = mg.autograd.grad(tensor, tensors, allow_unused=True, retain_graph=True)
        adapters.backward()(number)
        for i, (mine, ours) in enumerate(zip(numbers, expected)):
            close(mine.grad, 0.0 if ours is None else ours.item(), f"the derivative with respect to leaf {i}", tensor)


@weight(10)
@number("3.3")
@visibility("after_published")
def test_several_backwards():
    """Several backwards add to grad, and an inner number is no exception"""
    make, mul, backward = adapters.number(), adapters.function("mul"), adapters.backward()
    x = make(3.0)
    h = mul(x, x)
    for times in (1, 2, 3):
        backward(mul(h, h))
        close(h.grad, 18.0 * times, f"the derivative with respect to h = x x, after {times} backwards of h h at x = 3")
        close(x.grad, 108.0 * times, f"the derivative with respect to x, after {times} backwards of h h at x = 3")


@weight(10)
@number("4.1")
def test_training():
    """A neuron learns with your tape as it does with minigrad"""
    losses, parameters = adapters.train()(steps=30)
    points = [(-1.0, 0.5), (0.25, -0.75), (0.5, 1.0), (1.0, -0.25), (-0.5, -1.0), (-0.25, 0.0)]
    ours = [mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (0.1, 0.2, 0.0)]
    optimizer = mg.optim.SGD(ours, lr=0.1)
    for _ in range(30):
        w1, w2, c = ours
        loss = sum(((w1 * a + w2 * b + c).tanh() - (1.0 if a > b else -1.0)) ** 2 for a, b in points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    close(losses[-1], loss.item(), "the loss of step 30")
    for mine, wanted, name in zip(parameters, ours, ("w1", "w2", "c")):
        close(mine, wanted.item(), f"{name} after 30 steps")
