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


def rows(found):
    """The table as JSON, a line for each case; `found` has the findings of each."""
    lines = [f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(worst(findings))}" for name, findings in sorted(found.items()) if findings]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(found):
    FILE.write_text(rows(found), "utf-8")


def read():
    """case -> dtype -> [ours, PyTorch's, quantity]"""
    return json.loads(FILE.read_text("utf-8"))
