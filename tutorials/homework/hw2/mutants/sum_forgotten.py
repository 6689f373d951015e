# wrong: keeps only the first of the places where a number was used
def sum_to_shape(grad, shape):
    while grad.dim() > len(shape):
        grad = grad[0]
    for i, size in enumerate(shape):
        if size == 1:
            grad = grad.narrow(i, 0, 1)
    return grad
