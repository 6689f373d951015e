# wrong: every derivative is zero
def backward(root):
    for number in backward_order(root):
        number.grad += 0.0
