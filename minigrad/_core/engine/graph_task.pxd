from minigrad._core.graph.anomaly cimport Anomaly, check_results
from minigrad._core.graph.capi cimport check_signals, reference_count
from minigrad._core.engine.dependencies cimport Dependencies, Scratch
from minigrad._core.graph.hooks cimport run_post_hooks, run_pre_hooks
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node, NodeExtra
from minigrad._core.engine.ready_queue cimport pop_ready, push_ready
from minigrad._core.graph.thread_state cimport Modes, State, current
from minigrad._core.graph.switches cimport Switches
from minigrad._core.graph.tensor cimport TensorBase, is_exclusive
from minigrad._core.engine.tensor_hooks cimport run_hooks_on_tensors
from minigrad._core.engine.validate cimport validate_gradient

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
