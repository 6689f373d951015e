cpdef object run_tensor_hooks(object hooks, object grad)
cpdef tuple run_pre_hooks(object hooks, tuple grads)
cpdef object run_post_hooks(object hooks, tuple results, tuple grads)
cpdef object run_post_accumulate_hooks(object hooks, object leaf)
