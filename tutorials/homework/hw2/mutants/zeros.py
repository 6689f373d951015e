# wrong: all gradients are zero
def mul_vjp(node, grad):
    return grad * 0, grad * 0


def exp_vjp(node, grad):
    return grad * 0


def tanh_vjp(node, grad):
    return grad * 0


def mm_vjp(node, grad):
    return node._saved_self * 0, node._saved_mat2 * 0
