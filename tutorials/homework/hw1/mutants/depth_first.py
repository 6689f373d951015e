# wrong: depth first, so a number may come before one that was computed from it
def backward_order(root):
    found, to_do = [], [root]
    while to_do:
        number = to_do.pop()
        if number not in found:
            found.append(number)
            to_do.extend(operand for operand, _ in number.edges)
    return found
