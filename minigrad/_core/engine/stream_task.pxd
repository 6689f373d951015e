from minigrad._core.graph.node cimport Node
from minigrad._core.engine.graph_task cimport GraphTask

cdef class StreamTask(GraphTask):
    cdef bint guided
    cdef list last
    cdef list crossed

    cdef object meet(self, Node node)
    cdef bint cross(self, object stream, object grad) except -1
    cdef object join(self)
