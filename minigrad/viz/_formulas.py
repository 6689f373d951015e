"""The formula of a node, with its numbers: what `compute` has computed, as you can check it on paper.

    class Sin:                              z = sin x
        def vjp_x(g, x):                    dx = g cos(x) = 1 · cos(6) = 0.9602
            return g * conj(cos(x))

The formula is read from the source of the op's rule: from the returned expression or, if that calls other functions than those in
`FUNCTIONS`, from the comment beside the ``def``. We write real numbers, so ``conj`` is left out. The numbers are in the record: the
incoming gradient, the saved values, the result. A formula has numbers only if all of them are single numbers.

Read next: ``_step_builder.py``, which collects the saved values.
"""

import ast
import functools
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from minigrad._debug.events import format_numbers
from minigrad.ops import REGISTRY
from minigrad.utils.source import source_of

__all__ = ["explain"]

FUNCTIONS = {"cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh"}
LONGEST = 40        # the largest number of letters of a formula
SIGNS = {ast.Mult: " ", ast.Div: " / ", ast.Add: " + ", ast.Sub: " - ", ast.Pow: "^"}
RANK = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.Pow: 4}
LETTER = re.compile(r"(?<![a-z])[a-z](?![a-z])")


def explain(op: str, saved: Mapping[str, Any], gradients: list[Any], results: list[Any]) -> str:
    """The derivatives of a node with their numbers, such as ``z = x y: dx = g y = 1 · 4 = 4; dy = g x = 1 · 3 = 3``.

    Args:
        op (str): the name of the node.
        saved (dict): PyTorch's name of each saved value -> its summary.
        gradients, results (list): the summaries in an event `compute`.

    Returns:
        str: empty if the op has no formula that can be shown.
    """
    head, rules, names = formulas(op)
    numbers = {letter: number(saved.get(name)) for letter, name in names.items()}
    numbers["g"] = number(gradients[0]) if len(gradients) == 1 else None
    parts = []
    for (letter, formula), result in zip(rules, results):
        if result is not None and formula:
            parts.append(" = ".join([f"d{letter}", *steps(formula, numbers, number(result))]))
    return f"{head}{'; '.join(parts)}" if parts else ""


def steps(formula, numbers, result):
    """The formula, the formula with numbers, and the result; the formula alone if the result is not a number."""
    if result is None:
        return [formula]
    if any(numbers.get(letter) is None for letter in LETTER.findall(formula)):
        return [formula, result]
    inside = LETTER.sub(lambda found: f"({numbers[found[0]]})" if numbers[found[0]][0] == "-" else numbers[found[0]], formula)
    inside = re.sub(r"(?<=[\w.)²³]) (?=[\w(])", " · ", inside)
    return [formula, result] if formula in ("g", "-g") else [formula, inside, result]


def number(summary):
    """A summary of a single number as text; None for others."""
    found = (summary or {}).get("numbers")
    while isinstance(found, list) and len(found) == 1:
        found = found[0]
    return format_numbers(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


@functools.cache
def formulas(op):
    """For the name of a node: what the op computes, a pair (letter, formula) for each edge, and PyTorch's names of the letters."""
    found = [known for known in REGISTRY.values() if known.node_name == op]
    if len(found) != 1 or found[0].joint is not None:
        return "", [], {}
    rule = found[0].rule
    letters = [letter for letter in getattr(rule, "params", ()) if hasattr(rule, f"vjp_{letter}")]
    head = (rule.__doc__ or "").partition("\n")[0].removesuffix(", x in radians").removesuffix(".")
    return (f"{head}: " if head.startswith("z = ") and len(head) <= LONGEST else "",
            [(letter, formula_of(rule, letter)) for letter in letters], dict(rule.torch_names))


def formula_of(rule, letter):
    """The formula of the derivative with respect to an input; empty if it cannot be shown."""
    try:
        text = source_of(rule.__module__.partition(".")[2].replace(".", "/") + ".py", f"{rule.__name__}.vjp_{letter}").text
    except (FileNotFoundError, KeyError):
        return ""
    body: Any = ast.parse(text).body[0]
    returned = body.body[-1]
    try:
        found = written(returned.value)[0] if len(body.body) == 1 and isinstance(returned, ast.Return) else ""
    except LookupError:
        found = ""
    said = re.search(rf"# d{letter} = (.*)", text.partition("\n")[0])
    if not found and said is not None:
        plain = unicodedata.normalize("NFC", unicodedata.normalize("NFD", said[1]).replace("\u0304", ""))
        found = re.split(r"[,:]", plain)[0]
    return found if len(found) <= LONGEST else ""


def written(node):
    """An expression as text, and the rank of its outermost operator. Raises LookupError for what has no short form."""
    if isinstance(node, ast.Name):
        if len(node.id) == 1:
            return node.id, 5
        raise LookupError
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return f"{node.value:g}", 5
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{within(node.operand, 2)}", 2
    if isinstance(node, ast.BinOp):
        rank = RANK[type(node.op)]
        right = within(node.right, rank + (not isinstance(node.op, (ast.Add, ast.Mult))))
        right = f"({right})" if right.startswith("-") else right
        return f"{within(node.left, rank)}{SIGNS[type(node.op)]}{right}", rank
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        if node.func.id == "conj":
            return written(node.args[0])
        if node.func.id in FUNCTIONS:
            return f"{node.func.id}({written(node.args[0])[0]})", 5
    raise LookupError


def within(node, rank):
    """An operand as text, in parentheses if its operator binds less than `rank`."""
    text, own = written(node)
    return text if own >= rank else f"({text})"
