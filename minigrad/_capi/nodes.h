/* How nodes are made and freed, and what the collector sees of them: see memory.h. This file is for node.py and op_node.py. */
#ifndef MINIGRAD_NODES_H
#define MINIGRAD_NODES_H

#include "memory.h"

#define MG_NODE struct __pyx_obj_8minigrad_5_core_5graph_4node_Node

/* Let the collector see only the fields of a node that may lead back to it: Note [What the collector is shown] in node.py. */
static inline int mg_traverse_node(PyObject *o, visitproc visit, void *arg) {
    MG_NODE *node = (MG_NODE *)o;
    PyObject *shown[] = {(PyObject *)node->next0, node->next_rest, (PyObject *)node->extra, node->saved0, node->saved1,
                         node->saved_rest, node->grad};
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (shown[i] != Py_None) Py_VISIT(shown[i]);
    return 0;
}
static inline void mg_show_less(PyTypeObject *cls) { mg_set_traverse(cls, mg_traverse_node); }

#ifndef MINIGRAD_PLAIN_MEMORY
static mg_memory mg_nodes;
static destructor mg_node_dealloc;      /* how Cython frees the nodes of the kept class and its subclasses, which add no field */

static inline PyObject **mg_node_link(PyObject *o) { return &((MG_NODE *)o)->__weakref__; }

static inline void mg_empty_fields(MG_NODE *node) {
    MG_EMPTY(node->saved0);
    MG_EMPTY(node->saved1);
    MG_EMPTY(node->saved_rest);
    MG_EMPTY(node->grad);
    MG_EMPTY(node->next0);
    MG_EMPTY(node->next_rest);
    MG_EMPTY(node->extra);
    MG_EMPTY(node->meta);
    MG_EMPTY(node->plan);
    node->task = node->sequence = 0;
    node->edges = node->dependencies = node->version0 = node->version1 = node->version2 = 0;
    node->interior = node->freed = node->needed = node->hooked = 0;
}

static inline void mg_empty_node(PyObject *o) {
    mg_empty_fields((MG_NODE *)o);
    if (!mg_keep(&mg_nodes, o, mg_node_link)) mg_node_dealloc(o);
}

static inline void mg_dealloc_node(PyObject *o) { mg_free_in_turn(&mg_nodes, o, mg_empty_node, mg_node_link); }

static inline void mg_keep_nodes(PyTypeObject *cls) {
    if (mg_node_dealloc) return;
    mg_node_dealloc = cls->tp_dealloc;
    cls->tp_dealloc = mg_dealloc_node;
}
#else
static inline void mg_keep_nodes(PyTypeObject *cls) { (void)cls; }
#endif

/* A node without edges, of the class `cls`, a `named_subclass` of `base`. */
static inline PyObject *mg_allocate_node(PyTypeObject *base, PyObject *cls) {
#ifndef MINIGRAD_PLAIN_MEMORY
    PyObject *o = mg_revive(&mg_nodes, mg_node_link);
#else
    PyObject *o = NULL;
#endif
    if (!o) o = mg_new(base->tp_new, (PyObject *)base);
    if (o) mg_change_class(o, cls);
    return o;
}

#endif
