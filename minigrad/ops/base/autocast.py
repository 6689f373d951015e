"""Where functions convert their arguments in an autocast region (``minigrad/amp/autocast_mode.py``).

    F.linear(x, w, b)       cast_operands("linear", x, w, b)        before it compares the dtypes
      addmm                 `call` in _core/record/apply.py          converts by the name of the op: nothing is left to do

Most functions are one op, and `call` converts for them. This file is for functions that compare the dtypes of their arguments, or
that are made of several ops. Outside of a region both cost one look at the thread's state.
"""

import functools
from typing import Any

from minigrad._core.graph.thread_state import current

__all__ = ["autocasts", "cast_operands"]


def cast_operands(function, *operands) -> Any:
    """Return the operands as autocast converts them for `function`; outside of a region as they are."""
    region = current().autocast
    return operands if region is None else region.convert(function, operands)


def autocasts(function) -> Any:
    """Decorator: in an autocast region, convert the tensors for `function`, and run it as outside of the region."""
    @functools.wraps(function)
    def converted(*args, **kwargs):
        region = current().autocast
        if region is None:
            return function(*args, **kwargs)
        return region.call(function, args, kwargs)
    return converted
