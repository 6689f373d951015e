# wrong: uses retain_grad, so a place means its tensor as it is at the end
def gradients_at(function, x):
    tensors = []

    def note(tensor):
        tensors.append(tensor)
        tensor.retain_grad()
    function(x, note).backward()
    return [tensor.grad for tensor in tensors]
