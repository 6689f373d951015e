"""`mg.debug.holders`: the objects that keep a graph alive.

    losses.append(loss)                 mg.debug.holders(loss)
                                            losses[0]       in train()      214 nodes   1,204,224 bytes

A graph lives as long as an object refers to one of its nodes, or to a tensor that it computed. A tensor holds its node, and a
node holds all nodes behind it and their saved tensors. The search starts at the nodes. It climbs to the objects that refer to
them, level by level (``gc.get_referrers``), up to a name: a variable of a module or of a running function.

    node <── tensor <── list <── "losses", a local variable of train()

A node of the same graph is not a holder: edges and saved tensors always refer to nodes behind them. There is one exception: a
node that holds a *later* node. Then the graph is a cycle, and only the garbage collector can free it.

The report has texts and numbers, and no tensor.

Read next: ``reports.py``, which prints the holders as a table.
"""

import gc
import sys
import types
from typing import NamedTuple

from minigrad._core.graph.accumulate_grad import LAST
from minigrad._core.graph.node import Node, NodeExtra
from minigrad._core.graph.tensor import AutogradMeta, TensorBase
from minigrad._core.observe.graph_memory import nodes_behind

__all__ = ["Holder", "find_holders"]


DEEPEST = 20        # the largest number of objects between a name and the graph
FEW = 50            # up to this number of objects, `referrers` calls `gc.get_referrers`
FIELDS = ("grad", "hooks", "post_accumulate_hooks", "pre_hooks", "post_hooks", "tensor_hooks", "metadata")
OPTIMIZED = 0x1     # the flag of the code of functions
OURS = (__name__, "minigrad._debug.context")


class Holder(NamedTuple):
    """An object that keeps nodes alive. See `debug.holders`.

    path        the path to the object, such as ``losses[0]``
    where       the kind of the first name in the path: a variable of a module or a function; or "a cycle"
    node        the name of the node that it holds; of several nodes, the latest
    nodes       the number of nodes that it keeps alive
    nbytes      the bytes that these nodes save for the backward
    """

    path: str
    where: str
    node: str
    nodes: int
    nbytes: int


def find_holders(root, size):
    """Return the holders of the graph behind `root`. ``size(nodes)`` is the memory in bytes that a list of nodes keeps."""
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
        self.known = known              # ids of the objects that existed before the search; its own objects are not holders
        self.seen = dict(graph)         # id -> object, for all objects found so far
        self.held = {}                  # id of an object -> the objects of `seen` that it holds
        self.roots = []                 # (where, name, the object that the name holds)

    def up(self):
        """Search upward, level by level."""
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
                if isinstance(holder, dict) and "__builtins__" in holder:       # the variables of a module, or of exec()
                    self.variables(holder, f"a variable of {holder.get('__name__', 'no module')}", below)
                elif id(holder) in self.graph:
                    self.cycle(holder, below)
                elif id(holder) not in self.seen:
                    above[id(holder)] = holder
                    self.held[id(holder)] = below
            for x in level:
                if id(x) not in named and id(x) not in self.graph:
                    self.root("no name leads to it: a temporary value, or a variable of a generator", type(x).__name__, x)
            self.seen.update(above)
            level = list(above.values())

    def locals(self, frames, level):
        """Note the local variables that hold an object of this level. Return the ids of these objects."""
        ids = {id(x) for x in level}
        found = set()
        for where, names in frames:
            for name, x in names.items():
                if id(x) in ids:
                    found.add(id(x))
                    self.root(where, name, x)
        return found

    def variables(self, names, where, below):
        """Note the variables of a module that hold an object of `below`."""
        ids = {id(x) for x in below}
        for name, x in list(names.items()):
            if id(x) in ids:
                self.root(where, name, x)

    def cycle(self, node, below):
        """Note that a node of the graph holds an object that holds the node: a cycle."""
        for x in below:
            held = () if id(x) in self.graph else self.targets([x])
            if held and max([other._sequence_nr() for other in held]) >= node._sequence_nr():
                self.root("a cycle, which only the garbage collector frees", node.name(), x)

    def root(self, where, name, x):
        self.roots.append((where, name, x))

    def paths(self):
        """Return (where, path) -> the objects held there. Call it last: it may create the attribute dicts of objects."""
        found = {}
        for where, name, x in self.roots:
            found.setdefault((where, name + self.path(x)), []).append(x)
        return found

    def path(self, x):
        """Return the path from `x` down to the graph, such as ``[0].loss``."""
        text, owner = "", None
        while id(x) not in self.graph:
            below = self.held[id(x)][0]
            if not (text.endswith("hooks") and isinstance(x, (dict, list, tuple)) and not isinstance(owner, types.FunctionType)):
                text += step(owner, x, below)
            owner, x = x, below
        return text

    def targets(self, tops):
        """Return the nodes of the graph that `tops` hold, directly or through other objects."""
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
    """Return the objects that hold an object of `level`. (`gc.get_referrers` takes quadratic time, so only short lists use it.)"""
    if len(level) <= FEW:
        return gc.get_referrers(*level)
    ids = {id(x) for x in level}
    return [holder for holder in gc.get_objects() if not ids.isdisjoint([id(x) for x in gc.get_referents(holder)])]


def running():
    """Return the local variables of all running functions except those of this package: [(where, variables)]."""
    result = []
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            if code.co_flags & OPTIMIZED and frame.f_globals.get("__name__") not in OURS:    # a function, not a module
                result.append((f"a local variable of {code.co_name}()", dict(frame.f_locals)))
                if sys.version_info < (3, 13):
                    frame.f_locals.clear()      # a copy, which would keep its values alive while the function runs
            frame = frame.f_back
    return result


def step(owner, x, below):
    """Return the step of the path from `x` to `below`. `owner` is the object before `x` on the path."""
    if isinstance(x, (NodeExtra, AutogradMeta)):
        return next((f".{name}" for name in FIELDS if getattr(x, name, None) is below), "")
    if attributes(x) is below or isinstance(x, (types.CellType, Node)):
        return ""
    if isinstance(x, TensorBase) and x._base is below:
        return "._base"
    if isinstance(x, dict):
        key = next((key for key, value in x.items() if value is below), None)
        if owner is not None and attributes(owner) is x:
            return step(None, owner, below) if isinstance(owner, (Node, TensorBase)) else f".{key}"
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
    """Return the index of the object `x` in `items`, found by identity."""
    return next(i for i, item in enumerate(items) if item is x)


def attributes(x):
    """Return the dict of the attributes of `x`, or None."""
    try:
        return vars(x)
    except TypeError:
        return None
