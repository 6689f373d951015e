"""source_of: the same lines in both modes, interpreted and compiled."""

import ast

import pytest

import minigrad as mg
from minigrad.utils.source import source_of


def test_a_method():
    lines = source_of("_core/graph/node.py", "Node.input_number")
    assert lines.path == "minigrad/_core/graph/node.py"
    assert lines.text.startswith("def input_number(self, edge):\n    if type(self.next_rest)")
    assert repr(lines) == f"# minigrad/_core/graph/node.py, line {lines.line}\n{lines.text}"
    with open(mg.__file__.replace("__init__.py", "_core/graph/node.py"), encoding="utf-8") as file:
        assert file.read().splitlines()[lines.line - 1].strip() == "def input_number(self, edge):"


def test_a_class_with_its_decorators():
    lines = source_of("ops/elementwise/arithmetic.py", "Mul")
    assert lines.text.startswith('@op("mul")\nclass Mul(Elementwise):')
    ast.parse(lines.text)


def test_a_decorated_method():
    assert source_of("_core/graph/node.py", "Node.next_functions").text.startswith("@property\ndef next_functions(self):")


def test_a_whole_file():
    lines = source_of("_version.py")
    assert lines.line == 1 and mg.__version__ in lines.text


def test_in_a_notebook():
    lines = source_of("_core/engine/ready_queue.py", "push_ready")
    assert lines._repr_markdown_() == f"*`minigrad/_core/engine/ready_queue.py`, line {lines.line}*\n\n```python\n{lines.text}\n```"


@pytest.mark.parametrize("name", ["nothing", "Node.nothing", "Node.compute.nothing", "LAST"])
def test_no_such_name(name):
    with pytest.raises(KeyError, match=f"minigrad/_core/graph/node.py defines no {name}"):
        source_of("_core/graph/node.py", name)


def test_no_such_file():
    with pytest.raises(FileNotFoundError):
        source_of("_core/nothing.py", "x")
