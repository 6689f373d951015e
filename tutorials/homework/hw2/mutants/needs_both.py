# wrong: expects that both operands are saved
def mul_vjp(node, grad):
    return grad * node._saved_other, grad * node._saved_self


def mm_vjp(node, grad):
    return grad @ node._saved_mat2.t(), node._saved_self.t() @ grad
