"""For tests: are two tensors close, and is an op of one's own right?

    assert_close(actual, expected)      as torch.testing.assert_close
    check_op(fn, *inputs)               value, backward, forward mode, second derivatives, in one table

Imported when somebody asks for it. Mirrors ``torch/testing/__init__.py``; `check_op` is minigrad's own.
"""

from minigrad.testing._check_op import OpReport, check_op
from minigrad.testing._comparison import NotCloseError, assert_close

__all__ = ["NotCloseError", "OpReport", "assert_close", "check_op"]
