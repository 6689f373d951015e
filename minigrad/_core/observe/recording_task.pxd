from minigrad._core.graph.node cimport Node
from minigrad._core.engine.stream_task cimport StreamTask

cdef class RecordingTask(StreamTask):
    cdef object grads_in
    cdef list computed
    cdef Py_ssize_t holds

    cdef object note_start(self, Node root)
    cdef list nodes_reached(self, Node root)
    cdef Node choose_next(self)
    cdef object buffer(self, Node node)
    cdef object slot(self, Node node, int number)
    cdef str add(self, Node node, int number, object grad)
    cdef int waits(self, Node node, int less) except -1
