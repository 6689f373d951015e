"""What minigrad does otherwise than PyTorch 2.13 on purpose, as tables on the page of the map: all of it is read off the tests.

    @pytest.mark.differs(what=..., there=..., here=...)     on a test   ->  a row of the first tables: `decided`
    dicts of exceptions with their reasons, in `EXCEPTIONS`             ->  a row per reason of the others: `allowed`

The tests are parsed and not imported, since many of them need PyTorch, which no build of the site has. So the fields of a marker
are plain strings, and a dict of exceptions uses literals, comprehensions and ``dict.fromkeys`` alone.
"""

import ast
import re
from typing import Any, NamedTuple

from tools.docs.stage import ROOT

__all__ = ["AREAS", "EXCEPTIONS", "FIELDS", "Allowed", "Difference", "allowed", "area", "decided", "differences", "table"]

TESTS = ROOT / "tests"
FIELDS = ("what", "there", "here")

# Headings, and how the paths of the tests below them begin. The first that fits counts.
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
    "The backward of a pipeline": ("distributed/",),
    "Ops": ("ops/", "parity/"),
    "Modules and optimisers": ("nn/", "optim/"),
}


class Difference(NamedTuple):
    """A marked test: its file, its name, and what the marker says."""

    file: str
    test: str
    what: str
    there: str
    here: str


class Allowed(NamedTuple):
    """Differences that a comparison with PyTorch allows for one reason: what differs, why, and of which ops, nodes or messages."""

    kind: str
    why: str
    names: tuple


# ---- markers ---------------------------------------------------------------------------------------------


def decided():
    """All marked tests, in the order of the headings, and of the files and lines below them."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "mark.differs" in text:
            found += marked(path.relative_to(ROOT).as_posix(), ast.parse(text))
    order = list(AREAS)
    return sorted(found, key=lambda row: order.index(area(row.file)))


def marked(file, tree):
    """The differences in one file."""
    for test in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for mark in test.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.differs":
                fields = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in mark.keywords}
                if mark.args or sorted(fields) != sorted(FIELDS):
                    raise SystemExit(f"{file}, {test.name}: pytest.mark.differs has the fields {', '.join(FIELDS)}")
                yield Difference(file, test.name, **fields)


def area(file):
    """The heading for a test."""
    inside = file.removeprefix("tests/")
    for title, beginnings in AREAS.items():
        if inside.startswith(beginnings):
            return title
    raise SystemExit(f"{file}: tools/docs/differences.py has no heading for its differences")


# ---- exceptions of the comparisons -----------------------------------------------------------------------

KINDS = {"accepted": "only PyTorch refuses it", "refused": "only minigrad refuses it", "values": "other numbers",
         "class": "another error", "call": "depends on the call"}


def by_reason(table):
    """reason -> names, as it stands."""
    return [("", why, tuple([name(n) for n in ([names] if isinstance(names, str) else names)])) for why, names in table.items()]


def by_name(table):
    """name -> reason. The name may be (kind, name)."""
    return [(KINDS[key[0]], why, (key[1],)) if isinstance(key, tuple) else ("", why, (key,)) for key, why in table.items()]


def errors(table):
    """name -> reason, where both refuse."""
    return [(KINDS["class"], why, (key,)) for key, why in table.items()]


def messages(table):
    """(what is in the line, what is in the message, reason). A reason that begins with "and" goes on from the one before."""
    found: list[tuple[str, str, tuple]] = []
    for line, words, why in table:
        words = f"{line}: {words}" if line else words
        if found and why.startswith("and "):
            found[-1] = ("", f"{found[-1][1]} {why}", (*found[-1][2], words))
        else:
            found.append(("", why, (words,)))
    return found


def name(thing):
    """A name, or several that belong together."""
    return thing if isinstance(thing, str) else " ".join([name(part) for part in thing])


# Heading -> (file, name of the dict, or its beginning and a *, how it is read); a function has its reasons in `return`.
EXCEPTIONS = {
    "Random arguments": [
        ("parity/odd_arguments.py", "DIFFERENT", by_name), ("parity/odd_arguments.py", "CLASSES", errors),
        ("parity/odd_arguments.py", "excused", None), ("ops/test_bad_input.py", "excused", None)],
    "Random programs": [("parity/programs.py", "BETTER", messages)],
    "Gradients and tangents": [("parity/test_gradients_kept.py", "BETTER", by_name), ("ops/test_jvp.py", "NOT_TORCHS", by_name)],
    "Graphs": [("parity/test_graphs.py", "OTHER_*", by_reason)],
}


def allowed(heading):
    """The exceptions below a heading, those of one kind and reason in one row."""
    rows: dict[tuple, list] = {}
    for file, wanted, read in EXCEPTIONS[heading]:
        for kind, why, names in exceptions(file, wanted, read):
            held = rows.setdefault((kind, why), [])
            held += [n for n in names if n not in held]
    order = ["", *KINDS.values()]
    return sorted([Allowed(kind, why, tuple(names)) for (kind, why), names in rows.items()], key=lambda row: order.index(row.kind))


def exceptions(file, wanted, read):
    """(kind, reason, names) of each exception in one dict, or of each reason that a function returns."""
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
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted


def evaluated(node):
    """The value of an expression that names nothing but `dict`."""
    return eval(compile(ast.Expression(node), "exceptions", "eval"), {"__builtins__": {}, "dict": dict})


# ---- the page --------------------------------------------------------------------------------------------


def cell(text):
    return text.replace("|", r"\|").replace("\n", " ")


def reason(text):
    """A reason as it is shown: without what Markdown would read as its own."""
    return re.sub(r"([*_<\[])", r"\\\1", cell(re.sub(r"\btorch\b", "PyTorch", text)))


def listed(names, most=8):
    """The first of some names, and how many there are besides."""
    shown = ", ".join([f"`{cell(n)}`" for n in names[:most]])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def grid(heads, rows):
    """A table in Markdown."""
    return "\n".join([f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)])


def differences():
    """The tables of what was decided, test by test."""
    rows, text = decided(), []
    for title in AREAS:
        cells = [(cell(row.what), cell(row.there), cell(row.here), f"`{row.file.removeprefix('tests/')}` `{row.test}`")
                 for row in rows if area(row.file) == title]
        table = grid(("what is called", "PyTorch 2.13", "minigrad, and why", "test"), cells)
        text.append(f"### {title}\n\n:::{{div}} differences\n\n{table}\n\n:::\n")
    return "\n".join(text)


def comparisons():
    """The tables of exceptions, folded."""
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
    """Both, for docs/map.md to include."""
    rows = decided()
    return f"""There are {len(rows)} of them, in {len({row.file for row in rows})} files of tests.

{differences()}
### What the comparisons allow

Some tests compare the two libraries on cases that nobody has chosen: random arguments, random programs, the graph of each op.
There a difference needs a reason, which stands in the test. *Where* names ops, nodes, or words of a message.

{comparisons()}"""
