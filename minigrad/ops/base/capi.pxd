# The C function that keywords.py calls. Its interpreted twin is in capi.py.
cdef extern from "calls.h":
    bint handle_type_errors "mg_handle_type_errors"(object function, object handler)
