from minigrad._core.record.apply cimport call
from minigrad._core.graph.metadata cimport Meta, meta_of
from minigrad._core.graph.thread_state cimport State, current
from minigrad._core.graph.tensor cimport TensorBase, is_plain, wrap
from minigrad.ops.base.rule cimport conj
