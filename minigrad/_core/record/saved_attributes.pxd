from minigrad._core.record.op_node cimport OpNode

cdef class RawSavedTensor:
    cdef OpNode node
    cdef int slot
    cdef int item

cpdef list saved_names(OpNode node)
