from minigrad._core.graph.accumulate_grad cimport gradient_edge
from minigrad._core.graph.anomaly cimport Anomaly, report
from minigrad._core.graph.metadata cimport Meta
from minigrad._core.graph.node cimport Node, NodeExtra, clear_node
from minigrad._core.engine.ready_queue cimport pop_ready, push_ready
from minigrad._core.graph.thread_state cimport Modes, State, current
from minigrad._core.engine.stream_task cimport StreamTask
from minigrad._core.engine.graph_task cimport GraphTask
from minigrad._core.graph.tensor cimport TensorBase, wrap
from minigrad._core.engine.validate cimport cast_gradient
from minigrad._core.graph.switches cimport Switches

cdef class GraphRoot(Node):
    cdef tuple grads
