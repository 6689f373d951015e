cimport cython

from minigrad._core.meta cimport Meta

cdef class NodeExtra:
    cdef public dict metadata
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef public list tensor_hooks
    cdef public dict retains
    cdef public tuple place

@cython.trashcan(True)
cdef class Node:
    cdef int edges
    cdef Node next0
    cdef Node next1
    cdef tuple next_more
    cdef tuple input_numbers
    cdef Meta meta
    cdef tuple metas
    cdef NodeExtra extra
    cdef unsigned long long sequence
    cdef object __weakref__
    # fields of OpNode: here, because only then its nodes come from the freelist
    cdef object plan
    cdef object saved0
    cdef object saved1
    cdef object saved2
    cdef list more
    cdef int version0
    cdef int version1
    cdef int version2
    cdef unsigned char interior
    cdef unsigned char freed
    # scratch of the GraphTask numbered `task`
    cdef object grad
    cdef unsigned long long task
    cdef int dependencies
    cdef unsigned char needed
    cdef unsigned char hooked

    cdef object apply(self, object grad, long long wanted, list results)
    cdef object release(self)
    cdef int number_of_outputs(self)
    cdef Meta output_meta(self, int number)
    cdef Node next_node(self, Py_ssize_t i)
    cdef tuple next_nodes(self)
    cdef object connect(self, tuple nodes, object numbers)
    cdef int input_number(self, Py_ssize_t edge)
    cdef NodeExtra extras(self)
    cpdef name(self)

cdef object start(Node node)
cdef object mark_retained(Node node, int number, object tensor)
