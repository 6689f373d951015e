"""The first generation of custom operators. `minigrad.library` has replaced it; it is here for old programs and for readers.

A formula has two functions, ``save_for_backward(inputs, output)`` and ``backward(ctx, saved, *grads)``. They use trees of tensors,
and dicts that map names to gradients. Mirrors ``torch/_custom_op``.
"""
