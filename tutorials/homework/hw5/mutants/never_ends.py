# wrong: the limit cannot be ended
def limit_gradients(parameters, most):
    def limit(parameter):
        norm = parameter.grad.norm().item()
        if norm > most:
            parameter.grad *= most / norm
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(limit)
    return lambda: None
