# wrong: keeps the whole backward for later
def backward_input(y, grad, x, weights):
    result, kept = solution.backward_input(y, grad, x, weights)
    return result, [(y, grad)] * len(kept)


def backward_weight(kept, weights):
    for (y, grad), weight in zip(kept, weights):
        found, = mg.autograd.grad(y, weight, grad, retain_graph=True, allow_unused=True)
        if found is not None:
            weight.grad = found if weight.grad is None else weight.grad + found
