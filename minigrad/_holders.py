"""`mg.debug.holders`: who keeps a graph alive.

    losses.append(loss)                 mg.debug.holders(loss)
                                            losses[0]       in train()      214 nodes   1,204,224 bytes

A graph lives as long as somebody holds a tensor that was computed, or a node: each holds all nodes behind it, and what these
have saved. We climb from the nodes up to what holds them, level by level (``gc.get_referrers``), until a name is reached:
a variable of a module or of a function that is running.

    node <── tensor <── list <── "losses", a local variable of train()

What is met on the way up and is a node of the graph itself is no holder: that is what edges and saved tensors are. Unless the
holder lies *behind* what it holds: then the graph holds itself, and only the garbage collector can free it.

The report holds texts and numbers, and no tensor.
"""

import gc
import sys
import types
from typing import NamedTuple

from minigrad._core.graph.accumulate_grad import LAST
from minigrad._core.graph.node import Node, NodeExtra
from minigrad._core.graph.tensor import AutogradMeta, TensorBase
from minigrad._core.observe.graph_memory import nodes_behind

__all__ = ["Holder", "found"]

DEEPEST = 20        # objects between a name and the graph, at most
FEW = 50            # objects of which `gc.get_referrers` is asked
FIELDS = ("grad", "base", "hooks", "post_accumulate_hooks", "pre_hooks", "post_hooks", "tensor_hooks", "metadata")
OPTIMIZED = 0x1     # the flag of the code of functions
OURS = (__name__, "minigrad._debug")


class Holder(NamedTuple):
    """Somebody who keeps nodes alive. See `debug.holders`.

    path        how it is reached, such as ``losses[0]``
    where       what the name at its beginning is: a variable of a module or a function; or "a cycle"
    node        what the node is that it holds: of several, the one made last
    nodes       how many nodes of the graph it keeps alive
    nbytes      the memory that these keep for the backward
    """

    path: str
    where: str
    node: str
    nodes: int
    nbytes: int


def found(root, size):
    """The holders of the graph behind `root`; `size` says how many bytes a list of nodes keeps."""
    known = {id(x) for x in gc.get_objects()}
    graph = {id(node): node for node in nodes_behind(root) if node._sequence_nr() != LAST}
    climb = Climb(graph, known)
    climb.up()
    result = []
    for (where, path), tops in climb.paths().items():
        held = climb.targets(tops)
        nodes = {id(node): node for top in held for node in nodes_behind(top) if id(node) in graph}
        latest = max(held, key=lambda node: node._sequence_nr())
        result.append(Holder(path, where, latest.name(), len(nodes), size(nodes.values())))
    return sorted(result, key=lambda holder: (-holder.nodes, holder.where, holder.path))


class Climb:
    """The way up from the nodes of a graph to the names that hold them."""

    def __init__(self, graph, known):
        self.graph = graph
        self.known = known              # ids of what there was before we began: what we make ourselves is no holder
        self.seen = dict(graph)         # id -> object, of all that has been met
        self.held = {}                  # id of an object -> those that it holds, of `seen`
        self.roots = []                 # (where, name, what the name holds)

    def up(self):
        """Climb level by level."""
        frames = running()
        level = list(self.graph.values())
        for _ in range(DEEPEST):
            if not level:
                return
            above = {}
            named = self.locals(frames, level)
            for holder in referrers(level):
                if id(holder) not in self.known or isinstance(holder, (types.FrameType, types.ModuleType)):
                    continue
                below = [x for x in gc.get_referents(holder) if id(x) in self.seen]
                named |= {id(x) for x in below}
                if isinstance(holder, dict) and "__builtins__" in holder:       # the variables of a module, or of what exec() runs
                    self.variables(holder, f"a variable of {holder.get('__name__', 'no module')}", below)
                elif id(holder) in self.graph:
                    self.cycle(holder, below)
                elif id(holder) not in self.seen:
                    above[id(holder)] = holder
                    self.held[id(holder)] = below
            for x in level:
                if id(x) not in named and id(x) not in self.graph:
                    self.root("no name leads to it: a value that is being computed, or a generator's", type(x).__name__, x)
            self.seen.update(above)
            level = list(above.values())

    def locals(self, frames, level):
        """Note the local variables that hold something of this level. Returns the ids of what they hold."""
        ids = {id(x) for x in level}
        found = set()
        for where, names in frames:
            for name, x in names.items():
                if id(x) in ids:
                    found.add(id(x))
                    self.root(where, name, x)
        return found

    def variables(self, names, where, below):
        """Note the variables of a module that hold something of `below`."""
        ids = {id(x) for x in below}
        for name, x in list(names.items()):
            if id(x) in ids:
                self.root(where, name, x)

    def cycle(self, node, below):
        """Note that `node`, of the graph, holds something that holds `node`."""
        for x in below:
            held = () if id(x) in self.graph else self.targets([x])
            if held and max([other._sequence_nr() for other in held]) >= node._sequence_nr():
                self.root("a cycle, which only the garbage collector frees", node.name(), x)

    def root(self, where, name, x):
        self.roots.append((where, name, x))

    def paths(self):
        """(where, path) -> what is held there. After the climb, for asking an object for its attributes may make a dict of them."""
        found = {}
        for where, name, x in self.roots:
            found.setdefault((where, name + self.path(x)), []).append(x)
        return found

    def path(self, x):
        """How one gets from `x` down to the graph."""
        text, owner = "", None
        while id(x) not in self.graph:
            below = self.held[id(x)][0]
            if not (text.endswith("hooks") and isinstance(x, (dict, list, tuple)) and not isinstance(owner, types.FunctionType)):
                text += step(owner, x, below)
            owner, x = x, below
        return text

    def targets(self, tops):
        """The nodes of the graph that are held by one of `tops`, at whatever remove."""
        stack, met, nodes = list(tops), set(), {}
        while stack:
            x = stack.pop()
            if id(x) in self.graph:
                nodes[id(x)] = x
            elif id(x) not in met:
                met.add(id(x))
                stack += self.held.get(id(x), ())
        return list(nodes.values())


def referrers(level):
    """What holds something of `level`. `gc.get_referrers` compares each with each, so it is for few."""
    if len(level) <= FEW:
        return gc.get_referrers(*level)
    ids = {id(x) for x in level}
    return [holder for holder in gc.get_objects() if not ids.isdisjoint([id(x) for x in gc.get_referents(holder)])]


def running():
    """The local variables of all functions that are running, our own aside: [(where, variables)]."""
    result = []
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            if code.co_flags & OPTIMIZED and frame.f_globals.get("__name__") not in OURS:      # a module's variables are its own
                result.append((f"a local variable of {code.co_name}()", dict(frame.f_locals)))
                if sys.version_info < (3, 13):
                    frame.f_locals.clear()      # a copy, which would hold all that it holds for as long as the function runs
            frame = frame.f_back
    return result


def step(owner, x, below):
    """How `below` is reached from `x`, which holds it and is held by `owner`."""
    if isinstance(x, (NodeExtra, AutogradMeta)):
        return next((f".{name}" for name in FIELDS if getattr(x, name, None) is below), "")
    if attributes(x) is below or isinstance(x, (types.CellType, Node)):
        return ""
    if isinstance(x, dict):
        key = next((key for key, value in x.items() if value is below), None)
        if owner is not None and attributes(owner) is x:
            return "" if isinstance(owner, (Node, TensorBase)) else f".{key}"
        return f"[{key!r}]" if isinstance(key, (str, int, tuple)) else f"[{type(key).__name__}]"
    if isinstance(x, tuple) and isinstance(owner, types.FunctionType):
        return f" -> {owner.__code__.co_freevars[place(x, below)]} of {owner.__name__}()"
    if isinstance(x, (list, tuple)):
        return f"[{place(x, below)}]"
    if isinstance(x, (TensorBase, types.FunctionType)):
        return ""
    for name, value in (attributes(x) or {}).items():
        if value is below:
            return f".{name}"
    return f".<{type(x).__name__}>"


def place(items, x):
    """The index of `x` itself in `items`."""
    return next(i for i, item in enumerate(items) if item is x)


def attributes(x):
    """The dict of the attributes of `x`, None if it has none."""
    try:
        return vars(x)
    except TypeError:
        return None
