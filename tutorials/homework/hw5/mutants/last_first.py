# wrong: the gradient at the last place comes first
def gradients_at(function, x):
    edges = []
    result = function(x, lambda tensor: edges.insert(0, mg.autograd.graph.get_gradient_edge(tensor)))
    return list(mg.autograd.grad(result, edges, allow_unused=True))
