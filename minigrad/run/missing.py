"""Why minigrad lacks a name of PyTorch, and what to use instead: one reason for each, by patterns of names.

``docs/from-pytorch.md`` shows them as a table, and ``python -m minigrad.run --check`` names them. A test holds that each public
name of PyTorch is there or has a reason here.
"""

import re
from functools import cache

__all__ = ["reason"]

NOT_YET = "not in minigrad yet"

# (module of PyTorch, names), regular expressions -> the reason. The first that fits counts.
REASONS = (
)


@cache
def reason(module, name):
    """The reason for which minigrad lacks a name of a module of PyTorch."""
    for (of_module, of_name), why in REASONS:
        if re.fullmatch(of_module, module) and re.fullmatch(of_name, name):
            return why
    return NOT_YET
