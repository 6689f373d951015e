# wrong: moves to one side only
def by_small_steps(function, x, h=1e-6):
    return (function(x + h) - function(x)) / h
