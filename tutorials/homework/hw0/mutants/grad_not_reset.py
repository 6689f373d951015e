# wrong: the gradients of all steps add up
def fit_line(inputs, targets, steps=500):
    slope, intercept = mg.zeros((), requires_grad=True), mg.zeros((), requires_grad=True)
    for _ in range(steps):
        ((slope * inputs + intercept - targets) ** 2).mean().backward()
        with mg.no_grad():
            slope -= 0.1 * slope.grad
            intercept -= 0.1 * intercept.grad
    return slope.item(), intercept.item()
