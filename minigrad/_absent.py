"""The error for a part of PyTorch that minigrad does not have.

    raise absent("torch.onnx.export", "export with PyTorch: mg.save(model.state_dict(), f), and torch.load(f) there")
"""

from minigrad.errors import AutogradNotImplementedError

__all__ = ["absent"]


def absent(name, fix):
    """Return the error for PyTorch's `name`; `fix` says what to do instead."""
    return AutogradNotImplementedError("MG-E510", f"minigrad has no {name}", fix=fix)
