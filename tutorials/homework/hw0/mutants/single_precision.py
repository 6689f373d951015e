# wrong: float32 has too few digits
def by_minigrad(function, x):
    leaf = mg.tensor(x, requires_grad=True)
    function(leaf).backward()
    return leaf.grad.item()
