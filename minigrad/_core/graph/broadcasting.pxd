cpdef tuple broadcast_shape(list metas)
