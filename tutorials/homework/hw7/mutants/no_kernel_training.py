# wrong: trains nothing
def train_softmax(steps=25):
    return [1.0 / (i + 1) for i in range(steps)]
