"""The hidden checks of homework 3: random graphs, many paths, deep graphs, the order, and the cost."""

import itertools

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, hide_errors, number, rng, same, student, used, visibility, weight
from minigrad.grading.oracles import chain, random_graph

READ = "02_the_engine"


class Watched:
    """Something with edges, like a node, that counts how often its edges were asked for."""

    def __init__(self, *following):
        self.edges, self.asked = tuple((node, 0) for node in following), 0

    @property
    def next_functions(self):
        self.asked += 1
        if self.asked > 3:
            fail("the edges of a node were asked for more than three times: the cost grows with the number of paths. "
                 "Follow the edges of each node once", read=READ)
        return self.edges


def compare(results, leaves, part):
    """Run the backward with the student's part, and compare ``.grad`` of all leaves with our own engine."""
    results = results if isinstance(results, list) else [results]
    expected = mg.autograd.grad(results, leaves, retain_graph=True, allow_unused=True)
    drawn = results[0] if len(results) == 1 else sum(results[1:], results[0])
    try:
        with part:
            mg.autograd.backward(results, retain_graph=True)
    except mg.grading.SwapError as error:
        fail(str(error), drawn, READ)
    used(part, "backward was run without it", drawn, READ)
    for i, (leaf, ours) in enumerate(zip(leaves, expected)):
        if (leaf.grad is None) != (ours is None):
            fail(f"leaf {i}: expected {'a gradient' if leaf.grad is None else 'no gradient'}, found {leaf.grad}", drawn, READ)
        if ours is not None:
            same(leaf.grad, ours, f".grad of leaf {i}", drawn, READ, tolerance=1e-9)


@weight(10)
@number("1.2")
@visibility("after_published")
def test_counts_of_random_graphs():
    """The engine runs random graphs with your counts"""
    count, random = adapters.count_dependencies(), rng("1.2")
    for steps in (3, 6, 10, 20):
        leaves, y = random_graph(random, steps)
        compare(y, leaves, mg.grading.swap("count_dependencies", count))


@weight(7)
@number("1.3")
@visibility("after_published")
def test_counting_is_linear():
    """Counting asks each node once, and does not recurse"""
    count = adapters.count_dependencies()
    node = Watched()
    for _ in range(60):
        node = Watched(node, node)
    found = count(node)
    counts = sorted(found.values())
    if counts != [0] + [2] * 60:
        fail("60 rungs, each with two edges to the rung below: expected a count of 0 for the root and of 2 for 60 others, "
             f"found {len(counts)} counts, {counts[:2]} to {counts[-2:]}", read=READ)
    deep = Watched()
    for _ in range(100_000):
        deep = Watched(deep)
    if len(count(deep)) != 100_001:
        fail("a chain of 100,001 nodes was not counted completely", read=READ)


@weight(7)
@number("2.2")
@visibility("after_published")
def test_order_in_the_engine():
    """With your queue the engine runs nodes in its own order"""
    random = rng("2.2")
    for steps in (4, 8, 16):
        _, y = random_graph(random, steps, leaves=4)
        orders = []
        for queue in (None, adapters.ready_queue()):
            with mg.debug.record() as record:
                if queue is None:
                    y.backward(retain_graph=True)
                else:
                    with mg.grading.swap("ready_queue", queue) as part:
                        y.backward(retain_graph=True)
                    used(part, "the engine was run without it", y, READ)
            orders.append([record.nodes[name] for name in record.order])
        if orders[0] != orders[1]:
            at = next(i for i, (ours, theirs) in enumerate(zip(*orders)) if ours != theirs)
            fail(f"node {at + 1} of the run: expected {orders[0][at]}, found {orders[1][at]}", y, READ)


class Counted(int):
    """A number that counts comparisons."""

    compared = 0

    def __lt__(self, other):
        Counted.compared += 1
        return int(self) < int(other)

    def __gt__(self, other):
        Counted.compared += 1
        return int(self) > int(other)

    def __neg__(self):
        return Counted(-int(self))


class Numbered:
    """Something with a sequence number, like a node."""

    next_functions = ()

    def __init__(self, number):
        self.number = number

    def _sequence_nr(self):
        return Counted(self.number)

    def name(self):
        return "Numbered"


@weight(5)
@number("2.3")
@visibility("after_published")
def test_queue_is_fast():
    """push and pop look at few nodes of a long queue"""
    queue = adapters.ready_queue()()
    numbers = list(range(1000))
    rng("2.3").shuffle(numbers)
    Counted.compared = 0
    for item in numbers:
        queue.push(Numbered(item))
    order = [queue.pop().number for _ in numbers]
    if order != sorted(order, reverse=True):
        fail("1,000 nodes in a random order did not come out latest first", read=READ)
    if Counted.compared > 40_000:
        fail(f"1,000 pushes and pops compared {Counted.compared:,} times; a heap needs some 20,000. Look at few nodes: heapq", read=READ)


@weight(10)
@number("4.2")
@visibility("after_published")
def test_random_graphs():
    """run_backward agrees with the engine on random graphs, also with several roots"""
    random = rng("4.2")
    for steps, roots in ((3, 1), (6, 2), (10, 3), (16, 1), (16, 3)):
        leaves, y = random_graph(random, steps, roots=roots)
        compare(y, leaves, mg.grading.swap("run_backward", adapters.run_backward()))


class Rung(Watched):
    """A node with two edges to the rung below. It counts how often it is called."""

    _input_metadata = (None,)
    made = itertools.count()

    def __init__(self, *following):
        super().__init__(*following)
        self.called, self.number = 0, next(Rung.made)

    def _sequence_nr(self):
        return self.number

    def name(self):
        return "Rung"

    def __call__(self, grad):
        self.called += 1
        if self.called > 1:
            fail("a node was called twice: run each node once, when all its gradients have arrived", read=READ)
        self.grad = grad
        return tuple(grad * part for part in (0.5, 0.4)[:len(self.edges)])


@weight(10)
@number("4.3")
@visibility("after_published")
def test_each_node_runs_once():
    """A graph with 2**40 paths costs as much as its nodes"""
    last = node = Rung()
    for _ in range(40):
        node = Rung(node, node)
    adapters.run_backward()([(node, 0)], [mg.tensor(1.0, dtype=mg.float64)])
    if last.called != 1:
        fail("the last of 41 nodes was not called", read=READ)
    same(last.grad, mg.tensor(0.9 ** 40, dtype=mg.float64), "the gradient that reaches the last of 41 nodes", read=READ)


@weight(8)
@number("4.4")
@visibility("after_published")
@hide_errors("A chain of 20,000 nodes was not run. Does run_backward call itself?")
def test_deep_graph():
    """A chain of 20,000 nodes needs no recursion"""
    x = mg.tensor(1.0, requires_grad=True)
    y = chain(x, 20_000)
    with mg.grading.swap("run_backward", adapters.run_backward()) as part:
        y.backward()
    used(part, "backward was run without it", read=READ)
    same(x.grad, mg.tensor(1.0), "x.grad", read=READ)


@weight(5)
@number("5.1")
def test_training():
    """A network learns with your engine, as it does with minigrad's"""
    train = student("hw3").train
    ours = train(steps=30)
    with mg.grading.swap("run_backward", adapters.run_backward()) as part:
        theirs = train(steps=30)
    if part.calls != 30:
        fail(f"30 steps of training called your engine {part.calls} times", read=READ)
    same(mg.tensor(theirs[-1]), mg.tensor(ours[-1]), "the loss after 30 steps", read=READ, tolerance=1e-3)
