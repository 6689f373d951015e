"""What has happened to a saved tensor, in words: for the error that it was modified, and for `mg.debug`.

    written       the writes to a storage that were noted: (version, op, file, line)
    happened      the table of an error: where a tensor was saved, and every write since
    purpose       what a node saved a value for: the formulas that name it
    log_of        what stands for a storage where that must not be kept alive

What was noted while nobody watched (``switches.py``) is unknown, and the table says so.

Read next: ``saved_tensor.py``, which raises the error.
"""

import linecache
import os
import re
from collections import deque

from cython.cimports.minigrad._core.record.primitive import Plan

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.version import LOGGED

SHOWN = 20      # lines of the table of an error, at most
CELL = re.compile(r"ipykernel_\d+[/\\]|<ipython-input-|^cell \d+$")     # a notebook's cell, whose name changes from run to run


def noted_writes(tensor):
    """The writes to the storage of `tensor` that were noted, oldest first: (version, op, file, line)."""
    counter = tensor._counter
    if counter is None or counter.log is None:
        return []
    return [(version, inplace_name(name), file, line) for version, name, file, line in list(counter.log)]


def version_counter(tensor: TensorBase):
    """The version counter of the storage of `tensor`; None while it is this tensor's alone and nobody has written to it."""
    return tensor._counter


def log_of(counter):
    """The log of a version counter, made now if there is none. Unlike the counter it can be referred to weakly."""
    if counter.log is None:
        counter.log = deque(maxlen=LOGGED)
    return counter.log


def node_of(tensor: TensorBase):
    """The node that made `tensor`, as far as is known now: no accumulator is made, and no stale view gets a new history."""
    return tensor._node


def grad_of(tensor: TensorBase):
    """The ``.grad`` of a tensor, without the warning that a tensor which keeps none deserves."""
    return None if tensor._extra is None else tensor._extra.grad


def inplace_name(name):
    """The in-place name of the op called `name`: ``mul_``, ``fill_``. What is no op is called what it is called."""
    for ending in ("_tensor_", "_tensor", "_scalar"):
        name = name.removesuffix(ending)
    return name if name.endswith("_") or not name.isidentifier() else name + "_"


def describe_location(file, line):
    """A place in the user's program, with the source line if it can be had."""
    source = linecache.getline(file, line).strip()
    file = file_name(file) if CELL.search(file) else file.removeprefix(os.getcwd() + os.sep)
    return f"{file}:{line}" + (f"   {source}" if source else "")


def file_name(file):
    """The name of a file without its folder, which is another one on another machine; ``cell`` for that of a notebook's cell."""
    return "cell" if CELL.search(file) else os.path.basename(file)


def save_location(node):
    """Where `node` saved its values, (file, line); None if that was not noted."""
    return None if node.extra is None else node.extra.place


def describe_writes(tensor, version, node):
    """When `node` saved `tensor` (if it did), and who has written to it since `version`; None if nothing was noted."""
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
        if len(lines) == SHOWN:
            lines.append(("...", "", f"up to version {tensor.version()}"))
            break
    widths = [max([len(line[k]) for line in lines]) for k in range(2)]
    return "\n".join([f"{a:<{widths[0]}} {b:<{widths[1]}}  {c}" for a, b, c in lines])


def describe_use(node, name):
    """What the value called `name` is for: ``the gradient of self and other``. None for a node that is no op's."""
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
    """The node in an error about what it saved: its name, its formula, the value and what that is for."""
    if not isinstance(node.plan, Plan):
        return f"{node.name()}, which saved it as {name!r}"
    rule = node.plan.op.rule
    formula = (rule.__doc__ or "").strip().split("\n")[0]
    formula = f" ({formula})" if formula.startswith("z = ") and len(formula) < 60 else ""
    return f"{node.name()}{formula}, which saved {name} as _saved_{rule.torch_names.get(name, name)} for {describe_use(node, name)}"


def short_location(found):
    """A file and line as the record tells them: without the folder, which is another one on another machine; None for None."""
    if found is None:
        return None
    file, line = found
    return {"file": file_name(file), "line": line, "source": linecache.getline(file, line).strip()}
