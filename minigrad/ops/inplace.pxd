from minigrad._core.tensor cimport TensorBase
