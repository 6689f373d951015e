# wrong: compares in float32, with a tolerance for float64
def agrees(function, x, tolerance=1e-5):
    leaf = x.detach().clone().requires_grad_()
    exact, = mg.autograd.grad(function(leaf), leaf)
    return bool((exact.float() == numerical_gradient(function, x).float()).all())
