"""The worst measured errors of each case: ``python -m tests.accuracy --table`` writes them to `table.json`.

    case    float32: ours, PyTorch's, of which quantity         float16: the same

Errors are in the units of measure.py: half a last digit of the number, plus the effect of the last digits of the inputs.
"""

import json
import math
from pathlib import Path

__all__ = ["FILE", "read", "rows", "worst", "write"]

FILE = Path(__file__).with_name("table.json")


def worst(findings):
    """dtype -> [our worst error, PyTorch's in the same quantity or None, the quantity]."""
    found = {}
    for finding in findings:
        if finding.ours > found.get(finding.dtype, [-1.0])[0]:
            found[finding.dtype] = [number(finding.ours), number(finding.torchs), finding.quantity]
    return found


def number(x):
    """A number with three digits; None if it was not measured."""
    return float(f"{x:.3g}") if math.isfinite(x) else None


def rows(table):
    """The table as JSON, a line for each case."""
    return "{\n" + ",\n".join([f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(table[name])}" for name in sorted(table)]) + "\n}\n"


def write(found, cases):
    """Write the worst errors of `found`, the findings of each case measured. The others of `cases` keep the line that they have."""
    table = {name: line for name, line in read().items() if name in cases and name not in found}
    FILE.write_text(rows({**table, **{name: worst(findings) for name, findings in found.items() if findings}}), "utf-8")


def read():
    """case -> dtype -> [ours, PyTorch's, quantity]"""
    return json.loads(FILE.read_text("utf-8"))
