"""Kernels as C loops, for contiguous arrays of float32 and float64.

    common.pxd        what the files share: checking an array, making one
    threads.pyx       the number of threads for large arrays
    loops.h           the elementwise loops, as a table of expressions
    pool.pyx          a cache of freed arrays
    elementwise.pyx   functions of each element
    layout.pyx        layouts of gradients, copies, views
    reduction.pyx     sums, softmax, layer normalisation; the loops are in rows.h
    joining.pyx       cat; adding slices by index
    convolution.pyx   convolution, by the loops of convolution.h and tiles.h or as matrix products
    pooling.pyx       maxima over windows, and resampling
    loss.pyx          the loss of a classifier
    optim.pyx         the steps of optimisers; the loops are in steps.h

Each kernel checks whether its arguments are *easy*: contiguous, of one of the two dtypes, with shapes that match or broadcast
simply. If not, it calls its twin, the function of the same name in ``numpy_ref``.
`SOURCES` lists the compiled modules. It is empty where there was no compiler.

Read next: ``common.pxd``.
"""

from importlib import import_module

SOURCES = []
for _name in ("pool", "elementwise", "layout", "reduction", "joining", "linear", "convolution", "pooling", "loss", "optim"):
    try:
        SOURCES.append(import_module(f"minigrad.kernels.cpu.{_name}"))
    except ImportError:
        pass
