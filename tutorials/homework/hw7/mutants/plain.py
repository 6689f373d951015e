# wrong: no checkpoint at all
def checkpoint(function, *args):
    return function(*args)
