# wrong: nothing replaces what arrives again at a lower join
def backward_weight(kept, weights):
    for pairs, weight in zip(kept, weights):
        roots = [(GradientEdge(node, i), grad) for node, grads in pairs for i, grad in enumerate(grads) if grad is not None]
        if roots:
            mg.autograd.backward(*zip(*roots), retain_graph=True, inputs=[weight])
