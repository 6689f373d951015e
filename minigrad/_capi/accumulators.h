/* How AccumulateGrad nodes are made and freed: see memory.h. This file is for accumulate_grad.py, whose class it knows. */
#ifndef MINIGRAD_ACCUMULATORS_H
#define MINIGRAD_ACCUMULATORS_H

#include "nodes.h"

#define MG_ACCUMULATOR struct __pyx_obj_8minigrad_5_core_5graph_15accumulate_grad_AccumulateGrad

#ifndef MINIGRAD_PLAIN_MEMORY
static mg_memory mg_accumulators;
static PyTypeObject *mg_accumulator_class;
static destructor mg_accumulator_dealloc;       /* how Cython frees one */

static inline void mg_empty_accumulator(PyObject *o) {
    MG_ACCUMULATOR *node = (MG_ACCUMULATOR *)o;
    MG_EMPTY(node->variable);
    MG_EMPTY(node->lock);
    mg_empty_fields((MG_NODE *)o);
    if (!mg_keep(&mg_accumulators, o, mg_node_link)) mg_accumulator_dealloc(o);
}

static inline void mg_dealloc_accumulator(PyObject *o) {       /* also for a Python subclass, whose instances are not kept */
    if (Py_TYPE(o) != mg_accumulator_class) { mg_accumulator_dealloc(o); return; }
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
