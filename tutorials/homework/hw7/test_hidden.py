"""The hidden checks of homework 7: other arguments and random numbers; other blocks and rows; other graphs and what runs."""

import math
import threading

import adapters

import minigrad as mg
from minigrad.autograd.graph import get_gradient_edge, saved_tensors_hooks
from minigrad.grading.checks import close, fail, number, rng, same, visibility, weight
from minigrad.grading.oracles import chain, grads, ladder, random_graph

CHECKPOINT, PACKING, VERSIONS = "11_checkpointing", "08_packing", "09_version_counters"
KERNEL, HOOKS, ENGINE = "17_your_own_cuda_op", "12_hooks", "02_the_engine"


def draw(random, *shape):
    values = [random.uniform(-2, 2) for _ in range(math.prod(shape))]
    return mg.tensor(values, dtype=mg.float64).reshape(*shape)


# ---- part 1 ---------------------------------------------------------------------------------------------------------------------

@weight(15)
@number("1.3")
@visibility("after_published")
def test_arguments_and_results():
    """checkpoint: other objects, integers and None as arguments; several results, one of them without a graph"""
    random = rng("1.3")
    x, w, fixed = draw(random, 4, 3).requires_grad_(), draw(random, 3, 2).requires_grad_(), draw(random, 2)
    index = mg.tensor([2, 0, 2])

    def function(name, x, index, nothing, w, fixed):
        y = getattr(x[index], name)() @ w
        return y + fixed, mg.ones(2), (y * y).sum()
    for used in ((0, 2), (0,), (2,)):
        expected = function("tanh", x, index, None, w, fixed)
        found = adapters.checkpoint()(function, "tanh", x, index, None, w, fixed)
        if not isinstance(found, tuple) or len(found) != 3:
            fail("a function with a tuple of three results: expected a tuple of three", read=CHECKPOINT)
        for i in range(3):
            same(found[i], expected[i], f"result {i}", read=CHECKPOINT)
        ours = mg.autograd.grad(sum((expected[i] * 2).sum() for i in used), [x, w])
        theirs = mg.autograd.grad(sum((found[i] * 2).sum() for i in used), [x, w], allow_unused=True)
        for mine, own, name in zip(theirs, ours, "xw"):
            same(mine, own, f"the gradient of {name}, from the results {used}", found[0], CHECKPOINT)


@weight(15)
@number("1.4")
@visibility("after_published")
def test_random_numbers():
    """checkpoint: the second run draws the same numbers, and the program outside does not notice it"""
    def function(x):
        return mg.nn.functional.dropout(x, 0.5) * mg.rand(40)

    def program(call):
        mg.manual_seed(rng("1.4").randrange(1000))
        x = mg.ones(40, requires_grad=True)
        first, between = call(function, x), mg.rand(3)
        second = call(function, first * 2)
        second.sum().backward()
        return {"the second result": second, "x.grad": x.grad, "numbers drawn before the backward": between,
                "numbers drawn after the backward": mg.rand(3)}
    expected, found = program(lambda function, x: function(x)), program(adapters.checkpoint())
    for what, value in expected.items():
        same(found[what], value, what, read=CHECKPOINT)


@weight(15)
@number("1.5")
@visibility("after_published")
def test_what_is_saved():
    """checkpoint: nothing inside is saved, writes to an argument are noticed, tensors from outside get gradients"""
    w, x = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([0.5, 0.3], requires_grad=True)
    saved = []

    def keep(tensor):
        saved.append(tensor.tolist())
        return tensor
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        y = adapters.checkpoint()(lambda x: (x.exp() * w).sin().exp(), x)
    if any(values != x.tolist() for values in saved):
        fail(f"only the argument should be saved: found {len(saved)} tensors, {saved}", y, CHECKPOINT)
    y.sum().backward()
    ours = mg.autograd.grad((x.exp() * w).sin().exp().sum(), [x, w])
    same(x.grad, ours[0], "x.grad", y, CHECKPOINT)
    if w.grad is None:
        fail("the function uses w from outside: w.grad is None", y, CHECKPOINT)
    same(w.grad, ours[1], "w.grad, of a tensor that the function uses from outside", y, CHECKPOINT)
    h = x * 2
    y = adapters.checkpoint()(lambda h: h.sin(), h)
    h.mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
    else:
        fail("an argument was written to after the forward: expected the error of saved tensors, found none", read=VERSIONS)


@weight(10)
@number("1.6")
@visibility("after_published")
def test_counting():
    """count_saved: views of the same memory, and tensors that are soon gone"""
    x = mg.rand(3, 3).requires_grad_()
    result, found = adapters.count_saved()(lambda: (x @ x.t()).sum())
    if found != 1:
        fail(f"x @ x.t() saves two views of one memory: expected 1, found {found}", result, PACKING)

    def program():
        for _ in range(6):
            mg.rand(3).requires_grad_().sin()
        return "done"
    result, found = adapters.count_saved()(program)
    if (result, found) != ("done", 6):
        fail(f"six tensors that are soon gone: expected the program's result 'done' and 6 tensors, found {result!r} and {found}", read=PACKING)


@weight(10)
@number("1.7")
@visibility("after_published")
def test_segments():
    """checkpoint_layers: where it cuts, what runs again"""
    for n, segments in ((7, 3), (5, 5), (6, 1), (10, 4), (16, 4), (8, 5)):
        calls, x = [], mg.tensor([0.4, 0.8], dtype=mg.float64, requires_grad=True)

        def layer(x, i, calls=calls):
            calls.append(i)
            return x.sin() + 0.1 * i
        layers = [lambda x, i=i, layer=layer: layer(x, i) for i in range(n)]
        y = adapters.checkpoint_layers()(layers, x, segments)
        if calls != list(range(n)):
            fail(f"{n} layers in {segments} segments: the forward should run each layer once, in order; it ran {calls}", read=CHECKPOINT)
        y.sum().backward()
        again, lengths = calls[n:], []
        for before, i in zip([None, *again], again):
            if before is None or i != before + 1:
                lengths.append(0)
            lengths[-1] += 1
        lengths = [*lengths[::-1], n - len(again)]
        what = f"{n} layers in {segments} segments: the backward ran the layers {again} again"
        if sorted(again) != list(range(len(again))) or len(lengths) != segments or 0 in lengths:
            fail(f"{what}; expected all segments but the last, the last of these first", read=CHECKPOINT)
        if max(lengths) - min(lengths) > 1:
            fail(f"{what}, so the segments have the lengths {lengths}; these should differ by one at most", read=CHECKPOINT)
        found, x.grad, value = x.grad, None, x
        for i in range(n):
            value = value.sin() + 0.1 * i
        same(found, mg.autograd.grad(value.sum(), x)[0], f"x.grad through {n} layers in {segments} segments", read=CHECKPOINT)


@weight(10)
@number("1.8")
def test_gpt():
    """A GPT learns with checkpoints as without, and saves less"""
    train = adapters.train_gpt()
    expected, most = train(1, steps=6)
    found, saved = train(3, steps=6)
    for i, (ours, theirs) in enumerate(zip(expected, found)):
        close(theirs, ours, f"the loss of step {i} with 3 segments", read=CHECKPOINT, tolerance=1e-4)
    if not found[-1] < found[0]:
        fail("the GPT has not learnt: the loss is not smaller than at first", read=CHECKPOINT)
    if not saved < most / 2:
        fail(f"with 3 segments for 6 blocks expected less than half of the {most} tensors of the forward, found {saved}", read=CHECKPOINT)


# ---- part 2 ---------------------------------------------------------------------------------------------------------------------

def run(kernel, blocks, threads, *tensors):
    """What a kernel writes into an array that was full of -7."""
    from numba import cuda
    arrays = [tensor.numpy() for tensor in tensors]
    out = cuda.to_device(arrays[0] * 0 - 7)
    kernel[blocks, threads](*map(cuda.to_device, arrays), out)
    return mg.tensor(out.copy_to_host())


@weight(15)
@number("2.3")
@visibility("after_published")
def test_any_number_of_threads():
    """logaddexp: any number of threads; infinite numbers; differences that are far apart"""
    kernel, random = adapters.kernel("logaddexp_kernel"), rng("2.3")
    for blocks, threads, n in ((1, 1, 5), (2, 3, 6), (2, 4, 21), (3, 4, 7), (1, 2, 0)):
        x, y = draw(random, n), draw(random, n)
        same(run(kernel, blocks, threads, x, y), mg.logaddexp(x, y), f"{n} numbers, {blocks} blocks of {threads} threads", read=KERNEL)
    inf = math.inf
    x = mg.tensor([-inf, inf, inf, -inf, 0.0, -745.0, 1e-9, 40.0], dtype=mg.float64)
    y = mg.tensor([-inf, inf, 1.0, 2.0, -inf, -745.5, 0.0, 0.0], dtype=mg.float64)
    same(run(kernel, 2, 2, x, y), mg.logaddexp(x, y), f"logaddexp({x.tolist()}, {y.tolist()})", read=KERNEL, tolerance=1e-12)


@weight(20)
@number("2.4")
@visibility("after_published")
def test_softmax_of_any_size():
    """softmax: any number of blocks, threads, rows and columns; large numbers"""
    kernel, random = adapters.kernel("softmax_kernel"), rng("2.4")
    for blocks, threads, rows, columns in ((1, 1, 2, 3), (2, 4, 3, 9), (1, 4, 3, 2), (3, 3, 2, 5), (2, 8, 4, 8), (1, 32, 1, 40)):
        x = draw(random, rows, columns) * 3 + random.choice([0.0, 800.0, -800.0])
        same(run(kernel, blocks, threads, x), x.softmax(1),
             f"a matrix of {rows} by {columns}, {blocks} blocks of {threads} threads", read=KERNEL)


class Memory:
    """A matrix that writes down which block and which thread reads and writes each number."""

    def __init__(self, values):
        self.values, self.reads, self.writes = values, [], []
        self.shape, self.size, self.dtype, self.ndim = values.shape, values.size, values.dtype, 2

    def who(self, where):
        thread = threading.current_thread()     # of the simulator
        return thread.blockIdx.x, thread.threadIdx.x, *map(int, where)

    def __getitem__(self, where):
        self.reads.append(self.who(where))
        return self.values[where]

    def __setitem__(self, where, value):
        self.writes.append(self.who(where))
        self.values[where] = value


@weight(15)
@number("2.5")
@visibility("after_published")
def test_who_reads_what():
    """softmax: the threads of a block share a row, neighbours read neighbours, and each number is read three times at most"""
    kernel, blocks, threads, rows, columns = adapters.kernel("softmax_kernel"), 2, 3, 3, 8
    x, out = Memory(draw(rng("2.5"), rows, columns).numpy()), Memory(mg.zeros(rows, columns, dtype=mg.float64).numpy())
    kernel[blocks, threads](x, out)
    for block, thread, row, column in x.reads + out.writes:
        if row % blocks != block:
            fail(f"{blocks} blocks: row {row} is the work of block {row % blocks}, but block {block} has read or written it", read=KERNEL)
        if column % threads != thread:
            fail(f"{threads} threads: column {column} is the work of thread {column % threads}, but thread {thread} has read or "
                 "written it", read=KERNEL)
    most = max(x.reads.count(read) for read in set(x.reads))
    if most > 3:
        fail(f"a number of x was read {most} times; 3 times are enough", read=KERNEL)
    if len(out.writes) != rows * columns:
        fail(f"there are {rows * columns} numbers to write, and {len(out.writes)} were written", read=KERNEL)


@weight(10)
@number("2.6")
@visibility("after_published")
def test_softmax_backward():
    """softmax_backward: against minigrad's own derivative"""
    kernel, random = adapters.kernel("softmax_backward_kernel"), rng("2.6")
    for blocks, threads, rows, columns in ((1, 1, 2, 3), (2, 4, 3, 9), (1, 4, 2, 2)):
        x, grad = draw(random, rows, columns).requires_grad_(), draw(random, rows, columns)
        y = x.softmax(1)
        expected, = mg.autograd.grad(y, x, grad)
        same(run(kernel, blocks, threads, grad, y.detach()), expected,
             f"a matrix of {rows} by {columns}, {blocks} blocks of {threads} threads", read=KERNEL)


@weight(10)
@number("2.7")
def test_digits_by_kernels():
    """A network learns with the two kernels as with minigrad's softmax"""
    from minigrad.grading.score import images
    adapters.kernel("softmax_kernel")       # says so if numba is missing
    found = adapters.train_softmax()(steps=4)
    _, pixels, labels = images(16)
    mg.manual_seed(0)
    model = mg.nn.Sequential(mg.nn.Linear(64, 16), mg.nn.Tanh(), mg.nn.Linear(16, 10))
    optimizer = mg.optim.Adam(model.parameters(), lr=0.02)
    for i in range(4):
        optimizer.zero_grad()
        loss = mg.nn.functional.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        close(found[i], loss.item(), f"the loss of step {i}", read=KERNEL, tolerance=1e-3)


# ---- part 3 ---------------------------------------------------------------------------------------------------------------------

@weight(15)
@number("3.3")
@visibility("after_published")
def test_joins():
    """joins: weights that are used twice, not at all, and through other nodes; long graphs, and graphs with many paths"""
    x, w, v = (draw(rng("3.3"), 2, 2).requires_grad_() for _ in range(3))

    def expect(y, expected, what, graph=None):
        found = adapters.joins()(y, x, [w, v])
        for name, nodes, theirs in zip("wv", expected, found):
            if len(theirs) != len(set(theirs)) or set(theirs) != {t.grad_fn for t in nodes}:
                fail(f"{what}: expected {name} to join at {[t.grad_fn.name() for t in nodes]}, found "
                     f"{[node.name() for node in theirs]}, each node once", graph, HOOKS)
    one = x @ w
    two = one.tanh() @ w
    expect(two, [[one, two], []], "a weight that is used twice, and one that is not used", two)
    one = x @ (w @ v + w)
    expect(one.exp(), [[one], [one]], "two weights that are combined before they join", one.exp())
    one = x * w
    two = one.sum() + (v * v).sum()
    expect(two, [[one], [two]], "a sum of the path and of something that depends on v only", two)
    one = x * w
    two = one.addmm(x, v.t())
    expect(two, [[one], [two]], "an addmm, which x reaches along two ways", two)
    one = chain(x, 20_000) * w
    two = one * chain(v, 20_000)
    expect(two, [[one], [two]], "40,000 additions")
    one = ladder(x, 40) * ladder(w, 40)
    expect(one, [[one], []], "a graph with 2**40 paths")


def pre_hooks(y, leaves):
    """How many pre-hooks a backward from `y` meets."""
    met = []

    def call_hooks(node, grads, hooks, call):
        met.extend(hooks["pre-hook"])
        return call(grads)
    with mg.grading.swap("call_hooks", call_hooks):
        mg.autograd.grad(y, leaves, retain_graph=True, allow_unused=True)
    return len(met)


def used_graph(random, steps):
    """A random graph whose first leaf is used."""
    while True:
        leaves, y = random_graph(random, steps, leaves=4)
        expected = grads(y, leaves)
        if expected[0] is not None:
            return leaves, y, expected


@weight(15)
@number("3.4")
@visibility("after_published")
def test_the_urgent_half():
    """backward_input: random graphs; no .grad changes, no hook stays, also after an error"""
    random = rng("3.4")
    for steps in (4, 8, 16):
        (x, *weights), y, expected = used_graph(random, steps)
        arrived = []
        handles = [weight.register_hook(arrived.append) for weight in weights]
        gradient, kept = adapters.backward_input()(y, mg.tensor(2.0, dtype=mg.float64), x, weights)
        same(gradient, expected[0] * 2, "the gradient of x", y, HOOKS)
        if arrived or any(leaf.grad is not None for leaf in (x, *weights)):
            fail("in the first half, a weight got a gradient, or the .grad of x or of a weight has changed", y, HOOKS)
        if len(kept) != len(weights):
            fail(f"expected a list for each of {len(weights)} weights, found {len(kept)}", y, HOOKS)
        for handle in handles:
            handle.remove()
        if pre_hooks(y, [x, *weights]):
            fail("a pre-hook is still there after the first half", y, HOOKS)
    x, w = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([3.0, 4.0], requires_grad=True)
    h = x.exp()
    y = (h * w).sum()

    def broken(grad):
        raise ArithmeticError("this backward fails")
    handle = h.register_hook(broken)
    try:
        adapters.backward_input()(y, mg.tensor(1.0), x, [w])
    except ArithmeticError:
        handle.remove()
        if pre_hooks(y, [x, w]):
            fail("a pre-hook is still there after a backward that has failed", y, HOOKS)
    else:
        fail("a hook in the graph raised an error, which should have come out of backward_input", y, HOOKS)


@weight(15)
@number("3.5")
@visibility("after_published")
def test_both_halves():
    """Both halves together add what one backward adds: layers, random graphs, several microbatches in any order"""
    random, nn = rng("3.5"), mg.nn
    mg.manual_seed(random.randrange(1000))
    models = {"two linear layers": nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)),
              "a normalisation": nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 2))}
    for name, model in models.items():
        weights = list(model.parameters())
        batches, kept, expected = [mg.randn(3, 4) for _ in range(3)], [], [mg.zeros_like(weight) for weight in weights]
        for batch in batches:
            x = batch.requires_grad_()
            y = (model(x) ** 2).sum()
            for total, grad in zip(expected, grads(y, weights)):
                total += grad
            kept.append(adapters.backward_input()(y, mg.tensor(1.0), x, weights)[1])
        random.shuffle(kept)
        for each in kept:
            adapters.backward_weight()(each, weights)
        for i, (weight, theirs) in enumerate(zip(weights, expected)):
            same(weight.grad, theirs, f"{name}, three microbatches: the .grad of weight {i}", read=HOOKS, tolerance=1e-4)
    for steps in (4, 8, 16):
        (x, *weights), y, expected = used_graph(random, steps)
        adapters.backward_weight()(adapters.backward_input()(y, mg.tensor(1.0, dtype=mg.float64), x, weights)[1], weights)
        for i, (weight, theirs) in enumerate(zip(weights, expected[1:])):
            if theirs is None and weight.grad is not None:
                fail(f"a random graph does not use weight {i}: expected no .grad, found {weight.grad}", y, HOOKS)
            if theirs is not None:
                same(weight.grad, theirs, f"a random graph: the .grad of weight {i}", y, HOOKS)


@weight(10)
@number("3.6")
@visibility("after_published")
def test_weights_that_are_used_twice():
    """Weights that join at several nodes, one behind the other; one hook for each gradient"""
    x, w, b = (draw(rng("3.6"), 3, 3).requires_grad_() for _ in range(3))
    graphs = {"tanh(x w + b) w^T b": lambda: ((x @ w + b).tanh() @ w.t() * b).sum(),
              "a scale in three layers": lambda: ((((x * b) @ w).sin() * b @ w).sin() * b).sum(),
              "two weights that are combined": lambda: ((x @ (w @ b)).tanh() @ (w + b)).sum()}
    for name, make in graphs.items():
        y = make()
        expected = grads(y, [x, w, b])
        w.grad = b.grad = None
        gradient, kept = adapters.backward_input()(y, mg.tensor(1.0, dtype=mg.float64), x, [w, b])
        adapters.backward_weight()(kept, [w, b])
        for found, theirs, what in zip((gradient, w.grad, b.grad), expected, ("the gradient of x", "w.grad", "b.grad")):
            same(found, theirs, f"{name}: {what}", y, HOOKS)
        if pre_hooks(y, [x, w, b]):
            fail(f"{name}: a pre-hook is still there after the second half", y, HOOKS)


@weight(10)
@number("3.7")
@visibility("after_published")
def test_what_runs_when():
    """The second half runs nothing of the path, and the first half nothing of the weights"""
    x, w, v = (draw(rng("3.7"), 3, 3).requires_grad_() for _ in range(3))
    mixed = w.exp()
    first = x @ mixed
    bent = first.tanh()
    y = (bent @ v.t()).sum()
    ran = []
    for name, node in (("the exp of a weight", mixed.grad_fn), ("the tanh of the path", bent.grad_fn),
                       ("the node of x", get_gradient_edge(x).node)):
        node.register_prehook(lambda grads, name=name: ran.append(name))
    _, kept = adapters.backward_input()(y, mg.tensor(1.0, dtype=mg.float64), x, [w, v])
    if "the exp of a weight" in ran or "the tanh of the path" not in ran:
        fail(f"in the first half, of three nodes only those of the path should run; these ran: {ran}", y, ENGINE)
    ran.clear()
    adapters.backward_weight()(kept, [w, v])
    if ran != ["the exp of a weight"]:
        fail(f"in the second half, of three nodes only the exp of a weight should run, once; these ran: {ran}", y, ENGINE)


@weight(10)
@number("3.8")
def test_stages():
    """Two stages learn with a split backward as with a whole one"""
    from minigrad.grading.score import images
    found, _ = adapters.train_stages()(steps=4)
    _, pixels, labels = images(128)
    mg.manual_seed(0)
    one = mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.Tanh())
    two = mg.nn.Sequential(mg.nn.Linear(32, 32), mg.nn.ReLU(), mg.nn.Linear(32, 10))
    optimizer = mg.optim.SGD([*one.parameters(), *two.parameters()], lr=0.5)
    for i in range(4):
        optimizer.zero_grad()
        loss = mg.nn.functional.cross_entropy(two(one(pixels)), labels)
        loss.backward()
        optimizer.step()
        close(found[i], loss.item(), f"the loss of step {i}", read=HOOKS, tolerance=1e-3)
