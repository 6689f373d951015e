"""Export to ONNX, which minigrad does not have. Mirrors ``torch/onnx``."""

from minigrad._absent import absent

__all__ = ["dynamo_export", "export", "is_in_onnx_export"]

FIX = "mg.save(model.state_dict(), f); load it with torch.load into the same model in PyTorch, and export that"


def export(model, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.onnx.export``.

    >>> mg.onnx.export(mg.nn.ReLU(), mg.ones(2), "relu.onnx")
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.onnx.export
      fix:      mg.save(model.state_dict(), f); load it with torch.load into the same model in PyTorch, and export that
      help:     mg.explain("MG-E510")
    """
    raise absent("torch.onnx.export", FIX)


def dynamo_export(model, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.onnx.dynamo_export``."""
    raise absent("torch.onnx.dynamo_export", FIX)


def is_in_onnx_export():
    """False. Mirrors ``torch.onnx.is_in_onnx_export``.

    >>> mg.onnx.is_in_onnx_export()
    False
    """
    return False
