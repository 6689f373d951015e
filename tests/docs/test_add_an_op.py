"""docs/notes/add-an-op.md: its lines, put into one file of a copy of the package, give all that the page says they give."""

import os
import re
import shutil
import subprocess
import sys

from tests.docs.conftest import ROOT

PAGE = (ROOT / "docs/notes/add-an-op.md").read_text("utf-8")

ASKS = """
import numpy as np
import minigrad as mg
from minigrad.ops.base.registry import REGISTRY
x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = mg.tensor([1.0, 0.0], requires_grad=True)
z = x.squared_difference(y)
assert z.grad_fn.name() == "SquaredDifferenceBackward0" and "squared_difference" in REGISTRY
z.sum().backward()
assert y.grad.tolist() == [-4.0, -12.0]
mg.testing.check_op(mg.squared_difference, mg.rand(2, 3), mg.rand(3), reference=lambda x, y: (x - y) ** 2,
                    check_forward_ad=True, check_second_order=True)
import doctest
finder = doctest.DocTestFinder().find(mg.squared_difference, "squared_difference", globs={"mg": mg})
assert doctest.DocTestRunner().run(finder[0]) == (0, 1)
print("all is there")
"""


def test_one_place(tmp_path):
    block = re.search(r"^```\{code-block\} python\n:name: the-lines\n\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert block
    shutil.copytree(ROOT / "minigrad", tmp_path / "minigrad",
                    ignore=lambda folder, names: [n for n in names if n.endswith((".so", ".pyc", ".pyi"))])
    with open(tmp_path / "minigrad/ops/elementwise/arithmetic.py", "a", encoding="utf-8") as file:
        file.write("\n\n" + block[1])
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "MINIGRAD_PURE": "1"}
    done = subprocess.run([sys.executable, "-c", ASKS], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip().endswith("all is there"), done.stderr
