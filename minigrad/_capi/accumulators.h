/* How AccumulateGrad nodes are made and freed: see memory.h. This file is for accumulate_grad.py, whose class it knows. */
#ifndef MINIGRAD_ACCUMULATORS_H
#define MINIGRAD_ACCUMULATORS_H

#include "nodes.h"

#define MG_ACCUMULATOR struct __pyx_obj_8minigrad_5_core_5graph_15accumulate_grad_AccumulateGrad

#define MG_EXTRA struct __pyx_obj_8minigrad_5_core_5graph_6tensor_AutogradMeta

/* See Note [A leaf and its node] in accumulate_grad.py. */
static inline void mg_set_accumulator(MG_EXTRA *extra, PyObject *node) { extra->accumulator = node == Py_None ? NULL : node; }
static inline PyObject *mg_accumulator_of(MG_EXTRA *extra) {
    return Py_NewRef(extra->accumulator ? extra->accumulator : extra->shared_accumulator);
}
static inline void mg_leave_leaf(MG_ACCUMULATOR *node) {
    if ((PyObject *)node->home != Py_None && node->home->accumulator == (PyObject *)node) node->home->accumulator = NULL;
}

#ifndef MINIGRAD_PLAIN_MEMORY
static mg_memory mg_accumulators;
static PyTypeObject *mg_accumulator_class;
static destructor mg_accumulator_dealloc;       /* how Cython frees one */

static inline void mg_empty_accumulator(PyObject *o) {
    MG_ACCUMULATOR *node = (MG_ACCUMULATOR *)o;
    MG_EMPTY(node->variable);
    MG_EMPTY(node->home);
    MG_EMPTY(node->lock);
    mg_empty_fields((MG_NODE *)o);
    if (!mg_keep(&mg_accumulators, o, mg_node_link)) mg_accumulator_dealloc(o);     /* which finds no leaf any more */
}

static inline void mg_dealloc_accumulator(PyObject *o) {       /* also for a Python subclass, whose instances are not kept */
    if (Py_TYPE(o) != mg_accumulator_class) { mg_accumulator_dealloc(o); return; }
    mg_leave_leaf((MG_ACCUMULATOR *)o);
    mg_free_in_turn(&mg_accumulators, o, mg_empty_accumulator, mg_node_link);
}

static inline void mg_keep_accumulators(PyTypeObject *cls) {
    mg_accumulator_class = cls;
    mg_accumulator_dealloc = cls->tp_dealloc;
    cls->tp_dealloc = mg_dealloc_accumulator;
}
#else
static inline void mg_keep_accumulators(PyTypeObject *cls) { (void)cls; }
#endif

/* An AccumulateGrad without a leaf. */
static inline PyObject *mg_allocate_accumulator(PyTypeObject *cls) {
#ifndef MINIGRAD_PLAIN_MEMORY
    PyObject *o = mg_revive(&mg_accumulators, mg_node_link);
    if (o) return o;
#endif
    return mg_new(cls->tp_new, (PyObject *)cls);
}

#endif
