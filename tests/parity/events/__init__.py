"""Scenarios whose logs are compared with PyTorch's: importing this collects them in `SCENARIOS`."""

from tests.parity.events import errors, function_calls, modules, nested, order, products, saved
from tests.parity.events.log import SCENARIOS, Log

__all__ = ["SCENARIOS", "Log", "errors", "function_calls", "modules", "nested", "order", "products", "saved"]
