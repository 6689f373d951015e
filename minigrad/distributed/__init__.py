"""Training in parts. Mirrors ``torch.distributed``.

``import minigrad`` leaves it out; import what you need, such as ``minigrad.distributed.pipelining``.
"""
