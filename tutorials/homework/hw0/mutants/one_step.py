# wrong: one step
def fit_line(inputs, targets, steps=1):
    return 0.2 * (inputs * targets).mean().item(), 0.2 * targets.mean().item()
