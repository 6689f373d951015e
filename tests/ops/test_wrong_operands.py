"""A formula is a function that Python can call, with anything: it raises, and ends no process. See minigrad/kernels/README.md."""

import subprocess
import sys

PROGRAM = r"""
import inspect, sys, warnings
import minigrad as mg
from minigrad.ops import REGISTRY
warnings.simplefilter("ignore")
calls = 0
for name, primitive in list(REGISTRY.items()):
    rule = primitive.rule
    for attribute in dir(rule):
        if not attribute.startswith(("vjp", "jvp")):
            continue
        formula = inspect.getattr_static(rule, attribute)
        formula = getattr(formula, "__func__", formula)
        if not callable(formula):
            continue
        try:
            n = len(inspect.signature(formula).parameters)
        except (TypeError, ValueError):
            continue
        for wrong in (None, 3, "x", object(), rule, (0, -1), mg.ones(2)):
            sys.stdout.write(f"{name}.{attribute}({wrong!r})\n")
            sys.stdout.flush()
            calls += 1
            try:
                formula(*[wrong] * n)
            except Exception:
                pass
            try:
                formula(*[wrong] + [(2, 3)] * (n - 1))
            except Exception:
                pass
print("calls", calls)
"""


def test_formulas_survive_wrong_operands():
    """differences/K-05: each formula gets something that is not a tensor, in a process that may crash; its last line says where."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"ended with {done.returncode} at {last}"
    assert last.startswith("calls ") and int(last.split()[1]) > 1000
