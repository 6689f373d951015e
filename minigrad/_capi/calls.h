/* calls: how Cython's functions are called. A group like those of internals.h; the head of __init__.py says how to build without.

   Every callable of Python may have a C function that calls it (PEP 590), at an offset that its class names. That one of Cython's
   functions has is documented to be read; we replace it in those that take more names for an argument (ops/base/keywords.py). */
#ifndef MINIGRAD_CALLS_H
#define MINIGRAD_CALLS_H

#include <Python.h>
#include <string.h>

#if !defined(MINIGRAD_PLAIN) && !defined(MINIGRAD_PLAIN_CALLS)

static vectorcallfunc mg_cython_call;   /* the C function that calls Cython's functions */
static PyObject *mg_handler;

/* Call f; if that raises a TypeError, and there are keywords, return handler(f, error, args, kwargs). */
static PyObject *mg_call_or_handle(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *positional, *named = NULL, *error, *result = mg_cython_call(f, args, nargsf, names);
    if (result || !names || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
#if PY_VERSION_HEX >= 0x030C0000
    error = PyErr_GetRaisedException();
#else
    PyObject *type, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback) PyException_SetTraceback(error, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
#endif
    Py_ssize_t i, n = PyVectorcall_NARGS(nargsf);
    if ((positional = PyTuple_New(n)) && (named = PyDict_New())) {
        for (i = 0; i < n; i++) {
            Py_INCREF(args[i]);
            PyTuple_SET_ITEM(positional, i, args[i]);
        }
        for (i = 0; i < PyTuple_GET_SIZE(names); i++)
            if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[n + i]) < 0) break;
        if (i == PyTuple_GET_SIZE(names)) result = PyObject_CallFunctionObjArgs(mg_handler, f, error, positional, named, NULL);
    }
    Py_XDECREF(positional);
    Py_XDECREF(named);
    Py_DECREF(error);
    return result;
}

/* Let f call `handler` (the same one in each call of this function). Return 0 if f is not a function of Cython's. */
static int mg_handle_type_errors(PyObject *f, PyObject *handler) {
    PyTypeObject *type = Py_TYPE(f);
    if (!strstr(type->tp_name, "cython_function_or_method") || type->tp_vectorcall_offset <= 0) return 0;
    vectorcallfunc *slot = (vectorcallfunc *)((char *)f + type->tp_vectorcall_offset);
    if (*slot == mg_call_or_handle) return 1;
    if (!mg_handler) {
        mg_cython_call = *slot;
        Py_INCREF(handler);
        mg_handler = handler;
    }
    if (!*slot || *slot != mg_cython_call) return 0;    /* it has no keywords */
    *slot = mg_call_or_handle;
    return 1;
}

#else
static int mg_handle_type_errors(PyObject *f, PyObject *handler) { (void)f; (void)handler; return 0; }
#endif

#endif
