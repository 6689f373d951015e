# wrong: a whole backward, which writes to every .grad
def backward_input(y, grad, x, weights):
    _, kept = solution.backward_input(y, grad, x, weights)
    y.backward(grad, retain_graph=True)
    return x.grad, kept
