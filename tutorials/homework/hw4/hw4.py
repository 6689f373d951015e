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
# # Homework 4: what a graph remembers
#
# **The question.** Backward needs numbers of the forward. They must still be what they were, and they cost memory. How does autograd
# notice that a program has overwritten one? And what can you do about the memory? You write the counter, the check, and a way to keep
# the numbers in half of the space. At the end, a network learns with your saved tensors instead of minigrad's.
#
# You need: tutorials 7 to 9, on saved tensors, packing and version counters. About 180 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 30 | `Array`: memory with a version counter, and views that share it |
# | 2 | 30 | `Saved`: what a node keeps, and the check when it needs it |
# | 3 | 25 | `Half`: the same in half of the memory |
# | 4 | 15 | nothing: a network learns with your `Saved` and your `Half` |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.

# %%
import minigrad as mg

# %% [markdown]
# ## Part 1: memory that counts its writes
#
# A *version counter* belongs to memory, not to a name of it. An `Array` is a window on a list of numbers: from `start` to `stop`. A
# view is another window on the **same** list. So it has the **same** counter, and a write through one is counted for both. A copy has
# a list and a counter of its own; its version starts at 0.
#
# `write` counts *before* it writes. If the write fails, the version has gone up without need: that does no harm, because versions are
# only ever compared for equality. An index outside of the window is an `IndexError`, also a negative one.

# %% nbgrader={"grade": false, "grade_id": "array", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Array:
    """A window on a list of numbers, with a version that all windows on the list share."""

    def __init__(self, numbers):
        ### BEGIN SOLUTION
        self.memory, self.counter, self.start, self.stop = list(numbers), [0], 0, len(numbers)
        ### END SOLUTION

    @property
    def version(self):
        """How many times the memory has been written to."""
        ### BEGIN SOLUTION
        return self.counter[0]
        ### END SOLUTION

    def view(self, start, stop):
        """A window on the numbers from `start` to before `stop` of this window."""
        ### BEGIN SOLUTION
        found = Array(())
        found.memory, found.counter = self.memory, self.counter
        found.start, found.stop = self.start + start, self.start + stop
        return found
        ### END SOLUTION

    def copy(self):
        """The same numbers in other memory."""
        ### BEGIN SOLUTION
        return Array(self.tolist())
        ### END SOLUTION

    def write(self, i, number):
        """Change number `i` of this window."""
        ### BEGIN SOLUTION
        self.counter[0] += 1
        if not 0 <= i < self.stop - self.start:
            raise IndexError(f"index {i} is outside of a window of {self.stop - self.start}")
        self.memory[self.start + i] = number
        ### END SOLUTION

    def tolist(self):
        """The numbers of this window, as a new list."""
        ### BEGIN SOLUTION
        return self.memory[self.start:self.stop]
        ### END SOLUTION


# %%
if __name__ == "__main__":
    a = Array([1.0, 2.0, 3.0])
    b, c = a.view(1, 3), a.copy()
    b.write(0, 20.0)
    print(a.tolist(), a.version, b.version, c.tolist(), c.version)

# %% [markdown]
# ## Part 2: what a node keeps
#
# minigrad calls `pack` with each tensor that an operation saves, and `unpack` with what `pack` returned, when a node needs the tensor
# again. Keep the tensor itself: a copy would cost memory, and most tensors are never overwritten. Keep its version too,
# `tensor._version`. If it has changed when the node comes, raise a `RuntimeError` whose text contains the words `modified by an inplace
# operation`, and both versions. People search for these words.

# %% nbgrader={"grade": false, "grade_id": "saved", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Saved:
    """Saved tensors: the tensor itself, and its version."""

    def pack(self, tensor):
        """What to keep of a tensor."""
        ### BEGIN SOLUTION
        return tensor, tensor._version
        ### END SOLUTION

    def unpack(self, packed):
        """The tensor again, or an error if it was written to since."""
        ### BEGIN SOLUTION
        tensor, version = packed
        if tensor._version != version:
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                               f"it is at version {tensor._version}; expected version {version} instead")
        return tensor
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "saved-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.grading.swap("saved_tensor", Saved) as part:
        y = x.exp()
        z = (y * y).sum()
        z.backward()
    part.check_used()
    print(x.grad)
    assert part.calls == 3
    ### BEGIN HIDDEN TESTS
    assert Saved().unpack(Saved().pack(x)) is x
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: half of the memory
#
# A saved float32 tensor may be kept as float16, with half as many bytes and three digits. That is good enough for many gradients.
# Three things need care:
#
# * Other dtypes, such as float64 and int64, stay as they are. So does a tensor with a number that is too large for float16: above
#   65,504 it would become infinite.
# * `unpack` returns float32 again.
# * What you keep is a copy. So a later write to the tensor does no harm, and needs no error. For a tensor that you keep as it is,
#   check the version as in part 2.

# %% nbgrader={"grade": false, "grade_id": "half", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Half(Saved):
    """Saved tensors in half of the memory."""

    def pack(self, tensor):
        """A float16 copy of a float32 tensor; for other tensors, what `Saved` keeps."""
        ### BEGIN SOLUTION
        if tensor.dtype is not mg.float32 or bool((tensor.abs() > 65504).any()):
            return Saved.pack(self, tensor)
        return tensor.detach().half()
        ### END SOLUTION

    def unpack(self, packed):
        """The tensor, with its dtype."""
        ### BEGIN SOLUTION
        return Saved.unpack(self, packed) if isinstance(packed, tuple) else packed.float()
        ### END SOLUTION


# %% [markdown]
# ## Part 4: a network learns with your saved tensors

# %%
def train(saved, steps=40):
    """Fit a small network to a sine with saved tensors of class `saved`, or minigrad's own for None. Returns the losses."""
    mg.manual_seed(2)
    inputs = mg.linspace(-1.0, 1.0, 64).reshape(64, 1)
    wanted = (inputs * 3.0).sin()
    model = mg.nn.Sequential(mg.nn.Linear(1, 32), mg.nn.Tanh(), mg.nn.Linear(32, 32), mg.nn.Tanh(), mg.nn.Linear(32, 1))
    optimizer = mg.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        if saved is None:
            loss = ((model(inputs) - wanted) ** 2).mean()
        else:
            with mg.grading.swap("saved_tensor", saved) as part:
                loss = ((model(inputs) - wanted) ** 2).mean()
            part.check_used()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    for kind in (None, Saved, Half):
        losses = train(kind)
        name = 'minigrad' if kind is None else kind.__name__
        print(f"loss with {name:>8}: {losses[0]:.4f} at first, {losses[-1]:.4f} at last")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: views of
# views, writes through each of them, writes between forward and backward, other dtypes, large numbers, and the memory.
