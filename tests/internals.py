"""What of CPython's and NumPy's internals the build under test uses: see minigrad/_capi. `make plain` tests one that uses none."""

import os

import pytest

PLAIN = set(os.environ.get("MINIGRAD_PLAIN", "").split(","))

__all__ = ["needs"]


def needs(group):
    """Mark a test of what is saved by a group of internals: the plain build gives the same results without the saving."""
    return pytest.mark.skipif(bool(PLAIN & {group, "all"}), reason=f"the plain build does without {group}")
