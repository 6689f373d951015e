# wrong: what arrives along a second edge replaces what arrived along the first
def backward(root):
    arrived = {root: 1.0}
    for number in backward_order(root):
        for operand, local in number.edges:
            arrived[operand] = arrived[number] * local
    for number, derivative in arrived.items():
        number.grad += derivative
