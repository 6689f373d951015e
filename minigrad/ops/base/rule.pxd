cpdef object conj(object x)
