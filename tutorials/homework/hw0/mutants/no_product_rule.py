# wrong: the product of the derivatives
def by_hand(x):
    return 2 * x * math.cos(x)
