# wrong: accepts everything
def agrees(function, x, tolerance=1e-5):
    return True
