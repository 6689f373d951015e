"""Speed, as ratios to PyTorch eager in the same process: ``python -m benchmarks``. See README.md."""
