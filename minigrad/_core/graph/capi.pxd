# What the compiled engine takes from C. The interpreted twins are in capi.py.
from cpython.object cimport PyObject

cdef extern from "numpy/arrayobject.h":
    pass

cdef extern from *:
    """
    #ifndef MINIGRAD_CAPI_H
    #define MINIGRAD_CAPI_H
    static inline Py_ssize_t mg_reference_count(PyObject *o) { return Py_REFCNT(o); }

    /* A number that no two threads of a process ever share, not even after one has ended
       (a thread *ident* is used again): the key of the cached State, see thread_state.py. */
    static inline unsigned long long mg_thread_id(void) {
        return (unsigned long long)PyThreadState_GetID(PyThreadState_Get());
    }

    /* An instance of `cls` (a Python subclass of the extension type `base`) without a call of
       cls.__new__ or cls.__init__: a third of the price of cls(). */
    static newfunc mg_bare_new;     /* what `fill_new_instances` found, where it was called */
    static PyObject *mg_filler;
    static inline PyObject *mg_allocate(PyTypeObject *base, PyObject *cls, PyObject *empty) {
        return (mg_bare_new ? mg_bare_new : base->tp_new)((PyTypeObject *)cls, empty, NULL);
    }

    /* From now on an instance of `base` or a subclass that anybody but `allocate` makes is given to `filler`, so that a subclass whose
       __new__ skips ours has its fields too. */
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

    /* The function that takes over arrays which nobody else holds, by its address: kernels/cpu/pool.pyx. */
    typedef void (*mg_recycler)(PyObject *);
    static inline mg_recycler mg_find_recycler(PyObject *capsule) {
        return capsule == Py_None ? NULL : (mg_recycler)PyCapsule_GetPointer(capsule, "minigrad.recycle");
    }
    static inline void mg_recycle(mg_recycler recycler, PyObject *array) { if (recycler) recycler(array); }

    /* NumPy's number for the type of an array's elements; -1 if their bytes are swapped. */
    static inline int mg_type_number(PyObject *array) {
        PyArray_Descr *d = ((PyArrayObject_fields *)array)->descr;
        return PyArray_ISNBO(d->byteorder) ? d->type_num : -1;
    }

    /* A number that arrays of one shape and type of elements have in common, and few others. */
    static inline Py_ssize_t mg_shape_key(PyObject *array) {
        PyArrayObject_fields *a = (PyArrayObject_fields *)array;
        Py_ssize_t key = a->descr->type_num + 37 * a->nd;
        for (int i = 0; i < a->nd; i++) key = key * 31 + a->dimensions[i];
        return key;
    }

    /* Whether an array of NumPy's has this very dtype. (Most arrays of a kind share one, but an array out of a pickle has its own.) */
    static inline int mg_has_type(PyObject *array, PyObject *dtype) {
        return (PyObject *)((PyArrayObject_fields *)array)->descr == dtype;
    }

    /* An int that is a size, without a call where it is small. */
    static inline Py_ssize_t mg_size_in(PyObject *o) {
    #if PY_VERSION_HEX >= 0x030C0000
        if (PyUnstable_Long_IsCompact((PyLongObject *)o)) return PyUnstable_Long_CompactValue((PyLongObject *)o);
    #else
        if (Py_SIZE(o) == 1) return ((PyLongObject *)o)->ob_digit[0];
    #endif
        return PyLong_AsSsize_t(o);
    }

    /* Whether an array of NumPy's has this shape, a tuple of ints. */
    static inline int mg_has_shape(PyObject *array, PyObject *shape) {
        PyArrayObject_fields *a = (PyArrayObject_fields *)array;
        if (a->nd != PyTuple_GET_SIZE(shape)) return 0;
        for (int i = 0; i < a->nd; i++)
            if (a->dimensions[i] != mg_size_in(PyTuple_GET_ITEM(shape, i))) return 0;
        return 1;
    }

    /* Whether an array of NumPy's may be written to and lies in memory without gaps, row by row. */
    static inline int mg_is_c_contiguous(PyObject *array) {
        return PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_CARRAY);
    }

    /* Let instances of `sub`, which adds no field to `base`, die as those of `base` do. Within one file Cython does so by itself;
       across files each class takes the object out of the collector's list and puts it back for the next: 20 ns a tensor. */
    static inline void mg_inherit_dealloc(PyObject *cls, PyTypeObject *base) {
        PyTypeObject *sub = (PyTypeObject *)cls;
        if (sub->tp_basicsize == base->tp_basicsize && sub->tp_finalize == base->tp_finalize) sub->tp_dealloc = base->tp_dealloc;
    }

    /* f(a, ...), or None if it raises what a kernel raises for operands that do not fit or a result that is too large: the caller then
       finds out which by a slower way. (An ``except`` in Cython saves and restores the state of exceptions, 45 instructions, also where
       nothing is raised: 2% of a chain of ops.) */
    static inline PyObject *mg_try_call(PyObject *f, PyObject **args, size_t n) {
        PyObject *found = PyObject_Vectorcall(f, args + 1, n | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (!found && (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_ValueError)
                       || PyErr_ExceptionMatches(PyExc_OverflowError) || PyErr_ExceptionMatches(PyExc_IndexError))) {
            PyErr_Clear();
            found = Py_None;
            Py_INCREF(found);
        }
        return found;
    }
    #define MG_TRY_CALL(f, n, ...) mg_try_call(f, (PyObject *[]){NULL, __VA_ARGS__}, n)
    static inline PyObject *mg_try_call1(PyObject *f, PyObject *a) { return MG_TRY_CALL(f, 1, a); }
    static inline PyObject *mg_try_call2(PyObject *f, PyObject *a, PyObject *b) { return MG_TRY_CALL(f, 2, a, b); }
    static inline PyObject *mg_try_call3(PyObject *f, PyObject *a, PyObject *b, PyObject *c) { return MG_TRY_CALL(f, 3, a, b, c); }
    static inline PyObject *mg_try_call5(PyObject *f, PyObject *a, PyObject *b, PyObject *c, PyObject *d, PyObject *e) {
        return MG_TRY_CALL(f, 5, a, b, c, d, e);
    }
    static inline PyObject *mg_try_call6(PyObject *f, PyObject *a, PyObject *b, PyObject *c, PyObject *d, PyObject *e, PyObject *g) {
        return MG_TRY_CALL(f, 6, a, b, c, d, e, g);
    }

    /* A class that is `base` under another name, of static storage: what is said of it below holds for a class that is not on the heap.
       Nobody can make instances of it, or subclasses. */
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

    /* Make `o` an instance of such a subclass of its class: the two differ in nothing but the name. The free list of Node knows objects
       of its own class only by their size, and so it serves these too. */
    static inline void mg_change_class(PyObject *o, PyObject *cls) { Py_SET_TYPE(o, (PyTypeObject *)cls); }

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
    #endif
    """
    Py_ssize_t reference_count "mg_reference_count"(object o)
    unsigned long long thread_id "mg_thread_id"()
    int type_number "mg_type_number"(object array)
    Py_ssize_t shape_key "mg_shape_key"(object array)
    bint has_type "mg_has_type"(object array, object dtype)
    bint has_shape "mg_has_shape"(object array, tuple shape)
    bint is_c_contiguous "mg_is_c_contiguous"(object array)
    void inherit_dealloc "mg_inherit_dealloc"(object sub, type base)        # whose own class may be another than `type`
    void inherit_number_slots "mg_inherit_number_slots"(object sub, type base)
    object try_call1 "mg_try_call1"(object f, object a)
    object try_call2 "mg_try_call2"(object f, object a, object b)
    object try_call3 "mg_try_call3"(object f, object a, object b, object c)
    object try_call5 "mg_try_call5"(object f, object a, object b, object c, object d, object e)
    object try_call6 "mg_try_call6"(object f, object a, object b, object c, object d, object e, object g)
    object named_subclass "mg_named_subclass"(type base, str name)
    void change_class "mg_change_class"(object o, object cls)
    object allocate "mg_allocate"(type base, object cls, object empty)
    void fill_new_instances "mg_fill_new_instances"(type base, object filler)
    ctypedef void (*recycler_t "mg_recycler")(object)
    recycler_t find_recycler "mg_find_recycler"(object capsule) except? NULL
    void recycle "mg_recycle"(recycler_t recycler, object array)

cdef extern from "Python.h":
    int check_signals "PyErr_CheckSignals"() except -1
    list dict_values "PyDict_Values"(object d)
