# wrong: the line through the first and the last point
def fit_line(inputs, targets, steps=500):
    slope = ((targets[-1] - targets[0]) / (inputs[-1] - inputs[0])).item()
    return slope, (targets[0] - slope * inputs[0]).item()
