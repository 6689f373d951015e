"""What a user asks of all kernels."""

deterministic = False       # the same bits in every run: see `use_deterministic_algorithms`
