from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport State

cdef class Anomaly:
    cdef public bint enabled
    cdef public bint check_nan

cdef object note_creation(Node node, State state)
cdef object report(Node node, object error)
cdef object check_results(Node node, list results)
