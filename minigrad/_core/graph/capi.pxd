# The C functions that the compiled engine calls. The interpreted twins are in capi.py.
from cpython.object cimport PyObject

cdef extern from "numpy/arrayobject.h":
    pass

cdef extern from "internals.h":
    Py_ssize_t reference_count "mg_reference_count"(object o)
    void inherit_dealloc "mg_inherit_dealloc"(object sub, type base)        # the class of `sub` may be a metaclass
    void inherit_number_slots "mg_inherit_number_slots"(object sub, type base)
    void index_in_c "mg_index_in_c"(object size_class)
    object allocate "mg_allocate"(type base, object cls, object empty)
    object named_subclass "mg_named_subclass"(type base, str name)

cdef extern from *:
    """
    #ifndef MINIGRAD_CAPI_H
    #define MINIGRAD_CAPI_H
    /* A number that no other thread of the process ever gets, not even after this thread has ended.
       (A thread *ident* is used again.) It is the key of the cached State, see thread_state.py. */
    static inline unsigned long long mg_thread_id(void) {
        return (unsigned long long)PyThreadState_GetID(PyThreadState_Get());
    }

    /* The function that takes unused arrays back into the pool, by its address: kernels/cpu/pool.pyx. */
    typedef void (*mg_recycler)(PyObject *);
    static inline mg_recycler mg_find_recycler(PyObject *capsule) {
        return capsule == Py_None ? NULL : (mg_recycler)PyCapsule_GetPointer(capsule, "minigrad.recycle");
    }
    static inline void mg_recycle(mg_recycler recycler, PyObject *array) { if (recycler) recycler(array); }

    /* NumPy's number for the type of an array's elements; -1 if their bytes are swapped. */
    static inline int mg_type_number(PyObject *array) {
        PyArray_Descr *d = PyArray_DESCR((PyArrayObject *)array);
        return PyArray_ISNBO(d->byteorder) ? d->type_num : -1;
    }

    /* A hash of the shape and the dtype of an array. */
    static inline Py_ssize_t mg_shape_key(PyObject *array) {
        PyArrayObject *a = (PyArrayObject *)array;
        Py_ssize_t key = PyArray_TYPE(a) + 37 * PyArray_NDIM(a);
        for (int i = 0; i < PyArray_NDIM(a); i++) key = key * 31 + PyArray_DIM(a, i);
        return key;
    }

    /* Whether a NumPy array has this dtype object. (Most arrays of a dtype share it, but an array from a pickle has its own.) */
    static inline int mg_has_type(PyObject *array, PyObject *dtype) {
        return (PyObject *)PyArray_DESCR((PyArrayObject *)array) == dtype;
    }

    /* Whether a NumPy array has this shape, a tuple of ints. */
    static inline int mg_has_shape(PyObject *array, PyObject *shape) {
        PyArrayObject *a = (PyArrayObject *)array;
        if (PyArray_NDIM(a) != PyTuple_GET_SIZE(shape)) return 0;
        for (int i = 0; i < PyArray_NDIM(a); i++)
            if (PyArray_DIM(a, i) != mg_size_in(PyTuple_GET_ITEM(shape, i))) return 0;
        return 1;
    }

    /* Whether a NumPy array is writable and contiguous in row-major order. */
    static inline int mg_is_c_contiguous(PyObject *array) {
        return PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_CARRAY);
    }

    /* Whether it also owns its memory. */
    static inline int mg_owns_rows(PyObject *array) {
        return PyArray_CHKFLAGS((PyArrayObject *)array, NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA)
            && PyArray_BASE((PyArrayObject *)array) == NULL;
    }

    /* Whether `view` shows memory of the NumPy array `owner`, which is nobody's view. */
    static inline int mg_is_part_of(PyObject *view, PyObject *owner) {
        return Py_TYPE(view) == Py_TYPE(owner) && PyArray_BASE((PyArrayObject *)view) == owner;
    }

    /* The result of a call, or None if it raised one of the errors of a kernel: operands do not fit, or the result is too large.
       Then the caller takes the slower path, which raises the error. (An ``except`` in Cython saves and restores the exception
       state, 45 instructions, even if nothing is raised: 2% of a chain of ops.) */
    static inline PyObject *mg_or_none(PyObject *found) {
        if (!found && (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_ValueError)
                       || PyErr_ExceptionMatches(PyExc_OverflowError) || PyErr_ExceptionMatches(PyExc_IndexError))) {
            PyErr_Clear();
            found = Py_None;
            Py_INCREF(found);
        }
        return found;
    }

    /* f(*args), with n arguments; args[-1] is the callee's to write to. PyObject_Vectorcall does the same, and checks that the
       callee has returned either a value or an error: 1% of a chain of ops. */
    static inline PyObject *mg_vectorcall(PyObject *f, PyObject *const *args, size_t n) {
        PyTypeObject *cls = Py_TYPE(f);
        vectorcallfunc call = NULL;
        n |= PY_VECTORCALL_ARGUMENTS_OFFSET;
        if (PyType_HasFeature(cls, Py_TPFLAGS_HAVE_VECTORCALL)) call = *(vectorcallfunc *)((char *)f + cls->tp_vectorcall_offset);
        return call ? call(f, args, n, NULL) : PyObject_Vectorcall(f, args, n, NULL);
    }
    #define MG_CALL(f, n, ...) mg_vectorcall(f, (PyObject *[]){NULL, __VA_ARGS__} + 1, n)
    static inline PyObject *mg_call1(PyObject *f, PyObject *a) { return MG_CALL(f, 1, a); }
    static inline PyObject *mg_call2(PyObject *f, PyObject *a, PyObject *b) { return MG_CALL(f, 2, a, b); }
    static inline PyObject *mg_call3(PyObject *f, PyObject *a, PyObject *b, PyObject *c) { return MG_CALL(f, 3, a, b, c); }
    static inline PyObject *mg_call4(PyObject *f, PyObject *a, PyObject *b, PyObject *c, PyObject *d) {
        return MG_CALL(f, 4, a, b, c, d);
    }
    static inline PyObject *mg_try_call1(PyObject *f, PyObject *a) { return mg_or_none(mg_call1(f, a)); }
    static inline PyObject *mg_try_call2(PyObject *f, PyObject *a, PyObject *b) { return mg_or_none(mg_call2(f, a, b)); }

    /* f(a, b, *rest[start:]), where `rest` is a tuple or a list, and b may be NULL. ``f(a, *rest)`` in Cython makes a tuple of all
       arguments, and takes ten times as long. */
    #define MG_FEW 14
    static inline PyObject *mg_call_rest2(PyObject *f, PyObject *a, PyObject *b, PyObject *rest, Py_ssize_t start) {
        PyObject *few[MG_FEW + 3], **args = few, *found;    /* args[0] is the callee's to write to */
        Py_ssize_t n = PySequence_Fast_GET_SIZE(rest) - start;
        size_t k = 0;
        if (n > MG_FEW) {
            args = (PyObject **)PyMem_Malloc((n + 3) * sizeof(PyObject *));
            if (!args) return PyErr_NoMemory();
        }
        args[++k] = a;
        if (b) args[++k] = b;
        for (Py_ssize_t i = 0; i < n; i++) args[++k] = PySequence_Fast_GET_ITEM(rest, start + i);
        found = mg_vectorcall(f, args + 1, k);
        if (args != few) PyMem_Free(args);
        return found;
    }
    #define mg_call_rest(f, a, rest, start) mg_call_rest2(f, a, NULL, rest, start)
    #define mg_try_call_rest(f, a, rest, start) mg_or_none(mg_call_rest2(f, a, NULL, rest, start))
    #define mg_try_call_rest2(f, a, b, rest, start) mg_or_none(mg_call_rest2(f, a, b, rest, start))

    /* f(grad, *saved), where the `n` saved values are a, b and rest, or the items of the list `rest` if n > 3. */
    static inline PyObject *mg_call_saved(PyObject *f, PyObject *grad, PyObject *a, PyObject *b, PyObject *rest, int n) {
        PyObject *args[MG_FEW + 2] = {NULL, grad, a, b, rest};
        if (n > 3) {
            Py_ssize_t longest = PyList_CheckExact(rest) ? Py_MIN(2 + PyList_GET_SIZE(rest), MG_FEW) : 2;
            if (n > longest) n = (int)longest;
            for (int i = 2; i < n; i++) args[i + 2] = PyList_GET_ITEM(rest, i - 2);
        }
        return mg_vectorcall(f, args + 1, 1 + n);
    }

    /* A weak reference to an object. A call through Python takes five times as long. */
    static inline int mg_has_weak_reference(PyObject *o) { return *PyObject_GET_WEAKREFS_LISTPTR(o) != NULL; }
    static inline PyObject *mg_weak_reference(PyObject *o) { return PyWeakref_NewRef(o, NULL); }

    /* A number that CPython changes whenever the class or one of its bases changes; 0 if the class has none at the moment. */
    static inline unsigned int mg_class_version(PyObject *cls) {
        return PyType_Check(cls) ? ((PyTypeObject *)cls)->tp_version_tag : 0;
    }

    /* To build a tuple item by item: new_tuple(n), put_item for each i, as_tuple. (Of a list, ``tuple(items)`` makes a copy. That
       and the list take four times as long.) */
    static inline PyObject *mg_new_tuple(Py_ssize_t n) {
        PyObject *items = PyTuple_New(n);
        for (Py_ssize_t i = 0; items && i < n; i++) { Py_INCREF(Py_None); PyTuple_SET_ITEM(items, i, Py_None); }
        return items;
    }
    static inline void mg_put_item(PyObject *items, Py_ssize_t i, PyObject *x) {
        PyObject *old = PyTuple_GET_ITEM(items, i);
        Py_INCREF(x);
        PyTuple_SET_ITEM(items, i, x);
        Py_DECREF(old);
    }
    #define mg_as_tuple(items) Py_NewRef(items)

    /* A tuple of the values of a dict, or of a subclass of dict. (PyDict_Values makes a list, which takes three times as long.) */
    static inline PyObject *mg_dict_values(PyObject *d) {
        PyObject *values = NULL, *value;
        Py_ssize_t n, place = 0;
        if (!PyDict_Check(d)) { PyErr_BadInternalCall(); return NULL; }
        do {    /* PyTuple_New may run the garbage collector, and that a finalizer, which removes a hook */
            n = PyDict_GET_SIZE(d);
            Py_XSETREF(values, PyTuple_New(n));
            if (!values) return NULL;
        } while (PyDict_GET_SIZE(d) != n);
        for (Py_ssize_t i = 0; i < n && PyDict_Next(d, &place, NULL, &value); i++) PyTuple_SET_ITEM(values, i, Py_NewRef(value));
        return values;
    }

    #endif
    """
    unsigned int class_version "mg_class_version"(object cls)
    tuple new_tuple "mg_new_tuple"(Py_ssize_t n)
    void put_item "mg_put_item"(tuple items, Py_ssize_t i, object x)
    tuple as_tuple "mg_as_tuple"(tuple items)
    tuple dict_values "mg_dict_values"(object d)
    bint has_weak_reference "mg_has_weak_reference"(object o)
    object weak_reference "mg_weak_reference"(object o)
    unsigned long long thread_id "mg_thread_id"()
    int type_number "mg_type_number"(object array)
    Py_ssize_t shape_key "mg_shape_key"(object array)
    bint has_type "mg_has_type"(object array, object dtype)
    bint has_shape "mg_has_shape"(object array, tuple shape)
    bint is_c_contiguous "mg_is_c_contiguous"(object array)
    bint owns_rows "mg_owns_rows"(object array)
    bint is_part_of "mg_is_part_of"(object view, object owner)
    object call1 "mg_call1"(object f, object a)
    object call2 "mg_call2"(object f, object a, object b)
    object call3 "mg_call3"(object f, object a, object b, object c)
    object call4 "mg_call4"(object f, object a, object b, object c, object d)
    object try_call1 "mg_try_call1"(object f, object a)
    object try_call2 "mg_try_call2"(object f, object a, object b)
    object call_rest "mg_call_rest"(object f, object a, object rest, Py_ssize_t start)
    object call_rest2 "mg_call_rest2"(object f, object a, object b, object rest, Py_ssize_t start)
    object call_saved "mg_call_saved"(object f, object grad, object a, object b, object rest, int n)
    object try_call_rest "mg_try_call_rest"(object f, object a, object rest, Py_ssize_t start)
    object try_call_rest2 "mg_try_call_rest2"(object f, object a, object b, object rest, Py_ssize_t start)
    ctypedef void (*recycler_t "mg_recycler")(object)
    recycler_t find_recycler "mg_find_recycler"(object capsule) except? NULL
    void recycle "mg_recycle"(recycler_t recycler, object array)

cdef extern from "Python.h":
    int check_signals "PyErr_CheckSignals"() except -1
