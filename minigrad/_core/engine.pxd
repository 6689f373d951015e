from minigrad._core.accumulate cimport AccumulateGrad
from minigrad._core.c cimport check_signals, references
from minigrad._core.hooks cimport run_post_hooks, run_pre_hooks, run_tensor_hooks
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra, start
from minigrad._core.saved cimport describe
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport AutogradMeta, TensorBase, exclusive, plain

cdef class Scratch:
    cdef object grad
    cdef int dependencies
    cdef int needed

cdef class GraphRoot(Node):
    cdef tuple grads

cdef class GraphTask:
    cdef readonly unsigned long long id
    cdef readonly bint keep_graph
    cdef readonly bint create_graph
    cdef readonly bint selective
    cdef readonly list callbacks
    cdef dict others
    cdef dict requested
    cdef dict captures
    cdef list captured
    cdef list results
    cdef list heap
    cdef Node ready

    cdef bint claim(self, Node node) except -1
    cdef Scratch scratch(self, Node node)
    cdef object count(self, Node root)
    cdef object select(self, Node root)
    cdef bint depend(self, Node node) except -1
    cdef object need(self, Node node, int what)
    cdef int needed(self, Node node) except -1
    cdef object run(self, Node root, State state)
    cdef object take(self, Node node)
    cdef object deliver(self, Node node, bint checked)
    cdef object receive(self, Node node, int number, object grad)
    cdef object push(self, Node node)
    cdef Node pop(self)
    cdef long long wanted(self, Node node) except? -7
    cdef object run_watched(self, Node node, object grad)
    cdef object forget(self, Node root)
