"""The deliberate differences from PyTorch 2.13, as tables on the map to PyTorch. All of them are read from the tests.

    @pytest.mark.differs(what=..., there=..., here=...)     on a test   ->  a row of the first tables: `decided`
    dicts of exceptions with their reasons, in `EXCEPTIONS`             ->  a row for each reason in the other tables: `allowed`

The tests are parsed and not imported, since many of them need PyTorch, and a build of the site has no PyTorch. So the fields of a
marker are plain strings, and a dict of exceptions uses only literals, comprehensions and ``dict.fromkeys``.
"""

import ast
import re
from typing import Any, NamedTuple

from tools.docs.paths import ROOT

__all__ = ["AREAS", "EXCEPTIONS", "FIELDS", "Allowed", "Difference", "allowed", "area", "decided", "differences", "table"]

TESTS = ROOT / "tests"
FIELDS = ("what", "there", "here")

# Heading -> how the paths of its tests begin. The first heading that fits counts.
AREAS = {
    "Backward and gradient edges": ("core/test_engine_arguments", "core/test_engine_edges", "core/test_engine_order",
                                    "core/test_engine_reentrant", "core/test_engine_stress", "core/test_engine_logging",
                                    "core/test_engine_memory", "core/test_engine_modes"),
    "Hooks and saved tensors": ("core/test_engine_", "core/test_allow_mutation"),
    "Views and writes in place": ("core/test_views", "core/test_inplace", "core/test_out", "core/test_changed_leaves",
                                  "core/test_versions", "test_indexing"),
    "Grad modes and inference mode": ("core/test_inference", "test_grad_mode", "autograd/test_switches"),
    "Forward mode and `func`": ("core/test_forward", "func/"),
    "Functions of your own": ("core/test_function",),
    "Operators of your own": ("library/",),
    "Checkpoints, dispatch modes, comparisons": ("utils/", "testing/"),
    "Jacobians and `gradcheck`": ("autograd/",),
    "Several ranks and pipelines": ("distributed/",),
    "Distributions": ("distributions/", "parity/test_distributions"),
    "bfloat16 and autocast": ("test_bfloat16", "test_surroundings", "parity/test_autocast"),
    "Ops": ("ops/", "parity/"),
    "Modules and optimisers": ("nn/", "optim/"),
}


class Difference(NamedTuple):
    """A marked test: its file, its name, and the fields of the marker."""

    file: str
    test: str
    what: str
    there: str
    here: str


class Allowed(NamedTuple):
    """Differences that a comparison with PyTorch allows for one reason: the kind, the reason, and the ops, nodes or messages."""

    kind: str
    why: str
    names: tuple


# ---- markers ---------------------------------------------------------------------------------------------


def decided():
    """All marked tests, ordered by heading, then by file and line."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "mark.differs" in text:
            found += marked(path.relative_to(ROOT).as_posix(), ast.parse(text))
    order = list(AREAS)
    return sorted(found, key=lambda row: order.index(area(row.file)))


def marked(file, tree):
    """The differences that the markers in one file declare."""
    for test in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for mark in test.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.differs":
                fields = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in mark.keywords}
                if mark.args or sorted(fields) != sorted(FIELDS):
                    raise SystemExit(f"{file}, {test.name}: pytest.mark.differs has the fields {', '.join(FIELDS)}")
                yield Difference(file, test.name, **fields)


def area(file):
    """The heading under which the differences of a test file appear."""
    inside = file.removeprefix("tests/")
    for title, beginnings in AREAS.items():
        if inside.startswith(beginnings):
            return title
    raise SystemExit(f"{file}: tools/docs/differences.py has no heading for its differences")


# ---- exceptions of the comparisons -----------------------------------------------------------------------

KINDS = {"accepted": "only PyTorch refuses it", "refused": "only minigrad refuses it", "values": "other numbers",
         "class": "another error", "call": "depends on the call"}


def by_reason(table):
    """Rows of a dict reason -> names."""
    return [("", why, tuple([name(n) for n in ([names] if isinstance(names, str) else names)])) for why, names in table.items()]


def by_name(table):
    """Rows of a dict name -> reason. A key may be (kind, name)."""
    return [(KINDS[key[0]], why, (key[1],)) if isinstance(key, tuple) else ("", why, (key,)) for key, why in table.items()]


def errors(table):
    """Rows of a dict name -> reason, for calls that both libraries refuse."""
    return [(KINDS["class"], why, (key,)) for key, why in table.items()]


def messages(table):
    """Rows of a list of (part of the line, part of the message, reason).

    A reason that begins with "and" continues the previous one.
    """
    found: list[tuple[str, str, tuple]] = []
    for line, words, why in table:
        words = f"{line}: {words}" if line else words
        if found and why.startswith("and "):
            found[-1] = ("", f"{found[-1][1]} {why}", (*found[-1][2], words))
        else:
            found.append(("", why, (words,)))
    return found


def name(thing):
    """The text of a name, or of a tuple of names that belong together."""
    return thing if isinstance(thing, str) else " ".join([name(part) for part in thing])


# Heading -> [(file, name of the dict or its beginning and a *, function that reads it)]. None: the name of a function whose
# `return` statements have the reasons.
EXCEPTIONS = {
    "Random arguments": [
        ("parity/odd_arguments.py", "DIFFERENT", by_name), ("parity/odd_arguments.py", "CLASSES", errors),
        ("parity/odd_arguments.py", "excused", None), ("ops/test_bad_input.py", "excused", None)],
    "Random programs": [("parity/programs.py", "BETTER", messages)],
    "Gradients and tangents": [("parity/test_gradients_kept.py", "BETTER", by_name), ("ops/test_jvp.py", "NOT_TORCHS", by_name)],
    "Graphs": [("parity/test_graphs.py", "OTHER_*", by_reason)],
}


def allowed(heading):
    """The exceptions below a heading, one row for each kind and reason."""
    rows: dict[tuple, list] = {}
    for file, wanted, read in EXCEPTIONS[heading]:
        for kind, why, names in exceptions(file, wanted, read):
            held = rows.setdefault((kind, why), [])
            held += [n for n in names if n not in held]
    order = ["", *KINDS.values()]
    return sorted([Allowed(kind, why, tuple(names)) for (kind, why), names in rows.items()], key=lambda row: order.index(row.kind))


def exceptions(file, wanted, read):
    """(kind, reason, names) for each exception in one dict, or for each reason that a function returns."""
    body = ast.parse((TESTS / file).read_text("utf-8")).body
    if read is None:
        functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == wanted]
        assert functions, f"tests/{file} has no function {wanted}"
        return [(KINDS["call"], node.value.value, ()) for node in ast.walk(functions[0]) if isinstance(node, ast.Return)
                and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]
    tables: list[Any] = [node for node in body if isinstance(node, ast.Assign) and fits(ast.unparse(node.targets[0]), wanted)]
    assert tables, f"tests/{file} has no {wanted}"
    return [row for node in tables for row in read(evaluated(node.value))]


def fits(found, wanted):
    """Whether `found` is the name `wanted`, or begins like it if it ends in ``*``."""
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted


def evaluated(node):
    """The value of an expression whose only name is `dict`."""
    return eval(compile(ast.Expression(node), "exceptions", "eval"), {"__builtins__": {}, "dict": dict})


# ---- the page --------------------------------------------------------------------------------------------


def cell(text):
    """Text as a cell of a Markdown table."""
    return text.replace("|", r"\|").replace("\n", " ")


def reason(text):
    """A reason as a cell of a table, with the signs of Markdown escaped."""
    return re.sub(r"([*_<\[])", r"\\\1", cell(re.sub(r"\btorch\b", "PyTorch", text)))


def listed(names, most=8):
    """The first names as text, and how many more there are."""
    shown = ", ".join([f"`{cell(n)}`" for n in names[:most]])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def grid(heads, rows):
    """A table in Markdown."""
    return "\n".join([f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)])


def differences():
    """The tables of the decided differences, one row for each test."""
    rows, text = decided(), []
    for title in AREAS:
        cells = [(cell(row.what), cell(row.there), cell(row.here), f"`{row.file.removeprefix('tests/')}` `{row.test}`")
                 for row in rows if area(row.file) == title]
        table = grid(("what is called", "PyTorch 2.13", "minigrad, and why", "test"), cells)
        text.append(f"### {title}\n\n:::{{div}} differences\n\n{table}\n\n:::\n")
    return "\n".join(text)


def comparisons():
    """The tables of exceptions, each in a dropdown."""
    text = []
    for heading, sources in EXCEPTIONS.items():
        rows = allowed(heading)
        files = ", ".join(sorted({f"`tests/{file}`" for file, _, _ in sources}))
        cells = [(row.kind, reason(row.why), listed(row.names) or "see the test") for row in rows]
        heads = ("what differs", "why", "where")
        if not any(row.kind for row in rows):
            heads, cells = heads[1:], [row[1:] for row in cells]
        text.append(f":::{{dropdown}} {heading}: {len(rows)} reasons\nFrom {files}.\n\n{grid(heads, cells)}\n:::\n")
    return "\n".join(text)


def table():
    """All tables: docs/map.md includes them."""
    rows = decided()
    return f"""There are {len(rows)} of them, in {len({row.file for row in rows})} files of tests.

{differences()}
### What the comparisons allow

Some tests compare the two libraries on cases that are not chosen by hand: random arguments, random programs, the graph of each op.
There each difference needs a reason, which is written in the test. *Where* names ops, nodes, or words of a message.

{comparisons()}"""
