from minigrad._core.accumulate cimport AccumulateGrad
from minigrad._core.c cimport check_signals
from minigrad._core.node cimport Node
from minigrad._core.ready cimport pop_ready
from minigrad._core.state cimport State
from minigrad._core.task cimport GraphTask
from minigrad._core.tensor cimport TensorBase

cdef class StreamedTask(GraphTask):
    cdef bint guided
    cdef list last
    cdef list crossed

    cdef object meet(self, Node node)
    cdef bint cross(self, object stream, object grad) except -1
    cdef object join(self)
