# wrong: the factors of the product of matrices are not transposed
def mm_vjp(node, grad):
    x, y = node._saved_self, node._saved_mat2
    return None if y is None else grad @ y, None if x is None else x @ grad
