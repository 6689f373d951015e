cpdef object tensor_argument(object function, object x, object name=*, object position=*)
cpdef Py_ssize_t dimension(object dim, Py_ssize_t ndim) except -1
cpdef tuple dimensions(object dim, Py_ssize_t ndim)
cpdef object flag(object value, object name, object function)
