"""The names of PyTorch that a file uses and minigrad lacks, found without running the file.

    import torch.nn.functional as F         F is torch.nn.functional
    from torch import nn                    nn is torch.nn
    nn.Linear(3, 1)                         torch.nn.Linear: there
    F.no_such_function(x)                   torch.nn.functional.no_such_function: missing
    x.no_such_method()                      a method of PyTorch's tensors that ours lack: perhaps missing

A name that is bound by other means (``module = torch.nn; module.Foo``, ``getattr(torch, name)``) is not followed.
"""

import ast
import json
import types
from functools import cache
from importlib import resources
from typing import NamedTuple

from minigrad.run.as_torch import PYTORCH, find_module
from minigrad.run.missing import reason

__all__ = ["Missing", "find_missing", "resolve", "torch_names"]


class Missing(NamedTuple):
    """A name that minigrad lacks: where it is used, PyTorch's name for it, and what to do."""

    line: int
    name: str
    what: str


@cache
def torch_names():
    """Module of PyTorch -> its public names, of PyTorch's release `PYTORCH`. "torch.Tensor" stands for the methods of tensors."""
    return json.loads(resources.files("minigrad.run").joinpath("torch_names.json").read_text("utf-8"))


def resolve(name):
    """(whether minigrad has the dotted name of PyTorch, the name up to the first part that is missing)."""
    import minigrad
    found, parts = minigrad, name.split(".")[1:]
    for i, part in enumerate(parts):
        if not isinstance(found, (type, types.ModuleType)):
            return True, name       # an attribute of a function or an object: known only when it runs
        try:
            found = getattr(found, part)
        except AttributeError:
            reached = "torch." + ".".join(parts[:i + 1])
            try:
                found = find_module(reached)
            except ImportError:
                return False, reached
    return True, name


class Names(ast.NodeVisitor):
    """Collect (line, dotted name) of PyTorch's names, and (line, attribute) of other objects."""

    def __init__(self):
        self.modules, self.used, self.attributes, self.own = {}, [], [], set()

    def visit_Import(self, node):
        for name in node.names:
            if name.name.split(".")[0] == "torch":
                self.modules[name.asname or "torch"] = name.name if name.asname else "torch"
                self.used.append((node.lineno, name.name))

    def visit_ImportFrom(self, node):
        if node.level == 0 and (node.module or "").split(".")[0] == "torch":
            for name in node.names:
                if name.name == "*":
                    self.used.append((node.lineno, node.module))
                else:
                    self.modules[name.asname or name.name] = f"{node.module}.{name.name}"
                    self.used.append((node.lineno, f"{node.module}.{name.name}"))

    def visit_Attribute(self, node):
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.modules:
            self.used.append((node.lineno, ".".join([self.modules[inner.id], *reversed(parts)])))
        else:
            if isinstance(node.ctx, ast.Load):
                self.attributes.append((node.lineno, node.attr))
            self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.own.add(node.name)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef     # pyright: ignore[reportAssignmentType]


def find_missing(source, filename="<program>"):
    """The names of PyTorch in the text of a program that minigrad lacks, by line.

    Args:
        source (str): the program.
        filename (str, optional): its name, for errors.

    Returns:
        list of Missing: each name once, where it is used first.

    Raises:
        SyntaxError: `source` is no Python.

    >>> from minigrad.run.check import find_missing
    >>> [(m.line, m.name) for m in find_missing("import torch\\nx = torch.ones(2)\\ny = torch.no_such_function(x)")]
    [(3, 'torch.no_such_function')]
    """
    import minigrad
    seen = Names()
    seen.visit(ast.parse(source, filename))
    found = {}
    for line, name in sorted(seen.used):
        there, reached = resolve(name)
        if not there and reached not in found:
            found[reached] = Missing(line, reached, advise(reached))
    methods = set(torch_names()["torch.Tensor"]) - set(dir(minigrad.Tensor)) - seen.own
    for line, name in sorted(seen.attributes):
        if name in methods and f"Tensor.{name}" not in found:
            found[f"Tensor.{name}"] = Missing(line, f"Tensor.{name}", f"if this is a tensor: {reason('torch.Tensor', name)}")
    return sorted(found.values())


def advise(name):
    """What to do about a missing name."""
    module, _, last = name.rpartition(".")
    if name in torch_names() or last in torch_names().get(module, ()):
        return reason(module, last)
    if module in torch_names():
        return f"PyTorch {PYTORCH} does not list it either: look for a misspelled or an older name"
    return reason(module, last)
