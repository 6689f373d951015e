from minigrad._core.function.node cimport PyNode
from minigrad._core.graph.thread_state cimport State

cdef object push_forward(PyNode node, tuple args, tuple raw, list outs, tuple dirty, tuple constant, State state)
