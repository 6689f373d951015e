"""Run one program on minigrad and on PyTorch, from the same random numbers, and compare the losses of its backwards.

Each run is a process of its own. Both libraries draw the same numbers for a seed, so the first loss that differs by more than
rounding shows where the two part.
"""

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

__all__ = ["Comparison", "compare", "first_difference"]


class Comparison(NamedTuple):
    """The losses of both runs, and their exit status."""

    minigrad: list
    torch: list
    status: tuple


def compare(script, args):
    """Run the script on both libraries.

    Raises:
        ModuleNotFoundError: PyTorch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError("--compare needs PyTorch to compare with: pip install torch", name="torch")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for library in ("minigrad", "torch"):
            path = Path(folder) / f"{library}.json"
            command = [sys.executable, "-m", "minigrad.run", "--library", library, "--losses", str(path), str(script), *args]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            found.append((json.loads(path.read_text()) if path.exists() else [], done.returncode))
    (ours, our_status), (theirs, their_status) = found
    return Comparison(ours, theirs, (our_status, their_status))


def first_difference(ours, theirs, rtol=1e-4):
    """The number of the first loss, from 0, that differs by more than `rtol` of its size; None if all agree."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a is None or b is None:
            if a is not b:
                return i
        elif not (a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= rtol * max(abs(a), abs(b))):
            return i
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def report(found, rtol):
    """Lines that say how far the two runs agree."""
    lines = [f"backwards: {len(found.minigrad)} on minigrad, {len(found.torch)} on PyTorch"]
    for name, status in zip(("minigrad", "PyTorch"), found.status):
        if status:
            lines.append(f"the run on {name} ended with exit status {status}")
    at = first_difference(found.minigrad, found.torch, rtol)
    if at is None:
        lines.append(f"all losses agree to {rtol:g}" if found.minigrad else "no loss to compare: the program runs no backward")
        return lines
    lines.append(f"the first loss that differs by more than {rtol:g} is that of backward {at + 1}:")
    lines.append(f"{'backward':>10}  {'minigrad':>16}  {'PyTorch':>16}  {'difference':>10}")
    for i in range(max(0, at - 3), at + 3):
        a, b = [values[i] if i < len(values) else None for values in (found.minigrad, found.torch)]
        if a is None and b is None:
            continue
        gap = f"{abs(a - b) / max(abs(a), abs(b), 1e-300):.1e}" if a is not None and b is not None else ""
        lines.append(f"{i + 1:>10}  {'-' if a is None else f'{a:.9g}':>16}  {'-' if b is None else f'{b:.9g}':>16}  {gap:>10}"
                     + ("   <- first" if i == at else ""))
    return lines
