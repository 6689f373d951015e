from minigrad._core.record.primitive cimport Primitive
from minigrad._core.graph.tensor cimport TensorBase

cpdef object apply_inplace_view(Primitive op, TensorBase target, tuple others)
cpdef object set_array(TensorBase target, object array, str name)
cpdef object set_source(TensorBase target, TensorBase source)
