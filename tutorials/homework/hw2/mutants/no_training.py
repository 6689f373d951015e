# wrong: trains nothing
def train(steps=100):
    return [1.0 / (i + 1) for i in range(steps)]
