# wrong: the results are zeros
def call_hooks(node, grads, hooks, call):
    return tuple(None if result is None else result * 0 for result in call(grads))
