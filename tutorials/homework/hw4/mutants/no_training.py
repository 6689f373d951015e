# wrong: trains nothing
def train(saved, steps=40):
    return [1.0] * steps
