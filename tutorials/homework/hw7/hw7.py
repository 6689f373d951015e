# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Homework 7: one of three
#
# **The question.** What do large models need that small ones do not? Less memory, faster programs, and several machines that work at
# the same time. Each part of this homework answers for one of them. **Choose one part.** If you do more, your best part counts.
#
# You need: homework 3 to 6, and a tutorial for your part. About 240 minutes, 100 points.
#
# | part | points | you write | a tutorial |
# |---|---|---|---|
# | 1 | 100 | `checkpoint`, `checkpoint_layers`, `count_saved`: compute again instead of saving | 11 |
# | 2 | 100 | `logaddexp_kernel`, `softmax_kernel`, `softmax_backward_kernel`: programs for a GPU | 17 |
# | 3 | 100 | `joins`, `backward_input`, `backward_weight`: half a backward now, half of it later | 12 |
#
# Each part ends with a training that uses what you have written: a GPT of characters, or a network that reads digits.
#
# Run `python -m pytest -q test_public.py -k part1` beside this file (or `-k part2`, `-k part3`). Write your code where it says
# `raise NotImplementedError()`. Leave the number of your part in `chosen`: then this file runs only the examples of that part.

# %%
import math
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")      # numba's simulator, for part 2
try:
    from numba import cuda
except ImportError:
    cuda = None                                         # parts 1 and 3 do not need it

import minigrad as mg
from minigrad.autograd import Function
from minigrad.autograd.graph import GradientEdge, get_gradient_edge, saved_tensors_hooks

chosen = {1, 2, 3}
if 2 in chosen and cuda is None:
    print('Part 2 needs numba: pip install "minigrad-autograd[simulator]"')


def digits(count):
    """Some images with 64 numbers each, and their labels."""
    from minigrad.grading.score import images
    _, pixels, labels = images(count)
    return pixels, labels

# %% [markdown]
# ## Part 1: checkpointing
#
# ### The function
#
# `checkpoint(function, *args)` returns `function(*args)`. But no tensor from *inside* the function is saved: only the arguments are.
# When the backward comes, the function runs again, this time with recording, and a backward through it gives the gradients. You write
# it as a `Function`. Tutorial 11 does this for one argument. Here more is asked for:
#
# * **Arguments** are tensors and other objects, in any order. Keep the tensors with `ctx.save_for_backward`, so that writes to them
#   are noticed; keep the others on `ctx`. `ctx.needs_input_grad` says which arguments need a gradient. The gradient of every other
#   argument is None, also that of `function`.
# * **Results** are a tensor or a tuple of tensors. A result of the second run that requires no gradient has no graph: leave it out.
# * **Tensors that the function uses from outside**, such as the weights of a layer, get their `.grad` in the second run's own backward:
#   so call `mg.autograd.backward`, and not `grad`.
# * **Random numbers.** Dropout must drop the same numbers again. `mg.get_rng_state()` and `mg.set_rng_state(state)` read and set the
#   state of the generator. The second run begins with the state that the first began with. After it, the state is what it was before
#   it: the program outside does not notice that something has run.
#
# The arguments of the second run are new leaves on the same memory, as in homework 6: `detach`, then `requires_grad_`. If no argument
# requires a gradient, a `Function` records nothing. You need not care.

# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Checkpoint(Function):
    """``function(*args)``, which runs again in the backward."""

    @staticmethod
    def forward(ctx, function, *args):
        ### BEGIN SOLUTION
        ctx.function, ctx.state = function, mg.get_rng_state()
        ctx.others = [None if isinstance(arg, mg.Tensor) else arg for arg in args]
        ctx.save_for_backward(*[arg if isinstance(arg, mg.Tensor) else None for arg in args])
        return function(*args)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, *grads):
        ### BEGIN SOLUTION
        needed = ctx.needs_input_grad[1:]
        args = [other if tensor is None else tensor.detach().requires_grad_(need)
                for tensor, other, need in zip(ctx.saved_tensors, ctx.others, needed)]
        state = mg.get_rng_state()
        mg.set_rng_state(ctx.state)
        try:
            with mg.enable_grad():
                results = ctx.function(*args)
        finally:
            mg.set_rng_state(state)
        results = results if isinstance(results, tuple) else (results,)
        pairs = [(result, grad) for result, grad in zip(results, grads) if result.requires_grad]
        mg.autograd.backward([result for result, _ in pairs], [grad for _, grad in pairs])
        return None, *[arg.grad if need else None for arg, need in zip(args, needed)]
        ### END SOLUTION


def checkpoint(function, *args):
    """``function(*args)``, of which only `args` are saved for the backward."""
    return Checkpoint.apply(function, *args)


# %%
if __name__ == "__main__" and 1 in chosen:
    def noisy(x, factor):
        print("runs")
        return (mg.nn.functional.dropout(x, 0.5) * factor).exp()

    x = mg.ones(6, requires_grad=True)
    y = checkpoint(noisy, x, 2.0)
    y.sum().backward()
    print("where y is 1, a number was dropped, and its gradient is 0:", y.detach(), x.grad, sep="\n")

# %% [markdown]
# ### How much is saved
#
# `count_saved(program)` calls `program()`. It returns the result, and how many tensors were saved meanwhile: count them with
# `saved_tensors_hooks`, as in homework 4. Two saved tensors on the same memory, such as a matrix and its transpose, count once:
# `tensor.untyped_storage().data_ptr()` is the address of the memory. Take care: when a tensor is gone, another may get its address. So
# keep the tensors until you have counted.
#
# ### Where to cut
#
# `checkpoint_layers(layers, x, segments)` computes `layers[-1](... layers[0](x))`. It cuts the list into segments, whose lengths differ
# by one at most, and checkpoints each, **but not the last**: the backward of the last segment comes immediately, so a second run
# would save nothing. With one segment there is no checkpoint.

# %% nbgrader={"grade": false, "grade_id": "layers", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_saved(program):
    """The result of ``program()``, and how many different tensors it has saved."""
    ### BEGIN SOLUTION
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = program()
    return result, len(kept)
    ### END SOLUTION


def checkpoint_layers(layers, x, segments):
    """All layers, one after the other, of which only the inputs of the segments and the inside of the last are saved."""
    ### BEGIN SOLUTION
    n = len(layers)
    for i in range(segments):
        def run(x, some=layers[n * i // segments:n * (i + 1) // segments]):
            for layer in some:
                x = layer(x)
            return x
        x = checkpoint(run, x) if i < segments - 1 else run(x)
    return x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "layers-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__" and 1 in chosen:
    x = mg.ones(3, requires_grad=True)
    for segments in (1, 2, 4, 8, 16):
        y, saved = count_saved(lambda segments=segments: checkpoint_layers([mg.sin] * 16, x, segments))
        print(f"{segments:2} segments of 16 layers: {saved:2} tensors saved by the forward")
    ### BEGIN HIDDEN TESTS
    assert saved == 16
    ### END HIDDEN TESTS

# %% [markdown]
# ### A GPT learns with your checkpoints
#
# It reads the docstrings of minigrad and guesses the next letter. Its blocks have dropout: with a wrong state of the random numbers,
# the losses would differ. With `segments=1` there is no checkpoint.

# %%
class Block(mg.nn.Module):
    """Attention to the letters before, and a small network, each added to its input."""

    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = mg.nn.LayerNorm(width), mg.nn.LayerNorm(width)
        self.qkv, self.project = mg.nn.Linear(width, 3 * width), mg.nn.Linear(width, width)
        self.wide, self.narrow = mg.nn.Linear(width, 2 * width), mg.nn.Linear(2 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=2)
        later = mg.ones(x.shape[1], x.shape[1], dtype=mg.bool).triu(1)
        scores = (q @ k.transpose(1, 2) / q.shape[2] ** 0.5).masked_fill(later, -math.inf)
        x = x + mg.nn.functional.dropout(self.project(scores.softmax(-1) @ v), 0.1)
        return x + mg.nn.functional.dropout(self.narrow(self.wide(self.norm2(x)).relu()), 0.1)


def train_gpt(segments, steps=60, width=16, blocks=6, length=16):
    """Train a GPT of characters. Returns the losses, and how many tensors the forward of the first step has saved."""
    text = " ".join(" ".join((getattr(mg, name).__doc__ or "").split()) for name in ("tensor", "zeros", "einsum", "where", "stack"))
    letters = sorted(set(text))
    tokens = mg.tensor([letters.index(letter) for letter in text])
    mg.manual_seed(0)
    letter, place = mg.nn.Embedding(len(letters), width), mg.nn.Embedding(length, width)
    layers, head = [Block(width) for _ in range(blocks)], mg.nn.Linear(width, len(letters))
    parameters = [p for module in (letter, place, head, *layers) for p in module.parameters()]
    optimizer, losses, first = mg.optim.Adam(parameters, lr=0.01), [], None
    for _ in range(steps):
        starts = mg.randint(len(tokens) - length, (8,)).tolist()
        pieces = mg.stack([tokens[i:i + length + 1] for i in starts])

        def program(pieces=pieces):
            x = letter(pieces[:, :-1]) + place(mg.arange(length))
            scores = head(checkpoint_layers(layers, x, segments))
            return mg.nn.functional.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())
        loss, saved = count_saved(program)
        first = saved if first is None else first
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, first


if __name__ == "__main__" and 1 in chosen:
    for segments in (1, 3):
        losses, saved = train_gpt(segments)
        print(f"{segments} segments: {saved:3} tensors saved, loss {losses[0]:.3f} -> {losses[-1]:.3f}")

# %% [markdown]
# ## Part 2: kernels on the simulator
#
# A *kernel* is a program that many threads run at the same time. They come in blocks; `cuda.grid(1)` is the number of a thread among
# all, `cuda.gridsize(1)` their number, and within a block there are `cuda.threadIdx.x` and `cuda.blockDim.x`. You need no GPU:
# numba's simulator runs each thread as a Python thread. Install it by `pip install "minigrad-autograd[simulator]"`. Write plain
# functions. `start`, below, makes kernels of them.
#
# ### One thread for each number, or for many
#
# `logaddexp_kernel(x, y, out)` fills `out` with $\log(e^x + e^y)$, for arrays with one dimension. $e^{1000}$ is too large for any
# float. With $m = \max(x, y)$ the result is $m + \log(1 + e^{-|x - y|})$, which never overflows: use `math.log1p`. If $m$ is infinite, the
# result is $m$; the difference of two infinities is not a number. There may be more numbers than threads: thread $i$ of $t$ computes
# the numbers $i$, $i + t$, $i + 2t$ and so on. There may also be fewer.

# %% nbgrader={"grade": false, "grade_id": "logaddexp", "locked": false, "schema_version": 3, "solution": true, "task": false}
def logaddexp_kernel(x, y, out):
    """``out = log(exp(x) + exp(y))``, number by number."""
    ### BEGIN SOLUTION
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        most = max(x[i], y[i])
        if math.isinf(most):
            out[i] = most
        else:
            out[i] = most + math.log1p(math.exp(-abs(x[i] - y[i])))
    ### END SOLUTION


# %% [markdown]
# Put it into minigrad. Everything else, also the derivative, is minigrad's own.

# %%
if __name__ == "__main__" and 2 in chosen:
    x, y = mg.tensor([0.0, 1000.0], device="cuda", requires_grad=True), mg.zeros(2, device="cuda")
    with mg.grading.swap("cuda_kernel", cuda.jit(logaddexp_kernel), of="logaddexp") as part:
        z = mg.logaddexp(x, y)
    part.check_used()
    z.sum().backward()
    print(z, x.grad)

# %% [markdown]
# ### A block for each row
#
# `softmax_kernel(x, out)` fills each row of `out` with $e^{x_j - m} / \sum_k e^{x_k - m}$, where $m$ is the maximum of the row.
# The threads of **one block share a row**: block $b$ of $n$ takes the rows $b$, $b + n$, $b + 2n$ and so on. Of each row, thread $t$ of
# $s$ takes the columns $t$, $t + s$, $t + 2s$ and so on, so that neighbouring threads read neighbouring numbers. The memory of a GPU is
# slow: read each number of `x` three times at most.
#
# For the maximum, each thread finds the maximum of its own columns and writes it into *shared memory*:
# `shared` is an array that all threads of a block see, and others do not. `cuda.syncthreads()` waits until **all** threads of the
# block have come to it. After it, each thread can read what the others have written. Before a thread writes into the same array again,
# wait again: a slow thread may still be reading. The sum works in the same way.
#
# So all threads of a block must call `syncthreads` equally often, also a thread that has no column. A block has `THREADS` threads at
# most.
#
# `softmax_backward_kernel(grad, y, out)` computes the gradient of `x` from the result $y$ and its gradient $\bar y$, in the same
# way: $\bar x_j = y_j \,(\bar y_j - \sum_k \bar y_k\, y_k)$.

# %%
THREADS = 32

# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_kernel(x, out):
    """The softmax of each row of `x`."""
    shared = cuda.shared.array(THREADS, "float64")
    ### BEGIN SOLUTION
    thread, threads, columns = cuda.threadIdx.x, cuda.blockDim.x, x.shape[1]
    for row in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
        own = -math.inf
        for j in range(thread, columns, threads):
            own = max(own, x[row, j])
        shared[thread] = own
        cuda.syncthreads()
        most = shared[0]
        for i in range(1, threads):
            most = max(most, shared[i])
        cuda.syncthreads()
        own = 0.0
        for j in range(thread, columns, threads):
            own += math.exp(x[row, j] - most)
        shared[thread] = own
        cuda.syncthreads()
        total = 0.0
        for i in range(threads):
            total += shared[i]
        cuda.syncthreads()
        for j in range(thread, columns, threads):
            out[row, j] = math.exp(x[row, j] - most) / total
    ### END SOLUTION


def softmax_backward_kernel(grad, y, out):
    """The gradient of the input of a softmax, from the gradient of its result `y`."""
    shared = cuda.shared.array(THREADS, "float64")
    ### BEGIN SOLUTION
    thread, threads, columns = cuda.threadIdx.x, cuda.blockDim.x, y.shape[1]
    for row in range(cuda.blockIdx.x, y.shape[0], cuda.gridDim.x):
        own = 0.0
        for j in range(thread, columns, threads):
            own += grad[row, j] * y[row, j]
        shared[thread] = own
        cuda.syncthreads()
        total = 0.0
        for i in range(threads):
            total += shared[i]
        cuda.syncthreads()
        for j in range(thread, columns, threads):
            out[row, j] = y[row, j] * (grad[row, j] - total)
    ### END SOLUTION


# %%
def start(function, blocks, threads, *tensors):
    """Run a kernel on tensors, and return a new tensor that it has filled."""
    arrays = [cuda.to_device(tensor.detach().numpy()) for tensor in tensors]
    out = cuda.device_array(arrays[0].shape, arrays[0].dtype)
    cuda.jit(function)[blocks, threads](*arrays, out)
    return mg.tensor(out.copy_to_host())


# %% nbgrader={"grade": true, "grade_id": "softmax-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__" and 2 in chosen:
    x = mg.tensor([[0.0, 1.0, 2.0], [1000.0, 1000.0, -1000.0]])
    y = start(softmax_kernel, 2, 2, x)
    print(y, start(softmax_backward_kernel, 2, 2, mg.ones(2, 3), y), sep="\n")
    assert mg.allclose(y, x.softmax(1))
    ### BEGIN HIDDEN TESTS
    assert start(softmax_kernel, 1, 4, x).sum().item() == 2.0
    ### END HIDDEN TESTS

# %% [markdown]
# ### A network learns with your kernels
#
# It reads digits (if scikit-learn is missing, patterns of noise), and its softmax and the derivative of it are your two kernels.

# %%
class Softmax(Function):
    """The softmax of each row, by the two kernels."""

    @staticmethod
    def forward(ctx, x):
        y = start(softmax_kernel, 2, 4, x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return start(softmax_backward_kernel, 2, 4, grad.contiguous(), *ctx.saved_tensors)


def train_softmax(steps=25):
    """Train a network with `Softmax`. Returns the losses."""
    pixels, labels = digits(16)
    mg.manual_seed(0)
    model = mg.nn.Sequential(mg.nn.Linear(64, 16), mg.nn.Tanh(), mg.nn.Linear(16, 10))
    optimizer, losses = mg.optim.Adam(model.parameters(), lr=0.02), []
    for _ in range(steps):
        optimizer.zero_grad()
        chances = Softmax.apply(model(pixels)).gather(1, labels.reshape(-1, 1))
        loss = -chances.log().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__" and 2 in chosen:
    losses = train_softmax()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last")

# %% [markdown]
# ## Part 3: the split backward
#
# A model may be cut into *stages*, each on a machine of its own. The backward of a stage computes two things: the gradient of its
# input, for which the stage before it **waits**, and the gradients of its weights, which only the optimizer needs. So we split it.
# `backward_input` computes the first and remembers what it met on its way; `backward_weight` computes the second, later.
#
# ### Where weights join
#
#     x --> [ * w1 ] --> relu --> [ * w2 ] --> y
#
# The *path* is all nodes between `y` and `x`: those that can be reached from the node of `y`, and from which the node of `x` can be
# reached. A weight **joins** the path at each node of the path to which it leads without passing another node of the path. Here `w1`
# joins at the node of the first product, `w2` at that of the second. Between a weight and its join there may be other nodes, as in
# `x @ (w + w.t())`. A weight that is used twice may join at two nodes; one that `y` does not use joins nowhere.
#
# `joins(y, x, weights)` returns a list with one list of nodes for each weight, each node once. `x` and the weights are leaves, and
# `get_gradient_edge(tensor).node` is the node of a tensor. Edges point from `y` down, and you must also walk up: so first make a dict
# from each node to the nodes above it. Do not recurse, and visit each node once for each walk.

# %% nbgrader={"grade": false, "grade_id": "joins", "locked": false, "schema_version": 3, "solution": true, "task": false}
def joins(y, x, weights):
    """For each weight, the nodes at which it joins the path from `x` to `y`."""
    ### BEGIN SOLUTION
    root = get_gradient_edge(y).node
    above, waiting = {root: []}, [root]
    while waiting:
        node = waiting.pop()
        for below, _ in node.next_functions:
            if below is not None:
                if below not in above:
                    above[below] = []
                    waiting.append(below)
                above[below].append(node)

    def climb(tensor, path):
        """The nodes above a tensor that are not on the path, and the first ones that are."""
        seen, met, waiting = set(), [], [get_gradient_edge(tensor).node]
        while waiting:
            node = waiting.pop()
            if node in seen or node not in above:
                continue
            seen.add(node)
            if node in path:
                met.append(node)
            else:
                waiting += above[node]
        return seen, met

    path, _ = climb(x, ())
    return [climb(weight, path)[1] for weight in weights]
    ### END SOLUTION


# %%
if __name__ == "__main__" and 3 in chosen:
    x, w1, w2 = (mg.tensor(n, requires_grad=True) for n in (2.0, 3.0, 5.0))
    print([[node.name() for node in nodes] for nodes in joins((x * w1).relu() * w2 * w1, x, [w1, w2])])

# %% [markdown]
# ### The urgent half
#
# `backward_input(y, grad, x, weights)` returns the gradient of `x`, and a list with a list of pairs `(node, grads)` for each weight: a
# node where the weight joins, and the tuple of gradients that arrived there. A *pre-hook* sees them:
# `node.register_prehook(function)` calls `function(grads)` before the node runs, and returns a handle with `remove()`. If the function
# returns a tuple, it replaces `grads`.
#
# Ask `mg.autograd.grad` for the gradient of `x` alone, and keep the graph: the other half needs it. `.grad` of `x` and of the weights
# does not change. Take your hooks away, also if the backward fails.
#
# ### The half that can wait
#
# `backward_weight(kept, weights)` gets that list and adds to the `.grad` of each weight, by one `mg.autograd.backward` for each. It
# begins at the nodes of the pairs: `GradientEdge(node, i)` stands for output `i` of a node, and is a root as a tensor is. Some of the
# gradients may be None; leave those out. With `inputs=[weight]` the engine runs only what leads to the weight. Keep the graph:
# several weights may share nodes.
#
# There is one trap. If a weight joins at two nodes and one of them lies behind the other, the run from the upper one reaches the
# lower one again, and its part would be counted twice. But what arrives at a node is known: while you run, a pre-hook on each of
# the nodes *replaces* what arrives by what was recorded.

# %% nbgrader={"grade": false, "grade_id": "halves", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward_input(y, grad, x, weights):
    """The gradient of `x`; and for each weight the nodes where it joins, with the gradients that arrived there."""
    ### BEGIN SOLUTION
    found, arrived = joins(y, x, weights), {}
    handles = []
    for node in {node for nodes in found for node in nodes}:
        def record(grads, node=node):
            arrived[node] = grads
        handles.append(node.register_prehook(record))
    try:
        result, = mg.autograd.grad(y, x, grad, retain_graph=True)
    finally:
        for handle in handles:
            handle.remove()
    return result, [[(node, arrived[node]) for node in nodes] for nodes in found]
    ### END SOLUTION


def backward_weight(kept, weights):
    """Add the gradients to the weights, from what `backward_input` has kept."""
    ### BEGIN SOLUTION
    for pairs, weight in zip(kept, weights):
        handles = [node.register_prehook(lambda grads, recorded=recorded: recorded) for node, recorded in pairs]
        roots = [(GradientEdge(node, i), grad) for node, recorded in pairs for i, grad in enumerate(recorded) if grad is not None]
        try:
            if roots:
                mg.autograd.backward([edge for edge, _ in roots], [grad for _, grad in roots], retain_graph=True, inputs=[weight])
        finally:
            for handle in handles:
                handle.remove()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "halves-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__" and 3 in chosen:
    x, w1, w2 = (mg.tensor(n, requires_grad=True) for n in (2.0, 3.0, 5.0))
    gradient, kept = backward_input((x * w1).relu() * w2 * w1, mg.tensor(1.0), x, [w1, w2])
    print("now: ", gradient, w1.grad, w2.grad)
    backward_weight(kept, [w1, w2])
    print("then:", w1.grad, w2.grad)
    assert (gradient.item(), w1.grad.item(), w2.grad.item()) == (45.0, 60.0, 18.0)
    ### BEGIN HIDDEN TESTS
    assert x.grad is None
    ### END HIDDEN TESTS

# %% [markdown]
# ### Two stages learn to read digits
#
# A batch is cut into four *microbatches*. The second stage passes each gradient back as early as it can, and the work for its own
# weights comes when the first stage has everything that it waits for.

# %%
def train_stages(steps=40, count=4):
    """Train two stages on digits, with the backward of the second one split. Returns the losses, and the order of the work of a step."""
    pixels, labels = digits(128)
    mg.manual_seed(0)
    one = mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.Tanh())
    two = mg.nn.Sequential(mg.nn.Linear(32, 32), mg.nn.ReLU(), mg.nn.Linear(32, 10))
    weights = list(two.parameters())
    optimizer, losses = mg.optim.SGD([*one.parameters(), *weights], lr=0.5), []
    for _ in range(steps):
        optimizer.zero_grad()
        work, later, total = [], [], 0.0
        for i, (some, right) in enumerate(zip(pixels.chunk(count), labels.chunk(count))):
            sent = one(some)
            received = sent.detach().requires_grad_()
            loss = mg.nn.functional.cross_entropy(two(received), right) / count
            gradient, kept = backward_input(loss, mg.tensor(1.0), received, weights)
            sent.backward(gradient)
            work += [f"1F{i}", f"2F{i}", f"2I{i}", f"1B{i}"]
            later.append(kept)
            total += loss.item()
        for i, kept in enumerate(later):
            backward_weight(kept, weights)
            work.append(f"2W{i}")
        optimizer.step()
        losses.append(total)
    return losses, work


if __name__ == "__main__" and 3 in chosen:
    losses, work = train_stages()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last; the work of a step: {' '.join(work)}")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. Only your best part counts. The hidden checks ask for what
# this text asks for: other arguments, results and random numbers; other sizes of blocks and rows, and who reads which number; other
# graphs, weights that are used twice, and what runs in which half.
