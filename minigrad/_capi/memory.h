/* memory: the next objects are made of dead ones. A group like those of internals.h; __init__.py says how to build without.

   An op makes and frees three objects: a tensor, a node, and in the backward the tensor of a gradient. Python's and Cython's own
   ways of doing so take a third of the time of a small op. So a dead tensor or node is kept with its fields empty, and the next one
   is the same object: see Note [What the collector counts] in tensor.py. This file has what tensors.h and nodes.h share. */
#ifndef MINIGRAD_MEMORY_H
#define MINIGRAD_MEMORY_H

#include "internals.h"

/* An instance of `cls` by `new`, the tp_new of a class of Cython's, without a call of __new__ or __init__. */
static inline PyObject *mg_new(newfunc new, PyObject *cls) {
    PyObject *none = PyTuple_New(0), *o = none ? new((PyTypeObject *)cls, none, NULL) : NULL;
    Py_XDECREF(none);
    return o;
}

/* Without a GIL, and in builds of Python that list all objects, Python's own ways are left alone. */
#if defined(MINIGRAD_PLAIN) || defined(Py_GIL_DISABLED) || defined(Py_TRACE_REFS)
#define MINIGRAD_PLAIN_MEMORY
#endif

#ifndef MINIGRAD_PLAIN_MEMORY
/* Dead objects of a class: 160 MB of nodes, 112 MB of tensors. A page that is mapped again takes as long as ten new ops. */
#define MG_MOST_KEPT (1 << 20)
#define MG_PAGES (1 << 14)
#define MG_PAGE_BITS 14                     /* 16384 bytes: a hundred nodes, a pool of Python's allocator */
#define MG_DEEPEST 50
#define MG_COUNTED 16
#define MG_GROWTH 1024
#define MG_HEAD (2 * sizeof(uintptr_t))     /* the links to the neighbours in the collector's list */

/* Dead objects of a class, and those that have to wait until they are freed. Both are in lists: each object has a link to the next.
   The link is its field for weak references, of which a dead object has none.

   There is a list of dead objects for each page of memory (distant pages may share one), and a list of the pages that have any. So
   the nodes of the next graph are made page by page. With a single list they would be made in the order in which the last graph was
   freed, which is another one unless it was a chain, and each step of the engine would wait for a distant page. */
typedef struct mg_page {
    PyObject *dead;
    struct mg_page *next;
} mg_page;
typedef struct {
    int count, depth;
    PyObject *waiting;
    mg_page *first;
    mg_page pages[MG_PAGES];
} mg_memory;
typedef PyObject **mg_link(PyObject *);

static inline PyObject *mg_unlink(PyObject **list, mg_link *link) {
    PyObject *o = *list;
    *list = *link(o);
    *link(o) = NULL;
    return o;
}
static inline void mg_push(PyObject **list, PyObject *o, mg_link *link) {
    *link(o) = *list;
    *list = o;
}

/* A dead object, alive again with a reference count of one, or NULL if there is none. Its fields are those of a new object. */
static inline PyObject *mg_revive(mg_memory *memory, mg_link *link) {
    mg_page *page = memory->first;
    if (!page) return NULL;
    PyObject *o = mg_unlink(&page->dead, link);
    if (!page->dead) memory->first = page->next;
    memory->count--;
    Py_SET_REFCNT(o, 1);
    PyObject_GC_Track(o);
    return o;
}
static inline int mg_keep(mg_memory *memory, PyObject *o, mg_link *link) {
    if (memory->count == MG_MOST_KEPT) return 0;
    mg_page *page = &memory->pages[((uintptr_t)o >> MG_PAGE_BITS) & (MG_PAGES - 1)];
    if (!page->dead) {
        page->next = memory->first;
        memory->first = page;
    }
    mg_push(&page->dead, o, link);
    memory->count++;
    return 1;
}

/* Free an object: `empty(o)` frees what o refers to, which may free objects of the same class, and so on: a chain of two million
   nodes would exhaust the stack. Beyond a depth of MG_DEEPEST an object waits in a list until the outermost call comes to it.
   Python's own trashcan does the same, in ten times the time. */
static inline void mg_free_in_turn(mg_memory *memory, PyObject *o, void (*empty)(PyObject *), mg_link *link) {
    PyObject_GC_UnTrack(o);
    if (*link(o)) PyObject_ClearWeakRefs(o);
    if (memory->depth == MG_DEEPEST) {
        mg_push(&memory->waiting, o, link);
        return;
    }
    memory->depth++;
    empty(o);
    while (memory->depth == 1 && memory->waiting) empty(mg_unlink(&memory->waiting, link));
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

/* Of the new instances of `cls` and its subclasses in C, let the collector count one in sixteen, and fewer of a large graph. See
   Note [What the collector counts] in tensor.py. The others are made and freed as CPython does it, but for the count. */
/* how many there are; how many were made and freed after one that counted */
static Py_ssize_t mg_instances, mg_made, mg_freed;

static inline int mg_counts(Py_ssize_t *passed) {
    if (++*passed < MG_COUNTED + mg_instances / MG_GROWTH) return 0;
    *passed = 0;
    return 1;
}
static inline PyObject *mg_alloc_uncounted(PyTypeObject *cls, Py_ssize_t items) {
    mg_instances++;
    if (mg_counts(&mg_made)) return PyType_GenericAlloc(cls, items);
    char *memory = (char *)PyObject_Calloc(1, MG_HEAD + cls->tp_basicsize);
    if (!memory) return PyErr_NoMemory();
    PyObject *o = PyObject_Init((PyObject *)(memory + MG_HEAD), cls);
    PyObject_GC_Track(o);
    return o;
}
static inline void mg_free_uncounted(void *o) {
    mg_instances--;
    if (mg_counts(&mg_freed)) { PyObject_GC_Del(o); return; }
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
