# wrong: lists a number once for each path that leads to it
def backward_order(root):
    found, to_do = [], [root]
    while to_do:
        number = to_do.pop(0)
        found.append(number)
        to_do.extend(operand for operand, _ in number.edges)
    return found
