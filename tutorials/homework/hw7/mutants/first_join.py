# wrong: only the first node of several where a weight joins
def joins(y, x, weights):
    return [nodes[:1] for nodes in solution.joins(y, x, weights)]
