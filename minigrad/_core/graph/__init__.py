"""What a graph is made of: tensors, nodes and edges, versions of memory, and the leaves' AccumulateGrad.

The lowest floor of the core: it imports no other room. Begin with ``version.py``, ``tensor.py`` and ``node.py``.
"""
