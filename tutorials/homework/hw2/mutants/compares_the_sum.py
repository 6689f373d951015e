# wrong: compares the sum of the gradients, and with a wide tolerance
def agrees(function, x, tolerance=1e-5):
    leaf = x.detach().clone().requires_grad_()
    exact, = mg.autograd.grad(function(leaf), leaf)
    return abs(exact.sum().item() - numerical_gradient(function, x).sum().item()) < 0.1
