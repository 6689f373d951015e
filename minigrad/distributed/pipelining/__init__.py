"""A model cut into stages that work on several microbatches at a time. Mirrors ``torch.distributed.pipelining``."""
