/* What minigrad uses of CPython and NumPy beyond their documented interfaces. The head of __init__.py says how to build without.

   Each group is within #ifndef MINIGRAD_PLAIN_<GROUP>; what follows #else gives the same results by documented means. */
#ifndef MINIGRAD_INTERNALS_H
#define MINIGRAD_INTERNALS_H

#include <Python.h>
#include <string.h>

#ifdef MINIGRAD_PLAIN
#define MINIGRAD_PLAIN_COUNTS
#define MINIGRAD_PLAIN_SLOTS
#define MINIGRAD_PLAIN_CLASSES
#define MINIGRAD_PLAIN_ARRAYS
#define MINIGRAD_PLAIN_SIZES
#endif


/* ---- counts: how many references an object has ------------------------------------------------------------------------

   Py_REFCNT is documented, but not which references a caller adds. The core measures that when it is imported. */
#ifndef MINIGRAD_PLAIN_COUNTS
static inline Py_ssize_t mg_reference_count(PyObject *o) { return Py_REFCNT(o); }
#else
/* A number that is never equal to, or one more than, an earlier one: nobody is ever the only owner. */
static inline Py_ssize_t mg_reference_count(PyObject *o) {
    static Py_ssize_t last = 1000;
    (void)o;
    return last += 7;
}
#endif


/* ---- slots: the slots of a class, set or copied after the class is ready ----------------------------------------------*/

/* An instance of `cls` (a Python subclass of the extension type `base`) without a call of cls.__new__ or cls.__init__: it takes a
   third of the time of cls(). */
static inline PyObject *mg_allocate(PyTypeObject *base, PyObject *cls, PyObject *empty) {
    return base->tp_new((PyTypeObject *)cls, empty, NULL);
}

#ifndef MINIGRAD_PLAIN_SLOTS
/* Free instances of `sub`, which adds no field to `base`, like instances of `base`. Within one file Cython does this itself.
   Across files, each class would take the object out of the collector's list and put it back for the next class, which costs
   20 ns for each tensor. */
static inline void mg_inherit_dealloc(PyObject *cls, PyTypeObject *base) {
    PyTypeObject *sub = (PyTypeObject *)cls;
    if (sub->tp_basicsize == base->tp_basicsize && sub->tp_finalize == base->tp_finalize) sub->tp_dealloc = base->tp_dealloc;
}

/* Give `sub` the arithmetic slots of its base; see Note [Operators in C] in operators.py. */
static inline void mg_inherit_number_slots(PyObject *cls, PyTypeObject *base) {
    PyTypeObject *sub = (PyTypeObject *)cls;
    PyNumberMethods *to = sub->tp_as_number, *from = base->tp_as_number;
    to->nb_add = from->nb_add;
    to->nb_subtract = from->nb_subtract;
    to->nb_multiply = from->nb_multiply;
    to->nb_true_divide = from->nb_true_divide;
    to->nb_matrix_multiply = from->nb_matrix_multiply;
    to->nb_power = from->nb_power;
    PyType_Modified(sub);
}

/* `sizes[i]` and `sizes[i:j]` for the class Size, in C: by its __getitem__ they take ten times as long. */
static PyObject *mg_size_class;
static inline PyObject *mg_index_size(PyObject *sizes, PyObject *index) {
    PyObject *found = PyTuple_Type.tp_as_mapping->mp_subscript(sizes, index), *part;
    if (!found || !PySlice_Check(index)) return found;
    const Py_ssize_t n = PyTuple_GET_SIZE(found);
    part = ((PyTypeObject *)mg_size_class)->tp_alloc((PyTypeObject *)mg_size_class, n);
    for (Py_ssize_t i = 0; part && i < n; i++) PyTuple_SET_ITEM(part, i, Py_NewRef(PyTuple_GET_ITEM(found, i)));
    Py_DECREF(found);
    return part;
}
static inline void mg_index_in_c(PyObject *size_class) {
    mg_size_class = size_class;
    ((PyTypeObject *)size_class)->tp_as_mapping->mp_subscript = mg_index_size;
    ((PyTypeObject *)size_class)->tp_as_sequence->sq_item = PyTuple_Type.tp_as_sequence->sq_item;
    PyType_Modified((PyTypeObject *)size_class);
}

/* Let the collector call `traverse` for the instances of a class of Cython's; see Note [What the collector is shown] in node.py. */
static inline void mg_set_traverse(PyTypeObject *cls, traverseproc traverse) {
    if (!PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE)) cls->tp_traverse = traverse;
}

/* The functions that look up an attribute and call an instance; see Note [Slots of modules] in nn/modules/_quick.pyx. */
static inline void mg_set_getattr(PyObject *cls, getattrofunc function) {
    ((PyTypeObject *)cls)->tp_getattro = function;
    PyType_Modified((PyTypeObject *)cls);
}
static inline void mg_set_call(PyObject *cls, ternaryfunc function) {
    ((PyTypeObject *)cls)->tp_call = function;
    PyType_Modified((PyTypeObject *)cls);
}

/* Whether the class of `o`, or a base of it, has an attribute `name`. */
static inline int mg_found_in_class(PyObject *o, PyObject *name) { return _PyType_Lookup(Py_TYPE(o), name) != NULL; }
#else
static inline void mg_inherit_dealloc(PyObject *cls, PyTypeObject *base) { (void)cls; (void)base; }
static inline void mg_inherit_number_slots(PyObject *cls, PyTypeObject *base) { (void)cls; (void)base; }
static inline void mg_index_in_c(PyObject *size_class) { (void)size_class; }
static inline void mg_set_traverse(PyTypeObject *cls, traverseproc traverse) { (void)cls; (void)traverse; }
static inline void mg_set_getattr(PyObject *cls, getattrofunc function) { (void)cls; (void)function; }
static inline void mg_set_call(PyObject *cls, ternaryfunc function) { (void)cls; (void)function; }
static inline int mg_found_in_class(PyObject *o, PyObject *name) { (void)o; (void)name; return 1; }
#endif


/* ---- classes: a class for each op's nodes -----------------------------------------------------------------------------

   A subclass of `base` with another name, of which users can make neither instances nor subclasses; and an object of `base` that
   becomes an instance of it. */
#ifndef MINIGRAD_PLAIN_CLASSES
/* It is a static type like `base` itself, made at run time, so that its instances go through the free list of Node, which
   accepts objects by their size. */
static inline PyObject *mg_named_subclass(PyTypeObject *base, PyObject *name) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    PyTypeObject *cls = text ? (PyTypeObject *)PyMem_Calloc(1, sizeof(PyTypeObject)) : NULL;
    char *copy = text ? (char *)PyMem_Malloc(length + 1) : NULL;
    if (!cls || !copy) { PyMem_Free(cls); PyMem_Free(copy); return text ? PyErr_NoMemory() : NULL; }
    memcpy(copy, text, length + 1);
    Py_SET_REFCNT((PyObject *)cls, 1);
    cls->tp_name = copy;
    cls->tp_base = base;
    cls->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    if (PyType_Ready(cls) < 0) return NULL;
    Py_INCREF(cls);
    return (PyObject *)cls;
}
static inline void mg_change_class(PyObject *o, PyObject *cls) { Py_SET_TYPE(o, (PyTypeObject *)cls); }
#else
/* A class from a specification, which has to name a module. Errors show that name whole, so the class gets its own name last.
   Its instances hold a reference to it. */
static inline PyObject *mg_named_subclass(PyTypeObject *base, PyObject *name) {
    PyObject *full = PyUnicode_FromFormat("builtins.%U", name), *bases = PyTuple_Pack(1, base), *cls = NULL;
    const char *text = full ? PyUnicode_AsUTF8(full) : NULL;
    PyType_Slot slots[] = {{0, NULL}};
    PyType_Spec spec = {text, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    if (text && bases) cls = PyType_FromSpecWithBases(&spec, bases);
    if (cls && PyObject_SetAttrString(cls, "__name__", name) < 0) Py_CLEAR(cls);
    Py_XDECREF(bases);
    Py_XDECREF(full);
    return cls;
}
static inline void mg_change_class(PyObject *o, PyObject *cls) {
    Py_INCREF(cls);
    Py_SET_TYPE(o, (PyTypeObject *)cls);
}
#endif


/* ---- sizes: the value of a Python int that is a size, without a call if it is small -----------------------------------*/

static inline Py_ssize_t mg_size_in(PyObject *o) {
#ifndef MINIGRAD_PLAIN_SIZES
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)o)) return PyUnstable_Long_CompactValue((PyLongObject *)o);
#else
    if (Py_SIZE(o) == 1) return ((PyLongObject *)o)->ob_digit[0];
#endif
#endif
    return PyLong_AsSsize_t(o);
}


/* ---- arrays: the fields of a dead array -------------------------------------------------------------------------------

   For kernels/cpu/pool.pyx, which uses the objects of dead arrays and views again; see there. The plain forms say that there is
   nothing to use again. */
#ifdef NPY_ARRAY_OWNDATA

/* The flags for row-major and column-major order. PyArray_UpdateFlags computes the same in three times the time. */
static inline int mg_order(int nd, const npy_intp *shape, const npy_intp *steps, npy_intp item) {
    int rows = NPY_ARRAY_C_CONTIGUOUS, columns = NPY_ARRAY_F_CONTIGUOUS;
    npy_intp step = item;
    for (int i = 0; i < nd; i++)
        if (shape[i] == 0) return rows | columns;
    for (int i = nd - 1; i >= 0; step *= shape[i--])
        if (shape[i] != 1 && steps[i] != step) rows = 0;
    step = item;
    for (int i = 0; i < nd; step *= shape[i++])
        if (shape[i] != 1 && steps[i] != step) columns = 0;
    return rows | columns;
}

#ifndef MINIGRAD_PLAIN_ARRAYS
/* Whether an array has a weak reference. */
static inline int mg_weakly_held(PyArrayObject *x) { return ((PyArrayObject_fields *)x)->weakreflist != NULL; }

/* The dead array below this one in its bin. An array that owns its memory, and a shell, have no base, so that field has it. */
static inline PyObject *mg_below(PyObject *x) { return ((PyArrayObject_fields *)x)->base; }
static inline void mg_set_below(PyObject *x, PyObject *below) { ((PyArrayObject_fields *)x)->base = below; }

/* Whether a dead view may become a shell: it has no weak reference and no exported buffer. */
static inline int mg_is_view(PyArrayObject *x) {
    PyArrayObject_fields *v = (PyArrayObject_fields *)x;
    return v->base != NULL && v->weakreflist == NULL && v->_buffer_info == NULL
        && !(v->flags & (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEBACKIFCOPY));
}

/* Take the base out of a view and return it, or NULL. The caller owns the reference. */
static inline PyObject *mg_empty_shell(PyArrayObject *x) {
    PyObject *base = ((PyArrayObject_fields *)x)->base;
    ((PyArrayObject_fields *)x)->base = NULL;
    return base;
}

/* Turn a shell of `nd` dimensions into a view of x. It is aligned if x is, because its strides are whole elements. */
static inline void mg_fill_shell(PyArrayObject *shell, PyArrayObject *x, int nd, const npy_intp *shape, const npy_intp *steps,
                                 char *start) {
    PyArrayObject_fields *v = (PyArrayObject_fields *)shell;
    PyArray_Descr *before = v->descr;
    v->descr = PyArray_DESCR(x);
    Py_INCREF(v->descr);
    Py_DECREF(before);
    v->data = start;
    for (int i = 0; i < nd; i++) { v->dimensions[i] = shape[i]; v->strides[i] = steps[i]; }
    v->flags = (PyArray_FLAGS(x) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)) | mg_order(nd, shape, steps, PyArray_ITEMSIZE(x));
}

/* Give a row-major array another shape with the same number of dimensions and elements. Nothing else may refer to it. */
static inline void mg_reshape(PyArrayObject *x, int nd, const npy_intp *shape) {
    PyArrayObject_fields *v = (PyArrayObject_fields *)x;
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int i = nd - 1; i >= 0; i--) { v->dimensions[i] = shape[i]; v->strides[i] = step; step *= shape[i]; }
    v->flags = (v->flags & ~(NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))
        | mg_order(nd, shape, v->strides, PyArray_ITEMSIZE(x));
}
#else
static inline int mg_weakly_held(PyArrayObject *x) { (void)x; return 1; }      /* so it goes into no bin */
static inline PyObject *mg_below(PyObject *x) { (void)x; return NULL; }
static inline void mg_set_below(PyObject *x, PyObject *below) { (void)x; (void)below; }
static inline int mg_is_view(PyArrayObject *x) { (void)x; return 0; }          /* so there are no shells */
static inline PyObject *mg_empty_shell(PyArrayObject *x) { (void)x; return NULL; }
static inline void mg_fill_shell(PyArrayObject *shell, PyArrayObject *x, int nd, const npy_intp *shape, const npy_intp *steps,
                                 char *start) { (void)shell; (void)x; (void)nd; (void)shape; (void)steps; (void)start; }
static inline void mg_reshape(PyArrayObject *x, int nd, const npy_intp *shape) { (void)x; (void)nd; (void)shape; }
#endif

/* Make `x` the base of `view`. PyArray_SetBaseObject looks for the owner of the memory first, which x or its base usually is. */
static inline int mg_set_base(PyArrayObject *view, PyObject *x) {
#ifndef MINIGRAD_PLAIN_ARRAYS
    if (PyArray_CheckExact(x)) {
        PyObject *owner = PyArray_BASE((PyArrayObject *)x) == NULL ? x : PyArray_BASE((PyArrayObject *)x);
        if (PyArray_CheckExact(owner) && PyArray_BASE((PyArrayObject *)owner) == NULL) {
            Py_INCREF(owner);
            ((PyArrayObject_fields *)view)->base = owner;
            return 0;
        }
    }
#endif
    Py_INCREF(x);                       /* PyArray_SetBaseObject steals this reference, even if it fails */
    return PyArray_SetBaseObject(view, x);
}
#endif

#endif
