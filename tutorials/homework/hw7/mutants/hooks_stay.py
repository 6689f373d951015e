# wrong: the hooks stay after an error
def backward_input(y, grad, x, weights):
    found, arrived, handles = joins(y, x, weights), {}, []
    for node in {node for nodes in found for node in nodes}:
        handles.append(node.register_prehook(lambda grads, node=node: arrived.__setitem__(node, grads)))
    result, = mg.autograd.grad(y, x, grad, retain_graph=True)
    for handle in handles:
        handle.remove()
    return result, [[(node, arrived[node]) for node in nodes] for nodes in found]
