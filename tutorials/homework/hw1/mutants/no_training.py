# wrong: trains nothing
def train(steps=60):
    return [0.0] * steps, [0.0, 0.0, 0.0]
