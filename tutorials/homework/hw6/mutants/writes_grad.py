# wrong: leaves a gradient in x.grad
def hessian_vector(function, x, v):
    leaf = x if x.requires_grad else x.detach().requires_grad_()
    first, = mg.autograd.grad(function(leaf), leaf, create_graph=True)
    (first * v).sum().backward()
    return leaf.grad
