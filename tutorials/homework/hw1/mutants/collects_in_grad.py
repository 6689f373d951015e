# wrong: collects in grad itself, so what a backward before has left is passed on again
def backward(root):
    root.grad += 1.0
    for number in backward_order(root):
        for operand, local in number.edges:
            operand.grad += number.grad * local
