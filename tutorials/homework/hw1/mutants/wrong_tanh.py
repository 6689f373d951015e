# wrong: the derivative of tanh is 1 - tanh, without the square
def tanh(x):
    bounded = math.tanh(x.value)
    return Number(bounded, [(x, 1.0 - bounded)])
