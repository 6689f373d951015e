from minigrad._core.accumulate cimport AccumulateGrad
from minigrad._core.c cimport check_signals
from minigrad._core.dependencies cimport Scratch
from minigrad._core.function_node cimport PyNode
from minigrad._core.kept cimport current_version, kept
from minigrad._core.node cimport Node
from minigrad._core.ready cimport pop_ready
from minigrad._core.state cimport State
from minigrad._core.streamed cimport StreamedTask

cdef class RecordedTask(StreamedTask):
    cdef object given
    cdef list computed
    cdef Py_ssize_t holds

    cdef object began(self, Node root)
    cdef list reached(self, Node root)
    cdef Node chosen(self)
    cdef bint runs(self, Node node) except -1
    cdef object buffer(self, Node node)
    cdef object slot(self, Node node, int number)
    cdef str add(self, Node node, int number, object grad)
    cdef int waits(self, Node node, int less) except -1
