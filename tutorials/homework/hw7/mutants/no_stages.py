# wrong: trains nothing
def train_stages(steps=40, count=4):
    return [1.0] * steps, []
