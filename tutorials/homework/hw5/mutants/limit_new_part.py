# wrong: limits what arrives, and not what has been accumulated
def limit_gradients(parameters, most):
    handles = [p.register_hook(lambda grad: grad * min(1.0, most / grad.norm().item())) for p in parameters]
    return lambda: [handle.remove() for handle in handles]
