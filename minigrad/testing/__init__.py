"""Helpers for tests: compare tensors, check an op of your own, expect an error.

    assert_close(actual, expected)      like torch.testing.assert_close
    check_op(fn, *inputs)               value, backward, forward mode and second derivatives in one table
    expect_error(RuntimeError, code)    a deliberate error, in tutorials and notebooks
    exercise(number)                    the check of an exercise, with a limit of time and with hints
    check_script(path)                  the options --check and --hint of a script with exercises
    run_ranks(program, ranks=4)         a program on several ranks, by mpiexec

``mg.testing`` is imported on first use. Mirrors ``torch/testing/__init__.py``; `check_op`, `check_script`,
`exercise`, `expect_error` and `run_ranks` are minigrad's own.
"""

from minigrad.testing._check_op import OpReport, check_op
from minigrad.testing._comparison import NotCloseError, assert_close
from minigrad.testing._exercise import Check, exercise
from minigrad.testing._expect import NotRaisedError, expect_error
from minigrad.testing._make_tensor import assert_allclose, make_tensor
from minigrad.testing._ranks import RankOutputs, run_ranks
from minigrad.testing._script import check_script

__all__ = ["Check", "NotCloseError", "NotRaisedError", "OpReport", "RankOutputs", "assert_allclose", "assert_close", "check_op",
           "check_script", "exercise", "expect_error", "make_tensor", "run_ranks"]
