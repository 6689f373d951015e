"""The first generation of custom operators, which `minigrad.library` has replaced: kept as building blocks, and to be read.

Here a formula is two functions, ``save_for_backward(inputs, output)`` and ``backward(ctx, saved, *grads)``, which deal in trees
of tensors and in gradients by name. Mirrors ``torch/_custom_op``.
"""
