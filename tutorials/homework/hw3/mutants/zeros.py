# wrong: sends zeros instead of gradients
def run_backward(roots, grads, call=call):
    correct(roots, [grad * 0 for grad in grads])


correct = solution.run_backward
