from minigrad._core.engine.ready_queue cimport ReadyQueue
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport Modes, State

cdef class Scratch:
    cdef object grad
    cdef int dependencies
    cdef int needed

cdef class GraphTask(ReadyQueue):
    cdef readonly unsigned long long id
    cdef readonly bint selective
    cdef dict others
    cdef dict requested
    cdef readonly bint keep_graph
    cdef readonly bint create_graph
    cdef bint out_of_place
    cdef readonly GraphTask outer
    cdef Node root
    cdef readonly list callbacks
    cdef dict captures
    cdef list captured
    cdef list results
    cdef Modes modes
    cdef object __weakref__

    cdef Scratch scratch(self, Node node)
    cdef int needed(self, Node node) except -1
    cdef bint runs(self, Node node) except -1
    cdef object run(self, Node root, State state)
    cdef object take(self, Node node)
    cdef object deliver(self, Node node, bint checked)
    cdef object receive(self, Node node, int number, object grad)
    cdef long long wanted(self, Node node) except? -7
    cdef object run_watched(self, Node node)
    cdef object run_steps(self, Node node)
    cdef object capture(self, Node node, object grad)
    cdef object note_call(self, Node node, object grad)
    cdef object finish(self, Node node, tuple before)

cdef tuple buffer_as_tuple(Node node, object grad)
