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
# **Time** 20 minutes, and as long again for the exercises. **Level** appendix. **You need** [tutorial 14](14_function.py), on
# writing your own node; no CUDA, and no GPU. **Afterwards** you can write a kernel, make it an operation with a derivative, and
# compare the implementations for the GPU and the CPU.
#
# **The question.** Our formula needs three operations. Between them, the GPU writes two intermediate results to its memory and
# reads them again. How do we write the formula as one program for the GPU, and how does this program become an operation with a
# derivative?
#
# Our example is the *swish*, a function like relu with a smooth bend; $\beta$ says how sharp the bend is:
#
# $$ f(x) = x\,\sigma(\beta x), \qquad f'(x) = s + \beta x\, s\,(1 - s), \quad s = \sigma(\beta x) = \frac{1}{1 + e^{-\beta x}} . $$
#
# This page was built without a GPU. Numba, the compiler for our kernels, has a *simulator*. It runs a kernel on the CPU, with a Python
# thread for every thread of the GPU. It is slow, but you can step through a kernel in a debugger. An environment variable, set before
# the import of numba, selects it. On a machine with a GPU, set `NUMBA_ENABLE_CUDASIM=0` to run this page on the GPU.

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
# A GPU computes faster than it can read its memory. So the cost of an elementwise operation is the number of bytes that it reads and
# writes. In float32 an element has four bytes:

# %%
def bytes_moved(reads_and_writes, n):
    return sum(4 * n * times for times in reads_and_writes)


n = 1_000_000
three = bytes_moved([1 + 1, 1 + 1, 2 + 1], n)       # beta * x, sigmoid, x * s
one = bytes_moved([1 + 1], n)                       # read x, write f(x)
print(f"{three / 1e6:.0f} MB in three operations, {one / 1e6:.0f} MB in one")

# %% [markdown]
# One operation moves two sevenths of the bytes, but it needs our own kernel. (minigrad's own kernels are in `minigrad/kernels/cuda`.
# Each file begins with the bytes that its kernels move.)
#
# ## A kernel
#
# A *kernel* is a function that very many threads run at the same time. All threads get the same arguments. Each thread has its own
# number, which `cuda.grid(1)` returns. The first idea is one thread for each element:

# %%
@cuda.jit
def swish_wrong(x, beta, z):
    i = cuda.grid(1)
    z[i] = x[i] / (1 + math.exp(-beta * x[i]))


# %% [markdown]
# The GPU starts threads in *blocks*, all of the same size. With blocks of 4, eleven elements need three blocks, which have twelve
# threads. The last thread has no element, but runs the kernel as well:

# %%
x = mg.linspace(-5, 5, 11, device="cuda")
z = mg.empty_like(x)
if simulated:
    with mg.testing.expect_error(IndexError):
        swish_wrong[3, 4](mg.cuda.as_numba(x), 1.0, mg.cuda.as_numba(z))

# %% [markdown]
# This message comes from the simulator: `tid` is the number of the thread in its block, `ctaid` the number of the block. **A GPU reports
# no error.** It writes beyond the end of the array, into other memory.
#
# The right kernel works for any number of threads. Thread number $i$ of $t$ computes the elements $i$, $i + t$, $i + 2t$ and so on, up
# to the end of the array. This is a *grid-stride loop*. Neighbouring threads read neighbouring numbers, which one access to the memory
# returns together.

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
# **Predict.** There are two blocks of four threads, and eleven elements. Which elements does thread 1 of block 0 compute?
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
# The arguments of a kernel are numba's arrays. `mg.cuda.as_numba(x)` returns such an array on the memory of the tensor `x`. Nothing
# is copied, so the kernel writes into the tensor. The square brackets behind the kernel say how many blocks there are, how many
# threads each block has, and which *stream* runs the kernel. A stream is a queue: its kernels run in order, and the CPU does not
# wait. Our kernel has to run after the kernel that computes `x`, so we use minigrad's stream.

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
# Only `tolist` waits for the GPU, because it needs the numbers.
#
# ## An operation
#
# Autograd does not know our kernel yet. `custom_op` turns a function into an operation. The function takes tensors and returns new
# ones, and its type hints describe the arguments. `device_types` names the device of this implementation. `register_kernel` adds an
# implementation for another device.

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
# `x.size` and `x[i]` in the kernel need an array with one dimension. So `contiguous` copies the tensor if its memory is not in row
# order, and `view(-1)` makes a view with one dimension.

# %%
for device in ("cpu", "cuda"):
    found = swish(mg.tensor([[-1.0, 0.0], [1.0, 2.0]], device=device), 2.0)
    print(found.device, [[round(v, 4) for v in row] for row in found.tolist()])

# %% [markdown]
# ### Its derivative
#
# The derivative is a kernel too, so it becomes a second operation. `setup_context` saves the tensors for the backward, and
# `register_autograd` connects `backward` with the first operation. (These are the three methods of [tutorial 14](14_function.py) under
# other names.)

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
# `contiguous` is necessary for `g`. The gradient of a sum is one number, expanded to a matrix with strides of 0. Here is the graph: our
# operation is one node, for any number of threads.

# %%
mg.viz.draw(loss)

# %% [markdown]
# ## Step by step
#
# For the engine this is a node like any other. Watch its saved tensors: the node compares their versions, reads the tensors, and frees
# them. The engine works in the same way for numbers on a GPU.

# %%
with mg.debug.record() as r:
    swish(x, 2.0).sum().backward()
mg.viz.step(r)

# %% [markdown]
# ## Is it right?
#
# Two things may be wrong here: the formula, and the kernel. `gradcheck` compares the derivative with differences of the value, on the
# GPU, in float64. `opcheck` checks what the operation promises: it writes to no argument, returns new memory, and has a formula. And
# the implementation for the CPU shows whether the *value* is right.

# %%
t = mg.tensor([[-1.0, 0.5], [2.0, 0.1]], dtype=mg.float64)
on_gpu = t.cuda().requires_grad_()
print(mg.autograd.gradcheck(lambda t: swish(t, 2.0), on_gpu))
print(opcheck(swish, (on_gpu, 2.0)))
print(f"{(swish(on_gpu, 2.0).cpu() - swish(t, 2.0)).abs().max().item():.0e}")

# %% [markdown]
# ## The source
#
# The device of the first tensor decides which implementation runs:

# %%
mg.utils.source.source_of("library/_custom_ops.py", "CustomOpDef._select_kernel")

# %% [markdown]
# And this function returns numba's array. A tensor on a GPU describes its memory by a protocol between libraries, the CUDA array
# interface, and numba's `as_cuda_array` reads this description. The simulator has no addresses, so minigrad makes its array:

# %%
mg.utils.source.source_of("cuda/_numba.py", "as_numba")

# %% [markdown]
# ## The same in PyTorch
#
# The functions are the same, with `torch` instead of `mg`, and the kernels need no change. A tensor of PyTorch has the same
# description of its memory.
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
# ### Deeper: where it is in PyTorch
#
# | mechanism | in `minigrad` | PyTorch |
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
# **No implementation for the device.** This operation has an implementation for the GPU only, and we call it with a tensor on the CPU:

# %%
@custom_op("tutorial::halve", mutates_args=(), device_types="cuda")
def halve(x: mg.Tensor) -> mg.Tensor:
    return x / 2


with mg.testing.expect_error(NotImplementedError, code="MG-E287"):
    halve(mg.ones(2))

# %% [markdown]
# **A kernel on a tensor in the graph.** Outside an operation, autograd cannot know what the kernel does. So `as_numba` raises an
# error, like `numpy()`. Inside an operation nothing is recorded, and `as_numba` works:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    mg.cuda.as_numba(x)

# %% [markdown]
# **The second derivative.** `swish_slope` has no formula. So this is an error, and not a wrong number. (There are two solutions:
# a third kernel, or a `backward` that uses minigrad's operations, which have derivatives.)

# %%
(first,) = mg.autograd.grad(swish(x, 2.0).sum(), x, create_graph=True)
with mg.testing.expect_error(RuntimeError, code="MG-E276"):
    first.sum().backward()

# %% [markdown]
# **A result that is an argument.** An implementation must not return an argument, or a view of it: a write to one would change the
# other, and the graph would not notice.

# %%
@custom_op("tutorial::row", mutates_args=(), device_types="cuda")
def row(x: mg.Tensor) -> mg.Tensor:
    return x.view(-1)


with mg.testing.expect_error(RuntimeError, code="MG-E275"):
    row(mg.zeros(2, 3, device="cuda"))

# %% [markdown]
# **Two threads, one number.** If threads add to one sum, each thread reads the sum, adds its number, and writes the result. If
# another thread writes in between, that thread's result is lost. There is no error on a GPU, and on the simulator the result may
# even be right. `cuda.atomic.add(z, 0, v)` adds in one indivisible step. See exercise 3.
#
# **A Python number in the kernel.** For numba, `1 + ...` and `beta` are float64, so a kernel for float32 arrays computes in
# float64. If the memory is the limit, this may not matter. On a GPU with few units for float64, the kernel is slow. Use
# `np.float32(beta)`, and constants of the array's type, like minigrad's kernels.
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Which thread computes what.** Write `elements(block, thread, blocks, threads, n)`: it returns the list of the elements that
# thread number `thread` of block number `block` computes in a grid-stride loop over `n` elements. There are `blocks` blocks, each
# with `threads` threads.

# %%
def elements(block, thread, blocks, threads, n):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_elements(elements):
    found = elements(0, 1, 2, 4, 11)
    assert found == [1, 9], f"thread 1 of block 0: {found}"
    for blocks, threads, n in ((2, 4, 10), (3, 2, 7), (1, 1, 3), (5, 4, 2), (2, 2, 0)):
        done = [i for b in range(blocks) for t in range(threads)
                for i in elements(b, t, blocks, threads, n)]
        case = f"{blocks} blocks of {threads}, {n} elements"
        assert sorted(done) == list(range(n)), f"{case}: the threads compute {sorted(done)}"
        assert elements(0, 0, blocks, threads, n)[:1] == [0][:n], f"{case}: element 0"
    print("right")


# %% tags=["hide-cell", "solution"]
def elements_solution(block, thread, blocks, threads, n):
    return list(range(block * threads + thread, n, blocks * threads))


check_elements(elements_solution)

# %% [markdown]
# **2. Any shape.** Write your own kernel for a matrix, without `contiguous` and `view`: `scale_and_shift(x, factor, shift, z)` with
# $z_{ij} = x_{ij}\,a_j + b_j$. The rows $a$ and $b$ are `factor` and `shift`. Loop over the elements, and compute the row and the
# column of each by division. You can use `x.shape`; numba's arrays have strides, as tensors do.

# %%
@cuda.jit
def scale_and_shift(x, factor, shift, z):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_scale_and_shift(kernel):
    assert hasattr(kernel, "py_func"), "write a kernel, a function under @cuda.jit"
    m = mg.arange(12.0).reshape(3, 4)
    for name, x in (("rows", m), ("transposed", m.t()), ("every second row", m[::2])):
        x, columns = x.cuda(), x.shape[1]
        a, b = mg.arange(1.0, columns + 1).cuda(), mg.ones(columns).cuda()
        z = mg.zeros(*x.shape, device="cuda")
        start(kernel, x.numel(), x, a, b, z)
        assert z.tolist() == (x * a + b).tolist(), f"{name}: {z.tolist()}"
    print("right")


# %% tags=["hide-cell", "solution"]
@cuda.jit
def scale_and_shift_solution(x, factor, shift, z):
    columns = x.shape[1]
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        i, j = k // columns, k % columns
        z[i, j] = x[i, j] * factor[j] + shift[j]


check_scale_and_shift(scale_and_shift_solution)

# %% [markdown]
# **3. A sum, and its derivative.** Write `energy(x)`: an operation for a row on the GPU that returns a 0-d tensor, $\sum_i x_i^2$,
# with a formula for its backward. All threads add to one number. Each thread should first add up its own elements. What is the
# thread's last step? And which value must the result have before the first thread runs?

# %%
def energy(x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_energy(energy):
    x = mg.tensor([1.0, -2.0, 3.0] * 7, dtype=mg.float64, device="cuda", requires_grad=True)
    e = energy(x)
    assert e.shape == (), "return a 0-d tensor"
    assert e.item() == 98.0, f"the sum is {e.item()}, not 98"
    assert energy(mg.zeros(0, device="cuda")).item() == 0, "the sum of no elements is 0"
    assert e.requires_grad and len(e.grad_fn.next_functions) == 1, "expected one node"
    assert mg.autograd.gradcheck(energy, x)
    print("right")


# %% tags=["hide-cell", "solution"]
@cuda.jit
def energy_kernel(x, z):
    own = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own += x[i] * x[i]
    cuda.atomic.add(z, 0, own)          # reads, adds and writes in one step


@custom_op("tutorial::energy", mutates_args=(), device_types="cuda")
def energy_solution(x: mg.Tensor) -> mg.Tensor:
    z = mg.zeros(1, dtype=x.dtype, device=x.device)         # the threads add to this zero
    start(energy_kernel, x.numel(), x, z)
    return z[0].clone()


energy_solution.register_autograd(
    lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))

check_energy(energy_solution)

# %% [markdown]
# ## What to remember
#
# * The cost of an elementwise operation is the bytes that it moves. **Fusing** several operations into one kernel saves the reads and
#   writes of the intermediate results.
# * Many threads run a kernel; a **grid-stride loop** is right for any number of threads. A GPU does not check bounds.
# * `mg.cuda.as_numba(x)` is the memory of a tensor as numba's array, with its strides. `mg.cuda.numba_stream()` is the stream for
#   your kernels.
# * `custom_op` makes an operation, which is one node in the graph. It returns **new** tensors. Each device may have an implementation.
# * `register_autograd` gives the derivative. Check the formula with `gradcheck`, the schema with `opcheck`, and the value with a
#   very simple implementation.
# * If several threads add to one number, use **atomic operations**.
#
# **Next:** the kernels of minigrad itself, from a copy to a product of matrices: {doc}`/notes/kernels` says where they are.
