"""Read the source of minigrad. The tutorials use it to show the code that they explain.

    mg.utils.source.source_of("_core/graph/node.py", "Node.connect")

A notebook shows the lines in colour. `inspect.getsource` does the same for interpreted code, but not for compiled code. PyTorch has
no such function.
"""

from typing import Any

__all__ = ["Source", "source_of"]

# These decorators only set checks of compiled code. They are above all others, and `source_of` leaves them out.
CHECKS = ("cython.binding(", "cython.nonecheck(")


class Source:
    """Lines of a file, from `source_of`: their ``text``, the ``path``, and the number of the first ``line``.

    >>> lines = mg.utils.source.source_of("_version.py")
    >>> lines.path, lines.line
    ('minigrad/_version.py', 1)
    """

    def __init__(self, path, line, text):
        self.path, self.line, self.text = path, line, text

    def __repr__(self):
        return f"# {self.path}, line {self.line}\n{self.text}"

    def _repr_markdown_(self):
        return f"*`{self.path}`, line {self.line}*\n\n```python\n{self.text}\n```"


def source_of(path, name=None):
    """Return the source of a function, class or file of minigrad.

    Args:
        path (str): the file, relative to the package: ``"_core/graph/node.py"``.
        name (str, optional): a function, class or method in the file: ``"Node.connect"``. The default is the whole file.

    Returns:
        Source: printed as the lines, below the path and the number of the first line.

    Raises:
        FileNotFoundError: minigrad has no such file.
        KeyError: the file has no function or class with this name.

    >>> mg.utils.source.source_of("_core/graph/node.py", "Node.input_number")
    # minigrad/_core/graph/node.py, line ...
    def input_number(self, edge):
        if type(self.next_rest) is not tuple:
            return 0
        rest: tuple = self.next_rest
        return rest[self.edges - 1 + edge] if len(rest) >= self.edges else 0
    """
    import ast
    import textwrap
    from pathlib import Path

    from minigrad._arguments import instance
    file = Path(__file__).parents[1] / instance(path, str, "path", "source_of")
    if not file.is_file():
        raise FileNotFoundError(f"minigrad has no file {path!r}")
    text = file.read_text("utf-8")
    where = f"minigrad/{path}"
    if name is None:
        return Source(where, 1, text.rstrip())
    node: Any = ast.parse(text)
    for part in name.split("."):
        found = [item for item in node.body if isinstance(item, (ast.FunctionDef, ast.ClassDef)) and item.name == part]
        if not found:
            raise KeyError(f"{where} defines no {name}")
        node = found[0]
    first = min([node.lineno, *[item.lineno for item in node.decorator_list if not ast.unparse(item).startswith(CHECKS)]])
    lines = text.splitlines()[first - 1:node.end_lineno]
    return Source(where, first, textwrap.dedent("\n".join(lines)))
