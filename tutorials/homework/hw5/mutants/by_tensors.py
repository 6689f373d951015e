# wrong: keeps tensors, which stand for another place after a write
def gradients_at(function, x):
    tensors = []
    result = function(x, tensors.append)
    return list(mg.autograd.grad(result, tensors, allow_unused=True))
