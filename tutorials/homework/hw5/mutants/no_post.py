# wrong: forgets the post-hooks
def call_hooks(node, grads, hooks, call):
    grads = list(grads)
    for number, hook in hooks["tensor hook"]:
        replaced = hook(grads[number])
        grads[number] = grads[number] if replaced is None else replaced
    for number, store in hooks["retain_grad"]:
        store(grads[number])
    for hook in hooks["pre-hook"]:
        grads = list(hook(tuple(grads)) or grads)
    results = call(tuple(grads))
    for hook in hooks["post-accumulate hook"]:
        hook()
    return results
