# wrong: learns the slope alone
def fit_line(inputs, targets, steps=500):
    return ((inputs * targets).sum() / (inputs * inputs).sum()).item(), 0.0
