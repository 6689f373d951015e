from minigrad._core.engine.graph_task cimport GraphTask
from minigrad._core.graph.node cimport Node

cdef object count_dependencies(GraphTask task, Node root)
cdef object compute_dependencies(GraphTask task, Node root)
cdef object select_nodes(GraphTask task, Node root)
cdef object clear_buffers(GraphTask task, Node root)
