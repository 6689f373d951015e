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
# # Your own CUDA op: a kernel, and its place in the graph
#
# **The question.** A formula of ours takes three operations, and a GPU writes two results to its memory only to read them back.
# How do we write it as one program for the GPU, and how does that become an operation that can be differentiated?
#
# You need: [tutorial 14](14_function.py), what a node believes without checking; no CUDA, and no GPU. You get: a kernel in five lines;
# an operation with an implementation for the GPU and one for the CPU; its derivative, another kernel; and the checks that find
# out where the two disagree.
#
# Our example is the *swish*, a bend like relu's, but smooth; $\beta$ says how sharp it is:
#
# $$ f(x) = x\,\sigma(\beta x), \qquad f'(x) = s + \beta x\, s\,(1 - s), \quad s = \sigma(\beta x) = \frac{1}{1 + e^{-\beta x}} . $$
#
# This page was made without a GPU. Numba, the compiler for our kernels, has a *simulator*, which runs a kernel on the CPU: a Python
# thread for every thread of the GPU. It is slow, it can be stepped through in a debugger, and it is chosen before numba is imported.
# On a machine with a GPU, set `NUMBA_ENABLE_CUDASIM=0`, and all of this runs there.

# %%
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import math

import numpy as np
from numba import cuda

import minigrad as mg
from minigrad.library import custom_op, opcheck

simulated = os.environ["NUMBA_ENABLE_CUDASIM"] == "1"
print("simulated" if simulated else mg.cuda.get_device_name())

# %% [markdown]
# ## What three operations cost
#
# A GPU computes faster than its memory delivers. What an elementwise operation costs is the bytes that it reads and writes. With
# float32, four bytes an element:

# %%
def bytes_moved(reads_and_writes, n):
    return sum(4 * n * times for times in reads_and_writes)


n = 1_000_000
three = bytes_moved([1 + 1, 1 + 1, 2 + 1], n)       # beta * x, sigmoid, x * s
one = bytes_moved([1 + 1], n)                       # read x, write f(x)
print(f"{three / 1e6:.0f} MB in three operations, {one / 1e6:.0f} MB in one")

# %% [markdown]
# Seven to two. That is what there is to gain, and it takes a kernel of our own. (minigrad's own kernels, and what they move, are in
# `minigrad/kernels/cuda`: each file opens with it.)
#
# ## A kernel
#
# A *kernel* is a function that very many threads run at once. They all get the same arguments. What tells one from another is its
# number, and `cuda.grid(1)` asks for it. The first idea is a thread for each element:

# %%
@cuda.jit
def swish_wrong(x, beta, z):
    i = cuda.grid(1)
    z[i] = x[i] / (1 + math.exp(-beta * x[i]))


# %% [markdown]
# Threads are started in *blocks* of one size. With blocks of 4, eleven elements need three blocks, which are twelve threads. One of
# them has nothing to do, and does it all the same:

# %%
x = mg.linspace(-5, 5, 11, device="cuda")
z = mg.empty_like(x)
if simulated:
    with mg.testing.expect_error(IndexError):
        swish_wrong[3, 4](mg.cuda.as_numba(x), 1.0, mg.cuda.as_numba(z))

# %% [markdown]
# That is the simulator speaking: `tid` is the thread in its block, `ctaid` the block. **A GPU says nothing.** It writes behind the
# end of the array, into whatever lies there.
#
# The right kernel does not care how many threads there are. Thread number $i$ of $t$ does the elements $i$, $i + t$, $i + 2t$ and so
# on, as long as there are any. That is a *grid-stride loop*. Neighbouring threads read neighbouring numbers, which the memory
# delivers together.

# %%
@cuda.jit
def swish_kernel(x, beta, z):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        z[i] = x[i] / (1 + math.exp(-beta * x[i]))


@cuda.jit
def slope_kernel(g, x, beta, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        s = 1 / (1 + math.exp(-beta * x[i]))
        out[i] = g[i] * (s + beta * x[i] * s * (1 - s))


# %% [markdown]
# **Predict.** Two blocks of four threads, eleven elements. Which elements does thread 1 of block 0 do?
#
# <details><summary>Answer</summary>
#
# 1 and 9. `cuda.grid(1)` is the number of the block times the size of a block, plus the number in the block: 1. `cuda.gridsize(1)`
# is 8.
#
# </details>
#
# ## The memory of a tensor
#
# A kernel takes numba's arrays. `mg.cuda.as_numba(x)` is one on the memory of the tensor `x`: nothing is copied, and what the kernel
# writes is seen in the tensor. Square brackets say how many blocks, how many threads in each, and in which *stream*.
# A stream is a queue: what is in it runs in order, and the CPU does not wait. So that our kernel comes after what has made `x`,
# we give it the stream in which minigrad works.

# %%
def start(kernel, n, *args):
    """Queue a kernel for n elements."""
    blocks, threads = (2, 4) if simulated else (max(1, min(n // 256, 4096)), 256)
    arrays = [mg.cuda.as_numba(a) if isinstance(a, mg.Tensor) else a for a in args]
    kernel[blocks, threads, mg.cuda.numba_stream()](*arrays)


start(swish_kernel, 11, x, 1.0, z)
print([f"{v:.4f}" for v in z.tolist()])
print([f"{v:.4f}" for v in (x * mg.sigmoid(x)).tolist()])

# %% [markdown]
# `tolist` is what waits: it needs the numbers.
#
# ## An operation
#
# Autograd knows nothing of this yet. `custom_op` makes an operation of a function that takes tensors and returns new ones. Its type
# hints say what it takes. `device_types` says where this implementation is for; another device gets another one.

# %%
@custom_op("tutorial::swish", mutates_args=(), device_types="cuda")
def swish(x: mg.Tensor, beta: float) -> mg.Tensor:
    row = x.contiguous().view(-1)
    z = mg.empty_like(row)
    start(swish_kernel, row.numel(), row, beta, z)
    return z.view(x.shape)


@swish.register_kernel("cpu")
def swish_on_cpu(x, beta):
    x = x.numpy()
    return mg.from_numpy(x / (1 + np.exp(-beta * x)))


# %% [markdown]
# `x.size` and `x[i]` in the kernel count along one dimension, so a matrix has to become a row: `contiguous` copies what does not lie
# row by row, and `view(-1)` looks at the rest as one long row.

# %%
for device in ("cpu", "cuda"):
    found = swish(mg.tensor([[-1.0, 0.0], [1.0, 2.0]], device=device), 2.0)
    print(found.device, [[round(v, 4) for v in row] for row in found.tolist()])

# %% [markdown]
# ### Its derivative
#
# The derivative is a kernel too, so it becomes an operation of its own. `setup_context` notes what it needs, and `register_autograd`
# tells the first operation of the second. (It is [tutorial 14](14_function.py)'s three methods under other names.)

# %%
@custom_op("tutorial::swish_slope", mutates_args=(), device_types="cuda")
def swish_slope(g: mg.Tensor, x: mg.Tensor, beta: float) -> mg.Tensor:
    rows = [t.contiguous().view(-1) for t in (g, x)]
    out = mg.empty_like(rows[1])
    start(slope_kernel, out.numel(), *rows, beta, out)
    return out.view(x.shape)


@swish_slope.register_kernel("cpu")
def swish_slope_on_cpu(g, x, beta):
    s = mg.sigmoid(beta * x)
    return g * (s + beta * x * s * (1 - s))


# %%
def setup_context(ctx, inputs, output):
    x, ctx.beta = inputs
    ctx.save_for_backward(x)


def backward(ctx, g):
    (x,) = ctx.saved_tensors
    return swish_slope(g, x, ctx.beta), None


swish.register_autograd(backward, setup_context=setup_context)

x = mg.tensor([[-1.0, 0.0], [1.0, 2.0]], device="cuda", requires_grad=True)
loss = swish(x, 2.0).sum()
loss.backward(retain_graph=True)
print(x.grad.device, [[round(v, 4) for v in row] for row in x.grad.tolist()])

# %% [markdown]
# The `contiguous` of `g` is not for show. The gradient of a sum is one number that is looked at as a matrix, with strides of 0. Here is
# the graph: our operation is one node, however many threads it has.

# %%
mg.viz.draw(loss)

# %% [markdown]
# ## Step by step
#
# To the engine it is a node like any other. Watch what the node has saved: it is read at the version at which it was saved, and let
# go. Whether the numbers lie on a GPU the engine does not ask.

# %%
with mg.debug.record() as r:
    swish(x, 2.0).sum().backward()
mg.viz.step(r)

# %% [markdown]
# ## Is it right?
#
# Two things may be wrong here that were one in tutorial 14: the formula, and the kernel. `gradcheck` compares the derivative with
# differences of the value, on the GPU, in float64. `opcheck` asks whether the operation does what it says: writes to nothing,
# returns new memory, has a formula. And the CPU's implementation says whether the *value* is right.

# %%
t = mg.tensor([[-1.0, 0.5], [2.0, 0.1]], dtype=mg.float64)
on_gpu = t.cuda().requires_grad_()
print(mg.autograd.gradcheck(lambda t: swish(t, 2.0), on_gpu))
print(opcheck(swish, (on_gpu, 2.0)))
print(f"{(swish(on_gpu, 2.0).cpu() - swish(t, 2.0)).abs().max().item():.0e}")

# %% [markdown]
# ## The source
#
# Which implementation runs is decided by the device of the first tensor:

# %%
mg.utils.source.source_of("library/_custom_ops.py", "CustomOpDef._kernel")

# %% [markdown]
# And this is the bridge to numba. What a tensor on a GPU tells of its memory is a protocol between libraries, the CUDA array interface;
# numba's `as_cuda_array` reads it. The simulator has no addresses, so there we make its array ourselves:

# %%
mg.utils.source.source_of("cuda/_numba.py", "as_numba")

# %% [markdown]
# ## The same in PyTorch
#
# The same functions, with `torch` for `mg`; the kernels stay as they are. A tensor of PyTorch tells the same of its memory.
#
# ```python
# >>> import torch
# >>> @torch.library.custom_op("tutorial::swish", mutates_args=(), device_types="cuda")
# ... def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
# ...     z = torch.empty_like(x)
# ...     stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream)
# ...     swish_kernel[4096, 256, stream](cuda.as_cuda_array(x), beta, cuda.as_cuda_array(z))
# ...     return z
# >>> swish(torch.tensor([0.0, 1.0]), 1.0)
# Traceback (most recent call last):
# NotImplementedError: Could not run 'tutorial::swish' with arguments from the 'CPU' backend...
# >>> @swish.register_kernel("cpu")
# ... def on_cpu(x, beta):
# ...     return x * torch.sigmoid(beta * x)
# >>> swish(torch.tensor([0.0, 1.0]), 1.0)
# tensor([0.0000, 0.7311])
# >>> hasattr(torch.tensor([0.0]), "__cuda_array_interface__")
# False
#
# ```
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | the operation | `library/_custom_ops.py` | [`torch/_library/custom_ops.py`][custom_ops.py] |
# | its node | `library/_autograd.py` | [`torch/_library/autograd.py`][autograd.py] |
# | the memory | `Tensor.__cuda_array_interface__`, `mg.cuda.as_numba` | [`torch/_tensor.py`][tensor.py], `numba.cuda.as_cuda_array` |
# | the stream | `mg.cuda.numba_stream()` | `numba.cuda.external_stream(...)` |
#
# [custom_ops.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/custom_ops.py
# [autograd.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/autograd.py
# [tensor.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_tensor.py
#
# ## What goes wrong
#
# **No implementation for the device.** There is one for the GPU alone, and a tensor of the CPU comes:

# %%
@custom_op("tutorial::halve", mutates_args=(), device_types="cuda")
def halve(x: mg.Tensor) -> mg.Tensor:
    return x / 2


with mg.testing.expect_error(NotImplementedError, code="MG-E287"):
    halve(mg.ones(2))

# %% [markdown]
# **A kernel on a tensor in the graph.** Outside of an operation nobody tells autograd what the kernel does, so it is refused, as
# `numpy()` is. Inside of one gradients are off:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    mg.cuda.as_numba(x)

# %% [markdown]
# **The second derivative.** `swish_slope` has no formula of its own. That is an error, and no wrong number. (The remedy:
# a third kernel; or a `backward` that computes with minigrad's operations, all of which have derivatives.)

# %%
(first,) = mg.autograd.grad(swish(x, 2.0).sum(), x, create_graph=True)
with mg.testing.expect_error(RuntimeError, code="MG-E276"):
    first.sum().backward()

# %% [markdown]
# **A result that is an argument.** An implementation may not return what it was given, or a view of it: a write to the one would
# change the other, and the graph would not know.

# %%
@custom_op("tutorial::row", mutates_args=(), device_types="cuda")
def row(x: mg.Tensor) -> mg.Tensor:
    return x.view(-1)


with mg.testing.expect_error(RuntimeError, code="MG-E275"):
    row(mg.zeros(2, 3, device="cuda"))

# %% [markdown]
# **Two threads, one number.** Adding up is where threads meet: each reads the sum, adds, and writes it back, and what another has
# written in between is lost. There is no error on a GPU, and on the simulator it may even go well. `cuda.atomic.add(z, 0, v)` adds
# in one go. Exercise 3 is about that.
#
# **A Python number in the kernel.** `1 + ...` and `beta` are float64 to numba, so a kernel over float32 computes in float64 on the way.
# While the memory is the limit that may not matter; on a GPU with few units for float64 it does. `np.float32(beta)`, and
# constants of the array's type, cure it. minigrad's kernels do so.
#
# ## Exercises
#
# Each has a check that runs. Solutions are folded away below it.
#
# **1. Who does what.** Write `elements(block, thread, blocks, threads, n)`: the list of the elements that a thread does in a
# grid-stride loop.

# %%
def elements(block, thread, blocks, threads, n):
    """Your lines go here."""


# %%
def check_elements(elements):
    found = elements(0, 1, 2, 4, 11)
    assert found == [1, 9], f"thread 1 of block 0: {found}"
    for blocks, threads, n in ((2, 4, 10), (3, 2, 7), (1, 1, 3), (5, 4, 2), (2, 2, 0)):
        done = [i for b in range(blocks) for t in range(threads)
                for i in elements(b, t, blocks, threads, n)]
        case = f"{blocks} blocks of {threads}, {n} elements"
        assert sorted(done) == list(range(n)), f"{case}: done are {sorted(done)}"
        assert elements(0, 0, blocks, threads, n)[:1] == [0][:n], f"{case}: who does 0?"
    print("right")


# %% tags=["hide-cell"]
def elements_solution(block, thread, blocks, threads, n):
    return list(range(block * threads + thread, n, blocks * threads))


check_elements(elements_solution)

# %% [markdown]
# **2. Any shape.** Write a kernel of one's own for a matrix, without `contiguous` and `view`: `kernel(x, factor, shift, z)` with
# $z_{ij} = x_{ij}\,a_j + b_j$, where `factor` and `shift` are rows. Loop over elements, and find row and column by division. `x.shape`
# is there; numba's arrays have strides as tensors do.

# %%
@cuda.jit
def scale_and_shift(x, factor, shift, z):
    """Your lines go here."""


# %%
def check_scale_and_shift(kernel):
    assert hasattr(kernel, "py_func"), "a kernel is wanted, a function under @cuda.jit"
    m = mg.arange(12.0).reshape(3, 4)
    for name, x in (("rows", m), ("transposed", m.t()), ("every second row", m[::2])):
        x, columns = x.cuda(), x.shape[1]
        a, b = mg.arange(1.0, columns + 1).cuda(), mg.ones(columns).cuda()
        z = mg.zeros(*x.shape, device="cuda")
        start(kernel, x.numel(), x, a, b, z)
        assert z.tolist() == (x * a + b).tolist(), f"{name}: {z.tolist()}"
    print("right")


# %% tags=["hide-cell"]
@cuda.jit
def scale_and_shift_solution(x, factor, shift, z):
    columns = x.shape[1]
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        i, j = k // columns, k % columns
        z[i, j] = x[i, j] * factor[j] + shift[j]


check_scale_and_shift(scale_and_shift_solution)

# %% [markdown]
# **3. A sum, and its derivative.** Write `energy(x)`: an operation of a row on the GPU that returns a 0-d tensor, $\sum_i x_i^2$, with
# a formula for its backward. All threads add to one number. Let each add up its own elements first. What is the last thing that it
# does? And what is in the result before the first thread comes?

# %%
def energy(x):
    """Your lines go here."""


# %%
def check_energy(energy):
    x = mg.tensor([1.0, -2.0, 3.0] * 7, dtype=mg.float64, device="cuda", requires_grad=True)
    e = energy(x)
    assert e.shape == (), "a 0-d tensor is wanted"
    assert e.item() == 98.0, f"the sum is {e.item()}, not 98"
    assert energy(mg.zeros(0, device="cuda")).item() == 0, "of no elements it is 0"
    assert e.requires_grad and len(e.grad_fn.next_functions) == 1, "one node, please"
    assert mg.autograd.gradcheck(energy, x)
    print("right")


# %% tags=["hide-cell"]
@cuda.jit
def energy_kernel(x, z):
    own = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own += x[i] * x[i]
    cuda.atomic.add(z, 0, own)          # reads, adds and writes in one go


@custom_op("tutorial::energy", mutates_args=(), device_types="cuda")
def energy_solution(x: mg.Tensor) -> mg.Tensor:
    z = mg.zeros(1, dtype=x.dtype, device=x.device)         # threads add to what is there
    start(energy_kernel, x.numel(), x, z)
    return z[0].clone()


energy_solution.register_autograd(
    lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))

check_energy(energy_solution)

# %% [markdown]
# ## What to remember
#
# * An elementwise operation costs the bytes it moves. **Fusing** several into one kernel saves what went to the memory and back.
# * A kernel is run by many threads; a **grid-stride loop** is right for any number of them. A GPU does not check bounds.
# * `mg.cuda.as_numba(x)` is the memory of a tensor as numba's array, strides included; `mg.cuda.numba_stream()` is the queue in which
#   to put a kernel.
# * `custom_op` makes one node of it. It returns **new** tensors. Each device may have an implementation.
# * The derivative is what `register_autograd` was told. Check the formula by `gradcheck`, the promises by `opcheck`, and the value
#   against an implementation that is too simple to be wrong.
# * Where threads meet, add by **atomics**.
#
# **Next:** the kernels of minigrad itself, from a copy to a product of matrices: {doc}`/notes/kernels` says where they are.
