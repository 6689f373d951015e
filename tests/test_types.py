"""The public API for a type checker: the stubs agree with the running code, and pyright understands them.

The stubs are written at build time (tools/stubs.py); without pyright, their text is still checked.
"""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad as mg
from minigrad import nn

PACKAGE = Path(mg.__file__).parent
ROOT = PACKAGE.parent

RIGHT = """
from typing import Any, assert_type
import minigrad as mg
from minigrad import nn

x = mg.tensor([1.0, 2.0], requires_grad=True)
assert_type(x * 2, mg.Tensor)
assert_type(2 / x, mg.Tensor)
assert_type(x @ x, mg.Tensor)
assert_type(x[0, ..., None], mg.Tensor)
assert_type(x.sum(), mg.Tensor)
assert_type(x.sum(dim=(0,), keepdim=True), mg.Tensor)
assert_type(mg.exp(x).float(), mg.Tensor)
assert_type(x.max(0).indices, mg.Tensor)
assert_type(x.split(1), tuple[mg.Tensor, ...])
assert_type(x.shape, mg.Size)
assert_type(x.size(0), int)
assert_type(x.dtype, mg.dtype)
assert_type(x.grad, mg.Tensor | None)
assert_type(mg.float32, mg.dtype)
assert_type(mg.zeros(2, 3, dtype=mg.float64, device="cpu", requires_grad=True), mg.Tensor)

layer = nn.Linear(2, 3)
assert_type(layer, nn.Linear)
assert_type(layer(x), mg.Tensor)
assert_type(layer.weight, nn.Parameter)
model = nn.Sequential(layer, nn.ReLU())
assert_type(model(x), mg.Tensor)
assert_type(model[0], nn.Module)
optimizer = mg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
assert_type(optimizer, mg.optim.SGD)
loss = nn.CrossEntropyLoss()(model(x), mg.tensor([0]))
loss.backward()
optimizer.step()
assert_type(mg.autograd.grad(x.sum(), [x]), tuple[mg.Tensor, ...])
with mg.no_grad():
    x.add_(1).mul_(2)
handle = x.register_hook(lambda grad: grad * 2)
handle.remove()
mg.save(model.state_dict(), "file")
assert_type(mg.explain("MG-E101"), None)
assert_type(mg.autograd.gradcheck(lambda x: x * 2, x), bool)
assert_type(mg.testing.check_op(lambda x: x * 2, x).ok, bool)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        return self.layer(x).relu()


assert_type(Net().train(), Net)
"""

WRONG = ["x.no_such_method()", "x.sum(dim='a')", "nn.Linear('a', 3)", "nn.Linear(2)", "layer('a')", "mg.zeros(2, dtype='float32')",
         "mg.optim.SGD(layer.parameters(), rate=0.1)", "mg.no_such_function(x)", "x.backward(retain_graph='yes')", "x @ 'a'",
         "mg.autograd.grad(x.sum())", "x.reshape('a')"]


def pyright(folder, program):
    """The errors that pyright finds in `program`, as the set of their lines."""
    (folder / "program.py").write_text(program)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    done = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "program.py"], cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_on_a_users_program(tmp_path):
    """No error in a right program, and one for each wrong line."""
    found = pyright(tmp_path, RIGHT + "\n".join(WRONG) + "\n")
    first = RIGHT.count("\n") + 1
    flagged = {int(line) for line in re.findall(r"program\.py:(\d+):\d+ - error", found)}
    assert flagged == set(range(first, first + len(WRONG))), found


@pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="an installed minigrad, without the tool that writes the stubs")
def test_stubs_are_up_to_date():
    """The stubs are up to date with tools/stubs.py, and every parameter has a type."""
    done = subprocess.run([sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, env={**os.environ, "MINIGRAD_PURE": "1"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def declared(module):
    """name -> the declarations in a module's stub, methods as ``Class.method``."""
    found = {}
    for item in ast.parse((PACKAGE / f"{module}.pyi").read_text("utf-8")).body:
        members = item.body if isinstance(item, ast.ClassDef) else []
        for node, prefix in ((item, ""), *((m, f"{item.name}.") for m in members)):
            name = node.target.id if isinstance(node, ast.AnnAssign) else getattr(node, "name", None)
            if name:
                found.setdefault(prefix + name, []).append(node)
    return found


def parameters(node):
    """The names of the parameters of a declaration, and which of them may be left out."""
    arguments = node.args
    names = [a.arg for a in arguments.args]
    keywords = [a.arg for a in arguments.kwonlyargs]
    optional = {*names[len(names) - len(arguments.defaults):], *[a for a, d in zip(keywords, arguments.kw_defaults) if d]}
    return [*names, *([f"*{arguments.vararg.arg}"] if arguments.vararg else []), *keywords], optional


@pytest.mark.parametrize("module, owner, prefix", [
    ("__init__", mg, ""), ("tensor", mg.Tensor, "Tensor."), ("nn/functional/__init__", nn.functional, ""), ("nn/init", nn.init, "")],
    ids=["minigrad", "Tensor", "functional", "init"])
def test_signatures_are_the_running_ones(module, owner, prefix):
    """Compiled or interpreted, a function that has a signature has the one that its stub declares."""
    compared = 0
    for name, (node, *more) in declared(module).items():
        if not isinstance(node, ast.FunctionDef) or more or not name.startswith(prefix) or name.endswith("__"):  # slots
            continue
        name = name.removeprefix(prefix)
        function = getattr(owner, name)
        try:
            running = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):     # a compiled one that does not tell
            continue
        names, optional = parameters(node)
        found = [("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in running if p.kind is not p.VAR_KEYWORD]
        if found[:1] != names[:1] and names[:1] in (["self"], ["cls"]):
            found.insert(0, names[0])       # a method made from a function has a first argument `input`
            if not isinstance(inspect.getattr_static(owner, name), classmethod):
                found.pop(1)
        assert found == names, name
        assert {p.name for p in running if p.default is not p.empty} == optional, name
        compared += 1
    assert compared > 5


def test_every_method_of_tensor_is_declared():
    public = {f"Tensor.{n}" for n in dir(mg.Tensor) if not n.startswith("_")} - {f"Tensor.{n}" for n in dir(object)}
    internal = {"Tensor.clear", "Tensor.extras", "Tensor.shared_counter", "Tensor.version"}     # visible when interpreted
    assert public - internal <= set(declared("tensor"))
    assert {n for n in declared("tensor") if n.startswith("Tensor.") and not n.startswith("Tensor._")} <= public
