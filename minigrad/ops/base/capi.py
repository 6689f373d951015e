"""The interpreted twin of the C function of ``keywords.py``: see ``_core/graph/capi.py``."""

__all__ = ["handle_type_errors"]


def handle_type_errors(function, handler):
    """Let `function` call `handler` when it raises a `TypeError`. Return whether that is possible: never without C."""
    return False
