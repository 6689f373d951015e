# wrong: trains nothing
def train_gpt(segments, steps=60, width=16, blocks=6, length=16):
    return [1.0] * steps, 100 // segments
