"""The parts of `Tensor` that have a file of their own: conversions, and how tensors print."""
