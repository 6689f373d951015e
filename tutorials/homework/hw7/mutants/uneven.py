# wrong: what does not divide evenly goes into the last segment
def checkpoint_layers(layers, x, segments):
    def run(x, some):
        for layer in some:
            x = layer(x)
        return x
    size = len(layers) // segments
    for i in range(segments - 1):
        x = checkpoint(run, x, layers[i * size:(i + 1) * size])
    return run(x, layers[(segments - 1) * size:])
