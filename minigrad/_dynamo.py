"""Private names around `compile` that programs set or call. They change nothing. Mirrors ``torch/_dynamo``."""

from types import SimpleNamespace

from minigrad.compiler import allow_in_graph, compile, disable, is_compiling, reset

__all__ = ["allow_in_graph", "config", "disable", "is_compiling", "optimize", "reset"]

config = SimpleNamespace(suppress_errors=False, verbose=False, cache_size_limit=8, recompile_limit=8, optimize_ddp=True)


def optimize(backend="inductor", **options):
    """A decorator that returns its function unchanged, as `compile` does. Mirrors ``torch._dynamo.optimize``."""
    return compile(backend=backend)
