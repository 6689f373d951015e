"""The version of PyTorch whose names and behaviour minigrad mirrors. Mirrors ``torch/torch_version.py``.

    mg.__version__                          the version of minigrad
    mg.torch_version.__version__            "2.13.0": compare with this one
"""

import re

__all__ = ["TorchVersion", "__version__"]


class TorchVersion(str):
    """A version that compares by its numbers, with a str or a tuple. Mirrors ``torch.torch_version.TorchVersion``.

    >>> from minigrad.torch_version import TorchVersion
    >>> TorchVersion("1.10.0") > "1.9", TorchVersion("2.13.0+cpu") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    def _key(self, other):
        """The numbers of both, as tuples of one length; None if `other` is not a version."""
        mine, theirs = numbers(self), numbers(other)
        if not theirs:
            return None
        length = max(len(mine), len(theirs))
        return [part + (0,) * (length - len(part)) for part in (mine, theirs)]

    def __eq__(self, other):
        pair = self._key(other)
        return str.__eq__(self, other) if pair is None else pair[0] == pair[1]

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        pair = self._key(other)
        return str.__lt__(self, other) if pair is None else pair[0] < pair[1]

    def __gt__(self, other):
        pair = self._key(other)
        return str.__gt__(self, other) if pair is None else pair[0] > pair[1]

    def __le__(self, other):
        return self < other or self == other

    def __ge__(self, other):
        return self > other or self == other

    __hash__ = str.__hash__


def numbers(version):
    """The numbers of a version, a str or an iterable, up to the first part that is none."""
    parts = re.match(r"[\d.]*", version).group().split(".") if isinstance(version, str) else map(str, version)    # pyright: ignore
    return tuple([int(part) for part in parts if part.isdecimal()])


__version__ = TorchVersion("2.13.0")
