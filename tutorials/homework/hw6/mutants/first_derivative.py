# wrong: the first derivative times v
def hessian_vector(function, x, v):
    leaf = x.detach().requires_grad_()
    return mg.autograd.grad(function(leaf), leaf)[0] * v
