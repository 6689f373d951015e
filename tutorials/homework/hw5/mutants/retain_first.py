# wrong: retains the gradient before the tensor hooks
def call_hooks(node, grads, hooks, call):
    grads = list(grads)
    for number, store in hooks["retain_grad"]:
        store(grads[number])
    for number, hook in hooks["tensor hook"]:
        replaced = hook(grads[number])
        grads[number] = grads[number] if replaced is None else replaced
    for hook in hooks["pre-hook"]:
        grads = list(hook(tuple(grads)) or grads)
    results = call(tuple(grads))
    for hook in hooks["post-hook"]:
        results = hook(results, tuple(grads)) or results
    for hook in hooks["post-accumulate hook"]:
        hook()
    return results
