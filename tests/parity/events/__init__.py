"""Scenarios whose logs are compared with PyTorch's: importing this collects them in `SCENARIOS`."""

from tests.parity.events import (
    errors,
    forward_functions,
    forward_levels,
    forward_orders,
    forward_writes,
    function_calls,
    function_gradients,
    function_outputs,
    modules,
    nested,
    order,
    products,
    saved,
)
from tests.parity.events.log import SCENARIOS, Log

__all__ = ["SCENARIOS", "Log", "errors", "forward_functions", "forward_levels", "forward_orders", "forward_writes",
           "function_calls", "function_gradients", "function_outputs", "modules", "nested", "order", "products", "saved"]
