"""Models and weights from the network, which minigrad does not use. Mirrors ``torch/hub.py``.

A file of weights that you have put into the cache, ``get_dir()/checkpoints``, is loaded from there.
"""

import os
from urllib.parse import urlparse

from minigrad._absent import absent
from minigrad.serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_folder = None


def get_dir():
    """The folder of the cache: ``$TORCH_HOME/hub``, by default ``~/.cache/torch/hub``. Mirrors ``torch.hub.get_dir``.

    >>> mg.hub.get_dir().endswith("hub") or mg.hub.get_dir()
    True
    """
    if _folder is not None:
        return _folder
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d):
    """Use another folder for the cache. Mirrors ``torch.hub.set_dir``.

    >>> mg.hub.set_dir(mg.hub.get_dir())
    """
    global _folder
    _folder = os.path.expanduser(d)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=True):
    """Load a file of weights from the cache. Mirrors ``torch.hub.load_state_dict_from_url``.

    Args:
        url (str): its last part is the name of the file.
        model_dir (str, optional): the folder, by default ``get_dir()/checkpoints``.
        map_location, weights_only: as in `minigrad.load`.
        progress, check_hash: accepted as in PyTorch.
        file_name (str, optional): the name of the file.

    Raises:
        NotImplementedError: the file is not in the folder. minigrad downloads nothing.

    >>> mg.hub.load_state_dict_from_url("https://example.org/missing.pth", model_dir="weights")
    Traceback (most recent call last):
    NotImplementedError: minigrad has no download of files
      fix:      get https://example.org/missing.pth with another program, and save it as weights/missing.pth
      help:     mg.explain("MG-E510")
    """
    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise absent("download of files", f"get {url} with another program, and save it as {path}")
    return load_file(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Raise `NotImplementedError`: minigrad downloads nothing. Mirrors ``torch.hub.download_url_to_file``."""
    raise absent("download of files", f"get {url} with another program, and save it as {dst}")


def load(repo_or_dir, model, *args, **kwargs):
    """Raise `NotImplementedError`: minigrad downloads no programs. Mirrors ``torch.hub.load``."""
    raise absent("torch.hub.load", "write the model with minigrad.nn, and load its weights with mg.load and load_state_dict")


def list(github, *args, **kwargs):
    """Raise `NotImplementedError`: minigrad downloads no programs. Mirrors ``torch.hub.list``."""
    raise absent("torch.hub.list", "look at the repository with a browser")


def help(github, model, *args, **kwargs):
    """Raise `NotImplementedError`: minigrad downloads no programs. Mirrors ``torch.hub.help``."""
    raise absent("torch.hub.help", "look at the repository with a browser")
