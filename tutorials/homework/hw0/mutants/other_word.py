# wrong: another word
def mode():
    return "fast"
