from minigrad._core.graph.node cimport Node
from minigrad._core.observe.recording_task cimport RecordingTask

cdef class SwappedTask(RecordingTask):
    cdef object queue
    cdef dict waiting

    cdef object run_whole(self, Node root, object state)
    cdef object set_dependencies(self, Node root)
    cdef object check_dependencies(self, Node root)
    cdef object compute(self, Node node, object grad)
    cdef tuple compute_tuple(self, Node node, tuple grads)
    cdef object put(self, Node node, int number, object grad)
