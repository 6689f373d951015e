"""The same program on torch and on minigrad: the logs of all hooks are equal, including their order.

`BETTER` lists the accepted differences, where torch is wrong, with their reasons.
"""

import warnings

import pytest
import torch

import minigrad
from tests.parity.events import SCENARIOS, Log

BETTER = {
    "accumulate hook on a_leaf replaces":
        "torch calls the next hook, with None, before it says that the first should have returned nothing",
    "accumulate hook on a_leaf returns_another_shape": "torch complains of the shape, though any result is wrong",
    "accumulate hook on a_leaf returns_another_dtype": "torch complains of the dtype, though any result is wrong",
    **dict.fromkeys(("function differentiated twice: once square", "function differentiated twice: once weighted",
                     "function_once_differentiable_in_detail"),
                    "torch's error node leads nowhere, so grad(second, x) silently goes without that term"),
    "forward_make_dual expanded": "torch writes the tangent to memory laid out as the primal is, where several are one number",
    **dict.fromkeys(("forward_make_dual a number", "forward_make_dual of a number", "forward_make_dual None"),
                    "torch asks a number for its dtype, an AttributeError"),
    "forward_jvp returns another dtype": "torch keeps a tangent of another dtype than its tensor's",
    "forward_write_of_another_dtype": "torch keeps a tangent of another dtype than its tensor's",
    **dict.fromkeys(("forward_accumulated", "forward_hooks_see_duals"), "torch drops the tangent of a gradient that it need not copy"),
    "forward_out": "torch writes to out= before it says that it may not",
    "forward_resize_": "torch leaves a tensor with a tangent of another size",
    "retaining_view_of_a_written_base": "torch hangs the second hook onto the node that the view had before the write; it is not called",
    "function whose backward returns complex": "torch asks for a report of its message; ours says what is wrong with the gradient",
}


def logged(m, name):
    """The log of a scenario on a library."""
    log = Log(m)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SCENARIOS[name](m, log)
    log("warnings", *[(w.category.__name__, *log.error(Warning(w.message))[1:]) for w in caught
                      if "reference cycle" not in str(w.message) and "torch.jit" not in str(w.message)])
    return list(log)


@pytest.mark.parametrize("name", SCENARIOS)
def test_event_log(name):
    ours, theirs = logged(minigrad, name), logged(torch, name)
    assert len(theirs) > 1, "nothing was logged"
    if name in BETTER:
        assert ours != theirs, f"no longer different: {BETTER[name]}"
    else:
        assert ours == theirs


def test_number_of_scenarios():
    assert len(SCENARIOS) >= 1000 and set(BETTER) <= set(SCENARIOS)
