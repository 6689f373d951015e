cimport cython

from minigrad._core.graph.metadata cimport Meta

# See Note [What the collector is shown] in node.py. It is a macro, because it names fields of a struct that is declared below.
cdef extern from *:
    """
    #ifndef MINIGRAD_NODE_H
    #define MINIGRAD_NODE_H
    #include "internals.h"
    #define MG_SHOWN 9
    static inline size_t *mg_shown(void) { static size_t places[MG_SHOWN]; return places; }

    static inline int mg_traverse_node(PyObject *node, visitproc visit, void *arg) {
        for (int i = 0; i < MG_SHOWN; i++) {
            PyObject *held = *(PyObject **)((char *)node + mg_shown()[i]);
            if (held != NULL && held != Py_None) Py_VISIT(held);
        }
        return 0;
    }

    #define MG_AT(node, i, field) mg_shown()[i] = (size_t)((char *)&(node)->field - (char *)(node))
    #define mg_show_less(node) do {                                                                                        \
        MG_AT(node, 0, next0); MG_AT(node, 1, next1); MG_AT(node, 2, next_more); MG_AT(node, 3, extra);                     \
        MG_AT(node, 4, saved0); MG_AT(node, 5, saved1); MG_AT(node, 6, saved2); MG_AT(node, 7, more); MG_AT(node, 8, grad); \
        mg_set_traverse(Py_TYPE(node), mg_traverse_node);                                                                   \
    } while (0)
    #endif
    """
    void show_less "mg_show_less"(Node node)

cdef class NodeExtra:
    cdef public dict metadata
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef public list tensor_hooks
    cdef public dict retains
    cdef public tuple place

@cython.trashcan(True)
cdef class Node:
    # The small fields lie side by side, so that a node has 192 bytes, with the collector's 16. Python's allocator rounds up to 16.
    cdef int edges
    cdef int dependencies
    cdef Node next0
    cdef Node next1
    cdef tuple next_more
    cdef tuple input_numbers
    cdef Meta meta
    cdef tuple metas
    cdef NodeExtra extra
    cdef unsigned long long sequence
    cdef object __weakref__
    # the fields of OpNode are here, because only then its nodes come from the freelist
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
    cdef object lead_to(self, Py_ssize_t edge, Node following, int number)
    cdef int input_number(self, Py_ssize_t edge)
    cdef NodeExtra extras(self)
    cpdef name(self)

cdef object clear_node(Node node)
cdef object retain_output(Node node, int number, object tensor)
