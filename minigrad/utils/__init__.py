"""What helps around autograd. Mirrors ``torch/utils``."""
