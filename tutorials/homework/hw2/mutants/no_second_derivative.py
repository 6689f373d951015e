# wrong: detaches what was saved, so a second derivative is lost
def exp_vjp(node, grad):
    return grad * node._saved_result.detach()
