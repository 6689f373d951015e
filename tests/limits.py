"""A memory limit for a process that gets requests for too much memory."""

import os

__all__ = ["SANITIZED", "bound_memory"]

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")      # `make sanitize` has its own limit, max_allocation_size_mb


def bound_memory(size):
    """Let this process take `size` more bytes of addresses than it has, and not dump its memory. AddressSanitizer maps terabytes."""
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        with open("/proc/self/statm") as file:
            there = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (there + size,) * 2)
