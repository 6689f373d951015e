from minigrad._core.tensor cimport TensorBase

cpdef object conj(object x)
