"""The table of all ops: ``python -m tools.op_table [--markdown | --kernels | --json]``.

    op   forward            vjp    jvp      double backward  in place  CPU kernels  CUDA  dtypes
    mul  z = x y            x, y   derived  yes              mul_      mul (C)      yes   all
    cat  z = the tensors …  xs     written  linear           -         cat          yes   all

The table has a row for each op of the registry. Its cells come from the rules and from a run of the test cases (``op_facts.py``);
nothing is written by hand.

    double backward   yes        the vjp depends on the operands; its derivative is checked by gradgradcheck
                      linear     the vjp does not depend on them: its derivative is the op again
                      in formulas   only the vjps of other ops use the op; gradgradcheck of those ops checks its vjp
    CPU kernels       the kernels of ``kernels/contract.py`` that the op may call. (C) marks those with a C loop; the others
                      use NumPy. A device has an op if it has its kernels (``--kernels`` lists each kernel with its ops).
    CUDA              whether a GPU has these kernels, or which are missing: there the op raises NotImplementedError
    dtypes            the dtypes that the op has run with on the CPU
    float32, float16  the worst error of values and derivatives on long axes, and PyTorch's error at the same place. The unit is
                      half a last digit plus the effect of the last digits of the inputs (tests/accuracy). The error comes from
                      the cases that use the op and the fewest other ops

The documentation has the table in Markdown (MyST).
"""

import argparse
import json
import sys

from minigrad.kernels.contract import CONTRACT
from tools.op_facts import DTYPES, facts, in_c, kernels_named, on_cuda, our_ops

__all__ = ["COLUMNS", "coverage", "every_case", "main", "markdown", "rows"]

COLUMNS = ("op", "forward", "vjp", "jvp", "double backward", "in place", "CPU kernels", "CUDA", "dtypes", "float32", "float16")
GROUPS = {"bool": ("bool",), "int": ("uint8", "int8", "int16", "int32", "int64"), "float": ("float16", "float32", "float64"),
          "complex": ("complex64", "complex128")}


def every_case():
    """All cases of the tests, including the table of in-place methods."""
    from tests.core import test_inplace_table as table
    from tests.ops import cases

    def run(m, x, y, name):
        return table.CASES[name](m, getattr(x * 1, name.split()[0]), y)

    in_place = [cases.Case(name, lambda m, x, y, name=name: run(m, x, y, name), ((2, 3), (2, 3)), "positive", derivative=False)
                for name in table.CASES]
    return [*cases.CASES, *cases.COMPLEX, *cases.PLAIN, *cases.OURS, *in_place]


def rows(found=None):
    """The rows of the table: for each op a dict column -> text."""
    found = found or facts(every_case())
    lacking = coverage(on_cuda())
    errors = accuracy(found)
    return [{"op": fact.name, "forward": fact.formula, "vjp": ", ".join(fact.vjp) or "none", "jvp": fact.jvp,
             "double backward": fact.double, "in place": ", ".join(sorted(fact.in_place)) or "-",
             "CPU kernels": ", ".join(f"{k} (C)" if k in in_c() else k for k in sorted(fact.kernels)) or "-",
             "CUDA": "no: " + ", ".join(sorted(lacking[fact.name])) if lacking[fact.name] else "yes",
             "dtypes": dtypes(fact.dtypes), **errors[fact.name]} for fact in found.values()]


def accuracy(found):
    """The worst error and PyTorch's error as text: op name -> dtype -> text."""
    from tests.accuracy import table
    measured, others = table.read(), {}
    for fact in found.values():
        for case in fact.cases[0]:
            others[case] = others.get(case, 0) + 1
    texts = {}
    for fact in found.values():
        cases = (fact.cases[0] & measured.keys() or fact.cases[1] & measured.keys()) if fact.vjp else set()
        fewest = min([others.get(case, 0) for case in cases], default=0)
        cases = [measured[case] for case in cases if others.get(case, 0) == fewest]
        texts[fact.name] = {dtype: shown([case[dtype] for case in cases if dtype in case]) for dtype in ("float32", "float16")}
    return texts


def shown(errors):
    """The largest of some errors (ours, PyTorch's, quantity), with PyTorch's error beside it. Their order does not matter."""
    if not errors:
        return "-"
    ours, torchs, _ = max(errors, key=lambda error: (error[0], error[1] or 0.0))
    return f"{ours:g}" if torchs is None else f"{ours:g} ({torchs:g})"


def dtypes(names):
    """Dtypes as short text: the name of a kind if all its dtypes are there."""
    if set(DTYPES) <= set(names):
        return "all"
    parts = []
    for group, members in GROUPS.items():
        there = [name for name in members if name in names]
        parts += [group] if len(there) == len(members) else there
    return ", ".join(parts)


def coverage(available=frozenset(CONTRACT)):
    """The kernels of each op that are not in `available`: a device has the op if there are none."""
    return {name: kernels_named(op) - set(available) for name, op in our_ops().items()}


def used_by(found):
    """The ops whose forward may call each kernel: kernel name -> names of ops."""
    return {kernel: [fact.name for fact in found.values() if kernel in fact.kernels] for kernel in CONTRACT}


def markdown(table):
    """The table in Markdown."""
    def cells(texts):
        return "| " + " | ".join(text.replace("|", r"\|") for text in texts) + " |"

    lines = [cells(COLUMNS), cells(["---"] * len(COLUMNS))]
    lines += [cells([f"`{row['op']}`", *[row[column] for column in COLUMNS[1:]]]) for row in table]
    return "\n".join(lines) + "\n"


def print_table(columns, table, title):
    """Print a table in the terminal."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(*columns, title=title, row_styles=("", "dim"))
    for row in table:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200, markup=False).print(shown)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.op_table", description="The table of all ops.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for the documentation")
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--kernels", action="store_true", help="for writing a device: each kernel, and the ops that call it")
    chosen = parser.parse_args(arguments)
    found = facts(every_case())
    if chosen.kernels:
        print_table(("kernel", "arguments", "C", "CUDA", "ops"),
                    [(k, CONTRACT[k].arguments, "C" if k in in_c() else "", "CUDA" if k in on_cuda() else "", ", ".join(ops) or "-")
                     for k, ops in used_by(found).items()], f"{len(CONTRACT)} kernels")
        return
    table = rows(found)
    if chosen.json:
        print(json.dumps(table, indent=1, ensure_ascii=False))
    elif chosen.markdown:
        print(markdown(table), end="")
    else:
        print_table(COLUMNS, [[row[column] for column in COLUMNS] for row in table], f"{len(table)} ops")


if __name__ == "__main__":
    main()
