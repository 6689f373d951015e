"""The history of a saved tensor in words: for the error that it was modified, and for `mg.debug`.

    noted_writes        the writes to a storage that were noted: (version, op, file, line)
    describe_writes     the table of an error: where a tensor was saved, and every write since
    describe_use        the formulas that need a saved value
    log_of              the log of a storage, for users that must not keep the storage alive

Writes are noted only while a switch is on (``switches.py``). The table says which writes were not noted.

Read next: ``saved_tensor.py``, which raises the error.
"""

import linecache
import os
import re
from collections import deque

import cython
from cython.cimports.minigrad._core.record.primitive import Plan

from minigrad._core.graph.locks import sharing
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.version import LOGGED

MOST_LINES = 20     # of the table in an error
CELL = re.compile(r"ipykernel_\d+[/\\]|<ipython-input-|^cell \d+$")     # a notebook cell, whose name changes with each run


def noted_writes(tensor):
    """The writes to the storage of `tensor` that were noted, oldest first: (version, op, file, line)."""
    counter = tensor._counter
    if counter is None or counter.log is None:
        return []
    return [(version, inplace_name(name), file, line) for version, name, file, line in list(counter.log)]


def version_counter(tensor: TensorBase):
    """The version counter of the storage of `tensor`; None if no other tensor shares the storage and its version is 0."""
    return tensor._counter


def log_of(counter):
    """The log of a version counter, made now if there is none. Unlike the counter, it allows weak references."""
    if counter.log is None:
        if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
            counter.log = deque(maxlen=LOGGED)
        else:
            with sharing:
                if counter.log is None:
                    counter.log = deque(maxlen=LOGGED)
    return counter.log


def node_of(tensor: TensorBase):
    """The `grad_fn` of `tensor` as it is stored: a leaf gives None, and a stale view is not regenerated."""
    return tensor._node


def grad_of(tensor: TensorBase):
    """The ``.grad`` of a tensor, without the warning for a non-leaf tensor."""
    return None if tensor._extra is None else tensor._extra.grad


def inplace_name(name):
    """The in-place name of the op `name`: ``mul_``, ``fill_``. A name that is not an op is returned as it is."""
    for ending in ("_tensor_", "_tensor", "_scalar"):
        name = name.removesuffix(ending)
    return name if name.endswith("_") or not name.isidentifier() else name + "_"


def describe_location(file, line):
    """A place in the user's program as text, with the source line if it can be read."""
    source = linecache.getline(file, line).strip()
    file = file_name(file) if CELL.search(file) else file.removeprefix(os.getcwd() + os.sep)
    return f"{file}:{line}" + (f"   {source}" if source else "")


def file_name(file):
    """The name of a file without its folder, which differs between machines; ``cell`` for a notebook cell."""
    return "cell" if CELL.search(file) else os.path.basename(file)


def save_location(node):
    """The place (file, line) where `node` saved its values, or None if it was not noted."""
    return None if node.extra is None else node.extra.place


def describe_writes(tensor, version, node):
    """A table of where `node` saved `tensor`, and of the writes to it since `version`. None if nothing was noted.

    `node` is None if the tensor was not saved.
    """
    first = None if node is None else save_location(node)
    writes = {entry[0]: entry for entry in noted_writes(tensor) if entry[0] > version}
    if first is None and not writes:
        return None
    where = "place not noted" if first is None else describe_location(*first)
    lines = [] if node is None else [(f"version {version}:", "saved", where)]
    unknown: list = []
    for v in range(version + 1, tensor.version() + 1):
        if v in writes:
            _, name, file, line = writes[v]
            lines.append((f"version {v}:", name, describe_location(file, line)))
        elif unknown and unknown[-1] == v - 1:
            unknown[-1] = v
            lines[-1] = (f"versions {unknown[0]}-{v}:", "", "not noted: minigrad.debug() was off")
        else:
            unknown = [v, v]
            lines.append((f"version {v}:", "", "not noted: minigrad.debug() was off"))
        if len(lines) == MOST_LINES:
            lines.append(("...", "", f"up to version {tensor.version()}"))
            break
    widths = [max([len(line[k]) for line in lines]) for k in range(2)]
    return "\n".join([f"{a:<{widths[0]}} {b:<{widths[1]}}  {c}" for a, b, c in lines])


def describe_use(node, name):
    """The use of the saved value `name`: ``the gradient of self and other``. None if `node` is not the node of an op."""
    if not isinstance(node.plan, Plan):
        return None
    op = node.plan.op
    if node.plan.joint is not None:
        return "its gradients"
    names = op.rule.torch_names
    users = [names.get(op.params[i], op.params[i]) for i, formula in enumerate(node.plan.formulas)
             if formula is not None and name in op.formulas[i][1]]
    return "the gradient of " + " and ".join(users)


def describe_saver(node, name):
    """A node for an error about its saved value `name`: the node's name and formula, the value, and its use."""
    if not isinstance(node.plan, Plan):
        return f"{node.name()}, which saved it as {name!r}"
    rule = node.plan.op.rule
    formula = (rule.__doc__ or "").strip().split("\n")[0]
    formula = f" ({formula})" if formula.startswith("z = ") and len(formula) < 60 else ""
    return f"{node.name()}{formula}, which saved {name} as _saved_{rule.torch_names.get(name, name)} for {describe_use(node, name)}"


def short_location(found):
    """A place (file, line) as a dict for the record, without the folder, which differs between machines. None for None."""
    if found is None:
        return None
    file, line = found
    return {"file": file_name(file), "line": line, "source": linecache.getline(file, line).strip()}
