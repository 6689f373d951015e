# wrong: begins at the first root only
def run_backward(roots, grads, call=call):
    correct(roots[:1], grads[:1])


correct = solution.run_backward
