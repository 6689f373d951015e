"""The parts of minigrad that homework may replace: what each gets, what it must return, and what is checked.

``docs/teach/parts.md`` shows this table, and ``python -m minigrad.grading parts`` prints it.
"""

from dataclasses import dataclass

__all__ = ["PARTS", "Part"]


@dataclass(frozen=True)
class Part:
    """One part that `swap` can replace.

    Args:
        name (str): the name that `swap` takes.
        signature (str): how the user's function or class is written.
        given (str): what it gets.
        returns (str): what it must return or do.
        checked (str): what `swap` checks each time. A violation raises `SwapError`.
        ours (str): the file with minigrad's own form of the part.
        of (str): what ``of=`` names, such as "an op", or "" if the part needs none.

    >>> mg.grading.PARTS["add_gradients"].signature
    'add_gradients(old, new)'
    """

    name: str
    signature: str
    given: str
    returns: str
    checked: str
    ours: str
    of: str = ""


PARTS = {part.name: part for part in (
    Part("run_backward", "run_backward(roots, grads, call, inputs=None)",
         "`roots`: a list of pairs (node, number of its output); `grads`: a gradient for each root; `call(node, *grads)` runs a "
         "node and its hooks, and returns a tuple with a gradient or None for each of `node.next_functions`; `inputs`: None, or "
         "the pairs (node, number) whose gradients `autograd.grad` asked for.",
         "None; with `inputs`, a list with a gradient or None for each input, and only nodes that lead to them are called. The "
         "call of an `AccumulateGrad` adds to `.grad`.",
         "`call` gets as many gradients as the node has outputs (`len(node._input_metadata)`); nodes are not called without end; "
         "with `inputs`, a list of that length.",
         "_core/engine/execute.py"),
    Part("count_dependencies", "count_dependencies(root)",
         "`root`: the node at which the run begins.",
         "A dict from each node behind the root to the number of edges that lead to it.",
         "It is a dict; each reachable node has an int; during the run no node gets more gradients than that; after it none waits "
         "for another.",
         "_core/engine/dependencies.py"),
    Part("ready_queue", "class Queue: push(self, node); pop(self)",
         "`push` gets a node whose gradients have all arrived.",
         "`pop` removes the node that runs next, and returns it. Called only if a node is left.",
         "`pop` returns a node that was pushed and not yet popped.",
         "_core/engine/ready_queue.py"),
    Part("add_gradients", "add_gradients(old, new)",
         "Two gradients that reached one output of a node.",
         "Their sum, a tensor. It must not write to a tensor that is also used elsewhere.",
         "A tensor with the shape and the dtype of `old`.",
         "_core/engine/graph_task.py"),
    Part("accumulate_grad", "accumulate_grad(leaf, grad)",
         "A leaf, and the gradient that has reached it.",
         "Nothing. Afterwards `leaf.grad` has the gradient added to it.",
         "It returns None, and `leaf.grad` is a tensor with the shape of the leaf.",
         "_core/graph/accumulate_grad.py"),
    Part("call_hooks", "call_hooks(node, grads, hooks, call)",
         "The node; a tuple of gradients, one for each of its outputs; a dict of the hooks by kind: \"tensor hook\" and "
         "\"retain_grad\" have pairs (number of the output, function of a gradient), \"pre-hook\" functions of `grads`, "
         "\"post-hook\" functions of `results, grads`, \"post-accumulate hook\" functions without arguments; "
         "`call(grads)` runs the node and returns a tuple of results.",
         "The tuple of results, after all hooks.",
         "`call` was called once; the result is a tuple with a tensor or None for each edge.",
         "_core/engine/graph_task.py"),
    Part("vjp", "vjp(node, *grads)",
         "The node, whose saved values are `node._saved_self`, `node._saved_other`, ...; the gradients of its outputs.",
         "A tuple with a gradient or None for each of `node.next_functions`; for one edge also the gradient alone.",
         "As many gradients as edges, each a tensor or None. The engine checks their shapes as those of any node.",
         "ops/", "the name of an op, such as \"mul\""),
    Part("saved_tensor", "class Saved: pack(self, tensor); unpack(self, packed)",
         "`pack` gets each tensor that an op saves; `unpack` gets what `pack` returned, when a node needs it.",
         "`pack`: any object that remembers the values and the version. `unpack`: the tensor; an error if it was modified since.",
         "`unpack` returns a tensor with the shape and the dtype of what was packed.",
         "_core/record/saved_tensor.py"),
    Part("forward", "forward(*args)",
         "The arguments of the op: tensors without gradients, and numbers.",
         "The result, a tensor. minigrad records the op and has its derivative.",
         "A tensor with the shape and the dtype of minigrad's own result.",
         "ops/", "the name of an op, such as \"softmax\""),
    Part("kernel", "kernel(*arrays)",
         "The arguments of the op, its tensors as NumPy arrays.",
         "The result, a new NumPy array.",
         "An array with the shape and the dtype of minigrad's own result, which is not one of the arguments.",
         "kernels/numpy_ref/", "the name of an op, such as \"exp\""),
    Part("cuda_kernel", "@cuda.jit kernel(*arrays, out)",
         "The arguments of the op, its tensors as one-dimensional device arrays of the size of the result; and the result's array "
         "to fill. One thread for each element.",
         "Nothing.",
         "The arguments of the op are tensors on a GPU, or on numba's simulator.",
         "kernels/cuda/", "the name of an elementwise op, such as \"mul\""),
    Part("optimizer_step", "update(param, grad, group, state)",
         "A parameter, its gradient, the dict of options (`group[\"lr\"]`), and the parameter's dict of state.",
         "Nothing. It writes to `param` in place.",
         "It returns None, and `param` keeps its shape and dtype.",
         "optim/", "an optimizer class, such as mg.optim.SGD"),
    Part("layer", "forward(self, *inputs)",
         "The module and its inputs.",
         "The output.",
         "A tensor, or a tuple of tensors.",
         "nn/modules/", "a module class, such as mg.nn.Linear"),
)}
