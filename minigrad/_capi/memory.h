/* memory: the next objects are made of dead ones. A group like those of internals.h; the head of __init__.py says how to build without.

   An op makes and frees three objects: a tensor, a node, and in the backward the tensor of a gradient. Python's and Cython's own ways
   of doing so take a third of the time of a small op. So a dead tensor or node is kept with its fields empty, and the next one is the
   same object: see Note [What the collector counts] in tensor.py. This file has what tensors.h and nodes.h share. */
#ifndef MINIGRAD_MEMORY_H
#define MINIGRAD_MEMORY_H

#include "internals.h"

/* Without a GIL, and in builds of Python that list all objects, Python's own ways are left alone. */
#if defined(MINIGRAD_PLAIN) || defined(Py_GIL_DISABLED) || defined(Py_TRACE_REFS)
#define MINIGRAD_PLAIN_MEMORY
#endif

#ifndef MINIGRAD_PLAIN_MEMORY
#define MG_MOST_KEPT 32768      /* dead objects of a class: 6 MB. A step uses the memory of the last step, and no page is mapped again */
#define MG_DEEPEST 50
#define MG_COUNTED 16
#define MG_HEAD (2 * sizeof(uintptr_t))     /* the links to the neighbours in the collector's list */

/* Dead objects of a class, and those that have to wait until they are freed. */
typedef struct {
    int count, depth;
    PyObject *waiting;
    PyObject *kept[MG_MOST_KEPT];
} mg_memory;

/* A dead object, alive again with a reference count of one, or NULL if there is none. Its fields are those of a new object. */
static inline PyObject *mg_revive(mg_memory *memory) {
    if (memory->count == 0) return NULL;
    PyObject *o = memory->kept[--memory->count];
    Py_SET_REFCNT(o, 1);
    PyObject_GC_Track(o);
    return o;
}
static inline int mg_keep(mg_memory *memory, PyObject *o) {
    if (memory->count == MG_MOST_KEPT) return 0;
    memory->kept[memory->count++] = o;
    return 1;
}

/* Free an object: `empty(o)` frees what o refers to, which may free objects of the same class, and so on: a chain of two million
   nodes would exhaust the stack. Beyond a depth of MG_DEEPEST an object waits in a list until the outermost call comes to it. Python's
   own trashcan does the same, in ten times the time. `link` is the field of o for weak references, and then for the list. */
static inline void mg_free_in_turn(mg_memory *memory, PyObject *o, void (*empty)(PyObject *), PyObject **(*link)(PyObject *)) {
    PyObject_GC_UnTrack(o);
    if (*link(o)) PyObject_ClearWeakRefs(o);
    if (memory->depth == MG_DEEPEST) {
        *link(o) = memory->waiting;
        memory->waiting = o;
        return;
    }
    memory->depth++;
    empty(o);
    while (memory->depth == 1 && memory->waiting) {
        PyObject *next = memory->waiting;
        memory->waiting = *link(next);
        *link(next) = NULL;
        empty(next);
    }
    memory->depth--;
}

/* Set a field that holds an object to None. */
#define MG_EMPTY(field) do {                                                            \
        PyObject *held = (PyObject *)(field);                                           \
        if (held != Py_None) {                                                          \
            Py_INCREF(Py_None);                                                         \
            (field) = (void *)Py_None;                                                  \
            Py_XDECREF(held);                                                           \
        }                                                                               \
    } while (0)

/* Of the new instances of `cls` and its subclasses in C, let the collector count one in sixteen. See Note [What the collector counts]
   in tensor.py. The other fifteen are made and freed as CPython does it, but for the count. */
static unsigned mg_made, mg_freed;

static inline PyObject *mg_alloc_uncounted(PyTypeObject *cls, Py_ssize_t items) {
    if (mg_made++ % MG_COUNTED == 0) return PyType_GenericAlloc(cls, items);
    char *memory = (char *)PyObject_Calloc(1, MG_HEAD + cls->tp_basicsize);
    if (!memory) return PyErr_NoMemory();
    PyObject *o = PyObject_Init((PyObject *)(memory + MG_HEAD), cls);
    PyObject_GC_Track(o);
    return o;
}
static inline void mg_free_uncounted(void *o) {
    if (mg_freed++ % MG_COUNTED == 0) { PyObject_GC_Del(o); return; }
    PyObject_GC_UnTrack(o);
    PyObject_Free((char *)o - MG_HEAD);
}
static inline void mg_count_seldom(PyTypeObject *cls) {
    if (PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE)) return;
    cls->tp_alloc = mg_alloc_uncounted;
    cls->tp_free = mg_free_uncounted;
}
#else
static inline void mg_count_seldom(PyTypeObject *cls) { (void)cls; }
#endif

#endif
