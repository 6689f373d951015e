"""The parts of a graph: tensors, nodes and edges, versions of memory, and the AccumulateGrad nodes of leaves.

The lowest floor of the core: it imports no other room. Begin with ``version.py``, ``tensor.py`` and ``node.py``.
"""
