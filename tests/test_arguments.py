"""Wrong values, and sizes too large for any memory, for every argument of every public function.

Each call ends quickly, in a result or in an error of minigrad that names the function, and never in an error of Python or NumPy. The
calls run in a separate process with a memory limit, so that too large arrays are refused.
"""

import inspect
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import MinigradError
from tests import signatures
from tests.hostile.verdicts import BINDING
from tests.limits import bound_memory

ROOT = Path(__file__).resolve().parent.parent
PARTS = 4
MEMORY = 6 << 30        # bytes of addresses that a process may take


def nested(depth):
    """[[[...1...]]]"""
    x = 1
    for _ in range(depth):
        x = [x]
    return x


def itself():
    x = []
    x.append(x)
    return x


def doubled(times):
    """A list that holds one list twice, which holds another one twice: 2^times numbers in a little memory."""
    x = [1.0]
    for _ in range(times):
        x = [x, x]
    return x


WRONG = {
    "None": lambda: None, "str": lambda: "x", "bytes": lambda: b"x", "object": object, "list": lambda: [1.5], "empty": list,
    "dict": dict, "complex": lambda: 1j, "nan": lambda: float("nan"), "inf": lambda: float("inf"), "-1": lambda: -1,
    "2**40": lambda: 2 ** 40, "2**63 - 1": lambda: 2 ** 63 - 1, "2**63": lambda: 2 ** 63, "-2**63 - 1": lambda: -2 ** 63 - 1,
    "10**400": lambda: 10 ** 400, "sizes": lambda: (2 ** 40, 2 ** 40), "70 dims": lambda: (1,) * 70, "array": lambda: np.ones(3),
    "objects": lambda: np.array([object()]), "type": lambda: int, "itself": itself, "deep": lambda: nested(100_000),
    "doubled": lambda: doubled(60), "tensor": lambda: mg.tensor([0.0, 1.0]), "generator": lambda: iter([1]), "module": nn.ReLU,
}


def foreign(error):
    """Whether an error is not minigrad's. Python itself refuses too many arguments, or a wrong name."""
    return not isinstance(error, MinigradError)


# A function of the caller that raises.
CALLERS_OWN = {("nn.functional.triplet_margin_with_distance_loss", "distance_function", "module")}


def all_calls():
    """(path, name of an argument, a good call) of everything public, each function once."""
    seen = set()
    for path in signatures.subjects():
        call = signatures.good_call(path)
        function = call.function(mg)
        if function in seen:
            continue
        seen.add(function)
        for p in signatures.parameters_of(path):
            if p.kind is p.VAR_KEYWORD or p.name == "self" or path == "sum_to":
                continue
            names = range(len(call.arguments.get(signatures.ANY, ()))) if p.kind is p.VAR_POSITIONAL else [p.name]
            for name in names:
                yield path, name, call


def main(part):
    """Run a part of the calls, and print the wrong outcomes."""
    bound_memory(MEMORY)
    wrong = []
    deep = {label: make() for label, make in WRONG.items() if label in ("deep", "itself", "doubled", "module")}
    for i, (path, name, call) in enumerate(all_calls()):
        if i % PARTS != part:
            continue
        for label, make in WRONG.items():
            print(f"{path}({name}={label})", file=sys.stderr, flush=True)        # after a crash, the last line names the call
            value = deep[label] if label in deep else make()
            try:
                call.but(name, lambda m, value=value: value).run(mg)
            except Exception as error:
                if foreign(error) and (path, name, label) not in CALLERS_OWN:
                    wrong.append(f"{path}({name}={label}): {type(error).__name__}: {str(error)[:100]}")
    print(json.dumps(wrong))


@pytest.mark.skipif(sys.platform == "win32", reason="the memory of a process cannot be bounded")
@pytest.mark.parametrize("part", range(PARTS))
def test_wrong_arguments(part):
    """differences/F-03, H-01, H-03."""
    done = subprocess.run([sys.executable, "-c", f"from tests.test_arguments import main; main({part})"], cwd=ROOT, timeout=1800,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}, in {done.stderr[-1000:]}"
    wrong = json.loads(done.stdout.splitlines()[-1])
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong[:40])


def test_every_parameter_has_a_value():
    """A new function needs a call that works: see tests/signatures.py."""
    for path in signatures.subjects():
        try:
            signatures.good_call(path).run(mg)
        except Exception as error:
            pytest.fail(f"{path}: {inspect.signature(signatures.good_call(path).function(mg))}: {error!r}")


MADE_WITH = {
    "params": lambda: [mg.zeros(3, requires_grad=True)], "optimizer": lambda: mg.optim.SGD([mg.zeros(3)], 0.1), "defaults": dict,
    "lr_lambda": lambda: float, "milestones": lambda: [1], "mode": lambda: "LSTM", "encoder_layer": nn.ReLU, "decoder_layer": nn.ReLU,
    "cutoffs": lambda: [1], "schedulers": lambda: [mg.optim.lr_scheduler.ConstantLR(mg.optim.SGD([mg.zeros(3)], 0.1))], "unflattened_size": lambda: (1, 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", [nn, mg.optim, mg.optim.lr_scheduler], ids=lambda place: place.__name__)
@pytest.mark.parametrize("wrong", ["None", "object", "str", "dict"])
def test_wrong_arguments_of_classes(place, wrong):
    """differences/F-03: layers, optimizers and schedules refuse a wrong size, number, function or sequence, and name the argument."""
    bare = []
    for cls in filter(inspect.isclass, [getattr(place, name) for name in place.__all__]):
        parameters = [p for p in inspect.signature(cls).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        for name in [p.name for p in parameters]:
            given = {p.name: MADE_WITH.get(p.name, lambda: 2)() for p in parameters if p.default is p.empty}
            try:
                cls(**{**given, name: WRONG[wrong]()})
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                meant = (last.line or "").startswith("raise ")
                if foreign(error) and not meant and not BINDING.search(str(error)):
                    bare.append(f"{cls.__name__}({name}={wrong}): {type(error).__name__}: {error}")
    assert not bare, "\n".join(bare)
