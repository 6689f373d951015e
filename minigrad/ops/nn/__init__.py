"""The rules behind ``minigrad.nn``: activations, normalisations, convolutions, losses. Begin with ``softmax.py``."""
