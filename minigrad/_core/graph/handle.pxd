cdef class Hooks(dict):
    cdef int output
    cdef object __weakref__

cdef class RemovableHandle:
    cdef public object hooks_dict_ref
    cdef public object id
    cdef public object extra_dict_ref
    cdef dict __dict__              # users and subclasses may add attributes
    cdef object __weakref__

cpdef object add_hook(object hooks, object hook)
