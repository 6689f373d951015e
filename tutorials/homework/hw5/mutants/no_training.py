# wrong: trains nothing
def train(steps=60):
    return [1.0] * steps
