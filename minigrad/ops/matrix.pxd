from minigrad._core.apply cimport call
from minigrad._core.meta cimport Meta, meta_of
from minigrad._core.state cimport State, current
from minigrad._core.tensor cimport TensorBase, plain, wrap
from minigrad.ops.base cimport conj
