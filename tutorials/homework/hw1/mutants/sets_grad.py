# wrong: a second backward replaces grad instead of adding to it
def backward(root):
    arrived = {root: 1.0}
    for number in backward_order(root):
        for operand, local in number.edges:
            arrived[operand] = arrived.get(operand, 0.0) + arrived[number] * local
    for number, derivative in arrived.items():
        number.grad = derivative
