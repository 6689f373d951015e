# wrong: moves to one side only
def numerical_gradient(function, x, step=1e-6):
    moved = x.detach().clone()
    found = mg.zeros_like(moved)
    at = function(moved).item()
    for i in range(moved.numel()):
        moved.view(-1)[i] += step
        found.view(-1)[i] = (function(moved).item() - at) / step
        moved.view(-1)[i] -= step
    return found
