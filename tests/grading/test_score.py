"""``python -m minigrad.grading score``: right parts pass, wrong ones fail where they should."""

import argparse
import inspect
import textwrap

import pytest

import minigrad as mg
from minigrad.grading import score, swap
from minigrad.grading.behaviours import BEHAVIOURS, each_node_once, latest_first, square
from tests.grading import parts_by_a_student
from tests.grading.parts_by_a_student import ENGINE, OTHERS


def test_forty_behaviours_or_more():
    assert len(BEHAVIOURS) >= 40 and len({each.name for each in BEHAVIOURS}) == len(BEHAVIOURS)
    assert {each.group for each in BEHAVIOURS} == {"values", "order", "hooks", "lifetime", "errors", "cost"}


@pytest.mark.parametrize("part", ENGINE)
def test_a_right_part_has_all_behaviours(part):
    swapped = swap(part, ENGINE[part])
    failed = {each.name: found for each in BEHAVIOURS if (found := score.check(each.program, swapped)) is not None}
    assert not failed
    assert swapped.calls


@pytest.mark.parametrize(("part", "function", "of"), OTHERS, ids=[part for part, *_ in OTHERS])
def test_a_right_part_of_an_op_or_class(part, function, of):
    swapped = swap(part, function, of=of)
    failed = {each.name for each in score.suite(part, of, 10) if score.check(each.program, swapped) is not None}
    # The step of plain SGD lacks the options.
    assert failed == ({name for name in failed if "(" in name and "lr" not in name and "SGD()" not in name}
                      if part == "optimizer_step" else set())


class Stack:
    """Depth first: the node that became ready last."""

    def __init__(self):
        self.nodes = []

    def push(self, node):
        self.nodes.append(node)

    def pop(self):
        return self.nodes.pop()


def depth_first(roots, grads, call, inputs=None):
    """Follow each path on its own."""
    stack = [(node, [grad if i == number else None for i in range(len(node._input_metadata))])
             for (node, number), grad in zip(roots, grads)]
    while stack:
        node, given = stack.pop()
        for (following, number), grad in zip(node.next_functions, call(node, *given)):
            if following is not None:
                stack.append((following, [grad if i == number else None for i in range(len(following._input_metadata))]))


@pytest.mark.parametrize(("part", "function", "program"), [
    ("ready_queue", Stack, latest_first), ("run_backward", depth_first, each_node_once),
    ("add_gradients", lambda old, new: new, square),
    ("count_dependencies", lambda root: dict.fromkeys(parts_by_a_student.count_dependencies(root), 1), square),
])
def test_a_wrong_part_fails(part, function, program):
    assert score.check(program, swap(part, function)) is not None


def test_an_endless_part_is_stopped():
    def endless(old, new):
        while True:
            pass
    assert "did not end within 0.2 s" in score.check(square, swap("add_gradients", endless), 0.2)
    assert score.check(square, swap("add_gradients", lambda old, new: old + new)) is None


def run(tmp_path, source, *arguments):
    """Run the command on a file with this source. Returns the exit status."""
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(source))
    parser = argparse.ArgumentParser()
    score.add_arguments(parser)
    return score.main(parser.parse_args([arguments[0], str(path), "--depth", "500", "--steps", "2", *arguments[1:]]))


def test_command_with_a_right_part(tmp_path, capsys):
    assert run(tmp_path, "import heapq\n" + inspect.getsource(parts_by_a_student.Queue), "ready_queue") == 0
    said = capsys.readouterr().out
    assert f"{len(BEHAVIOURS)} of {len(BEHAVIOURS)} behaviours passed" in said and "FAILED" not in said
    assert "500 nodes" in said and "times as long" in said


def test_command_with_a_wrong_part(tmp_path, capsys):
    page = tmp_path / "step.html"
    assert run(tmp_path, inspect.getsource(Stack), "ready_queue", "--html", str(page)) == 1
    said = capsys.readouterr().out
    assert "FAILED  order" in said and "The first failure" in said and "your ready queue chose it" in said
    assert "docs/tutorials/02_the_engine" in said
    assert "<" in page.read_text("utf-8")


def test_command_with_an_op(tmp_path, capsys):
    assert run(tmp_path, "def vjp(node, grad):\n    return -grad\n", "vjp", "--of", "neg") == 0
    assert run(tmp_path, "def vjp(node, grad):\n    return grad\n", "vjp", "--of", "neg") == 1
    assert run(tmp_path, "def update(param, grad, group, state):\n    pass\n", "optimizer_step", "--of", "SGD") == 1
    assert run(tmp_path, "def forward(self, x):\n    return x.relu()\n", "layer", "--of", "ReLU") == 0
    capsys.readouterr()


@pytest.mark.parametrize(("source", "arguments", "words"), [
    ("def f(:", ("ready_queue",), "does not import: SyntaxError"), ("1 / 0", ("ready_queue",), "ZeroDivisionError: division by zero (line 1)"),
    ("", ("ready_queue",), "has no ready_queue; expected class Queue"), ("class A: pass\nclass B: pass", ("ready_queue",), "choose one with --name"),
    ("class A: pass", ("ready_queue", "--name", "C"), "has no C"), ("def f(): pass", ("vjp",), "needs --of"),
    ("def f(): pass", ("vjp", "--of", "nothing"), "no op 'nothing'"), ("def f(): pass", ("layer", "--of", "nothing"), "no minigrad.nn.nothing"),
    ("def f(): pass", ("layer", "--of", "LSTM"), "no samples for LSTM"), ("def f(): pass", ("kernel", "--of", "where"), "no samples"),
    ("import sys; sys.exit(3)", ("ready_queue",), "SystemExit"),
])
def test_a_file_that_cannot_be_scored(tmp_path, capsys, source, arguments, words):
    if arguments[-1] == "where" and len(mg.ops.REGISTRY["where"].params) <= 3:
        pytest.skip("where has samples")
    assert run(tmp_path, source, *arguments) == 2
    assert words in capsys.readouterr().err


def test_a_missing_file(tmp_path):
    with pytest.raises(score.Unusable, match="there is no file"):
        score.load(tmp_path / "none.py", "ready_queue")
