"""The kernels as C loops, for contiguous arrays of float32 and float64.

    common.pxd        what the files share: looking at an array, making one
    threads.pyx       how many threads a large array is divided among
    loops.h           the elementwise loops themselves, as a table of expressions
    pool.pyx          arrays that are used again
    elementwise.pyx   one number at a time
    layout.pyx        gradients and layout, views
    reduction.pyx     sums, softmax, layer normalisation, whose loops are in rows.h
    joining.pyx       adding slices where an index says
    convolution.pyx   convolution, by the loops of convolution.h and tiles.h or as matrix products
    pooling.pyx       maxima over windows, and resampling
    loss.pyx          the loss of a classifier
    optim.pyx         the steps of optimisers, whose loops are in steps.h

Each kernel looks whether its arguments are of the easy kind (contiguous, one of the two dtypes, shapes
that match or broadcast simply) and otherwise calls its twin of the same name in ``numpy_ref``.
`SOURCES` lists what was compiled; it is empty where there was no compiler.
"""

from importlib import import_module

SOURCES = []
for _name in ("pool", "elementwise", "layout", "reduction", "joining", "linear", "convolution", "pooling", "loss", "optim"):
    try:
        SOURCES.append(import_module(f"minigrad.kernels.cpu.{_name}"))
    except ImportError:
        pass
