from minigrad._core.node cimport Node
from minigrad._core.state cimport State
from minigrad._core.tensor cimport TensorBase
from minigrad._core.watch cimport here

cdef class Anomaly:
    cdef public bint enabled
    cdef public bint check_nan

cdef object note_creation(Node node, State state)
cdef object report(Node node, object error)
cdef object check_results(Node node, list results)
