from minigrad._core.graph.accumulate_grad cimport AccumulateGrad
from minigrad._core.graph.capi cimport check_signals
from minigrad._core.graph.node cimport Node
from minigrad._core.engine.ready_queue cimport pop_ready
from minigrad._core.graph.thread_state cimport State
from minigrad._core.engine.graph_task cimport GraphTask
from minigrad._core.graph.tensor cimport TensorBase

cdef class StreamTask(GraphTask):
    cdef bint guided
    cdef list last
    cdef list crossed

    cdef object meet(self, Node node)
    cdef bint cross(self, object stream, object grad) except -1
    cdef object join(self)
