/* How tensors are made and freed: see memory.h. This file is for tensor.py, whose class it knows. */
#ifndef MINIGRAD_TENSORS_H
#define MINIGRAD_TENSORS_H

#include "memory.h"

#define MG_TENSOR struct __pyx_obj_8minigrad_5_core_5graph_6tensor_TensorBase

static newfunc mg_bare_new;     /* the tp_new that `fill_new_instances` has replaced, or NULL */
static PyObject *mg_filler;

/* From now on call `filler` on each instance of `base` or a subclass that is not made by `allocate_tensor`. So an instance of a
   subclass whose __new__ does not call ours has its fields too. There is no plain form: a __cinit__ would run for those as well. */
static inline PyObject *mg_filled_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *done, *o = mg_bare_new(cls, args, kwargs);
    if (!o || !(done = PyObject_CallOneArg(mg_filler, o))) { Py_XDECREF(o); return NULL; }
    Py_DECREF(done);
    return o;
}
static inline void mg_fill_new_instances(PyTypeObject *base, PyObject *filler) {
    mg_bare_new = base->tp_new;
    mg_filler = filler;
    Py_INCREF(filler);
    base->tp_new = mg_filled_new;
    PyType_Modified(base);
}

#ifndef MINIGRAD_PLAIN_MEMORY
static mg_memory mg_tensors;
static PyTypeObject *mg_tensor_class;   /* the Python class whose instances are kept. Dead ones still hold it */
static PyTypeObject *mg_tensor_base;    /* its base in C */

static inline PyObject **mg_tensor_link(PyObject *o) { return &((MG_TENSOR *)o)->__weakref__; }

/* Free what a tensor of the class refers to, and keep the object. Its array goes back to the pool if nothing else refers to it. */
static inline void mg_empty_tensor(PyObject *o) {
    MG_TENSOR *t = (MG_TENSOR *)o;
    PyObject *array = t->_array;
    if (mg_reference_count(array) == 1 && array != Py_None) mg_recycle(t->_meta->backend->recycler, array);
    MG_EMPTY(t->_array);
    MG_EMPTY(t->_node);
    MG_EMPTY(t->_counter);
    MG_EMPTY(t->_extra);
    MG_EMPTY(t->_view_base);
    MG_EMPTY(t->_meta);
    t->_output_number = t->_creation = 0;
    t->_leaf_requires_grad = t->_inference = 0;
    t->_base_version = 0;
    if (!mg_keep(&mg_tensors, o, mg_tensor_link)) {
        PyTypeObject *cls = Py_TYPE(o);
        mg_instances--;
        mg_tensor_base->tp_dealloc(o);
        Py_DECREF(cls);
    }
}

static inline void mg_dealloc_tensor(PyObject *o) {    /* also for a subclass: Python calls it for the part of the class */
    PyTypeObject *cls = Py_TYPE(o);
    if (cls != mg_tensor_class || cls->tp_finalize) {
        if (cls == mg_tensor_class && PyObject_CallFinalizerFromDealloc(o)) return;
        PyObject_GC_UnTrack(o);
        Py_TRASHCAN_BEGIN(o, mg_dealloc_tensor)
        mg_tensor_base->tp_dealloc(o);
        Py_DECREF(cls);
        Py_TRASHCAN_END
        return;
    }
    mg_free_in_turn(&mg_tensors, o, mg_empty_tensor, mg_tensor_link);
}

/* Let the collector see only the fields of a tensor that may lead back to it: Note [What the collector is shown] in node.py. The
   kept class itself is never freed. */
static inline int mg_traverse_tensor(PyObject *o, visitproc visit, void *arg) {
    MG_TENSOR *t = (MG_TENSOR *)o;
    PyObject *shown[] = {(PyObject *)t->_node, (PyObject *)t->_view_base, (PyObject *)t->_extra};
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (shown[i] != Py_None) Py_VISIT(shown[i]);
    if (Py_TYPE(o) != mg_tensor_class) Py_VISIT(Py_TYPE(o));
    return 0;
}

/* Make the instances of `cls` from dead ones. `cls` is a Python class that adds no field to its base, which the collector tracks.
   It has the tp_alloc and tp_free of its subclasses, or Python would refuse to change an instance's `__class__` to one of them. */
static inline void mg_keep_instances(PyObject *cls) {
    PyTypeObject *c = (PyTypeObject *)cls, *base = c->tp_base;
    while (base->tp_dealloc == c->tp_dealloc) base = base->tp_base;      /* the nearest that is not a Python class */
    if (c->tp_basicsize != base->tp_basicsize || PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) || mg_tensor_class) return;
    mg_tensor_class = c;
    mg_tensor_base = base;
    c->tp_dealloc = mg_dealloc_tensor;
    c->tp_alloc = mg_alloc_uncounted;
    c->tp_traverse = mg_traverse_tensor;
}
#else
static inline void mg_keep_instances(PyObject *cls) { (void)cls; }
#endif

/* `mg_allocate` for tensors, of which those of the kept class are made of dead ones. */
static inline PyObject *mg_allocate_tensor(PyTypeObject *base, PyObject *cls) {
#ifndef MINIGRAD_PLAIN_MEMORY
    PyObject *o = cls == (PyObject *)mg_tensor_class ? mg_revive(&mg_tensors, mg_tensor_link) : NULL;
    if (o) return o;
#endif
    return mg_new(mg_bare_new ? mg_bare_new : base->tp_new, cls);
}

#endif
