from minigrad._core.record.apply cimport call
from minigrad._core.graph.thread_state cimport State, current
