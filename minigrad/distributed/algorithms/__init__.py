"""What is built on the collectives. Mirrors ``torch.distributed.algorithms``."""
