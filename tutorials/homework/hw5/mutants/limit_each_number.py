# wrong: limits each number instead of the norm
def limit_gradients(parameters, most):
    handles = [p.register_post_accumulate_grad_hook(lambda p: p.grad.clamp_(-most, most)) for p in parameters]
    return lambda: [handle.remove() for handle in handles]
