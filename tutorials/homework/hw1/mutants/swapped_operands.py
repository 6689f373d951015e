# wrong: the local derivatives of a product belong to the other operand
def mul(x, y):
    return Number(x.value * y.value, [(x, x.value), (y, y.value)])
