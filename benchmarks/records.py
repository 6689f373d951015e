"""The files of ``results/`` that the documentation draws: JSON with the measurements, and where and when they were made.

``growth.py`` and ``rivals.py`` write them, ``tools/docs/measurements.py`` reads them.
"""

import datetime
import importlib
import json
import os
import platform
import re
import shlex
import sys
from pathlib import Path

__all__ = ["RESULTS", "command", "describe", "load", "machine", "one_core", "quartiles", "save"]

RESULTS = Path(__file__).parent / "results"


def machine(libraries):
    """Describe the machine: a dict of the day, the processor, the load and the versions of the modules named in `libraries`."""
    import minigrad
    from minigrad._build import pure

    try:
        name = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    except OSError:
        name = None
    return {"day": datetime.date.today().isoformat(), "processor": name[1].strip() if name else platform.machine(),
            "cores": os.cpu_count() or 1, "load": load(), "python": platform.python_version(),
            "minigrad": f"{minigrad.__version__} ({pure.mode()})",
            **{library: importlib.import_module(library).__version__ for library in libraries if library != "minigrad"}}


def command(module, arguments):
    """The command that makes a record, with its arguments (those of the process, if None) except the name of the file."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--output" in words:
        at = words.index("--output")
        del words[at:at + 2]
    return shlex.join(["python", "-m", module, *map(str, words)])


def load():
    """The mean number of busy or waiting processes of the last minute; None where the system does not count them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def one_core():
    """Stay on the last core that this process may use, so that every library has one thread's time. Linux only."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def quartiles(numbers):
    """The median and both quartiles, as a list, with four digits."""
    ordered = sorted(numbers)
    at = [ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))] for share in (0.5, 0.25, 0.75)]
    return [float(f"{number:.4g}") for number in at]


def save(path, record):
    """Write a record: one line for each of its parts, and for each item of a list, so that a change of the file can be read."""
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and value:
            items = ",\n  ".join([json.dumps(item) for item in value])
            lines.append(f"{json.dumps(key)}: [\n  {items}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    Path(path).write_text("{\n " + ",\n ".join(lines) + "\n}\n", "utf-8")


def describe(record):
    """Two sentences about where a record was made, for the page that shows it."""
    at = record["machine"]
    versions = ", ".join([f"{name} {at[name]}" for name in at if name not in ("day", "processor", "cores", "load", "python")])
    day = datetime.date.fromisoformat(at["day"])
    text = (f"Measured on {day.day} {day:%B %Y} by `{record['command']}` on one thread; the machine has {at['cores']} cores "
            f"({at['processor']}). Versions: {versions}, Python {at['python']}.")
    busy = [n for n in (at["load"], record.get("load_at_end")) if n is not None]
    if busy and max(busy) > 0.75 * at["cores"]:
        text += (f" The machine was busy with other work: up to {max(busy):g} processes wanted its {at['cores']} cores. Ratios "
                 "are worth more than times, and neighbouring points may differ without a reason.")
    return text
