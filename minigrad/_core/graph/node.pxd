# cython: preliminary_late_includes_cy28=True
# The header at the end names the fields of a class that is declared above it, so it is included after the classes.
cimport cython

from minigrad._core.graph.metadata cimport Meta

cdef class NodeExtra:
    cdef public dict metadata
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef readonly tuple tensor_hooks
    cdef public dict retains
    cdef public tuple place

@cython.trashcan(True)
cdef class Node:
    # The small fields lie side by side, so that a node has 160 bytes, with the collector's 16. Python's allocator rounds up to 16.
    cdef int edges
    cdef int dependencies
    cdef Node next0
    cdef object next_rest
    cdef object meta
    cdef NodeExtra extra
    cdef unsigned long long sequence
    cdef object __weakref__
    # the fields of OpNode are here, so that nodes.h knows all fields of the nodes that it makes of dead ones
    cdef object plan
    cdef object saved0
    cdef object saved1
    cdef object saved_rest
    cdef int version0
    cdef int version1
    cdef int version2
    cdef unsigned char interior
    cdef unsigned char freed
    cdef unsigned char needed
    cdef unsigned char hooked
    # the scratch fields of the GraphTask with the number `task`, to which `dependencies` and `needed` belong too
    cdef object grad
    cdef unsigned long long task

    cdef object compute(self, object grad, long long wanted, list results)
    cdef object release(self)
    cdef object explain_error(self, object error)
    cdef Node twin(self)
    cdef int number_of_outputs(self)
    cdef Meta output_meta(self, int number)
    cdef Node next_node(self, Py_ssize_t i)
    cdef tuple next_nodes(self)
    cdef object connect(self, tuple nodes, object numbers)
    cdef object copy_edges(self, Node other)
    cdef object lead_to(self, Py_ssize_t edge, Node following, int number)
    cdef int input_number(self, Py_ssize_t edge)
    cdef NodeExtra extras(self)
    cpdef name(self)

cdef object clear_node(Node node)
cdef object retain_output(Node node, int number, object tensor)

cdef extern from "nodes.h":
    void count_seldom "mg_count_seldom"(type cls)
    void show_less "mg_show_less"(type cls)
    void keep_nodes "mg_keep_nodes"(type cls)
    object allocate_node "mg_allocate_node"(type base, object cls)
