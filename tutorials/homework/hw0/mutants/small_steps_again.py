# wrong: small steps instead of backward
def by_minigrad(function, x):
    return by_small_steps(lambda y: function(mg.tensor(y, dtype=mg.float64)).item(), x)
