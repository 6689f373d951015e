from minigrad._core.record.apply cimport call
from minigrad._core.graph.capi cimport is_c_contiguous
from minigrad._core.graph.tensor cimport TensorBase
from minigrad.ops.base.rule cimport dimension, tensor_argument
