"""What the cheat sheet says, as data; ``sheet.py`` draws it. The example is run and recorded, and each message is that of the error
that the catalogue's example raises.

    EXAMPLE     the program of the drawn graph; `run_example` runs it
    STATIONS    the order of hooks; tests/docs/test_sheet.py compares it with the engine
    ERRORS      code, words of its message, what to do; `message` gives the message
"""

import re
import warnings
from typing import NamedTuple

import minigrad as mg
from minigrad.testing._catalogue import run

__all__ = ["ERRORS", "EXAMPLE", "GRAPH", "HOOK_RULES", "QUEUE", "STATIONS", "VERSIONS", "WATCH", "Run", "Station", "Turn",
           "message", "run_example", "short"]

EXAMPLE = """\
x = mg.tensor(4.0, requires_grad=True)
h = x / 2
s = h * h
t = x.sqrt()
y = s + t
y.backward()
x.grad"""

GRAPH = [
    ("leaf", "a tensor that no recorded op computed. `grad_fn` is None; its gradient goes to `x.grad`."),
    ("grad_fn", "the Node of the op that computed a tensor."),
    ("Node", "one recorded op. From the gradients of its outputs it computes those of its inputs."),
    ("next_functions", "its edges: `(Node, input number)` for each input. `(None, 0)` leads nowhere."),
    ("AccumulateGrad", "the Node at the end of a path. Its `variable` is the leaf; it adds to `x.grad`."),
]

QUEUE = [
    ("Count.", "Follow all edges from the root. Each edge to a Node adds 1 to its *dependencies*: edges count, not Nodes."),
    ("Take.", "A Node whose dependencies are 0 is ready. The one created last (the largest *sequence number*: no.) runs "
              "first. AccumulateGrad has the largest of all: it runs as soon as it is ready."),
    ("Deliver.", "Add each result to the *buffer* of the next Node, and take 1 from its dependencies, for None too."),
    ("Free.", "Drop the saved tensors of the Node, unless `retain_graph=True`."),
]


WATCH = "*Watch it:* `with mg.debug.record() as r:` around it, then `mg.viz.step(r)`."


class Station(NamedTuple):
    """A stop on the way of a gradient: at a computed tensor h, and at a leaf x. None where a track has no such stop.

    name        as the glossary says it
    h, x        the call that registers a function here, or what happens
    given       what the function gets
    """

    name: str
    h: str | None
    x: str | None
    given: str


STATIONS = [
    Station("tensor hooks", "h.register_hook(f)", "x.register_hook(f)", "grad"),
    Station("retain_grad", "h.retain_grad()", None, ""),
    Station("pre-hooks of the node", "n.register_prehook(f)", "n.register_prehook(f)", "grad_outputs"),
    Station("the node runs", "the formula", "x.grad += grad", ""),
    Station("post-accumulate hooks", None, "x.register_post_ accumulate_grad_hook(f)", "x, returns None"),
    Station("hooks of the node", "n.register_hook(f)", "n.register_hook(f)", "grad_inputs, grad_outputs"),
    Station("release, deliver", "to the next nodes", None, ""),
]

HOOK_RULES = [
    "*f returns* None to keep the gradient, or a new one: the next stop gets it. It must not write to the one it got.",
    "*One stop, several hooks:* in the order in which they were registered. `f` sees the sum of all edges, once.",
    "*n* is `h.grad_fn`, or the AccumulateGrad of x. `grad(y, h)` does not run it: only stops 1 and 2 of h are made.",
]

VERSIONS = [
    "*Only what is needed:* `h * 2` saves no tensor: the gradient of `h` needs only the 2.",
    "*Version:* a storage counts its writes. Its tensors share the count: the base, views, `detach()`; not `.data`.",
    "*On use:* the Node compares the saved version with the present one. Not equal: `MG-E102`.",
    "*After use:* the tensors are dropped. A second backward: `MG-E101`.",
    "*Function:* `ctx.save_for_backward(t)` is checked like this; an attribute of `ctx` is not.",
    "*See it:* `mg.debug.saved(y)` lists what is saved.",
]

ERRORS = [
    ("MG-E101", "backward through the graph a second time", "Run the forward again, or keep it: `retain_graph=True`."),
    ("MG-E102", "modified by an inplace operation", "`x = x * 2`, not `x *= 2`. `with mg.debug():` names the line."),
    ("MG-E108", "implicitly created only for scalar outputs", "`loss.sum()` or `.mean()`; or pass a gradient of its shape."),
    ("MG-E109", "not have been used in the graph", "A copy or `detach()` on the way? Or `allow_unused=True`."),
    ("MG-E110", "does not require grad and does not have a grad_fn",
     "`requires_grad=True`; no `no_grad()`, `detach()` on the way."),
    ("MG-E113", "change requires_grad flags of leaf variables", "For a value without its history: `y = x.detach()`."),
    ("MG-E115", "call numpy() on Tensor that requires grad", "`x.detach().numpy()`: the array is outside the graph."),
    ("MG-E120", "is a view and is being modified inplace", "Write to the base, `x[0] *= 2`, or use an out-of-place op."),
    ("MG-E121", "leaf Variable that requires grad is being used in an in-place", "Update parameters under `mg.no_grad()`."),
    ("MG-E124", "returned nan values", "Keep the argument in the domain *before* `sqrt`, `log`, division."),
    ("MG-E144", "returned an incorrect number of gradients", "One value for each argument of `forward`; None if no tensor."),
    ("MG-E147", "differentiate twice", "Remove the decorator; use only `ctx.saved_tensors`."),
]


class Turn(NamedTuple):
    """One turn of the engine: the ready queue before it, next node first; what the node gives to which node; who still waits."""

    queue: list[str]
    node: str
    gives: list[tuple[float, str]]
    waits: dict[str, int]


class Run(NamedTuple):
    """The example after it has run: values, name of each node, its next nodes, dependencies, creation, saved tensors; the turns."""

    values: dict[str, float]
    nodes: dict[str, str]
    edges: dict[str, list[str | None]]
    counted: dict[str, int]
    created: dict[str, int | None]
    saved: dict[str, list[str]]
    turns: list[Turn]
    grad: float


def short(node):
    """``DivBackward0`` as ``Div``, ``AccumulateGrad`` as ``Accumulate``."""
    return re.sub(r"(Backward\d*|Grad)$", "", node)


def run_example():
    """Run EXAMPLE, and say what the engine did."""
    names = {"mg": mg}
    *lines, last, shown = EXAMPLE.splitlines()
    exec("\n".join(lines), names)
    tensors = {name: names[name] for name in "xhsty"}
    with mg.debug.record() as record:
        exec(last, names)
    events = record.events
    count = next(event for event in events if event.kind == "count")
    named = {event.node: event.op for event in events}
    facts = {named[node["node"]]: node for node in count.data["nodes"]}
    waits = {name: node["waits"] for name, node in facts.items()}
    turns, gives = [], []
    for event in events:
        if event.kind == "dequeue":
            gives = []
            left = {name: n for name, n in waits.items() if n}
            turns.append(Turn([event.op, *[named[node] for node in event.data["others"]]], event.op, gives, left))
        elif event.kind == "receive" and event.data["from"]:
            gives.append((event.data["gradient"]["numbers"], event.op))
            waits[event.op] = event.data["waits"]
            turns[-1] = turns[-1]._replace(waits={name: n for name, n in waits.items() if n})
    return Run(values={name: tensor.item() for name, tensor in tensors.items()},
               nodes={name: tensor.grad_fn.name() for name, tensor in tensors.items() if tensor.grad_fn is not None},
               edges={name: [named.get(node) for node, _ in facts[name]["next"]] for name in facts},
               counted={name: node["waits"] for name, node in facts.items()},
               created={name: node["made"] for name, node in facts.items()},
               saved={name: [s["name"] for s in node["saved"]] for name, node in facts.items()},
               turns=turns, grad=eval(shown, names).item())


def message(code):
    """The message of the error that the example of `code` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = run(code)
    return next(str(step.error) for part in parts if not isinstance(part, str) for step in part if step.error is not None)
