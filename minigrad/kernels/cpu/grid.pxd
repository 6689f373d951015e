cpdef object take_grid(object x, object places)
