# wrong: moves the numbers of x itself, and leaves them moved
def numerical_gradient(function, x, step=1e-6):
    found = mg.zeros_like(x)
    with mg.no_grad():
        for i in range(x.numel()):
            x.view(-1)[i] += step
            above = function(x).item()
            x.view(-1)[i] -= 2 * step
            found.view(-1)[i] = (above - function(x).item()) / (2 * step)
            x.view(-1)[i] += 2 * step
    return found
