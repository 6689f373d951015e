from minigrad._core.graph.node cimport Node

cdef object run_hooks_on_tensors(Node node, object grad)
cdef object accumulate_retained(object tensor, object grad)
