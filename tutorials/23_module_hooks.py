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
# # Hooks on modules, and on several gradients at once
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** tensor hooks and node hooks
# ([tutorial 12](12_hooks.py)), and what a `Function` is ([tutorial 14](14_function.py)). **Afterwards** you can read or change
# what goes into a module and what comes out, in the forward and in the backward, without a change of its code; and you know which
# hook comes first, and when a hook is silently not called.
#
# **The question.** Another person wrote a network of many modules. We want to see the output of each, and the gradients at each,
# without a change of the code. And we want one function that gets the gradients of *all* parameters of a module. How?
#
# Our example is so small that you can compute all gradients in your head. `Scale` multiplies by its parameter:
#
# $$ x = 2 \;\to\; 3x = 6 \;\to\; \mathrm{relu} = 6 \;\to\; 5 \cdot 6 = 30 . $$

# %%
import warnings

import minigrad as mg

nn = mg.nn


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.weight = nn.Parameter(mg.tensor(float(factor)))

    def forward(self, x):
        return x * self.weight


net = nn.Sequential(Scale(3), nn.ReLU(), Scale(5))
x = mg.tensor(2.0, requires_grad=True)
assert net(x).item() == 30

# %% [markdown]
# ## A forward hook sees the outputs
#
# `module.register_forward_hook(f)` calls `f(module, args, output)` after each forward of the module. `args` is the tuple of its
# positional arguments. A name is useful, so we make one hook for each module:

# %%
seen = {}


def store(name):
    def hook(module, args, output):
        seen[name] = (args[0].item(), output.item())
    return hook


handles = [module.register_forward_hook(store(f"{name} {type(module).__name__}"))
           for name, module in net.named_children()]
net(x)
for name, (before, after) in seen.items():
    print(f"{name:<8} {before:g} -> {after:g}")
assert list(seen.values()) == [(2, 6), (6, 6), (6, 30)]
for handle in handles:
    handle.remove()

# %% [markdown]
# The hook is called by `net(x)`, and not by `net.forward(x)`: the call of a module runs the hooks around its `forward`.
#
# If the hook returns something, this replaces the output. A *pre-hook*, `register_forward_pre_hook(f)`, calls `f(module, args)`
# before, and may replace the arguments. A {doc}`handle </reference/utils.hooks>` is a context manager, so this change lasts for
# one block:

# %%
with net[0].register_forward_hook(lambda module, args, output: output + 1):
    changed = net(x).item()
with net[0].register_forward_pre_hook(lambda module, args: (args[0] * 10,)):
    changed_before = net(x).item()
print(changed, changed_before, net(x).item())
assert (changed, changed_before, net(x).item()) == ((6 + 1) * 5, 300, 30)

# %% [markdown]
# The change is part of the graph: autograd differentiates the program that ran, with the hook in it.
#
# ## A full backward hook sees the gradients at both ends
#
# `module.register_full_backward_hook(f)` calls `f(module, grad_input, grad_output)` in the backward. `grad_output` is a tuple
# with the gradient of each output, `grad_input` one with the gradient of each positional argument.
#
# **Predict.** The hook is on the last `Scale`, $y = 5h$. The gradient of the result is 1. What are `grad_output` and
# `grad_input`?
#
# <details><summary>Answer</summary>
#
# `(1,)` and `(5,)`. The names are those of a node hook: what arrives is about the *outputs* of the forward, and what leaves is
# about its *inputs*.
#
# </details>

# %%
def show(module, grad_input, grad_output):
    name = type(module).__name__
    print(f"{name:<6} outputs {text(grad_output)}  inputs {text(grad_input)}")


def text(grads):
    return "(" + ", ".join(["None" if g is None else f"{g.item():g}" for g in grads]) + ")"


with net[2].register_full_backward_hook(show), net[0].register_full_backward_hook(show):
    y = net(x)
y.backward()
assert x.grad.item() == 15
assert [p.grad.item() for p in net.parameters()] == [10, 6]

# %% [markdown]
# (The handles were removed before the backward. But the hooks of a module are taken into the graph when the forward runs, and so
# they were called.)
#
# ### A module is not a node
#
# A {doc}`node </notes/glossary>` is one operation. A module can be hundreds of them, so no node has its gradients. minigrad
# therefore adds two nodes to the graph, one at each end of the module. They are a `Function` that returns its arguments
# unchanged:

# %%
with net[2].register_full_backward_hook(show):
    y = net(x)
mg.viz.draw(y)

# %%
def names(tensor):
    """The names of the nodes on the way to x: always the first edge."""
    node, found = tensor.grad_fn, []
    while node is not None:
        found.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return found


print(names(y))
end = "BackwardHookFunctionBackward"
assert names(y) == [end, "MulBackward0", end, "ReluBackward0", "MulBackward0",
                    "AccumulateGrad"]

# %% [markdown]
# The gradient of the outputs is known when the first of these nodes has run, the gradient of the inputs when the second one has.
#
# ## The order
#
# There are four kinds of hooks on a module. This program puts all of them on the network and on its last module, and logs the
# calls:

# %%
log = []


def listen(name, module):
    def call(moment, values):
        log.append((f"{name}: {moment}", text(values)))

    module.register_full_backward_hook(
        lambda m, grad_input, grad_output: call("backward hook", grad_input))
    module.register_full_backward_pre_hook(
        lambda m, grad_output: call("backward pre-hook", grad_output))
    module.register_forward_hook(lambda m, args, output: call("forward hook", [output]))
    module.register_forward_pre_hook(lambda m, args: call("forward pre-hook", args))


net = nn.Sequential(Scale(3), nn.ReLU(), Scale(5))
listen("last", net[2])
listen("net ", net)
net(x).backward()
for moment, what in log:
    print(f"{moment:<24} {what}")
assert [moment[:4] for moment, _ in log] == ["net ", "last", "last", "net "] * 2
assert " ".join([what for _, what in log]) == "(2) (6) (30) (30) (1) (1) (5) (15)"

# %% [markdown]
# The modules are like brackets, in both directions. The order of registration counts only among hooks of the same kind on the
# same module.
#
# Each backward hook may replace what it sees: a pre-hook returns a tuple for `grad_output`, a hook a tuple for `grad_input`. Here
# both do, on the ReLU:

# %%
net = nn.Sequential(Scale(3), nn.ReLU(), Scale(5))
net[1].register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
net[1].register_full_backward_hook(
    lambda module, grad_input, grad_output: (grad_input[0] * 100,))
x.grad = None
net(x).backward()
print(x.grad.item(), net[2].weight.grad.item())
assert x.grad.item() == 15 * 10 * 100 and net[2].weight.grad.item() == 6

# %% [markdown]
# ## Deeper: several arguments, and values that are not tensors
#
# The tuples have one entry for each *positional* argument and each output. A value that is not a tensor has None in its place,
# and so has an output that nothing depends on. A keyword argument has no entry, although its gradient is computed:

# %%
class Mixed(nn.Module):
    def forward(self, x, times, *, shift):
        return x * times + shift, "a word", x - shift


mixed, shift = Mixed(), mg.tensor(1.0, requires_grad=True)
found = {}
mixed.register_full_backward_hook(
    lambda module, grad_input, grad_output: found.update(inputs=text(grad_input),
                                                         outputs=text(grad_output)))
x.grad = None
first, word, second = mixed(x, 7, shift=shift)
(first * 2).backward()
print(found, x.grad.item(), shift.grad.item())
assert found == {"inputs": "(14, None)", "outputs": "(2, None, None)"}
assert (x.grad.item(), shift.grad.item()) == (14, 2)

# %% [markdown]
# A module that returns a *list* or a *dict* has no such tuple. Then its backward hooks are not called, and a warning in the
# forward says so. Return a tuple, or register a tensor hook on the value:

# %%
class InADict(nn.Module):
    def forward(self, x):
        return {"twice": x * 2}


module = InADict()
module.register_full_backward_hook(show)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    module(x)["twice"].backward()               # show is not called
print(str(told[0].message))
assert "should be a Tensor or a tuple of Tensors" in str(told[0].message)

# %% [markdown]
# <details><summary>Deeper: hooks with options, and hooks on all modules</summary>
#
# `register_forward_hook(f, with_kwargs=True)` calls `f(module, args, kwargs, output)`, and a pre-hook with this option returns
# `(args, kwargs)`. `always_call=True` calls the forward hook also if `forward` raises; the output is then None. `prepend=True`
# puts a hook before the others of its kind.
#
# `mg.nn.modules.module.register_module_forward_hook(f)`, and three functions with similar names, register a hook on *all* modules
# of the program. These run before the hooks of a module. They are for debugging: see {doc}`minigrad.nn </reference/nn>`.
#
# `register_backward_hook`, without "full", is older and deprecated. It is a hook on the last node of the forward, so `grad_input`
# is about the inputs of this node, and not about those of the module.
#
# </details>
#
# ## Parameters are not inputs
#
# A backward hook gets the gradients of the arguments. The parameters of the module are not among them. So for "all gradients of a
# module" we need another tool: `register_multi_grad_hook(tensors, f)`. It calls `f(grads)` *once per backward*, when the last of
# the gradients has arrived ([tutorial 13](13_accumulation_hooks.py) explains how it knows which is the last).

# %%
net = nn.Sequential(Scale(3), nn.ReLU(), Scale(5))
multi = mg.autograd.graph.register_multi_grad_hook
sums = []
with multi(list(net.parameters()), lambda grads: sums.append(text(grads))):
    net(x).backward()
    net[0](x).backward()                        # does not reach the last parameter
print(sums)
assert sums == ["(10, 6)", "(2, None)"]

# %% [markdown]
# With `mode="any"`, it calls `f(grad)` with the *first* gradient that arrives: a signal that the backward has reached this group
# of tensors.
#
# ### Deeper: its place in the order
#
# It is made of tensor hooks, one on each tensor. So it takes its place among the tensor hooks *in the order of registration*: it
# sees what earlier hooks have changed, and not what later ones will change.
#
# **Predict.** $y = h \cdot k$ with $h = 2$ and $k = 3$, so their gradients are 3 and 2. A first hook on $h$ multiplies by 10,
# then we register a multi-grad hook, then a second hook on $h$ that multiplies by 100. What does the multi-grad hook get, and
# what is `h.grad` after `retain_grad()`?
#
# <details><summary>Answer</summary>
#
# It gets 30 and 2. `h.grad` is 3000: `retain_grad` comes after all tensor hooks. The result of a multi-grad hook is ignored, so
# it cannot change a gradient.
#
# </details>

# %%
a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
h, k = a * 1, b * 1
log = []
h.retain_grad()
h.register_hook(lambda g: (log.append(f"h, before: {g.item():g}"), g * 10)[1])
multi([h, k], lambda grads: log.append(f"all: {text(grads)}"))
multi([h, k], lambda grad: log.append(f"any: {grad.item():g}"), mode="any")
h.register_hook(lambda g: (log.append(f"h, after: {g.item():g}"), g * 100)[1])
h.grad_fn.register_prehook(lambda grads: log.append(f"the node of h: {text(grads)}"))
(h * k).backward()
print("\n".join(log), "\nh.grad:", h.grad.item())
assert log[:3] == ["any: 2", "h, before: 3", "all: (30, 2)"]
assert log[3:] == ["h, after: 30", "the node of h: (3000)"]
assert h.grad.item() == 3000 and a.grad.item() == 3000

# %% [markdown]
# `k` was made later, so its node ran first, and "any" was called with its gradient.
#
# ### Deeper: before or after the gradients of the parameters?
#
# When the backward hook of a module is called, are the gradients of its parameters in `.grad` already? Let us look:

# %%
def ready(argument):
    """Whether weight.grad is there when the backward hook of a Scale is called."""
    module, found = Scale(3), []
    module.register_full_backward_hook(
        lambda m, grad_input, grad_output: found.append(m.weight.grad is not None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module(argument).backward()
    return found


of_leaf, of_data = ready(mg.tensor(2.0, requires_grad=True)), ready(mg.tensor(2.0))
print("the input requires a gradient: ", of_leaf)
print("it does not:                   ", of_data)
assert of_leaf == [True] and of_data == [False]

# %% [markdown]
# In the second case there is no gradient of the input to wait for, so the hook is called at the outputs, *before* the module's
# own nodes have run. A warning says so. This is usual for the first layer of a network, since data requires no gradient. So do
# not rely on the order: use a multi-grad hook for parameters.
#
# ## Step by step
#
# Step to the two nodes at the ends of the ReLU, and watch the gradient at each:

# %%
net = nn.Sequential(Scale(3), nn.ReLU(), Scale(5))
net[1].register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
x.grad = None
with mg.debug.record() as r:
    net(x).backward()
mg.viz.step(r)

# %%
ends = [(event.kind, event.what) for event in r.events
        if event.op == "BackwardHookFunctionBackward" and event.kind in ("compute", "hook")]
for kind, what in ends:
    print(kind, what)
assert [kind for kind, _ in ends] == ["compute", "hook", "compute", "hook"]

# %% [markdown]
# ## The source
#
# The node at an end is this `Function`:

# %%
mg.utils.source.source_of("nn/modules/_backward_hook.py", "BackwardHookFunction")

# %% [markdown]
# The hooks are called in post-hooks of these nodes, so what they return replaces the gradient. At the outputs:

# %%
HERE = "nn/modules/_backward_hook.py"
mg.utils.source.source_of(HERE, "BackwardHook.call_hooks_at_outputs")

# %% [markdown]
# and at the inputs:

# %%
mg.utils.source.source_of(HERE, "BackwardHook.call_hooks_at_inputs")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> class Scale(torch.nn.Module):
# ...     def __init__(self, factor):
# ...         super().__init__()
# ...         self.weight = torch.nn.Parameter(torch.tensor(float(factor)))
# ...     def forward(self, x):
# ...         return x * self.weight
# >>> net = torch.nn.Sequential(Scale(3), torch.nn.ReLU(), Scale(5))
# >>> x = torch.tensor(2.0, requires_grad=True)
# >>> _ = net.register_full_backward_hook(lambda m, inputs, outputs: print("net ", inputs, outputs))
# >>> _ = net[2].register_full_backward_hook(lambda m, inputs, outputs: print("last", inputs, outputs))
# >>> _ = net[2].register_full_backward_pre_hook(lambda m, outputs: print("pre ", outputs))
# >>> multi = torch.autograd.graph.register_multi_grad_hook
# >>> _ = multi(list(net.parameters()), lambda grads: print("multi", grads))
# >>> y = net(x)
# >>> y.grad_fn.name()
# 'BackwardHookFunctionBackward'
# >>> y.backward()
# pre  (tensor(1.),)
# last (tensor(5.),) (tensor(1.),)
# multi [tensor(10.), tensor(6.)]
# net  (tensor(15.),) (tensor(1.),)
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | the call of a module with hooks | `nn/modules/_hooks.py`, `call_with_hooks` | [`torch/nn/modules/module.py`][module], `_call_impl` |
# | the two nodes | `nn/modules/_backward_hook.py` | [`torch/utils/hooks.py`][hooks], `BackwardHook` |
# | several gradients | `autograd/_multi_grad.py` | [`torch/autograd/graph.py`][graph], `register_multi_grad_hook` |
#
# [module]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/modules/module.py
# [hooks]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/hooks.py
# [graph]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/graph.py
#
# ## What goes wrong
#
# **In place, after a backward hook.** The output of the module is now a *view* that a `Function` made: the second of the added
# nodes. A write to it would lose that node, so it is an error. `nn.ReLU(inplace=True)` after a module with a backward hook writes
# to it, and with a backward hook of its own it writes to its input, which is such a view as well:

# %%
hooked = nn.Sequential(Scale(3), nn.ReLU(inplace=True))
hooked[0].register_full_backward_hook(show)
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    hooked(x)

# %% [markdown]
# Use `inplace=False`, or a tensor hook on the output, which a forward hook can register: `lambda m, args, out:
# out.register_hook(f)`, in a function that returns None.
#
# **In place, after a forward hook.** There is no error here. The hook has stored the output, and the next module writes to the
# same memory:

# %%
stored = {}


def store_output(module, args, output):
    stored["the tensor"], stored["a copy"] = output.detach(), output.detach().clone()


plain = nn.Sequential(Scale(-3), nn.ReLU(inplace=True))
plain[0].register_forward_hook(store_output)
plain(x)
print({name: value.item() for name, value in stored.items()})
assert (stored["the tensor"].item(), stored["a copy"].item()) == (0, -6)

# %% [markdown]
# The output of the `Scale` was -6. Store a copy, and `detach` it: otherwise your dict keeps the whole graph
# ({doc}`/errors/memory-grows`).
#
# **One gradient instead of a tuple.** The hook of a module with one argument gets and returns tuples too:

# %%
module = nn.Tanh()
module.register_full_backward_hook(lambda m, inputs, outputs: inputs[0] * 2)
with mg.testing.expect_error(RuntimeError, code="MG-E245"):
    module(x).backward()

# %% [markdown]
# **The hook is not called.** There are five reasons: `forward` was called directly; the forward ran before the hook was
# registered; the module returned a list or a dict; `grad(loss, parameters)` does not need the gradient of the module's input; or
# the loss does not depend on the output. More about hooks that fail: {doc}`/errors/hooks`.
#
# ### Deeper: a module that is used twice
#
# **It is called more often than expected.** A module that is used twice has two ends of each kind for each call. Its hooks are
# called once per *call*, and not once per backward:

# %%
calls = []
twice = Scale(3)
twice.register_full_backward_hook(lambda m, inputs, outputs: calls.append(text(inputs)))
twice(twice(x)).backward()
print(calls, twice.weight.grad.item())
assert calls == ["(3)", "(9)"] and twice.weight.grad.item() == 12

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** `outer = nn.Sequential(inner)`, and `inner` is a `Scale`. Both have hooks. Put the six calls in order: write a
# list of letters.
#
# * A: the backward hook of `inner`
# * B: the backward pre-hook of `outer`
# * C: the forward hook of `outer`
# * D: the forward hook of `inner`
# * E: the backward hook of `outer`
# * F: the backward pre-hook of `inner`

# %%
predicted = [None, None, None, None, None, None]


# %%
@mg.testing.exercise(1)
def check_order(predicted):
    calls, inner = [], Scale(3)
    outer = nn.Sequential(inner)
    outer.register_full_backward_hook(lambda *args: calls.append("E"))
    outer.register_full_backward_pre_hook(lambda *args: calls.append("B"))
    outer.register_forward_hook(lambda *args: calls.append("C"))
    inner.register_full_backward_hook(lambda *args: calls.append("A"))
    inner.register_full_backward_pre_hook(lambda *args: calls.append("F"))
    inner.register_forward_hook(lambda *args: calls.append("D"))
    outer(mg.tensor(2.0, requires_grad=True)).backward()
    assert sorted(predicted) == sorted(calls), "each of the letters A to F, once"
    for i, (told, right) in enumerate(zip(predicted, calls)):
        assert told == right, f"call number {i + 1} is not {told}. Which bracket closes?"
    print("right")


# %% tags=["help"]
check_order.hints = [
    "The outer module calls the inner one. Which of the two forwards ends first?",
    "A backward goes through the modules in the opposite direction, from the output of the "
    "outer module. Pre-hooks run when it enters a module.",
    "The first two letters belong to the forward: inner, then outer. Then the backward enters "
    "the outer module, enters the inner one, leaves the inner one, leaves the outer one."]
check_order.wrong = {
    "call number 1 is not C": "The outer forward ends only after the inner one has ended.",
    "call number 1 is not B": "The forward runs first, with its two hooks.",
    "call number 3 is not F":
        "The backward comes from the output, so it enters the outer module first.",
    "call number 4 is not A":
        "Before the inner module is left, it is entered: its pre-hook comes first.",
    "call number 5 is not E":
        "The backward leaves the inner module before it leaves the outer one."}


# %% tags=["hide-cell", "solution"]
check_order(["D", "C", "B", "F", "A", "E"])

# %% [markdown]
# **2. All activations.** Write `activations(net, x)`. It runs `net(x)` once and returns a dict: the name of each module without
# children (see `named_modules`), and its output. The outputs must be right even if a later module writes in place, and must have no
# history. No hook may remain, even after an error in the forward.

# %%
def activations(net, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_activations(activations):
    inner = nn.Sequential(Scale(-2), nn.ReLU(inplace=True))
    net = nn.Sequential(Scale(3), inner)
    x = mg.tensor([1.0, -1.0], requires_grad=True)
    found = activations(net, x)
    right = {"0": [3, -3], "1.0": [-6, 6], "1.1": [0, 6]}
    assert found.keys() == right.keys(), f"the names are {list(found)}, not {list(right)}"
    for name, value in right.items():
        assert found[name].tolist() == value, f"{name}: {found[name].tolist()}, not {value}"
        assert not found[name].requires_grad, f"{name} has a history"
    assert not any([m._forward_hooks for m in net.modules()]), "there are hooks left"
    try:
        activations(net, "no tensor")
    except TypeError:
        pass
    assert not any([m._forward_hooks for m in net.modules()]), "hooks left after an error"
    print("right")


# %% tags=["help"]
check_activations.hints = [
    "Which hook sees the output of a module? What could change an output after the hook has "
    "seen it?",
    "`module.register_forward_hook(hook)` calls `hook(module, args, output)`. `detach()` "
    "removes the history, `clone()` copies the numbers.",
    "Go through `named_modules()`, and choose those without `children()`. Each hook is made in "
    "a function that gets the name. Run the net in a `try`, and remove the handles in its "
    "`finally`."]
check_activations.wrong = {
    "1.0: [0.0, 6.0], not [-6, 6]": "The next module has written into this tensor. Keep a copy.",
    "0 has a history": "A clone is recorded too. Detach the output.",
    "the names are ['0', '1.0', '1.1', '1', ''], not":
        "Modules that contain others do not count: ask for their `children()`.",
    "there are hooks left": "Remove each hook after the run, with its handle.",
    "hooks left after an error":
        "An error skips the lines after it. Remove the hooks in a `finally`."}


# %% tags=["hide-cell", "solution"]
def activations_solution(net, x):
    found, handles = {}, []

    def store(name):
        def hook(module, args, output):
            found[name] = output.detach().clone()
        return hook

    try:
        for name, module in net.named_modules():
            if not list(module.children()):
                handles.append(module.register_forward_hook(store(name)))
        net(x)
    finally:
        for handle in handles:
            handle.remove()
    return found


check_activations(activations_solution)

# %% [markdown]
# **3. Norms of groups.** Write `watch_norms(net, norms)`. From then on, each backward writes into the dict `norms`: for each module
# with parameters *of its own*, its name and the norm of the gradients of these parameters together, $\sqrt{\sum g^2}$. A gradient
# that does not arrive counts as 0, and a module that gets no gradient at all is not written. `watch_norms` returns a list of
# handles.

# %%
def watch_norms(net, norms):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_norms(watch_norms):
    net, norms = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1)), {}
    with mg.no_grad():
        for parameter, value in zip(net.parameters(), (2.0, 1.0, 3.0, 0.0)):
            parameter.fill_(value)
    handles = watch_norms(net, norms)
    net(mg.tensor([[0.75]])).sum().backward()           # 2.5 after the first layer
    right = {"0": 3.75, "2": 7.25 ** 0.5}
    assert norms.keys() == right.keys(), f"the names are {list(norms)}, not {list(right)}"
    for name, value in right.items():
        told = norms[name]
        assert abs(told - value) < 1e-5, f"{name}: {told:.3f}, not {value:.3f}"
    norms.clear()
    net[0](mg.tensor([[0.75]])).sum().backward()
    assert norms == {"0": 1.25}, f"a backward through module 0 alone gives {norms}"
    norms.clear()
    net[2].weight.sum().backward()                      # the bias gets no gradient
    assert norms == {"2": 1.0}, f"the gradient of one weight gives {norms}"
    for handle in handles:
        handle.remove()
    net(mg.tensor([[0.75]])).sum().backward()
    assert norms == {"2": 1.0}, "the handles do not remove the hooks"
    print("right")


# %% tags=["help"]
check_norms.hints = [
    "A hook must run once for each module, when all gradients of its parameters are there. "
    "Which hook of tutorial 13 waits for several tensors?",
    "`mg.autograd.graph.register_multi_grad_hook(tensors, f)` calls `f` with a list of "
    "gradients, some of which may be None. `parameters(recurse=False)` gives a module's own.",
    "Go through `named_modules()`. If a module has parameters of its own, register such a hook "
    "for it. Make the hook in a function that gets the name. Add the sums of the squares, and "
    "take the root at the end."]
check_norms.wrong = {
    "0: 5.250, not 3.750": "You added the norms. Add the squares, and take the root of the sum.",
    "0: 14.062, not 3.750": "The root is missing.",
    "the names are ['2', '', '0'], not":
        "The whole net was written too. It has no parameters of its own: use `recurse=False`.",
    "the handles do not remove the hooks": "Return the handles of all hooks.",
    "0: 2.250, not 3.750":
        "Each parameter has overwritten the norm of the one before it. Combine all parameters "
        "of a module.",
    "0: 3.000, not 3.750":
        "When the hook runs, `.grad` is not written yet. Use the gradients that the hook gets."}


# %% tags=["hide-cell", "solution"]
def watch_norms_solution(net, norms):
    def store(name):
        def hook(grads):
            squares = [(g * g).sum().item() for g in grads if g is not None]
            norms[name] = sum(squares) ** 0.5
        return hook

    return [mg.autograd.graph.register_multi_grad_hook(own, store(name))
            for name, module in net.named_modules()
            if (own := list(module.parameters(recurse=False)))]


check_norms(watch_norms_solution)

# %% [markdown]
# ## What to remember
#
# * A **forward hook** gets the module, its positional arguments, and its output, and may replace the output. A **pre-hook** may
#   replace the arguments.
# * A **full backward hook** gets a tuple for the inputs and one for the outputs. It works by two added nodes, one at each end.
# * Hooks of modules are like brackets: `outer`, `inner`, `inner`, `outer`, in the forward and in the backward.
# * None stands for a value that is not a tensor. Keyword arguments, lists and dicts are not seen.
# * After a backward hook, the output is a view that must not be written to. After a forward hook, what you stored may be
#   overwritten.
# * `register_multi_grad_hook` is for **parameters**: once per backward, with all gradients or the first. It takes its place among
#   the tensor hooks, in the order of registration.
#
# **Next:** [tutorial 24](24_functional.py), derivatives of a function from outside, without hooks.
