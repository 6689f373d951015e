"""The errors of saving and loading."""

import pickle

from minigrad.errors import MinigradError

__all__ = ["SaveError", "UnsafeFileError"]


class SaveError(MinigradError, TypeError):
    """An object cannot be saved, or a file cannot be read."""


class UnsafeFileError(MinigradError, pickle.UnpicklingError):
    """A file is damaged, or loading it would run code. PyTorch raises ``pickle.UnpicklingError`` too."""
