"""Write minigrad/run/torch_names.json: the public names of PyTorch's modules. Run it where PyTorch is installed.

    python -m tools.torch_names

The site and ``python -m minigrad.run --check`` read the file, since neither has PyTorch. tests/run/test_run.py compares it with the
installed PyTorch.
"""

import importlib
import json
import re
import types
from pathlib import Path

MODULES = ("torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim",
           "torch.optim.lr_scheduler", "torch.autograd", "torch.autograd.functional", "torch.autograd.graph",
           "torch.autograd.forward_ad", "torch.func", "torch.utils.data", "torch.utils.checkpoint", "torch.distributions",
           "torch.linalg", "torch.special", "torch.fft", "torch.library")
# What PyTorch's modules import or keep for themselves.
PRIVATE = re.compile(r"_.*|Callable|BroadcastingList\d|.*_notes|GRID_SAMPLE.*|assert_int_or_pair|handle_torch.*|"
                     r"has_torch_function.*|DType|ScalingType|SwizzleType|argument_validation|runtime_validation.*|guaranteed_.*")
FOREIGN = ("typing", "typing_extensions", "collections", "functools", "warnings", "importlib", "math")


def public_names(module):
    """The public names of a module of PyTorch, or of its tensors, sorted."""
    found = importlib.import_module("torch").Tensor if module == "torch.Tensor" else importlib.import_module(module)
    names = dir(found) if module in ("torch.Tensor", "torch.nn", "torch.nn.functional") else getattr(found, "__all__", dir(found))
    return sorted({name for name in names if not PRIVATE.fullmatch(name) and is_own(module, name, getattr(found, name, None))})


def is_own(module, name, value):
    """Whether a name belongs to PyTorch, and to this module."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch.")
    if module != "torch" and name in ("Tensor", "torch"):
        return False
    return getattr(value, "__module__", None) not in FOREIGN


def main():
    path = Path(__file__).parents[1] / "minigrad/run/torch_names.json"
    lines = [f'"{module}": {json.dumps(public_names(module))}' for module in MODULES]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
