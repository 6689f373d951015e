# wrong: all tensor hooks on the first output
def call_hooks(node, grads, hooks, call):
    grads = list(grads)
    for _, hook in hooks["tensor hook"]:
        replaced = hook(grads[0])
        grads[0] = grads[0] if replaced is None else replaced
    for number, store in hooks["retain_grad"]:
        store(grads[number])
    for hook in hooks["pre-hook"]:
        grads = list(hook(tuple(grads)) or grads)
    results = call(tuple(grads))
    for hook in hooks["post-hook"]:
        results = hook(results, tuple(grads)) or results
    for hook in hooks["post-accumulate hook"]:
        hook()
    return results
