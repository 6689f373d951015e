cdef int threads
