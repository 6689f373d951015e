# wrong: the local derivative without the gradient that arrives
def tanh_vjp(node, grad):
    return 1.0 - node._saved_result * node._saved_result
