from minigrad._core.engine.dependencies cimport Dependencies
from minigrad._core.graph.node cimport Node
from minigrad._core.graph.thread_state cimport Modes, State

cdef class GraphTask(Dependencies):
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
    cdef list heap
    cdef Node ready
    cdef object __weakref__

    cdef object run(self, Node root, State state)
    cdef object take(self, Node node)
    cdef object deliver(self, Node node, bint checked)
    cdef object receive(self, Node node, int number, object grad)
    cdef object push(self, Node node)
    cdef long long wanted(self, Node node) except? -7
    cdef object run_watched(self, Node node)
    cdef object run_steps(self, Node node)
    cdef object capture(self, Node node, object grad)
    cdef object calling(self, Node node, object grad)
    cdef object finish(self, Node node, tuple before)
