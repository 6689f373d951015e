# wrong: a square has one edge
def mul(x, y):
    if x is y:
        return Number(x.value * x.value, [(x, 2.0 * x.value)])
    return Number(x.value * y.value, [(x, y.value), (y, x.value)])
