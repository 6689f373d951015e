"""Settings that all kernels obey."""

deterministic = False       # give the same bits in every run; set by `use_deterministic_algorithms`
