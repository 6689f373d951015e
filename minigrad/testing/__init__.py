"""For tests: are two tensors close, is an op of one's own right, does a line fail as it should?

    assert_close(actual, expected)      as torch.testing.assert_close
    check_op(fn, *inputs)               value, backward, forward mode, second derivatives, in one table
    expect_error(RuntimeError, code)    a deliberate error, in tutorials and notebooks

Imported when somebody asks for it. Mirrors ``torch/testing/__init__.py``; the last two are minigrad's own.
"""

from minigrad.testing._check_op import OpReport, check_op
from minigrad.testing._comparison import NotCloseError, assert_close
from minigrad.testing._expect import NotRaisedError, expect_error

__all__ = ["NotCloseError", "NotRaisedError", "OpReport", "assert_close", "check_op", "expect_error"]
