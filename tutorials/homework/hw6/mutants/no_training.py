# wrong: trains nothing
def newton(steps=8):
    return [0.1] * steps, 0.0
