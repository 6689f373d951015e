from minigrad._core.accumulate cimport edge_of
from minigrad._core.anomaly cimport Anomaly, report
from minigrad._core.meta cimport Meta
from minigrad._core.node cimport Node, NodeExtra, start
from minigrad._core.ready cimport pop_ready, push_ready
from minigrad._core.state cimport Modes, State, current
from minigrad._core.streamed cimport StreamedTask
from minigrad._core.task cimport GraphTask
from minigrad._core.tensor cimport TensorBase, wrap
from minigrad._core.validation cimport fitted
from minigrad._core.watch cimport Watch

cdef class GraphRoot(Node):
    cdef tuple grads
