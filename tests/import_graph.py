"""The imports between the modules of some packages as a graph, read from the syntax of their sources; and its cycles.

    graph   module -> {module that it imports: Import(file, line, at_top)}

    from a import b        an edge to the module a.b if there is one, else to a
    from a cimport b       the same; so is ``from cython.cimports.a import b``
    if TYPE_CHECKING:      an import below it does not count, since it never runs

A module is a .py or .pyx file together with the .pxd beside it. Nothing is imported here, so a file that Python cannot import
has its edges too. tests/test_layers.py uses this graph.
"""

import ast
import re
from collections import deque
from typing import NamedTuple

__all__ = ["Import", "cycles", "files", "imports", "modules", "read"]

SUFFIXES = (".py", ".pyx", ".pxd")


class Import(NamedTuple):
    """One import: the module that it names, its line, and whether it runs when its own module is loaded."""

    target: str
    line: int
    at_top: bool


def files(package):
    """The sources of a package, a folder."""
    return sorted(path for path in package.rglob("*") if path.suffix in SUFFIXES)


def name_of(path, package):
    """The dotted name of the module that a file belongs to."""
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def modules(packages):
    """The dotted names of all modules of the packages."""
    return {name_of(path, package) for package in packages for path in files(package)}


def imports(path, package, known):
    """The imports of one file that name a module in `known`, as `Import`s."""
    statements = syntax_of_python(path, package) if path.suffix == ".py" else syntax_of_cython(path)
    for module, names, line, at_top in statements:
        targets = [f"{module}.{name}" if f"{module}.{name}" in known else module for name in names] or [module]
        for target in dict.fromkeys(targets):
            if target in known:
                yield Import(target, line, at_top)


def syntax_of_python(path, package):
    """(module, names imported from it, line, at top) of each import statement of a .py file."""
    tree = ast.parse(path.read_text("utf-8"))
    own = name_of(path, package).split(".") + ["__init__"] * (path.stem == "__init__")

    def walk(node, at_top):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            children = node.orelse
        else:
            children = ast.iter_child_nodes(node)
        at_top = at_top and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in children:
            if isinstance(child, ast.ImportFrom):
                parts = (own[:-child.level] if child.level else []) + [child.module] * bool(child.module)
                yield ".".join(parts).removeprefix("cython.cimports."), [a.name for a in child.names], child.lineno, at_top
            elif isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.name, [], child.lineno, at_top
            else:
                yield from walk(child, at_top)
    return walk(tree, True)


def syntax_of_cython(path):
    """The same for a .pyx or .pxd file, line by line, since `ast` cannot read Cython's syntax."""
    text = path.read_text("utf-8")
    for match in re.finditer(r"^([ \t]*)from +([\w.]+) +c?import +(\([^)]*\)|(?:[^\n\\]|\\\n)*)", text, re.M):
        listed = re.sub(r"#.*|[()\\\n]", " ", match[3])
        yield match[2], [name.split()[0] for name in listed.split(",") if name.strip()], line_of(match, text), not match[1]
    for match in re.finditer(r"^([ \t]*)c?import +([\w.]+)", text, re.M):
        yield match[2], [], line_of(match, text), not match[1]


def line_of(match, text):
    return text.count("\n", 0, match.start()) + 1


def read(packages):
    """The graph of some packages: module -> {imported module: "file:line" of the first such import}. Without edges to itself."""
    known = modules(packages)
    graph = {module: {} for module in sorted(known)}
    for package in packages:
        for path in files(package):
            module = name_of(path, package)
            for target, line, _ in imports(path, package, known):
                if target != module:
                    graph[module].setdefault(target, f"{path.relative_to(package.parent).as_posix()}:{line}")
    return graph


def cycles(graph):
    """The shortest cycle through each node that is on a cycle, each once: lists of nodes that begin and end with the same one."""
    found = set()
    for start in graph:
        path = way_back(graph, start)
        if path:
            first = path.index(min(path))
            found.add((*path[first:], *path[:first], path[first]))
    return sorted(found)


def way_back(graph, start):
    """The nodes of a shortest path from `start` to itself, without the last; empty if there is no path. Breadth-first."""
    before, queue = {}, deque([start])
    while queue:
        node = queue.popleft()
        if start in graph[node]:
            path = [node]
            while path[-1] != start:
                path.append(before[path[-1]])
            return path[::-1]
        for target in graph[node]:
            if target not in before and target != start:
                before[target] = node
                queue.append(target)
    return []
